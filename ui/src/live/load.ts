// Loads the results of a selection from the server: the available services and types, the chart, and the profile.
import { About } from '../model/about';
import { Session } from '../model/session';
import { Dataset } from '../otlp/types';
import { Loaded, fromExport } from '../source';
import { Needs } from '../state';
import { below } from './below';
import { NeedsToken, Params, Uploaded, getBytes } from './client';
import { Counts } from '../model/series';
import {
    Series,
    countsOf,
    labelValues,
    observations,
    profileAbout,
    seriesOf,
    storedOf,
    sumOf,
    typesOf,
    where,
} from './queries';
import { Range, Span, absolute, atLeast, hull, moves, resolve, spanText } from './range';
import { Selection, spanBefore, SHIFTS } from './selection';
import { EVERY, Selector, readSelector, valueOf, withValue, writeSelector } from './selector';
import { CutTree, MOST_SAMPLES, cutTree } from './tree';

export const SERVICE = 'service.name';
export const PROFILE_ID = 'profile_id';
/** The largest number of observations with timestamps to load: about 10 MB, which the browser draws without a pause. */
export const MOST_OBSERVATIONS = 400_000;

/** The other side of a comparison. */
export interface Base {
    selector: Selector;
    span: Span;
    name: string;
    counts: Counts | null; // over the time of the chart, if the selector differs
}

export interface Results {
    range: Range; // as selected; `span` is what it meant when it was queried
    span: Span | null; // null: nothing is stored, or the range is invalid
    stored: Span | null; // queried only when the range is empty
    undated: Span | null; // data with timestamps of another clock, which `stored` does not include
    services: string[];
    types: { type: string; unit: string }[];
    selector: Selector; // with the type that is shown
    unit: string;
    attributes: Map<string, string>; // that all selected series have
    chart: Span | null; // the time of `counts`; in a comparison it contains both sides
    counts: Counts | null;
    base: Base | null;
    observations: number;
    part: { time: [bigint, bigint]; observations: number } | null; // Unix ns
    sum: number; // over the whole span, even if a part is selected
    session: Session | null;
    about: About | null; // set if exactly one profile is selected
    timed: boolean; // the session has timestamps, as the senders sent them
    tree: Trunk | null; // the session has no samples, but the largest nodes of the tree
    failed: string; // why the profile could not be loaded
    withoutBase: boolean; // a comparison was requested, but the other side has no data
}

/** A tree of the server, and how to query more of it. */
export interface Trunk {
    cut: CutTree;
    params: Params; // the selection, and the transform that the server applied
    transform: string; // the same transform as in an address; empty: none
}

const inMs = ([a, b]: [bigint, bigint]): Span => [Number(a) / 1e6, Number(b) / 1e6];
const label = (t: { type: string; unit: string }) => `${t.type}/${t.unit}`;

function chooseType(s: Selector, series: Series[]) {
    const types = typesOf(series),
        found = types.find((t) => label(t) === s.type || t.type === s.type) ?? (s.type ? undefined : types[0]);
    return { types, found };
}

const only = (set: Dataset, type: string): Dataset => {
    const fits = set.profiles.filter((p) => label(p) === type);
    return fits.length ? { ...set, profiles: fits } : set;
};

type Bounds = { start: string; end: string };

const bytesOf = (s: Selector, span: Span, part: Bounds | null, sums: boolean, signal: AbortSignal) => () =>
    getBytes('export', { ...where(s, span), ...part, format: 'otlp', gzip: 1, ...(sums ? { sums: 1 } : {}) }, signal);

/** What a chart over time shows. */
export type Charted = Pick<Results, 'range' | 'span' | 'selector' | 'unit' | 'chart' | 'counts' | 'base'>;

/** The attributes of the resource that all series of a type have. */
function commonAttributes(series: Series[], type: string): Map<string, string> {
    const of = series.filter((s) => label(s) === type),
        first = Object.entries(of[0]?.resource ?? {});
    return new Map(
        first
            .filter(([key, value]) => of.every((s) => JSON.stringify(s.resource[key]) === JSON.stringify(value)))
            .map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
    );
}

