// The selection of the live page, and how the page address stores it. The fragment (state.ts) stores the state of the viewer.
import { EVERYTHING, Range, Span, absolute, lastOf, readTime, shifted } from './range';
import { Selector, readSelector, writeSelector } from './selector';
import { TraceChoice, readTraces, writeTraces } from './traces';

export type Page = 'services' | 'explore' | 'profiles' | 'trace' | 'health';
const PAGES: Page[] = ['services', 'explore', 'profiles', 'trace', 'health'];

/** The other side of a comparison: the same selection at another time, or another selection. */
export type Against = { shift: 'before' | '1d' | '7d' } | { query: string; range: Range };

/** A trace, a span, or a span of a trace; empty: any. */
export interface Ids {
    trace: string; // 32 hex digits, or empty
    span: string; // 16
}
export const NO_IDS: Ids = { trace: '', span: '' };

export const idsText = (i: Ids): string =>
    [i.trace && `trace ${i.trace}`, i.span && `span ${i.span}`].filter(Boolean).join(', ');

/** Reads ids as other tools write them: 32 or 16 hex digits, with or without dashes, or a traceparent. null: not an
 *  id. */
export function readIds(text: string): Ids | null {
    const t = text.trim().toLowerCase(),
        parent = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(t);
    if (parent) return { trace: parent[1], span: parent[2] };
    const id = t.replace(/^0x/, '').replaceAll('-', '');
    return /^[0-9a-f]{32}$/.test(id)
        ? { trace: id, span: '' }
        : /^[0-9a-f]{16}$/.test(id)
          ? { trace: '', span: id }
          : null;
}

const TRACE_KEYS = ['trace', 'trace_id', 'traceID', 'traceId', 'traceparent'],
    SPAN_KEYS = ['span', 'span_id', 'spanID', 'spanId'],
    ID_KEYS = [...TRACE_KEYS, ...SPAN_KEYS];

/** Links that other tools create: /#trace=ID, /#span=ID or /#traceparent=..., or the same in the query string. */
export function linkedIds(search: string, hash: string): Ids | null {
    for (const text of [hash.replace(/^#\/?\??/, ''), search]) {
        const q = new URLSearchParams(text),
            get = (...keys: string[]) => keys.map((k) => readIds(q.get(k) ?? '')).find(Boolean) ?? null;
        const trace = get(...TRACE_KEYS),
            span = get(...SPAN_KEYS);
        if (trace || span) return { trace: trace?.trace ?? '', span: span?.span || trace?.span || '' };
    }
    return null;
}

export interface Selection {
    page: Page;
    selector: Selector;
    range: Range;
    against: Against | null;
    refresh: number; // s; 0: no automatic refresh
    ids: Ids; // for the page of a trace
    by: string | null; // the label that the chart is stacked by; empty: none, null: the default
    traces?: TraceChoice; // for the list of traces
}

export const REFRESH = [0, 5, 15, 60];
const USUAL = lastOf('1h');

/** The page of an address that names none: the services, or the samples of the selection that it describes. */
const unnamed = (q: URLSearchParams): Page =>
    ['query', 'from', 'to', 'range', 'against', 'by', 'refresh'].some((key) => q.has(key)) ? 'explore' : 'services';

export function readAddress(search: string): Selection {
    const q = new URLSearchParams(search),
        page = q.get('page') as Page,
        traces = readTraces(q),
        against = q.get('against');
    const range = (from: string, to: string, or: Range): Range =>
        q.has(from) || q.has(to) ? { from: q.get(from) ?? '', to: q.get(to) ?? '' } : or;
    return {
        page: PAGES.includes(page) ? page : unnamed(q),
        selector: readSelector(q.get('query') ?? '') ?? { type: '', matchers: [] },
        range: q.get('range') === 'all' ? EVERYTHING : range('from', 'to', USUAL),
        against:
            against === 'before' || against === '1d' || against === '7d'
                ? { shift: against }
                : against === 'kept'
                  ? { query: q.get('base') ?? '', range: range('base_from', 'base_to', EVERYTHING) }
                  : null,
        refresh: REFRESH.find((r) => String(r) === q.get('refresh')) ?? 0,
        ids: (page === 'trace' && linkedIds(search, '')) || NO_IDS,
        by: q.get('by'),
        ...(traces && { traces }),
    };
}

/** Describes mistakes in an address; empty: none. The valid parts are shown in any case. */
export function brokenAddress(search: string, hash: string): string {
    const q = new URLSearchParams(search),
        linked = new URLSearchParams(hash.replace(/^#\/?\??/, '')),
        wrong: string[] = [];
    const query = q.get('query') ?? '';
    if (!readSelector(query)) wrong.push(`query=${query} is not a selector such as cpu{service.name="checkout"}`);
    for (const key of ['from', 'to']) {
        const text = q.get(key);
        if (text && readTime(text, 0) === null) wrong.push(`${key}=${text} is not a time`);
    }
    for (const key of ID_KEYS) {
        const text = linked.get(key) ?? q.get(key);
        if (text && !readIds(text))
            wrong.push(`${key}=${text} is not an id: a trace has 32 hexadecimal digits, a span 16`);
    }
    return wrong.length ? `The address has mistakes, which are ignored: ${wrong.join('; ')}.` : '';
}

export function writeAddress(s: Selection): string {
    const q = new URLSearchParams(),
        query = writeSelector(s.selector);
    if (s.page !== 'explore' && s.page !== 'services') q.set('page', s.page);
    if (s.page === 'trace' && s.ids.trace) q.set('trace', s.ids.trace);
    if (s.page === 'trace' && s.ids.span) q.set('span', s.ids.span);
    if (query) q.set('query', query);
    if (!s.range.from && !s.range.to) q.set('range', 'all');
    else if (s.range.from !== USUAL.from || s.range.to !== USUAL.to) {
        q.set('from', s.range.from);
        q.set('to', s.range.to);
    }
    if (s.against && 'shift' in s.against) q.set('against', s.against.shift);
    else if (s.against) {
        q.set('against', 'kept');
        q.set('base', s.against.query);
        if (s.against.range.from || s.against.range.to) {
            q.set('base_from', s.against.range.from);
            q.set('base_to', s.against.range.to);
        }
    }
    if (s.by !== null) q.set('by', s.by);
    if (s.traces) writeTraces(q, s.traces);
    if (s.refresh) q.set('refresh', String(s.refresh));
    if ((s.page === 'explore' || s.page === 'services') && unnamed(q) !== s.page) q.set('page', s.page);
    const text = q.toString();
    return text && `?${text}`;
}

const DAY = 86400e3;

export function spanBefore(span: Span, shift: 'before' | '1d' | '7d'): Span {
    return shifted(span, shift === 'before' ? span[0] - span[1] : shift === '1d' ? -DAY : -7 * DAY);
}

/** The second half of a span, compared with the first half. */
export function halves([a, b]: Span): { range: Range; against: Range } {
    const mid = Math.round((a + b) / 2);
    return { range: absolute([mid, b]), against: absolute([a, mid]) };
}

export const SHIFTS: [string, string][] = [
    ['before', 'the time before'],
    ['1d', 'a day earlier'],
    ['7d', 'a week earlier'],
];
