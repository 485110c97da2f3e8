// The services of the home page: the rows of the endpoint `services` (docs/query-api.md), grouped by service.
import { typeRank } from '../model/default_type';
import { rateOf } from '../model/rate';
import { getJson } from './client';
import { SERVICE } from './load';
import { Party, Series } from './queries';
import { Range, Span, absolute, readTime, writeTime } from './range';
import { NO_IDS, Selection, writeAddress } from './selection';
import { Selector, withValue, writeSelector } from './selector';

export interface Row {
    service: string;
    type: string;
    unit: string;
    first: number; // Unix ns, of the data in the range
    last: number;
    level: boolean;
    sum: number;
    function: string; // with the largest self value
    flat: number;
    sums: number[];
    counts: number[];
}

export interface Listed {
    start: number;
    end: number;
    step: number;
    rows: Row[];
    partial: boolean;
    why?: string;
}

/** One type of a service. */
export interface Kind {
    row: Row;
    inRange: boolean; // false: it is listed because of data of another time
    count: number; // observations in the range
    value: number; // the mean rate, or the newest level
    text: string; // the same with its unit
    points: number[]; // over time; shorter than the range if the newest data have not arrived yet
}

export interface Service {
    name: string; // empty: the sender named no service
    kinds: Kind[]; // the default type first
    inRange: boolean;
    last: number;
}

/** A time of the server's clock where possible: relative times need no clock here. */
const timeParam = (text: string): string => {
    if (!text || text.startsWith('now')) return text;
    const at = readTime(text, 0);
    return at === null ? text : writeTime(at);
};

export const servicesOf = (s: Selector, r: Range, stored: Span | null, signal: AbortSignal): Promise<Listed> =>
    getJson<Listed>(
        'services',
        {
            query: writeSelector({ ...s, type: '' }),
            start: stored ? writeTime(stored[0]) : timeParam(r.from),
            end: stored ? writeTime(stored[1]) : timeParam(r.to),
        },
        signal,
    );

const SETTLING = 3; // steps at the end of the range in which the newest data may be under way

function kindOf(row: Row, l: Listed): Kind {
    const rate = rateOf(row.type, row.unit),
        value = rate.of(row.sum, Math.max(l.end - Math.max(l.start, row.first), 1)); // since it sends
    const points = row.sums.map((sum, i) => {
        const begin = l.start + i * l.step,
            ns = Math.min(begin + l.step, l.end) - begin;
        return rate.of(sum, ns);
    });
    const used = Math.ceil((row.last - l.start) / l.step);
    if (points.length - used <= SETTLING && used > 0) points.length = Math.min(points.length, used);
    return { row, inRange: true, count: row.counts.reduce((n, c) => n + c, 0), value, text: rate.text(value), points };
}

const outside = (s: Series): Kind => ({
    row: {
        service: String(s.resource[SERVICE] ?? ''),
        type: s.type,
        unit: s.unit,
        first: s.first,
        last: s.last,
        level: false,
        sum: 0,
        function: '',
        flat: 0,
        sums: [],
        counts: [],
    },
    inRange: false,
    count: 0,
    value: 0,
    text: '',
    points: [],
});

/** Groups the rows by service, and adds the stored series of other times. Types with data in the range come first, then by
 *  the rule of the default type. */
export function groupServices(l: Listed, stored: Series[]): Service[] {
    const found = new Map<string, Service>();
    const add = (k: Kind) => {
        const s = found.get(k.row.service) ?? { name: k.row.service, kinds: [], inRange: false, last: 0 },
            same = s.kinds.find((o) => o.row.type === k.row.type && o.row.unit === k.row.unit);
        if (!same) s.kinds.push(k);
        else if (!same.inRange) {
            same.row.first = Math.min(same.row.first, k.row.first);
            same.row.last = Math.max(same.row.last, k.row.last);
        }
        s.inRange ||= k.inRange;
        s.last = Math.max(s.last, k.row.last);
        found.set(k.row.service, s);
    };
    for (const row of l.rows) add(kindOf(row, l));
    for (const s of stored) if (s.samples) add(outside(s));
    for (const s of found.values())
        s.kinds.sort(
            (a, b) =>
                Number(b.inRange) - Number(a.inRange) ||
                typeRank(a.row.type) - typeRank(b.row.type) ||
                b.count - a.count ||
                (a.row.type < b.row.type ? -1 : 1),
        );
    return [...found.values()];
}

export type SortKey = 'name' | 'rate' | 'last';
export interface Sort {
    by: SortKey;
    down: boolean;
}

/** Sorts services. Rates of different types cannot be compared: types of one rank are together, CPU time first. Services
 *  without data in the range are last. */
export function sortServices(list: Service[], { by, down }: Sort): Service[] {
    const sign = down ? -1 : 1,
        byName = (a: Service, b: Service) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
    const order = (a: Service, b: Service): number => {
        if (by === 'name') return sign * byName(a, b);
        if (by === 'last') return sign * (a.last - b.last) || byName(a, b);
        const [x, y] = [a.kinds[0], b.kinds[0]];
        return (
            typeRank(x.row.type) - typeRank(y.row.type) ||
            (x.row.type < y.row.type ? -1 : x.row.type > y.row.type ? 1 : 0) ||
            sign * (x.value - y.value) ||
            byName(a, b)
        );
    };
    return [...list].sort((a, b) => Number(b.inRange) - Number(a.inRange) || order(a, b));
}

const HOUR = 3600e3;

/** The selection that shows one type of a service: in the shown range, or where its newest data are. */
export function selectionOf(sel: Selection, { row, inRange }: Kind): Selection {
    const last = Math.ceil(row.last / 1e6) + 1,
        first = Math.max(Math.floor(row.first / 1e6) - 1, last - HOUR, 0),
        selector = withValue({ ...sel.selector, type: `${row.type}/${row.unit}` }, SERVICE, row.service);
    return {
        ...sel,
        page: 'explore',
        selector,
        range: inRange ? sel.range : absolute([first, last]),
        against: null,
        ids: NO_IDS,
    };
}

export const linkTo = (sel: Selection, k: Kind): string => `/${writeAddress(selectionOf(sel, k))}`;

/** The observations of each service that are stored, of all times. */
export function storedSizes(stored: Series[]): Map<string, number> {
    const sizes = new Map<string, number>();
    for (const s of stored) {
        const name = String(s.resource[SERVICE] ?? '');
        sizes.set(name, (sizes.get(name) ?? 0) + s.samples);
    }
    return sizes;
}

/** Problems of senders, as text. */
export interface Trouble {
    sender: string;
    texts: string[];
    why: string; // the newest reason of the server; may be empty
}

const QUIET_NS = 300e9,
    USUAL = 10; // usual intervals without a request

export function troubles(
    senders: Party[],
    now: number,
    span: (ns: number) => string,
    count: (n: number) => string,
): Trouble[] {
    const out: Trouble[] = [];
    for (const s of senders) {
        const texts: string[] = [],
            quiet = now - s.last,
            usual = s.requests > 2 ? (s.last - s.first) / (s.requests - 1) : Infinity;
        if (s.refused) texts.push(`${count(s.refused)} of ${count(s.requests)} requests refused`);
        if (s.rejected) texts.push(`${count(s.rejected)} profiles or records rejected in partial successes`);
        if (quiet > Math.max(QUIET_NS, USUAL * usual))
            texts.push(`silent for ${span(quiet)}, after a request every ${span(usual)}`);
        if (texts.length) out.push({ sender: s.name, texts, why: s.refused || s.rejected ? s.why : '' });
    }
    return out;
}
