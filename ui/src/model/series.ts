// The lines of a chart over time: rates or levels (rate.ts) of the largest rows, with gaps, and with an edge after which data has not
// arrived yet.
import { Rate } from './rate';

export interface CountsRow {
    label: string;
    split?: string;
    sum: number[];
    count: number[];
    /** Levels: how many series the sum contains; 0: a gap. */
    series?: number[];
    /** Unix ns: later data of this row has not arrived yet. */
    complete: number;
}

/** The response of the endpoint counts. */
export interface Counts {
    start: number; // Unix ns
    end: number;
    step: number;
    levels: boolean;
    rows: CountsRow[];
    partial?: boolean; // the server reached a budget
    why?: string; // which budget
}

export interface Line {
    label: string;
    values: (number | null)[]; // by step; null: a gap
    others: number; // number of rows that the line combines; 0: it is one row
}

export interface Lines {
    time: number[]; // Unix ns: the beginnings of the steps, and the end of the last one
    lines: Line[]; // the largest first
    edge: number | null; // Unix ns: what follows is not complete; null: everything has arrived
}

/** Part of a step that must have arrived for its rate to be known. */
const ENOUGH = 0.5;

/** The values of a row. In steps whose data has not arrived, a rate keeps its last value: a fall to 0 would be wrong. */
function valuesOf(c: Counts, r: CountsRow, rate: Rate): (number | null)[] {
    const out: (number | null)[] = [];
    for (let i = 0; i < r.sum.length; i++) {
        const from = c.start + i * c.step,
            length = Math.min(c.step, c.end - from),
            arrived = Math.min(r.complete - from, length);
        if (rate.level) out.push(r.series && !r.series[i] ? null : r.sum[i]);
        else if (arrived >= length * ENOUGH || !i) out.push(rate.of(r.sum[i], arrived > 0 ? arrived : length));
        else out.push(out[i - 1]);
    }
    return out;
}

const add = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : a + b);
const sizeOf = (l: Line): number => l.values.reduce<number>((t, v) => t + Math.abs(v ?? 0), 0);

/** Returns at most `most` lines: the largest rows, and one for all others. */
export function linesOf(c: Counts, rate: Rate, most: number): Lines {
    const all = c.rows
            .map((r): Line => ({ label: r.label, values: valuesOf(c, r, rate), others: 0 }))
            .sort((a, b) => sizeOf(b) - sizeOf(a) || (a.label < b.label ? -1 : 1)),
        n = c.rows[0]?.sum.length ?? 0;
    const lines = all.length > most ? all.slice(0, most - 1) : all,
        rest = all.slice(lines.length);
    if (rest.length)
        lines.push({
            label: `${rest.length} others`,
            values: rest[0].values.map((_, i) => rest.reduce<number | null>((t, l) => add(t, l.values[i]), null)),
            others: rest.length,
        });
    const time = Array.from({ length: n }, (_, i) => c.start + i * c.step),
        complete = Math.min(...c.rows.map((r) => r.complete));
    if (n) time.push(Math.min(c.start + n * c.step, c.end));
    return { time, lines, edge: !rate.level && complete < c.end ? Math.max(complete, c.start) : null };
}

/** Returns the step of a time; -1: before the first one. */
export function stepAt(l: Lines, ns: number): number {
    let i = l.time.length - 2;
    while (i >= 0 && l.time[i] > ns) i--;
    return i;
}

/** The sum of all lines in a step; null: all of them have a gap. */
export const sumAt = (lines: Line[], i: number): number | null =>
    lines.reduce<number | null>((t, l) => add(t, l.values[i]), null);

/** Puts the lines on top of each other, the largest at the bottom. */
export function stacked(lines: Line[]): (number | null)[][] {
    const below: (number | null)[] = (lines[0]?.values ?? []).map(() => null);
    return lines.map((l) => l.values.map((v, i) => (below[i] = add(below[i], v))));
}
