// Paints a flame tree on a canvas. Only visible boxes are visited (boxes.ts).
import { Frames } from '../model/frames';
import { Tree, depthOf } from '../model/tree';
import { Row, boxAt, visibleBoxes } from './boxes';
import { FONT, Fitter } from './label';
import { Palette } from './palette';

export const ROW = 19; // minimum height of a row; shallow pictures have higher rows
const MAX_ROW = 24;
const MIN_PX = 0.6,
    TEXT_PX = 26,
    PAD = 5;

export interface Scene {
    tree: Tree;
    frames: Frames;
    palette: Palette;
    color: (node: number) => string;
    up: boolean; // the root is at the bottom
    match: Uint8Array | null;
    selected: number; // frame
    node: number; // the box with the keyboard focus; -1: none
    zoom: number; // the node that fills the width; its ancestors fill it too
    x0: number;
    x1: number; // the visible range
    scroll: number;
    width: number;
    height: number; // height of the canvas, CSS pixels
    hover: number; // node or -1
    top: number; // levels that are not drawn at the root: 1 hides the root
    row: number; // height of a level
}

const row = (t: Tree, depth: number): Row => ({ x: t.x, w: t.w, from: t.levelOff[depth], to: t.levelOff[depth + 1] });

export const contentHeight = (t: Tree, top: number, row: number): number => (depthOf(t) - top) * row + 1;

/** Returns the height of a row in a picture of at most this height. */
export const rowFor = (t: Tree, top: number, height: number): number =>
    Math.min(Math.max(Math.floor(height / (depthOf(t) - top)), ROW), MAX_ROW);

/** Returns the top of a level in the canvas. */
export function levelTop(s: Scene, depth: number): number {
    const all = contentHeight(s.tree, s.top, s.row),
        d = depth - s.top;
    return (s.up ? all - (d + 1) * s.row : d * s.row) - s.scroll;
}

function levels(s: Scene): [number, number] {
    const n = depthOf(s.tree),
        all = contentHeight(s.tree, s.top, s.row);
    const a = s.top + (s.up ? (all - s.scroll - s.height) / s.row - 1 : s.scroll / s.row - 1);
    return [Math.max(s.top, Math.floor(a)), Math.min(n, Math.ceil(a + s.height / s.row + 2))];
}

export function nodeAt(s: Scene, px: number, py: number): number {
    const y = py + s.scroll,
        all = contentHeight(s.tree, s.top, s.row);
    const depth = s.top + Math.floor((s.up ? all - 1 - y : y) / s.row);
    if (depth < s.top || depth >= depthOf(s.tree)) return -1;
    return boxAt(row(s.tree, depth), s.x0 + (px / s.width) * (s.x1 - s.x0));
}

class Ink {
    private readonly fitter: Fitter;
    constructor(readonly g: CanvasRenderingContext2D) {
        g.font = FONT;
        this.fitter = new Fitter((t) => g.measureText(t).width);
    }
    text(name: string, x: number, y: number, w: number, row = ROW): void {
        const t = this.fitter.name(name, w - 2 * PAD);
        if (t) this.g.fillText(t, x + PAD, y + row / 2 + 0.5);
    }
}

const inks = new WeakMap<CanvasRenderingContext2D, Ink>();

export function inkOf(g: CanvasRenderingContext2D): Ink {
    let ink = inks.get(g);
    if (!ink) inks.set(g, (ink = new Ink(g)));
    return ink;
}

export function paint(g: CanvasRenderingContext2D, s: Scene): void {
    const { tree: t, palette: p } = s,
        ink = inkOf(g);
    const scale = s.width / (s.x1 - s.x0 || 1);
    const [from, to] = levels(s),
        zoomDepth = t.depth[s.zoom];
    g.clearRect(0, 0, s.width, s.height);
    g.font = FONT;
    g.textBaseline = 'middle';
    for (let d = from; d < to; d++) {
        const y = levelTop(s, d),
            above = d < zoomDepth;
        visibleBoxes(
            row(t, d),
            s.x0,
            s.x1,
            scale,
            MIN_PX,
            (i, px, pw) => {
                const left = Math.max(px, 0),
                    w = Math.min(px + pw, s.width) - left;
                const hit = s.match ? s.match[t.frame[i]] : 0;
                g.globalAlpha = s.match && !hit ? 0.38 : above ? 0.62 : 1;
                g.fillStyle = hit ? p.match : s.color(i);
                g.fillRect(left, y, w > 3 ? w - 1 : w, s.row - 1);
                if (w < TEXT_PX) return;
                g.fillStyle = p.text;
                g.globalAlpha = s.match && !hit ? 0.6 : 1;
                ink.text(s.frames.name[t.frame[i]], left, y, w, s.row);
            },
            (px, pw) => {
                g.globalAlpha = 0.7;
                g.fillStyle = p.haze;
                g.fillRect(px, y, Math.max(pw, 1), s.row - 1);
            },
        );
    }
    g.globalAlpha = 1;
    outline(g, s, scale, from, to);
}

/** Marks the boxes of the selected frame, under the mouse and with the keyboard focus. */
function outline(g: CanvasRenderingContext2D, s: Scene, scale: number, from: number, to: number): void {
    const { tree: t, palette: p } = s;
    const frame = (i: number, color: string, width: number) => {
        const d = t.depth[i];
        if (d < from || d >= to) return;
        const a = Math.max((t.x[i] - s.x0) * scale, 0),
            b = Math.min((t.x[i] + t.w[i] - s.x0) * scale, s.width);
        if (b <= a) return;
        g.strokeStyle = color;
        g.lineWidth = width;
        g.strokeRect(
            a + width / 2,
            levelTop(s, d) + width / 2,
            Math.max(b - a - width - (b - a > 3 ? 1 : 0), 0.5),
            s.row - 1 - width,
        );
    };
    if (s.selected) {
        for (let d = from; d < to; d++)
            visibleBoxes(
                row(t, d),
                s.x0,
                s.x1,
                scale,
                2,
                (i) => t.frame[i] === s.selected && frame(i, p.selected, 1.25),
                () => {},
            );
    }
    if (s.hover >= 0) frame(s.hover, p.text, 1);
    if (s.node > 0) frame(s.node, p.selected, 2);
}
