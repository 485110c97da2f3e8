// Paints the spans above the lanes: a bar for each, inner spans above outer ones.
import type { LaneSpan } from '../live/laneSpans';
import { Fitter } from './label';
import { LaneScene, TOP, laneHeight, xOf } from './lanes';
import { hash, oklch } from './palette';

/** Height of the bars, part of LaneScene.strip. */
export const STRIP = 15;

const box = (s: LaneScene, p: LaneSpan): { x: number; y: number; w: number; h: number } => {
    const x = Math.max(xOf(s, p.from), s.left),
        end = Math.min(xOf(s, p.to), s.width);
    return { x, y: TOP + p.lane * laneHeight(s) + 3, w: Math.max(end - x, 2), h: STRIP - 4 };
};

/** Spans of one trace have one hue; neighbours differ in lightness. */
const colorOf = (p: LaneSpan, theme: 'light' | 'dark') => {
    const step = (hash(p.span) % 3) * 0.035;
    return oklch(theme === 'dark' ? 0.4 + step : 0.9 - step, theme === 'dark' ? 0.09 : 0.07, (hash(p.trace) % 36) * 10);
};

export function paintSpans(
    g: CanvasRenderingContext2D,
    s: LaneScene,
    spans: LaneSpan[],
    hovered: LaneSpan | null,
): void {
    const fit = new Fitter((t) => g.measureText(t).width);
    g.font = '10px ui-monospace, monospace';
    g.textBaseline = 'middle';
    const end = new Map<number, number>(); // right edge of the last bar of a lane: bars within a pixel are skipped
    for (const p of spans) {
        const b = box(s, p);
        if (b.x > s.width || xOf(s, p.to) < s.left) continue;
        if (b.w <= 2 && b.x < (end.get(p.lane) ?? 0)) continue;
        end.set(p.lane, Math.max(end.get(p.lane) ?? 0, b.x + b.w));
        g.fillStyle = p === hovered ? s.ink.text : colorOf(p, s.theme);
        g.fillRect(b.x, b.y, b.w - (b.w > 4 ? 1 : 0), b.h);
        if (b.w > 4) {
            g.fillStyle = s.ink.line; // keeps a span apart from the one that contains it
            g.fillRect(b.x, b.y, 1, b.h);
        }
        if (b.w < 34) continue;
        g.fillStyle = p === hovered ? s.ink.faint : s.ink.text;
        g.fillText(fit.fit(p.span.slice(0, 8), b.w - 8), b.x + 4, b.y + b.h / 2 + 0.5);
    }
}

/** Returns the innermost span at a point. */
export function spanAt(s: LaneScene, spans: LaneSpan[], x: number, y: number): LaneSpan | null {
    let found: LaneSpan | null = null;
    for (const p of spans) {
        const b = box(s, p);
        if (y < b.y - 1 || y > b.y + b.h + 1 || x < b.x - 1 || x > b.x + b.w + 1) continue;
        if (!found || p.to - p.from <= found.to - found.from) found = p;
    }
    return found;
}
