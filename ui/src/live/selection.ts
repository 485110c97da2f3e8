// What a live page shows, and how its address carries it. What the viewer shows of it is in the fragment (state.ts).
import { EVERYTHING, Range, Span, lastOf, shifted } from './range';
import { Selector, readSelector, writeSelector } from './selector';

export type Page = 'explore' | 'profiles' | 'health';
const PAGES: Page[] = ['explore', 'profiles', 'health'];

/** What to compare with: the same selection at another time, or a selection that was kept. */
export type Against = { shift: 'before' | '1d' | '7d' } | { query: string; range: Range };

export interface Selection {
    page: Page;
    selector: Selector;
    range: Range;
    against: Against | null;
    refresh: number; // s; 0: not by itself
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
    };
}

export function writeAddress(s: Selection): string {
    const q = new URLSearchParams(),
        query = writeSelector(s.selector);
    if (s.page !== 'explore') q.set('page', s.page);
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

export const SHIFTS: [string, string][] = [
    ['before', 'the time before'],
    ['1d', 'a day earlier'],
    ['7d', 'a week earlier'],
];
