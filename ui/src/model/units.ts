// Formats numbers for people.

const TIME: [string, number][] = [
    ['nanoseconds', 1],
    ['ns', 1],
    ['microseconds', 1e3],
    ['us', 1e3],
    ['milliseconds', 1e6],
    ['ms', 1e6],
    ['seconds', 1e9],
    ['s', 1e9],
    ['minutes', 60e9],
    ['hours', 3600e9],
];
const BYTES: [string, number][] = [
    ['bytes', 1],
    ['By', 1],
    ['byte', 1],
    ['kilobytes', 1024],
    ['KiBy', 1024],
    ['megabytes', 1024 ** 2],
    ['MiBy', 1024 ** 2],
];

const scaleIn = (list: [string, number][], unit: string): number => list.find(([u]) => u === unit)?.[1] ?? 0;

/** ns per unit of time; 0: not a unit of time. */
export const timeScale = (unit: string): number => scaleIn(TIME, unit);
/** Bytes per unit of size; 0: not a unit of size. */
export const byteScale = (unit: string): number => scaleIn(BYTES, unit);

const DECIMAL = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** Steps of an axis that withUnit prints as round numbers; null: any decimal step. */
export function roundSteps(unit: string): number[] | null {
    const b = byteScale(unit),
        t = timeScale(unit);
    if (b) return Array.from({ length: 6 }, (_, k) => DECIMAL.map((d) => (d * 1024 ** k) / b)).flat();
    if (!t) return null;
    const below = [1, 1e3, 1e6].flatMap((k) => DECIMAL.map((d) => d * k)),
        above = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600].map((s) => s * 1e9),
        hours = Array.from({ length: 5 }, (_, k) => [1, 2, 5].map((d) => d * 10 ** k * 3600e9)).flat();
    return [...new Set([...below, ...above, ...hours])].map((ns) => ns / t);
}

/** Formats three significant digits. */
export const three = (v: number): string => {
    const a = Math.abs(v);
    return a >= 100 ? v.toFixed(0) : a >= 10 ? v.toFixed(1).replace(/\.0$/, '') : v.toFixed(2).replace(/\.?0+$/, '');
};

/** A number that would be printed as 1000 gets the next unit. src/draw/human.c has the same rule, and both are tested with
 *  tests/support/human_cases.txt. */
const ROUNDS_UP = 999.5;

/** Formats 125 s as "2 min 5 s". */
function both(n: number, per: number, large: string, small: string): string {
    const rest = Math.abs(n % per);
    return `${Math.trunc(n / per)} ${large}${rest ? ` ${rest} ${small}` : ''}`;
}

/** `minutes`: times from here on are written in minutes and seconds. */
export function duration(ns: number, minutes = 120e9): string {
    const a = Math.abs(ns);
    if (a < ROUNDS_UP) return `${three(ns)} ns`;
    if (a < ROUNDS_UP * 1e3) return `${three(ns / 1e3)} µs`;
    if (a < ROUNDS_UP * 1e6) return `${three(ns / 1e6)} ms`;
    if (a < minutes) return `${three(ns / 1e9)} s`;
    if (a < 7199.5e9) return both(Math.round(ns / 1e9), 60, 'min', 's');
    return both(Math.round(ns / 60e9), 60, 'h', 'min');
}

export function bytes(n: number): string {
    const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
    let i = 0,
        v = n;
    while (Math.abs(v) >= ROUNDS_UP && i < names.length - 1) ((v /= 1024), i++);
    return `${three(v)} ${names[i]}`;
}

export function count(n: number): string {
    if (!Number.isInteger(n)) return three(n);
    return n.toString().replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

/** Formats a number of things: "1 sample", "2 samples". */
export const counted = (n: number, one: string): string => `${count(n)} ${one}${n === 1 ? '' : 's'}`;

const COUNTS = new Set(['', '1', 'count', 'none', '{count}']);

/** Formats a value with its unit: times and bytes are scaled, counts grouped. */
export function withUnit(v: number, unit: string): string {
    if (v < 0) return `−${withUnit(-v, unit)}`;
    if (v === 0) return '0';
    const t = timeScale(unit);
    if (t) return duration(v * t);
    const b = byteScale(unit);
    if (b) return bytes(v * b);
    return COUNTS.has(unit) ? count(v) : `${count(v)} ${unit}`;
}

export function percent(part: number, whole: number): string {
    if (!whole) return '–';
    const p = (part / whole) * 100,
        a = Math.abs(p);
    return a >= 99.95 || a === 0
        ? `${p.toFixed(0)}%`
        : a >= 10
          ? `${p.toFixed(1)}%`
          : a >= 0.01
            ? `${p.toFixed(2)}%`
            : '<0.01%';
}

export function signedPercent(part: number, whole: number): string {
    const s = percent(part, whole);
    return part > 0 ? `+${s}` : s.replace('-', '−');
}

/** Unix ns, in 1990. Times before it come from a clock that does not count from 1970. */
export const DATED = 631152000n * 1000000000n;

/** Formats a Unix time in ns as UTC date and time, optionally with milliseconds; '' for a clock that does not count
 *  from 1970. */
export function utc(ns: bigint, exact = false): string {
    if (ns <= DATED) return '';
    const iso = new Date(Number(ns / 1000000n)).toISOString().replace('T', ' ');
    return exact ? iso.replace('Z', ' UTC') : iso.replace(/\.\d+Z$/, ' UTC');
}

/** Formats a part of the time, in ns after `base`: dates, or times since the start when the clock has no date. */
export function partText(base: bigint, [a, b]: [number, number]): string {
    const text = (t: number) => utc(base + BigInt(Math.round(t)), b - a < 10e9),
        [from, to] = [text(a), text(b)];
    if (!from) return `${duration(a)} – ${duration(b)}`;
    return `${from.replace(' UTC', '')} – ${from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to}`;
}
