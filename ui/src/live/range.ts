// Times as people write them: now, now-15m, 2025-11-03 09:14:05 (UTC unless a zone is given), Unix seconds, ms, µs or ns.

export interface Range {
    from: string;
    to: string; // both empty: all stored data
}
export type Span = [number, number]; // Unix ms, precise to a microsecond

const UNITS: Record<string, number> = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3, w: 7 * 86400e3 };

export const QUICK: [string, string][] = [
    ['5m', '5 min'],
    ['15m', '15 min'],
    ['1h', '1 h'],
    ['6h', '6 h'],
    ['24h', '24 h'],
    ['7d', '7 days'],
];

export const lastOf = (length: string): Range => ({ from: `now-${length}`, to: 'now' });
export const EVERYTHING: Range = { from: '', to: '' };

/** Parses a time to Unix ms; null: not a time. */
export function readTime(text: string, now: number): number | null {
    const t = text.trim(),
        relative = /^now(?:-(\d+(?:\.\d+)?)(s|m|h|d|w))?$/.exec(t);
    if (relative) return now - (relative[1] ? Number(relative[1]) * UNITS[relative[2]] : 0);
    if (/^\d{9,11}(\.\d+)?$/.test(t)) return Number(t) * 1e3;
    if (/^\d{12,14}$/.test(t)) return Number(t);
    if (/^\d{15,20}$/.test(t)) return micro(Number(t) / (t.length < 18 ? 1e3 : 1e6));
    const date = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?\s*(Z|UTC|[+-]\d\d:?\d\d)?$/i.exec(t);
    if (!date) return null;
    const zone = !date[3] || /utc|z/i.test(date[3]) ? 'Z' : date[3],
        [clock, fraction] = (date[2] ?? '00:00').split('.'),
        at = Date.parse(`${date[1]}T${clock}${zone}`);
    return Number.isNaN(at) ? null : micro(at + Number(`0.${fraction ?? 0}`) * 1e3);
}

const micro = (ms: number): number => Math.round(ms * 1e3) / 1e3;

/** Formats a time with as many decimals as needed: none, three or six. */
export function writeTime(ms: number): string {
    const us = Math.round(ms * 1e3),
        rest = us - Math.floor(us / 1e3) * 1e3;
    const iso = new Date(Math.floor(us / 1e3)).toISOString();
    return rest ? iso.replace('Z', `${String(rest).padStart(3, '0')}Z`) : iso.replace('.000Z', 'Z');
}
export const absolute = ([a, b]: Span): Range => ({ from: writeTime(a), to: writeTime(b) });

/** Resolves a range. null: an end is not a time, the range ends before it starts, or nothing is stored. */
export function resolve(r: Range, now: number, stored: Span | null): Span | null {
    const a = r.from ? readTime(r.from, now) : (stored?.[0] ?? null),
        b = r.to ? readTime(r.to, now) : r.from ? now : (stored?.[1] ?? null);
    return a === null || b === null || a >= b ? null : [a, b];
}

/** True if the range moves with the clock. */
export const moves = (r: Range): boolean => r.to.startsWith('now') || r.from.startsWith('now');

/** Widens the span around its middle to at least this length. */
export const atLeast = ([a, b]: Span, ms: number): Span => {
    const more = Math.max(Math.ceil((ms - (b - a)) / 2), 0);
    return [Math.max(a - more, 0), b + more];
};

/** Returns a span that contains both, with a margin. */
export function hull(p: Span, q: Span): Span {
    const a = Math.min(p[0], q[0]),
        b = Math.max(p[1], q[1]),
        air = Math.ceil((b - a) * 0.03);
    return [a - air, b + air];
}

export const shifted = ([a, b]: Span, by: number): Span => [a + by, b + by];

const clock = (ms: number) => new Date(ms).toISOString().slice(11, 19),
    day = (ms: number) => new Date(ms).toISOString().slice(0, 10);

export function spanText([a, b]: Span): string {
    const exact = (ms: number) =>
        b - a >= 10e3
            ? clock(ms)
            : b - a >= 10
              ? new Date(ms).toISOString().slice(11, 23)
              : writeTime(ms).slice(11, -1);
    return day(a) === day(b) ? `${day(a)} ${exact(a)} – ${exact(b)}` : `${day(a)} ${clock(a)} – ${day(b)} ${clock(b)}`;
}

export function rangeText(r: Range, span: Span | null): string {
    const quick = r.to === 'now' ? QUICK.find(([q]) => r.from === `now-${q}`) : undefined;
    if (quick) return `Last ${quick[1]}`;
    const last = r.to === 'now' && /^now-([\d.]+)([smhdw])$/.exec(r.from);
    if (last) return `Last ${last[1]} ${{ s: 's', m: 'min', h: 'h', d: 'days', w: 'weeks' }[last[2]]}`;
    if (!r.from && !r.to) return 'All stored profiles';
    return span ? spanText(span) : `${r.from} – ${r.to}`;
}

/** Returns a range as ns after a time. */
export const after = (s: Span, base: bigint): [number, number] =>
    s.map((ms) => Number(BigInt(Math.round(ms * 1e3)) * 1000n - base)) as [number, number];
