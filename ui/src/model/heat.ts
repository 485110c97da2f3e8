// The heat map (FlameScope): each column is a second, or another step that suits the length; each row is a fiftieth of it.
import { Profile } from '../otlp/types';
import { Dataset } from '../otlp/types';
import { Filter, labelTest } from './filter';
import { Spread, isInterval } from './intervals';
import { timeScale } from './units';

export const ROWS = 50; // rows per column
const MAX_COLUMNS = 1200,
    FINE_COLUMNS = 720, // for long times: two pixels each on a wide screen
    MIN_COLUMNS = 30;

export interface Heat {
    from: number; // ns after the base, a whole number of columns
    column: number; // ns
    columns: number;
    rows: number;
    cell: Float64Array; // columns * rows, a column after the other
    most: number;
}

const STEPS = [
    1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, 1e9, 2e9, 5e9, 1e10, 3e10,
    6e10, 1.2e11, 3e11, 6e11, 3.6e12, 8.64e13,
];

/** Returns the duration of a column: a second, unless that gives too few or too many columns; then the longest step
 *  with enough columns, or the shortest visible one. */
export function columnFor(span: number): number {
    const fits = (c: number) => span / c >= MIN_COLUMNS && span / c <= MAX_COLUMNS;
    if (fits(1e9)) return 1e9;
    const longest = span < 1e9 * MIN_COLUMNS ? [...STEPS].reverse().find(fits) : undefined;
    return longest ?? STEPS.find((c) => span / c <= FINE_COLUMNS) ?? 8.64e13;
}

export function heatOf(set: Dataset, p: Profile, filter: Filter): Heat {
    const passes = labelTest(set, p, filter.labels),
        lasts = isInterval(set, p) ? timeScale(p.unit) || 1 : 0, // ns per unit of the values
        length = (k: number) => Math.max(p.timeValue[k], 0) * lasts;
    let from = Infinity,
        to = -Infinity;
    for (let i = 0; i < p.time.length; i++) {
        if (p.time[i] < from) from = p.time[i];
        if (p.time[i] + length(i) > to) to = p.time[i] + length(i);
    }
    const column = columnFor(to - from + 1),
        columns = Math.floor((to - from) / column) + 1;
    const h: Heat = { from, column, columns, rows: ROWS, cell: new Float64Array(columns * ROWS), most: 0 },
        spread = new Spread(h.cell),
        cellAt = (t: number) => ((t - from) / column) * ROWS;
    for (let i = 0; i < p.n; i++) {
        if (!passes(i)) continue;
        for (let k = p.timeOff[i]; k < p.timeOff[i + 1]; k++) {
            const at = cellAt(p.time[k]);
            if (length(k)) spread.add(at, cellAt(p.time[k] + length(k)), Math.abs(p.timeValue[k]));
            else h.cell[Math.min(Math.floor(at), h.cell.length - 1)] += Math.abs(p.timeValue[k]);
        }
    }
    spread.finish();
    for (const v of h.cell) if (v > h.most) h.most = v;
    return h;
}
