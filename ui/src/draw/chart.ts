// Paints the flame chart: an axis, lanes with their activity, and the boxes of opened lanes.
import { Chart, Lane } from '../model/chart';
import { Frames } from '../model/frames';
import { ticks } from './axis';
import { boxAt, visibleBoxes } from './boxes';
import { inkOf, ROW } from './flame';
import { FONT, Fitter, threadLabels } from './label';
import { Palette } from './palette';

export const AXIS = 22,
    HEAD = 26,
    STRIP = 14,
    LEAST = 1.5, // width of a run of boxes
    GAP = 8;

export interface Place {
    lane: Lane;
    top: number;
    height: number;
    rows: number; // levels that are shown; 0: closed
    levels: number;
}

export interface ChartScene {
    chart: Chart;
    places: Place[];
    frames: Frames;
    palette: Palette;
    color: (frame: number) => string;
    ink: { text: string; dim: string; line: string; ground: string };
    match: Uint8Array | null;
    selected: number;
    x0: number;
    x1: number;
    scroll: number;
    width: number;
    height: number;
    hover: { lane: Lane; depth: number; box: number } | null;
}

/** `most` returns how many levels of a lane are shown at most. */
export function placesOf(chart: Chart, most: (l: Lane, i: number) => number, layers: (l: Lane) => number): Place[] {
    let top = 0;
    return chart.lanes.map((lane, i) => {
        const max = most(lane, i),
            levels = max ? layers(lane) : 0,
            rows = Math.min(levels, max);
        const height = HEAD + (rows ? rows * ROW : STRIP) + GAP,
            p = { lane, top, height, rows, levels };
        top += height;
        return p;
    });
}

/** Draws the activity of a closed lane: observations per pixel column. */
function strip(g: CanvasRenderingContext2D, s: ChartScene, l: Lane, y: number): void {
    const scale = s.width / (s.x1 - s.x0),
        step = 2;
    g.fillStyle = s.palette.theme === 'dark' ? '#c9783f' : '#c8641f';
    const at = (t: number) => lowerBound(l.time, t);
    let i = at(s.x0);
    const full = Math.max((l.n / Math.max(((s.chart.to - s.chart.from) * scale) / step, 1)) * 2, 1);
    for (let px = 0; px < s.width; px += step) {
        const j = at(s.x0 + (px + step) / scale);
        if (j > i) {
            g.globalAlpha = Math.min(0.25 + (0.75 * (j - i)) / full, 1);
            g.fillRect(px, y, step, STRIP);
        }
        i = j;
    }
    g.globalAlpha = 1;
}

export function lowerBound(a: Float64Array, v: number): number {
    let lo = 0,
        hi = a.length;
    while (lo < hi) {
        const mid = (lo + hi) >>> 1;
        if (a[mid] < v) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

function boxes(g: CanvasRenderingContext2D, s: ChartScene, { lane: l, rows }: Place, y: number): void {
    const scale = s.width / (s.x1 - s.x0),
        ink = inkOf(g);
    l.layers!.slice(0, rows).forEach((layer, d) => {
        const top = y + d * ROW;
        if (top > s.height || top + ROW < 0) return;
        visibleBoxes(
            layer,
            s.x0,
            s.x1,
            scale,
            0.6,
            (i, px, pw) => {
                const left = Math.max(px, 0),
                    w = Math.min(px + pw, s.width) - left,
                    f = layer.frame[i],
                    hit = s.match ? s.match[f] : 0;
                g.globalAlpha = s.match && !hit ? 0.38 : 1;
                g.fillStyle = hit ? s.palette.match : s.color(f);
                g.fillRect(left, top, w > 3 ? w - 1 : w, ROW - 1);
                const marked = f === s.selected || (s.hover?.lane === l && s.hover.depth === d && s.hover.box === i);
                if (marked && w > 2) {
                    g.strokeStyle = f === s.selected ? s.palette.selected : s.palette.text;
                    g.lineWidth = 1;
                    g.strokeRect(left + 0.5, top + 0.5, w - 2, ROW - 2);
                }
                if (w < 26) return;
                g.fillStyle = s.palette.text;
                ink.text(s.frames.name[f], left, top, w);
            },
            (px, pw, i) => {
                // a short call among pauses stays visible
                g.globalAlpha = pw < LEAST ? 1 : 0.7;
                g.fillStyle = pw < LEAST ? s.color(layer.frame[i]) : s.palette.haze;
                g.fillRect(px, top, Math.max(pw, LEAST), ROW - 1);
            },
        );
    });
    g.globalAlpha = 1;
}

function axis(g: CanvasRenderingContext2D, s: ChartScene): void {
    g.strokeStyle = s.ink.line;
    g.lineWidth = 1;
    for (const t of ticks(s.x0 - s.chart.from, s.x1 - s.chart.from, s.width)) {
        const x = Math.round(((t.at + s.chart.from - s.x0) / (s.x1 - s.x0)) * s.width) + 0.5;
        g.beginPath();
        g.moveTo(x, AXIS - 5);
        g.lineTo(x, s.height);
        g.stroke();
        g.fillStyle = s.ink.dim;
        if (x < s.width - 40) g.fillText(t.text, x + 4, AXIS / 2);
    }
}

export function paintChart(g: CanvasRenderingContext2D, s: ChartScene): void {
    g.clearRect(0, 0, s.width, s.height);
    g.font = FONT;
    g.textBaseline = 'middle';
    axis(g, s);
    const fit = new Fitter((t) => g.measureText(t).width);
    g.save();
    g.beginPath();
    g.rect(0, AXIS, s.width, s.height);
    g.clip();
    for (const p of s.places) {
        const y = p.top - s.scroll + AXIS;
        if (y > s.height || y + p.height < AXIS) continue;
        g.font = `600 ${FONT}`;
        const title = `${p.rows ? '▾' : '▸'} ${threadLabels(fit, [p.lane.name], s.width - 20)[0]}`,
            wide = g.measureText(title).width;
        g.fillStyle = s.ink.ground;
        g.fillRect(0, y + 3, s.width, HEAD - 6);
        g.fillStyle = s.ink.text;
        g.fillText(title, 2, y + HEAD / 2);
        g.font = FONT;
        g.fillStyle = s.ink.dim;
        const cut = p.rows < p.levels && s.width > 560 ? `, ${p.rows} of ${p.levels} levels shown, click for all` : '';
        g.fillText(`${p.lane.n} ${p.lane.n === 1 ? 'observation' : 'observations'}${cut}`, wide + 12, y + HEAD / 2);
        if (p.rows) boxes(g, s, p, y + HEAD);
        else strip(g, s, p.lane, y + HEAD);
    }
    g.restore();
}

/** Returns the heading of a lane or the box at a point. */
export function chartAt(s: ChartScene, px: number, py: number): { place: Place; depth: number; box: number } | null {
    const y = py - AXIS + s.scroll;
    if (py < AXIS) return null;
    const place = s.places.find((p) => y >= p.top && y < p.top + p.height - GAP);
    if (!place) return null;
    const depth = place.rows ? Math.floor((y - place.top - HEAD) / ROW) : -1;
    const layer = depth >= 0 ? place.lane.layers?.[depth] : undefined;
    return { place, depth, box: layer ? boxAt(layer, s.x0 + (px / s.width) * (s.x1 - s.x0)) : -1 };
}
