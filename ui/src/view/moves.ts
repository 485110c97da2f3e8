// Where the keys move the cursor of a picture over time. A function returns null for other keys.
import type { Place } from '../draw/chart';
import { firstEnding } from '../draw/boxes';
import type { Lanes } from '../model/lanes';

const clamp = (v: number, to: number): number => Math.min(Math.max(v, 0), to);

/** The cell of the heat map after a key. Cells count up in time, a column after the other. */
export function moveCell(cell: number, key: string, columns: number, rows: number): number | null {
    const step: Record<string, number> = {
        ArrowUp: 1,
        ArrowDown: -1,
        ArrowRight: rows,
        ArrowLeft: -rows,
        PageDown: 10 * rows,
        PageUp: -10 * rows,
        Home: -Infinity,
        End: Infinity,
    };
    const by = step[key],
        last = columns * rows - 1;
    if (by === undefined) return null;
    if (cell < 0) return key === 'End' || by < 0 ? last : 0;
    const to = cell + by;
    return Math.abs(by) === rows && (to < 0 || to > last) ? cell : clamp(to, last);
}

export interface LaneCursor {
    lane: number;
    i: number; // box
}

/** The last box of a lane that begins at or before a time; the first one if there is none. */
function boxBefore(time: ArrayLike<number>, t: number): number {
    let lo = 0,
        hi = time.length;
    while (lo < hi) {
        const mid = (lo + hi) >> 1;
        if (time[mid] <= t) lo = mid + 1;
        else hi = mid;
    }
    return Math.max(lo - 1, 0);
}

/** The box of a thread after a key. Up and down keep the time. */
export function moveLane(l: Lanes, at: LaneCursor | null, key: string): LaneCursor | null {
    const keys = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'PageUp', 'PageDown', 'Home', 'End'];
    if (!keys.includes(key) || !l.lanes.length) return null;
    if (!at) return { lane: 0, i: key === 'End' ? l.lanes[0].time.length - 1 : 0 };
    const last = l.lanes[at.lane].time.length - 1,
        along = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[key];
    if (along !== undefined) return { lane: at.lane, i: clamp(at.i + along, last) };
    const lane = clamp(at.lane + (key === 'ArrowDown' ? 1 : -1), l.lanes.length - 1);
    return lane === at.lane ? at : { lane, i: boxBefore(l.lanes[lane].time, l.lanes[at.lane].time[at.i]) };
}

export interface ChartCursor {
    lane: number;
    depth: number; // -1: the heading of the lane
    box: number;
}

/** The box or heading of the flame chart after an arrow key: up and down along the stack and from thread to thread, left and
 *  right at the same depth. `from` is the time at which the visible part begins. */
export function moveBox(places: Place[], at: ChartCursor | null, key: string, from: number): ChartCursor | null {
    const heading = (lane: number): ChartCursor => ({ lane: clamp(lane, places.length - 1), depth: -1, box: -1 });
    if (!places.length) return null;
    if (!at) return key === 'ArrowDown' || key === 'ArrowUp' ? heading(0) : null;
    const { lane, rows } = places[at.lane],
        layer = lane.layers?.[at.depth];
    if (key === 'ArrowDown') {
        const below = at.depth + 1 < rows ? lane.layers?.[at.depth + 1] : undefined;
        const begin = layer ? layer.x[at.box] : from,
            end = layer ? begin + layer.w[at.box] : Infinity;
        const box = below ? firstEnding(below, below.from, below.to, begin) : -1;
        if (below && box < below.to && below.x[box] < end) return { lane: at.lane, depth: at.depth + 1, box };
        return at.lane + 1 < places.length ? heading(at.lane + 1) : at;
    }
    if (key === 'ArrowUp') {
        if (!layer) return heading(at.lane - 1);
        const above = lane.layers?.[at.depth - 1];
        if (!above) return heading(at.lane);
        const box = firstEnding(above, above.from, above.to, layer.x[at.box]);
        return { lane: at.lane, depth: at.depth - 1, box: Math.min(box, above.to - 1) };
    }
    if (!layer || (key !== 'ArrowLeft' && key !== 'ArrowRight')) return null;
    const box = at.box + (key === 'ArrowRight' ? 1 : -1);
    return box >= layer.from && box < layer.to ? { ...at, box } : at;
}
