// Paints threads over time: one row per thread, a box for each observation or step, columns of shares where they are too
// narrow.
import { Lane, Lanes, groupAt, groupsOf, sharesAt } from '../model/lanes';
import { ticks } from './axis';
import { Fitter, threadLabels } from './label';
import { hash, oklch } from './palette';

export const ROW = 22,
    TOP = 24; // height of the axis

export interface LaneScene {
    lanes: Lanes;
    theme: 'light' | 'dark';
    ink: { text: string; dim: string; line: string; faint: string };
    left: number; // x of the start; names are to the left of it
    strip: number; // height above each row, for spans; 0: none
    width: number;
    chosen: [number, number] | null; // the selected range, ns after the base
    hover: { lane: number; i: number } | null;
}

const HUES = [38, 84, 132, 172, 212, 252, 292, 334, 62, 108, 152, 192, 232, 272, 312, 352];
/** Thread states (docs/attributes.md), in lower case. States without activity are pale. */
const STATES: Record<string, [hue: number, strength: number]> = {
    running: [145, 1],
    runnable: [95, 1],
    blocked: [25, 1],
    disk_sleep: [25, 1],
    stopped: [330, 1],
    waiting: [250, 0.55],
    sleeping: [250, 0.45],
    idle: [250, 0.3],
    unknown: [80, 0.1],
};

export function colorOf(group: string, theme: 'light' | 'dark', strength = 1): string {
    const [hue, most] = STATES[group.toLowerCase()] ?? [group ? HUES[hash(group) % HUES.length] : 38, 1],
        k = strength * most;
    return theme === 'dark'
        ? oklch(0.35 + 0.33 * k, 0.03 + 0.08 * k, hue)
        : oklch(0.93 - 0.25 * k, 0.03 + 0.09 * k, hue);
}

/** The height of a row and the strip above it. */
export const laneHeight = (s: { strip: number }): number => ROW + s.strip;
export const xOf = (s: LaneScene, ns: number): number => s.left + (ns / s.lanes.length) * (s.width - s.left);
export const nsAt = (s: LaneScene, x: number): number => ((x - s.left) / (s.width - s.left)) * s.lanes.length;

const widthOf = (s: LaneScene, lane: Lane, i: number): number =>
    (lane.length[i] / s.lanes.length) * (s.width - s.left);

/* Observations that are too narrow to see are drawn as shares of columns. Widening them would show a thread as busy that is not,
 * and leaving some out would show one state of many. */
export const COLUMN = 2; // pixels
const LEAST = 2; // height of a share that is not 0

/** True if an observation is drawn as a share of its column. */
export const isNarrow = (s: LaneScene, lane: Lane, i: number): boolean => !s.lanes.step && widthOf(s, lane, i) < COLUMN;

const ranks = new WeakMap<Lanes, Map<string, number>>();

/** Returns the order of the groups within a column: the largest of all is at the bottom. */
function rankOf(l: Lanes): Map<string, number> {
    let r = ranks.get(l);
    if (!r) ranks.set(l, (r = new Map(groupsOf(l).map((g, i) => [g.name, i]))));
    return r;
}

interface Part {
    name: string;
    share: number; // of the column
}

/** Passes the columns [x, x + COLUMN) of a lane that have narrow observations, with the share of each group. Shares of times add up
 *  to the observed part of the column, others to 1. */
export function shareColumns(s: LaneScene, lane: Lane, each: (x: number, parts: Part[]) => void): void {
    const { lanes } = s,
        rank = rankOf(lanes),
        open = new Map<number, Map<string, number>>(), // an observation is in at most two columns
        whole = (COLUMN * lanes.length) / (s.width - s.left); // ns
    const close = (column: number) => {
        const values = [...open.get(column)!],
            sum = values.reduce((t, [, v]) => t + v, 0),
            most = lanes.scale ? Math.max(sum, whole) : sum;
        open.delete(column);
        values.sort((a, b) => (rank.get(a[0]) ?? 0) - (rank.get(b[0]) ?? 0));
        if (sum > 0) each(s.left + column * COLUMN, values.map(([name, v]) => ({ name, share: v / most })));
    };
    const add = (column: number, group: string, v: number) => {
        let values = open.get(column);
        if (!values) open.set(column, (values = new Map()));
        values.set(group, (values.get(group) ?? 0) + v);
    };
    for (let i = 0; i < lane.time.length; i++) {
        if (!isNarrow(s, lane, i)) continue;
        const from = lane.time[i] / whole,
            column = Math.floor(from),
            group = groupAt(lanes, lane, i);
        for (const k of open.keys()) if (k < column) close(k);
        if (!lanes.scale) {
            add(column, group, Math.abs(lane.value[i]));
            continue;
        }
        const to = from + lane.length[i] / whole,
            second = Math.max(to - column - 1, 0);
        add(column, group, (to - from - second) * whole);
        if (second) add(column + 1, group, second * whole);
    }
    for (const k of open.keys()) close(k);
}

/** Returns the shares of the column at x. */
export function partsAt(s: LaneScene, lane: Lane, x: number): Part[] {
    let found: Part[] = [];
    shareColumns(s, lane, (at, parts) => {
        if (at <= x && x < at + COLUMN) found = parts;
    });
    return found;
}

