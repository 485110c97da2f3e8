// What a live page shows, and how its address carries it. What the viewer shows of it is in the fragment (state.ts).
import { EVERYTHING, Range, Span, absolute, lastOf, readTime, shifted } from './range';
import { Selector, readSelector, writeSelector } from './selector';

export type Page = 'explore' | 'profiles' | 'trace' | 'health';
const PAGES: Page[] = ['explore', 'profiles', 'trace', 'health'];

/** What to compare with: the same selection at another time, or a selection that was kept. */
export type Against = { shift: 'before' | '1d' | '7d' } | { query: string; range: Range };

/** A trace, a span, or a span of a trace; empty: any. */
export interface Ids {
    trace: string; // 32 hex digits
    span: string; // 16
}
export const NO_IDS: Ids = { trace: '', span: '' };

/** Ids as other tools write them: 32 or 16 hex digits, with or without dashes, or a traceparent. null: none of these. */
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

/** A link that another tool made: /#trace=ID, /#span=ID or /#traceparent=..., the same behind a question mark. */
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
    refresh: number; // s; 0: not by itself
    ids: Ids; // of the page for a trace
}

export const REFRESH = [0, 5, 15, 60];
const USUAL = lastOf('1h');

export function readAddress(search: string): Selection {
    const q = new URLSearchParams(search),
        page = q.get('page') as Page,
        against = q.get('against');
    const range = (from: string, to: string, or: Range): Range =>
        q.has(from) || q.has(to) ? { from: q.get(from) ?? '', to: q.get(to) ?? '' } : or;
    return {
        page: PAGES.includes(page) ? page : 'explore',
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
    };
}

/** What is wrong with an address, of which the rest is shown all the same; empty: nothing. */
export function brokenAddress(search: string, hash: string): string {
    const q = new URLSearchParams(search),
        linked = new URLSearchParams(hash.replace(/^#\/?\??/, '')),
        wrong: string[] = [];
    const query = q.get('query') ?? '';
    if (!readSelector(query)) wrong.push(`query=${query} is no selector, such as cpu{service.name="checkout"}`);
    for (const key of ['from', 'to']) {
        const text = q.get(key);
        if (text && readTime(text, 0) === null) wrong.push(`${key}=${text} is no time`);
    }
    for (const key of ID_KEYS) {
        const text = linked.get(key) ?? q.get(key);
        if (text && !readIds(text)) wrong.push(`${key}=${text} is no id: 32 hexadecimal digits are a trace, 16 a span`);
    }
    return wrong.length ? `The address has mistakes, and not all that it means is shown: ${wrong.join('; ')}.` : '';
}

export function writeAddress(s: Selection): string {
    const q = new URLSearchParams(),
        query = writeSelector(s.selector);
    if (s.page !== 'explore') q.set('page', s.page);
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
    if (s.refresh) q.set('refresh', String(s.refresh));
    const text = q.toString();
    return text && `?${text}`;
}

const DAY = 86400e3;

export function spanBefore(span: Span, shift: 'before' | '1d' | '7d'): Span {
    return shifted(span, shift === 'before' ? span[0] - span[1] : shift === '1d' ? -DAY : -7 * DAY);
}

/** Two parts of one span: its first half is what the second one is compared with. */
export function halves([a, b]: Span): { range: Range; against: Range } {
    const mid = Math.round((a + b) / 2);
    return { range: absolute([mid, b]), against: absolute([a, mid]) };
}

export const SHIFTS: [string, string][] = [
    ['before', 'the time before'],
    ['1d', 'a day earlier'],
    ['7d', 'a week earlier'],
];
