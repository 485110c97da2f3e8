// The query for the samples of a trace or a span.
import { getColumns } from './client';
import { Column } from './columns';
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
    first: number; // Unix ns; 0: its samples have no timestamps
    last: number;
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
        first: Column;
        last: Column;
    };
    all: number;
    partial: boolean;
    why?: string;
}

const MOST = 1000;

export async function spansOf(ids: Ids, signal?: AbortSignal): Promise<SpansAnswer> {
    const a = await getColumns<Raw>('spans', { trace_id: ids.trace, span_id: ids.span, limit: MOST }, signal),
        { spans: s, threads: t } = a;
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
                first: s.first[i],
                last: s.last[i],
            };
        }),
        all: a.all,
        partial: a.partial,
        why: a.why ?? '',
    };
}

/** The time range of these rows, ms; null: they have no timestamps. */
export function spanExtent(rows: SpanRow[]): [number, number] | null {
    const timed = rows.filter((r) => r.first > 0);
    if (!timed.length) return null;
    return [
        Math.floor(Math.min(...timed.map((r) => r.first)) / 1e6),
        Math.floor(Math.max(...timed.map((r) => r.last)) / 1e6) + 1,
    ];
}
