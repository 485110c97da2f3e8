// One state of a selection as the server has it: what there is to choose from, the chart over it, and the profile itself.
import { Session } from '../model/session';
import { Dataset } from '../otlp/types';
import { Loaded, fromExport } from '../source';
import { NeedsToken, getBytes } from './client';
import { Counts, Series, countsOf, extentOf, labelValues, observations, seriesOf, typesOf, where } from './questions';
import { Span, resolve, spanText } from './range';
import { Selection, spanBefore, SHIFTS } from './selection';
import { Selector, readSelector, valueOf } from './selector';

export const SERVICE = 'service.name';
/** With their times so many observations are some 10 MB on the way and draw without a pause. */
export const MOST_OBSERVATIONS = 400_000;

export interface Answer {
    span: Span | null; // null: nothing is stored, or the range is none
    stored: Span | null; // looked up only when there is nothing in the range
    services: string[];
    types: { type: string; unit: string }[];
    selector: Selector; // with the type that is shown
    unit: string;
    counts: Counts | null;
    observations: number;
    session: Session | null;
    timed: boolean; // the session has the time of each observation, as far as senders gave it
    failed: string; // why the profile itself could not be had
    withoutBase: boolean; // a comparison was asked for, and there is nothing to compare with
}

const EVERY: Selector = { type: '', matchers: [] };
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

const bytesOf = (s: Selector, span: Span, sums: boolean, signal: AbortSignal) => () =>
    getBytes('export', { ...where(s, span), format: 'otlp', gzip: 1, ...(sums ? { sums: 1 } : {}) }, signal);

/** What to compare with: a selector and a span. */
async function baseOf(sel: Selection, chosen: Selector, span: Span, now: number, signal: AbortSignal) {
    const a = sel.against;
    if (!a) return null;
    if ('shift' in a)
        return {
            selector: chosen,
            span: spanBefore(span, a.shift),
            name: SHIFTS.find(([k]) => k === a.shift)![1],
        };
    const kept = readSelector(a.query) ?? EVERY,
        stored = a.range.from ? null : extentOf(await seriesOf(EVERY, null, signal)),
        at = resolve(a.range, now, stored);
    return at && { selector: { ...kept, type: chosen.type }, span: at, name: `${nameOf(kept)}, ${spanText(at)}` };
}

export const nameOf = (s: Selector): string => valueOf(s, SERVICE) ?? 'all services';

export async function load(sel: Selection, withTime: boolean, now: number, signal: AbortSignal): Promise<Answer> {
    const any = { ...sel.selector, type: '' },
        everything = async () => extentOf(await seriesOf(EVERY, null, signal));
    const stored = sel.range.from || sel.range.to ? null : extentOf(await seriesOf(any, null, signal)),
        span = resolve(sel.range, now, stored);
    const none: Answer = {
        span,
        stored,
        services: [],
        types: [],
        selector: sel.selector,
        unit: '',
        counts: null,
        observations: 0,
        session: null,
        timed: false,
        failed: '',
        withoutBase: false,
    };
    if (!span) return { ...none, stored: stored ?? (await everything()) };
    const [series, services] = await Promise.all([
        seriesOf(any, span, signal),
        labelValues(SERVICE, EVERY, span, signal),
    ]);
    const { types, found } = chooseType(sel.selector, series);
    if (!found) return { ...none, services, types, stored: stored ?? (await everything()) };
    const chosen = { ...sel.selector, type: label(found) },
        by = valueOf(chosen, SERVICE) === null ? SERVICE : '';
    const counts = await countsOf(chosen, span, by, signal),
        n = observations(counts),
        timed = withTime && n <= MOST_OBSERVATIONS,
        base = await baseOf(sel, chosen, span, now, signal);
    const chart = { ...none, services, types, selector: chosen, unit: found.unit, counts, observations: n };
    const source = fromExport(
        bytesOf(chosen, span, !timed, signal),
        nameOf(chosen),
        base && { get: bytesOf(base.selector, base.span, true, signal), name: base.name },
    );
    let loaded: Loaded;
    try {
        loaded = (await source.load())!;
    } catch (e) {
        if (signal.aborted || e instanceof NeedsToken) throw e;
        return { ...chart, failed: (e as Error).message }; // with the chart one can choose less
    }
    const main = only(loaded.profile, label(found)),
        other = loaded.base && only(loaded.base, label(found)),
        hasBase = other !== null && other.profiles.length > 0;
    return {
        ...chart,
        stored: main.profiles.length ? stored : (stored ?? (await everything())),
        session: main.profiles.length ? new Session(main, hasBase ? other : null) : null,
        timed,
        withoutBase: sel.against !== null && !hasBase,
    };
}
