// The query for the samples of a trace or a span.
import { getColumns } from './client';
import { Column, exactOf } from './columns';
import type { Span } from './range';
import { Ids } from './selection';

export interface SpanRow {
    trace: string;
    span: string;
    type: string;
    unit: string;
    service: string;
    thread: string;
    sum: number;
    samples: number;
    start: bigint; // of the time that its observations stand for, Unix ns; 0: its samples have no timestamps
    end: bigint;
}

export interface SpansAnswer {
    rows: SpanRow[]; // most samples first
    all: number;
    partial: boolean;
    why: string;
}

interface Raw {
    types: { type: string; unit: string }[];
    resources: Record<string, unknown>[];
    threads: { name: string[]; thread_id: Column; resource: Column };
    spans: {
        trace_id: string[];
        span_id: string[];
        type: Column;
        thread: Column;
        sum: Column;
        samples: Column;
        start: Column;
        end: Column;
    };
    all: number;
    partial: boolean;
    why?: string;
}

const MOST = 1000;

export async function spansOf(ids: Ids, signal?: AbortSignal): Promise<SpansAnswer> {
    const a = await getColumns<Raw>('spans', { trace_id: ids.trace, span_id: ids.span, limit: MOST }, signal),
        { spans: s, threads: t } = a,
        start = exactOf(s.start),
        end = exactOf(s.end);
    const threadName = (i: number) => {
        const id = t.thread_id[i];
        return t.name[i] || (id >= 0 ? `thread ${id}` : '');
    };
    return {
        rows: s.trace_id.map((trace, i) => {
            const thread = s.thread[i],
                resource = a.resources[t.resource[thread]] ?? {};
            return {
                trace,
                span: s.span_id[i],
                ...a.types[s.type[i]],
                service: String(resource['service.name'] ?? ''),
                thread: threadName(thread),
                sum: s.sum[i],
                samples: s.samples[i],
                start: start[i],
                end: end[i],
            };
        }),
        all: a.all,
        partial: a.partial,
        why: a.why ?? '',
    };
}

/** Start and end of the observations of these rows, Unix ns, as in the list of traces; null: they have no timestamps. */
export function spanExtent(rows: SpanRow[]): [bigint, bigint] | null {
    let of: [bigint, bigint] | null = null;
    for (const { start, end } of rows) {
        if (!start) continue;
        of = of ? [start < of[0] ? start : of[0], end > of[1] ? end : of[1]] : [start, end];
    }
    return of;
}

/** The range in whole ms that contains an extent: ends of ranges are exclusive. */
export const aroundExtent = ([a, b]: [bigint, bigint]): Span => [Number(a / 1000000n), Number(b / 1000000n) + 1];
