// The list of traces, and its filter in the address.
import { Params, getJson } from './client';

export const ORDERS = ['duration', 'time', 'samples'] as const;
export type Order = (typeof ORDERS)[number];

/** Which traces are listed. */
export interface TraceChoice {
    least: string; // minimum duration, such as 100ms; empty: any
    order: Order;
}
export const USUAL_TRACES: TraceChoice = { least: '', order: 'duration' };

export interface TraceRow {
    trace_id: string;
    first: number; // Unix ns; 0: no timestamps
    duration: number; // ns
    spans: number;
    samples: number;
    services: string[];
}

export interface Traces {
    traces: TraceRow[];
    all: number;
    partial: boolean;
    why?: string;
}

export const tracesOf = (of: Params, { least, order }: TraceChoice, signal?: AbortSignal): Promise<Traces> =>
    getJson<Traces>('traces', { ...of, min_duration: least, sort: order }, signal);

export const LEAST: [string, string][] = [
    ['', 'any duration'],
    ['1ms', '1 ms and longer'],
    ['10ms', '10 ms and longer'],
    ['100ms', '100 ms and longer'],
    ['1s', '1 s and longer'],
    ['10s', '10 s and longer'],
];

/** Reads the choice from an address; a value that is not in the lists counts as absent. */
export function readTraces(q: URLSearchParams): TraceChoice | null {
    const least = LEAST.find(([v]) => v && v === q.get('least'))?.[0] ?? '',
        order = ORDERS.find((o) => o === q.get('order')) ?? USUAL_TRACES.order;
    return least || order !== USUAL_TRACES.order ? { least, order } : null;
}

export function writeTraces(q: URLSearchParams, c: TraceChoice): void {
    if (c.least) q.set('least', c.least);
    if (c.order !== USUAL_TRACES.order) q.set('order', c.order);
}
