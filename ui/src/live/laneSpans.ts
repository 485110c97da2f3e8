// The spans above the lanes of threads: when each thread had which span.
import { Lanes } from '../model/lanes';
import type { Value } from '../otlp/types';
import { getColumns } from './client';
import { Column } from './columns';
import { RawThreads, threadKey } from './lanes';
import { where } from './queries';
import { Span } from './range';
import { Matcher, Selector } from './selector';

export interface LaneSpan {
    trace: string;
    span: string;
    lane: number; // index
    from: number; // ns after Lanes.base
    to: number;
}

interface Raw {
    resources: Record<string, Value>[];
    threads: RawThreads;
    spans: { trace_id: string[]; span_id: string[]; thread: Column; start: Column; end: Column };
}

const MOST = 2000;

/** Spans by start; a span that contains others comes before them. Types are merged: a span lasts from its first
 *  observation to its last one. */
export async function laneSpans(s: Selector, span: Span, lanes: Lanes, signal: AbortSignal): Promise<LaneSpan[]> {
    if (lanes.step) return []; // sums do not have spans
    const linked: Matcher = { key: 'trace_id', op: '!=', value: '' },
        of = where({ type: '', matchers: [...s.matchers, linked] }, span),
        { threads, resources, spans: r } = await getColumns<Raw>('spans', { ...of, limit: MOST }, signal),
        base = Number(lanes.base),
        laneOf = new Map(lanes.lanes.map((l, i) => [l.key, i])),
        found = new Map<string, LaneSpan>();
    r.trace_id.forEach((trace, i) => {
        const lane = laneOf.get(threadKey(threads, resources, r.thread[i]));
        if (lane === undefined || !r.end[i]) return;
        const key = `${trace} ${r.span_id[i]} ${lane}`,
            from = r.start[i] - base,
            to = r.end[i] - base,
            old = found.get(key);
        found.set(key, {
            trace,
            span: r.span_id[i],
            lane,
            from: Math.min(from, old?.from ?? from),
            to: Math.max(to, old?.to ?? to),
        });
    });
    return [...found.values()].sort((a, b) => a.from - b.from || b.to - a.to);
}