/** Identifies the time of results: a range that moves stays the same while its span moves. */
export const timeOf = (r: Charted): string => JSON.stringify(moves(r.range) ? r.range : r.span);

export const nameOf = (s: Selector): string => valueOf(s, SERVICE) ?? 'all services';

/** The selection that shows the files that were just uploaded. */
export function whereUploaded(list: Uploaded[], now: number): Pick<Selection, 'selector' | 'range'> {
    const spans = list.map((u): Span => (u.first ? [u.first / 1e6, u.last / 1e6] : [now - 5e3, now + 5e3])),
        service = list.every((u) => u.service === list[0].service) ? list[0].service : '';
    const around: Span = [
        Math.max(Math.floor(Math.min(...spans.map((s) => s[0]))) - 1, 0),
        Math.ceil(Math.max(...spans.map((s) => s[1]))) + 1,
    ];
    return {
        selector: service ? withValue(EVERY, SERVICE, service) : EVERY,
        range: absolute(atLeast(around, 1000)),
    };
}

/** Resolves the other side of a comparison. */
async function baseOf(
    sel: Selection,
    chosen: Selector,
    span: Span,
    now: number,
    signal: AbortSignal,
): Promise<Base | null> {
    const a = sel.against;
    if (!a) return null;
    if ('shift' in a)
        return {
            selector: chosen,
            span: spanBefore(span, a.shift),
            name: SHIFTS.find(([k]) => k === a.shift)![1],
            counts: null,
        };
const other = readSelector(a.query) ?? EVERY,
        stored = a.range.from ? null : (await storedOf(other, signal)).stored,
        at = resolve(a.range, now, stored);
    return (
        at && {
            selector: { ...other, type: chosen.type },
            span: at,
            name: `${nameOf(other)}, ${spanText(at)}`,
            counts: null,
        }
    );
}

/** The label that the chart is stacked by unless the user chooses another one; empty: none. */
export const chartLabel = (s: Selector, compared: boolean): string =>
    valueOf(s, SERVICE) === null && !compared ? SERVICE : '';

/** The chart: one line per service; in a comparison, one line per selection over both sides. */
async function chartOf(chosen: Selector, span: Span, base: Base | null, signal: AbortSignal) {
    const by = chartLabel(chosen, !!base),
        chart = base ? hull(span, base.span) : span;
    const differs = base && writeSelector(base.selector) !== writeSelector(chosen);
    const [counts, inside, other] = await Promise.all([
        countsOf(chosen, chart, by, signal),
        base ? countsOf(chosen, span, '', signal) : null,
        differs ? countsOf(base.selector, chart, '', signal) : null,
    ]);
    if (base) base.counts = other;
    return { chart, counts, base, observations: observations(inside ?? counts), sum: sumOf(inside ?? counts) };
}

/** The chart alone, for pages that list something else. `span` is the time range; null: all stored data. null: there is nothing. */
export async function loadChart(sel: Selection, span: Span | null, signal: AbortSignal): Promise<Charted | null> {
    const any = { ...sel.selector, type: '' },
        shown = span ?? (await storedOf(any, signal)).stored,
        { found } = shown ? chooseType(sel.selector, await seriesOf(any, shown, signal)) : { found: undefined };
    if (!shown || !found) return null;
    const selector = { ...sel.selector, type: label(found) },
        { chart, counts } = await chartOf(selector, shown, null, signal);
    return { range: sel.range, span: shown, selector, unit: found.unit, chart, counts, base: null };
}

