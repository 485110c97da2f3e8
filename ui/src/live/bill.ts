// The bill of a trace or span: what the wall-clock time of its spans was spent on (docs/query-api.md#bill).
import { Params, getColumns } from './client';
import { Column } from './columns';
import { Ids } from './selection';
import { RUNNABLE } from '../model/lanes';
import { Matcher, Selector } from './selector';

export type Kind = 'on_cpu' | 'blocked' | 'runnable' | 'other_span' | 'unaccounted';

export interface Reason {
    kind: Kind;
    state: string; // of blocked: the attributes of the samples
    detail: string;
    syscall: string;
}

export interface Part {
    reason: Reason;
    sum: number; // ns
    observations: number;
}

/** A span on one thread. Its parts add up to `wall`. */
export interface BilledSpan {
    trace: string;
    span: string;
    service: string;
    thread: string;
    threadId: number; // -1: not known
    first: number; // Unix ns
    last: number;
    wall: number;
    parts: Part[];
}

export interface Bill {
    spans: BilledSpan[]; // longest first
    all: number;
    period: number; // ns: how precisely the ends of a span are known
    offCpu: boolean; // waits were recorded
    partial: boolean;
    why: string;
}

interface Raw {
    period: number;
    off_cpu: boolean;
    resources: Record<string, unknown>[];
    threads: { name: string[]; thread_id: Column; resource: Column };
    spans: { trace_id: string[]; span_id: string[]; thread: Column; first: Column; last: Column; wall: Column };
    reasons: Reason[];
    parts: { span: Column; reason: Column; sum: Column; observations: Column };
    all: number;
    partial: boolean;
    why?: string;
}

export async function billOf(ids: Ids, signal?: AbortSignal): Promise<Bill> {
    const of: Params = { trace_id: ids.trace, span_id: ids.span },
        a = await getColumns<Raw>('bill', of, signal),
        { spans: s, threads: t, parts: p } = a;
    const spans = s.trace_id.map((trace, i): BilledSpan => {
        const thread = s.thread[i],
            id = t.thread_id[thread];
        return {
            trace,
            span: s.span_id[i],
            service: String(a.resources[t.resource[thread]]?.['service.name'] ?? ''),
            thread: t.name[thread] || (id >= 0 ? `thread ${id}` : ''),
            threadId: id,
            first: s.first[i],
            last: s.last[i],
            wall: s.wall[i],
            parts: [],
        };
    });
    for (let i = 0; i < p.span.length; i++)
        spans[p.span[i]].parts.push({ reason: a.reasons[p.reason[i]], sum: p.sum[i], observations: p.observations[i] });
    return { spans, all: a.all, period: a.period, offCpu: a.off_cpu, partial: a.partial, why: a.why ?? '' };
}

const ORDER: Kind[] = ['on_cpu', 'blocked', 'runnable', 'other_span', 'unaccounted'];

/** Adds up the parts of several spans, in the order of kinds, then of sums. The time in other spans is part of a
 *  single span only: several spans contain each other. */
export function totalOf(spans: BilledSpan[]): Part[] {
    const sums = new Map<string, Part>();
    for (const { parts } of spans)
        for (const p of parts) {
            if (spans.length > 1 && p.reason.kind === 'other_span') continue;
            const key = JSON.stringify(p.reason),
                old = sums.get(key) ?? { reason: p.reason, sum: 0, observations: 0 };
            sums.set(key, { ...old, sum: old.sum + p.sum, observations: old.observations + p.observations });
        }
    return [...sums.values()].sort(
        (a, b) => ORDER.indexOf(a.reason.kind) - ORDER.indexOf(b.reason.kind) || b.sum - a.sum,
    );
}

export function nameOf(r: Reason): string {
    switch (r.kind) {
        case 'on_cpu':
            return 'on-CPU';
        case 'runnable':
            return RUNNABLE;
        case 'other_span':
            return 'in other spans, or in none';
        case 'unaccounted':
            return 'unaccounted';
        default:
            return `${(r.detail || r.state || 'blocked').toLowerCase().replace('_', ' ')} ${
                r.syscall ? `in ${r.syscall}` : 'outside system calls'
            }`;
    }
}

/** Selects the samples of a part; null: it has none. */
export function samplesOf(r: Reason, ids: Ids, threadId = -1): Selector | null {
    const is = (key: string, value: string): Matcher => ({ key, op: '=', value });
    const of = [
        ...(ids.trace ? [is('trace_id', ids.trace)] : []),
        ...(ids.span ? [is('span_id', ids.span)] : []),
        ...(threadId >= 0 ? [is('thread.id', String(threadId))] : []),
    ];
    if (r.kind === 'on_cpu') return { type: 'cpu/nanoseconds', matchers: of };
    if (r.kind === 'runnable')
        return { type: 'off_cpu/nanoseconds', matchers: [...of, is('thread.state', 'unscheduled')] };
    if (r.kind !== 'blocked') return null;
    return {
        type: 'off_cpu/nanoseconds',
        matchers: [
            ...of,
            is('thread.state', r.state),
            ...(r.detail ? [is('kiln.thread.state', r.detail)] : []),
            is('kiln.wait.syscall', r.syscall),
        ],
    };
}

/** The time from the first to the last observation, ms; null: there are none. */
export function billExtent(spans: BilledSpan[]): [number, number] | null {
    const timed = spans.filter((s) => s.last > 0);
    if (!timed.length) return null;
    return [
        Math.floor(Math.min(...timed.map((s) => s.first)) / 1e6) - 1,
        Math.ceil(Math.max(...timed.map((s) => s.last)) / 1e6) + 1,
    ];
}
