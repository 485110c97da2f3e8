// The query for threads over time: single observations while there are few, sums by step of time when there are many.
import { Lane, Lanes } from '../model/lanes';
import { timeScale } from '../model/units';
import { getColumns } from './client';
import { Column } from './columns';
import { countsOf, where } from './queries';
import { Span } from './range';
import { Selector } from './selector';

/** With more observations than this, boxes overlap on any screen. */
export const MOST_EVENTS = 60_000;

interface Raw {
    end: number;
    lanes: { name: string[]; thread_id: Column; first: Column; n: Column; sum: Column };
    states: string[];
    frames: { label: string[] };
    events: { time: Column; duration: Column; value: Column; state: Column; frame: Column };
    partial: boolean;
    why?: string;
}

const most = (a: Lane, b: Lane) => b.n - a.n || (a.name < b.name ? -1 : 1);

async function oneByOne(s: Selector, span: Span, unit: string, signal: AbortSignal): Promise<Lanes> {
    const a = await getColumns<Raw>('lanes', where(s, span), signal),
        { lanes: l, events: e } = a,
        base = BigInt(Math.round(span[0] * 1e3)) * 1000n,
        behind = Number(a.startNs - base), // the response starts with the first observation
        scale = timeScale(unit);
    const lanes = Array.from(l.name, (thread, i): Lane => {
        const id = l.thread_id[i],
            from = l.first[i],
            to = from + l.n[i],
            part = (c: Column) => c.slice(from, to);
        return {
            name: thread && id >= 0 ? `${thread} (${id})` : thread || (id >= 0 ? `thread ${id}` : 'all samples'),
            thread,
            n: l.n[i],
            sum: l.sum[i],
            time: Float64Array.from(part(e.time), (t) => t + behind),
            length: Float64Array.from(part(e.duration), (d, k) => d || e.value[from + k] * scale), // a sample lasts as long as its value
            value: part(e.value),
            state: part(e.state),
            frame: part(e.frame),
        };
    });
    return {
        base,
        length: (span[1] - span[0]) * 1e6,
        step: 0,
        lanes: lanes.sort(most),
        states: a.states,
        frames: a.frames.label,
        partial: a.partial,
        why: a.why ?? '',
    };
}

async function inSteps(s: Selector, span: Span, signal: AbortSignal): Promise<Lanes> {
    const c = await countsOf(s, span, 'thread.name', signal);
    const lanes = c.rows.map((r): Lane => {
        const used = r.count.map((n, i) => (n ? i : -1)).filter((i) => i >= 0);
        return {
            name: r.label || 'all samples',
            thread: r.label,
            n: r.count.reduce((a, b) => a + b, 0),
            sum: r.sum.reduce((a, b) => a + b, 0),
            time: used.map((i) => i * c.step),
            length: used.map(() => c.step),
            value: used.map((i) => r.sum[i]),
            state: null,
            frame: null,
        };
    });
    return {
        base: BigInt(Math.round(c.start / 1e3)) * 1000n,
        length: (span[1] - span[0]) * 1e6,
        step: c.step,
        lanes: lanes.sort(most),
        states: [],
        frames: [],
        partial: !!c.partial,
        why: c.why ?? '',
    };
}

export const lanesOver = (
    s: Selector,
    span: Span,
    of: { unit: string; observations: number },
    signal: AbortSignal,
): Promise<Lanes> => (of.observations <= MOST_EVENTS ? oneByOne(s, span, of.unit, signal) : inSteps(s, span, signal));
