// Paints threads over time: one row per thread, a box for each observation or step.
import { Lane, Lanes, groupAt, sharesAt } from '../model/lanes';
import { ticks } from './axis';
import { Fitter } from './label';
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

/** Returns the width of a box: at least 1.5 pixels for a moment. */
const widthOf = (s: LaneScene, lane: Lane, i: number): number => {
    const w = (lane.length[i] / s.lanes.length) * (s.width - s.left);
    return Math.max(w, s.lanes.step ? 1 : 1.5);
};

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
    const strongest = lanes.step ? lanes.lanes.reduce((m, l) => Math.max(m, ...Array.from(l.value, Math.abs)), 0) : 0;
    lanes.lanes.forEach((lane, k) => {
        const y = TOP + k * laneHeight(s) + s.strip;
        g.globalAlpha = 1;
        g.fillStyle = s.ink.text;
        g.font = '12px system-ui, sans-serif';
        g.fillText(fit.fit(lane.name, s.left - 10), 0, y + ROW / 2);
        g.fillStyle = s.ink.faint;
        g.fillRect(s.left, y + 2, s.width - s.left, ROW - 4);
        let end = -1; // right edge of the painted boxes: boxes within a painted pixel are skipped
        for (let i = 0; i < lane.time.length; i++) {
            const x = xOf(s, lane.time[i]),
                w = widthOf(s, lane, i),
                hovered = s.hover?.lane === k && s.hover.i === i;
            if (x + w <= end && !hovered) continue;
            const inside = !s.chosen || (lane.time[i] >= s.chosen[0] && lane.time[i] < s.chosen[1]);
            const wide = Math.max(w - (w > 4 ? 0.5 : 0), 1);
            g.globalAlpha = inside ? 1 : 0.25;
            end = x + Math.max(w, 0.5);
            if (lane.shares && !hovered) {
                let bottom = y + ROW - 2;
                for (const part of sharesAt(lanes, lane, i)) {
                    const high = part.share * (ROW - 4);
                    g.fillStyle = colorOf(part.name, s.theme);
                    g.fillRect(x, bottom - high, wide, high);
                    bottom -= high;
                }
                continue;
            }
            g.fillStyle = hovered
                ? s.ink.text
                : colorOf(
                      groupAt(lanes, lane, i),
                      s.theme,
                      strongest ? 0.15 + 0.85 * Math.sqrt(Math.abs(lane.value[i]) / strongest) : 1,
                  );
            g.fillRect(x, y + 2, wide, ROW - 4);
        }
    });
    g.globalAlpha = 1;
}