/** The height of a box of a step: the part of the time that has observations; 1 for other values. */
const heightOf = (l: Lanes, lane: Lane, i: number): number =>
    l.step && l.scale ? Math.min((Math.abs(lane.value[i]) * l.scale) / lane.length[i], 1) : 1;

/** Returns the box nearest to a point, within two pixels. */
export function laneAt(s: LaneScene, x: number, y: number): { lane: number; i: number } | null {
    const at = Math.floor((y - TOP) / laneHeight(s)),
        lane = s.lanes.lanes[at];
    if (!lane || y < TOP) return null;
    if ((y - TOP) % laneHeight(s) < s.strip) return { lane: at, i: -1 };
    const t = nsAt(s, x);
    let lo = 0,
        hi = lane.time.length;
    while (lo < hi) {
        const mid = (lo + hi) >> 1;
        if (lane.time[mid] <= t) lo = mid + 1;
        else hi = mid;
    }
    for (const i of [lo - 1, lo]) {
        if (i < 0 || i >= lane.time.length) continue;
        const from = xOf(s, lane.time[i]);
        if (x >= from - 2 && x <= from + widthOf(s, lane, i) + 2) return { lane: at, i };
    }
    return { lane: at, i: -1 };
}

export function paintLanes(g: CanvasRenderingContext2D, s: LaneScene): void {
    const { lanes } = s,
        height = TOP + lanes.lanes.length * laneHeight(s),
        fit = new Fitter((t) => g.measureText(t).width);
    g.clearRect(0, 0, s.width, height + 4);
    g.font = '11px system-ui, sans-serif';
    g.textBaseline = 'middle';
    for (const t of ticks(0, lanes.length, s.width - s.left)) {
        const x = Math.round(xOf(s, t.at)) + 0.5;
        g.fillStyle = s.ink.line;
        g.fillRect(x, TOP - 4, 1, height - TOP + 4);
        g.fillStyle = s.ink.dim;
        if (x + 3 + g.measureText(t.text).width <= s.width) g.fillText(t.text, x + 3, TOP / 2);
    }
    const strongest =
        lanes.step && !lanes.scale ? lanes.lanes.reduce((m, l) => Math.max(m, ...Array.from(l.value, Math.abs)), 0) : 0;
    const inside = (ns: number) => !s.chosen || (ns >= s.chosen[0] && ns < s.chosen[1]);
    /** Stacks parts in a row. */
    const stack = (parts: Part[], high: number, x: number, y: number, wide: number) => {
        let bottom = y + ROW - 2;
        for (const part of parts) {
            const h = part.share * high;
            g.fillStyle = colorOf(part.name, s.theme);
            g.fillRect(x, bottom - h, wide, h);
            bottom -= h;
        }
    };
    const FULL = ROW - 4,
        visible = (share: number) => Math.max(share * FULL, LEAST);
    g.font = '12px system-ui, sans-serif';
    const names = threadLabels(
        fit,
        lanes.lanes.map((l) => l.name),
        s.left - 10,
    );
    lanes.lanes.forEach((lane, k) => {
        const y = TOP + k * laneHeight(s) + s.strip;
        g.globalAlpha = 1;
        g.fillStyle = s.ink.text;
        g.font = '12px system-ui, sans-serif';
        g.fillText(names[k], 0, y + ROW / 2);
        g.fillStyle = s.ink.faint;
        g.fillRect(s.left, y + 2, s.width - s.left, ROW - 4);
        let end = -1; // right edge of the painted boxes: boxes within a painted pixel are skipped
        for (let i = 0; i < lane.time.length; i++) {
            const x = xOf(s, lane.time[i]),
                hovered = s.hover?.lane === k && s.hover.i === i;
            if (isNarrow(s, lane, i)) continue;
            const w = Math.max(widthOf(s, lane, i), 1);
            if (x + w <= end && !hovered) continue;
            const wide = Math.max(w - (w > 4 ? 0.5 : 0), 1),
                high = visible(heightOf(lanes, lane, i));
            g.globalAlpha = inside(lane.time[i]) ? 1 : 0.25;
            end = x + w;
            if (lane.shares && !hovered) {
                stack(sharesAt(lanes, lane, i), high, x, y, wide);
                continue;
            }
            g.fillStyle = hovered
                ? s.ink.text
                : colorOf(
                      groupAt(lanes, lane, i),
                      s.theme,
                      strongest ? 0.15 + 0.85 * Math.sqrt(Math.abs(lane.value[i]) / strongest) : 1,
                  );
            g.fillRect(x, y + ROW - 2 - high, wide, high);
        }
        shareColumns(s, lane, (x, parts) => {
            const sum = parts.reduce((t, q) => t + q.share, 0);
            g.globalAlpha = inside(nsAt(s, x)) ? 1 : 0.25;
            stack(parts, visible(sum) / sum, x, y, COLUMN);
        });
        if (s.hover?.lane === k && s.hover.i >= 0 && isNarrow(s, lane, s.hover.i)) {
            g.globalAlpha = 0.5;
            g.fillStyle = s.ink.text;
            g.fillRect(Math.floor((xOf(s, lane.time[s.hover.i]) - s.left) / COLUMN) * COLUMN + s.left, y + 2, COLUMN, FULL);
        }
    });
    g.globalAlpha = 1;
}
