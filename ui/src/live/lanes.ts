// The query for threads over time: single observations while there are few, sums by step of time when there are many.
import { Lane, Lanes } from '../model/lanes';
import { Counts, CountsRow } from '../model/series';
import { threadTitle } from '../model/threads';
import { resourceNames } from '../model/types';
import { timeScale } from '../model/units';
import type { Value } from '../otlp/types';
import { getColumns } from './client';
import { Column } from './columns';
import { countsOf, where } from './queries';
import { Span } from './range';
import { Selector } from './selector';

/** More observations than this are not worth their transfer: the picture shows shares of the time in both cases. */
export const MOST_EVENTS = 60_000;

interface Raw {
    end: number;
    resources: Record<string, Value>[];
    lanes: RawThreads & { first: Column; n: Column; sum: Column };
    states: string[];
    frames: { label: string[] };
    events: { time: Column; duration: Column; value: Column; state: Column; frame: Column };
    partial: boolean;
    why?: string;
}

/** Threads and their resources, as columns. */
export interface RawThreads {
    name: string[];
    thread_id: Column;
    resource: Column;
}

/** Returns the names of threads, which are those of the flame chart. */
export function threadTitles(t: RawThreads, resources: Record<string, Value>[]): string[] {
    const of = resourceNames(
        resources.map((r) => ({ attributes: Object.entries(r).map(([key, value]) => ({ key, value })) })),
    );
    return t.name.map((name, i) => threadTitle(name, t.thread_id[i] >= 0 ? `${t.thread_id[i]}` : '', of[t.resource[i]]));
}

/** Identifies a thread in responses with different lists of resources, in which titles may differ. */
export const threadKey = (t: RawThreads, resources: Record<string, Value>[], i: number): string =>
    JSON.stringify([t.name[i], t.thread_id[i], resources[t.resource[i]]]);

const most = (a: Lane, b: Lane) => b.n - a.n || (a.name < b.name ? -1 : 1);

async function oneByOne(s: Selector, span: Span, unit: string, signal: AbortSignal): Promise<Lanes> {
    const a = await getColumns<Raw>('lanes', where(s, span), signal),
        { lanes: l, events: e } = a,
        base = BigInt(Math.round(span[0] * 1e3)) * 1000n,
        behind = Number(a.startNs - base), // the response starts with the first observation
        scale = timeScale(unit),
        names = threadTitles(l, a.resources);
    const lanes = Array.from(l.name, (thread, i): Lane => {
        const from = l.first[i],
            to = from + l.n[i],
            part = (c: Column) => c.slice(from, to);
        return {
            name: names[i],
            key: threadKey(l, a.resources, i),
            thread,
            n: l.n[i],
            sum: l.sum[i],
            time: Float64Array.from(part(e.time), (t) => t + behind),
            length: Float64Array.from(part(e.duration), (d, k) => d || e.value[from + k] * scale), // a sample lasts as long as its value
            value: part(e.value),
            state: part(e.state),
            shares: null,
            frame: part(e.frame),
        };
    });
    return {
        base,
        length: (span[1] - span[0]) * 1e6,
        step: 0,
        scale,
        lanes: lanes.sort(most),
        states: a.states,
        frames: a.frames.label,
        partial: a.partial,
        why: a.why ?? '',
    };
}

/** Combines the rows of a thread, which differ in state. */
export function stepLanes(c: Counts, span: Span, unit: string): Lanes {
    const sizeOf = (r: CountsRow) => r.sum.reduce((a, b) => a + Math.abs(b), 0),
        sizes = new Map<string, number>(),
        threads = new Map<string, CountsRow[]>();
    for (const r of c.rows) {
        const state = r.split ?? '';
        sizes.set(state, (sizes.get(state) ?? 0) + sizeOf(r));
        threads.set(r.label, [...(threads.get(r.label) ?? []), r]);
    }
    const states = [...sizes.keys()].sort((a, b) => sizes.get(b)! - sizes.get(a)! || (a < b ? -1 : 1)),
        known = states.some(Boolean);
    const lanes = [...threads].map(([label, rows]): Lane => {
        const at = (f: (r: CountsRow) => number[], i: number) => rows.reduce((t, r) => t + f(r)[i], 0),
            used = rows[0].count.map((_, i) => (at((r) => r.count, i) || at((r) => r.sum, i) ? i : -1)).filter((i) => i >= 0),
            value = used.map((i) => at((r) => r.sum, i));
        const ofState = (state: string) => rows.find((r) => (r.split ?? '') === state);
        return {
            name: label || 'all samples',
            key: label,
            thread: label,
            n: used.reduce((t, i) => t + at((r) => r.count, i), 0),
            sum: value.reduce((a, b) => a + b, 0),
            time: used.map((i) => i * c.step),
            length: used.map((i) => Math.min(c.step, c.end - c.start - i * c.step)),
            value,
            state: null,
            shares: known ? states.map((s) => Float64Array.from(used, (i) => ofState(s)?.sum[i] ?? 0)) : null,
            frame: null,
        };
    });
    return {
        base: BigInt(Math.round(c.start / 1e3)) * 1000n,
        length: (span[1] - span[0]) * 1e6,
        step: c.step,
        scale: timeScale(unit),
        lanes: lanes.sort(most),
        states,
        frames: [],
        partial: !!c.partial,
        why: c.why ?? '',
    };
}

const inSteps = async (s: Selector, span: Span, unit: string, signal: AbortSignal): Promise<Lanes> =>
    stepLanes(await countsOf(s, span, 'thread.name', signal, 'thread.state'), span, unit);

export const lanesOver = (
    s: Selector,
    span: Span,
    of: { unit: string; observations: number },
    signal: AbortSignal,
): Promise<Lanes> => (of.observations <= MOST_EVENTS ? oneByOne(s, span, of.unit, signal) : inSteps(s, span, of.unit, signal));