export async function load(sel: Selection, needs: Needs, now: number, signal: AbortSignal): Promise<Results> {
    const any = { ...sel.selector, type: '' },
        everything = async () => (await storedOf(EVERY, signal)).stored;
    const bounded = sel.range.from || sel.range.to,
        { stored, undated } = bounded ? { stored: null, undated: null } : await storedOf(any, signal),
        span = resolve(sel.range, now, stored);
    const none: Results = {
        range: sel.range,
        span,
        stored,
        undated,
        services: [],
        types: [],
        selector: sel.selector,
        unit: '',
        attributes: new Map(),
        chart: null,
        counts: null,
        base: null,
        observations: 0,
        part: null,
        sum: 0,
        session: null,
        about: null,
        timed: false,
        tree: null,
        failed: '',
        withoutBase: false,
    };
    if (!span) return { ...none, stored: stored ?? (await everything()) };
    const [series, services] = await Promise.all([
        seriesOf(any, span, signal),
        labelValues(SERVICE, EVERY, bounded ? span : null, signal), // not only those in the time of the chosen service
    ]);
    const { types, found } = chooseType(sel.selector, series);
    if (!found) return { ...none, services, types, stored: stored ?? (await everything()) };
    const chosen = { ...sel.selector, type: label(found) };
    const base = await baseOf(sel, chosen, span, now, signal),
        drawing = chartOf(chosen, span, base, signal); // together with the export: two queries take as long as one
    drawing.catch(() => {}); // reported where it is awaited
    const inPart = needs.part && countsOf(chosen, inMs(needs.part), '', signal).then(observations);
    inPart?.catch(() => {}); // likewise
    const expected = async () => (await inPart) ?? (await drawing).observations,
        timed = needs.times && (await expected()) <= MOST_OBSERVATIONS;
    const part = needs.part && { start: String(needs.part[0]), end: String(needs.part[1]) };
    const asTree = async () => {
        if (needs.times || needs.attributes || needs.stacks || sel.against) return false;
        const stored = series.reduce((n, s) => n + (label(s) === chosen.type ? s.samples : 0), 0);
        return stored > MOST_SAMPLES && (await expected()) > MOST_SAMPLES;
    };
    const trunkOf = async (): Promise<Trunk> => {
        const { view } = needs,
            params = { ...where(chosen, span), ...part, ...(view && { [view.key]: view.pattern }) };
        return { cut: await cutTree(params, signal), params, transform: view?.transform ?? '' };
    };
    const source = fromExport(
        bytesOf(chosen, span, part, !timed, signal),
        nameOf(chosen),
        base && { get: bytesOf(base.selector, base.span, null, true, signal), name: base.name },
    );
    const one = valueOf(chosen, PROFILE_ID),
        about = one === null ? null : profileAbout(one, chosen.type, signal).catch(() => null), // it may have been deleted
        loading = asTree()
            .then(async (tree) => (tree ? trunkOf() : source.load()))
            .catch((e: unknown) => e as Error),
        inAll = await drawing,
        chart = {
            ...none,
            ...inAll,
            part: needs.part && { time: needs.part, observations: (await inPart)! },
            services,
            types,
            selector: chosen,
            unit: found.unit,
            attributes: commonAttributes(series, chosen.type),
        },
        loaded = (await loading) as Loaded | Trunk | Error;
    if (loaded instanceof Error) {
        if (signal.aborted || loaded instanceof NeedsToken) throw loaded;
        return { ...chart, failed: loaded.message }; // the chart is still shown, so that a smaller part can be selected
    }
    if ('cut' in loaded) {
        const got = await below(loaded, needs.zoom, nameOf(chosen), BigInt(Math.floor(span[0])) * 1000000n, signal);
        return { ...chart, stored, ...got, about: await about };
    }
    const main = only(loaded.profile, label(found)),
        other = loaded.base && only(loaded.base, label(found)),
        some = (d: Dataset | null) => d !== null && d.profiles.some((p) => p.n > 0),
        hasBase = some(other);
    main.timeBase ||= BigInt(Math.floor(span[0])) * 1000000n; // sums have no timestamps
    const session = some(main) ? new Session(main, hasBase ? other : null) : null;
    if (session) session.names.dated = true;
    return {
        ...chart,
        stored: session ? stored : (stored ?? (await everything())),
        session,
        about: await about,
        timed,
        withoutBase: sel.against !== null && !hasBase,
    };
}
