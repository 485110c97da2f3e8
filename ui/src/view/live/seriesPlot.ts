// Draws the lines of a chart over time with uPlot: axes, stacked areas, gaps, the edge of what has arrived, the sides of a
// comparison.
import uPlot from 'uplot';
import { Line, Lines, stacked, stepAt } from '../../model/series';
import { Rate } from '../../model/rate';
import { Span } from '../../live/range';
import { Ink } from './seriesInk';

export const heightOf = (width: number): number => (width < NARROW ? 84 : 110);

const NARROW = 600,
    LEFT = 86,
    RIGHT = 22;
const EDGE = 32; // labels closer to the edge would be truncated or overlap the numbers on the left

export interface PlotProps {
    data: Lines;
    rate: Rate;
    inks: Ink[];
    span: Span;
    width: number;
    /** Times on the chart that are painted in a colour. */
    marked: { span: Span; color: string }[];
    stack: boolean;
    reserved: number; // px at the right end of the axis that have no times
    onCursor(step: number | null, x: number, y: number): void;
}

/** A time in UTC, as precise as the steps between ticks. */
function timeText(t: number, incr: number): string {
    const iso = new Date(t * 1e3).toISOString();
    if (incr >= 28 * 86400) return iso.slice(0, 7);
    if (incr >= 86400) return iso.slice(5, 10);
    return incr >= 60 ? iso.slice(11, 16) : incr >= 1 ? iso.slice(11, 19) : iso.slice(14, 23);
}

/** Fades what follows the edge and hatches it. */
function paintEdge(u: uPlot, edge: number, panel: string, ink: string): void {
    const { left, top, width, height } = u.bbox,
        x = Math.max(u.valToPos(edge / 1e9, 'x', true), left),
        right = left + width,
        g = u.ctx,
        px = devicePixelRatio;
    if (x >= right) return;
    g.save();
    g.beginPath();
    g.rect(x, top, right - x, height);
    g.clip();
    g.globalAlpha = 0.55;
    g.fillStyle = panel;
    g.fillRect(x, top, right - x, height);
    g.globalAlpha = 0.5;
    g.strokeStyle = ink;
    g.lineWidth = px;
    g.beginPath();
    for (let k = x - height; k < right; k += 6 * px) {
        g.moveTo(k, top + height);
        g.lineTo(k + height, top);
    }
    g.stroke();
    g.globalAlpha = 1;
    g.setLineDash([3 * px, 3 * px]);
    g.beginPath();
    g.moveTo(x, top);
    g.lineTo(x, top + height);
    g.stroke();
    g.restore();
}

/** Steps are drawn to their end, so the last value is repeated. */
const drawn = (values: (number | null)[]): (number | null)[] => [...values, values.at(-1) ?? null];

export function makePlot(p: PlotProps, box: HTMLElement): uPlot {
    const css = getComputedStyle(document.documentElement),
        v = (n: string) => css.getPropertyValue(n).trim(),
        { lines } = p.data,
        x = p.data.time.map((t) => t / 1e9),
        values = p.stack ? stacked(lines) : lines.map((l) => l.values);
    const axis = { stroke: v('--dim'), grid: { stroke: v('--line'), width: 1 }, ticks: { show: false } },
        font = '11px system-ui, sans-serif',
        narrow = p.width < NARROW;
    return new uPlot(
        {
            width: p.width,
            height: heightOf(p.width),
            padding: [8, RIGHT, 0, 0],
            tzDate: (t) => uPlot.tzDate(new Date(t * 1e3), 'Etc/UTC'),
            legend: { show: false },
            cursor: {
                y: false,
                points: { show: false },
                drag: { x: false, y: false, setScale: false },
                bind: { mousedown: () => null }, // between mousedown and mouseup uPlot resets the part that brush() marks
            },
            scales: {
                x: { range: () => [p.span[0] / 1e3, p.span[1] / 1e3] },
                y: { range: (_, lo, hi) => [Math.min(lo ?? 0, 0), (hi ?? 0) > 0 ? hi * 1.08 : 1] },
            },
            axes: [
                {
                    ...axis,
                    font,
                    size: 24,
                    // Hours and minutes need less room than seconds, which come with steps below a minute.
                    space: (_, _i, min, max, dim) => (narrow && ((max - min) / dim) * 46 > 30 ? 46 : narrow ? 62 : 76),
                    gap: 2,
                    grid: { show: false },
                    values: (_, ticks, _axis, _space, incr) =>
                        ticks.map((t) => {
                            const at = ((t * 1e3 - p.span[0]) / (p.span[1] - p.span[0])) * (p.width - LEFT - RIGHT);
                            return at > EDGE && at < p.width - LEFT - RIGHT - Math.max(EDGE - RIGHT, p.reserved) ? timeText(t, incr) : '';
                        }),
                },
                {
                    ...axis,
                    font,
                    size: LEFT,
                    gap: 4,
                    space: narrow ? 22 : 32,
                    ...(p.rate.incrs && { incrs: p.rate.incrs }),
                    values: (_, ticks) => ticks.map((t) => p.rate.text(t)),
                },
            ],
            series: [
                {},
                ...lines.map((l: Line, i) => ({
                    label: l.label,
                    stroke: p.inks[i](1),
                    fill: p.inks[i](p.stack && lines.length > 1 ? 0.45 : lines.length === 1 ? 0.18 : 0.07),
                    width: p.stack && lines.length > 1 ? 1 : 1.5,
                    points: { show: false },
                    paths: uPlot.paths.stepped!({ align: 1 }),
                })),
            ],
            ...(p.stack && { bands: lines.slice(1).map((_, i) => ({ series: [i + 2, i + 1] as [number, number] })) }),
            hooks: {
                drawClear: [
                    (u) => {
                        for (const { span, color } of p.marked) {
                            const x0 = u.valToPos(span[0] / 1e3, 'x', true),
                                x1 = u.valToPos(span[1] / 1e3, 'x', true);
                            u.ctx.fillStyle = color;
                            u.ctx.fillRect(x0, u.bbox.top, Math.max(x1 - x0, 3), u.bbox.height);
                        }
                    },
                ],
                draw: [(u) => p.data.edge !== null && paintEdge(u, p.data.edge, v('--bg'), v('--dim'))],
                setCursor: [
                    (u) => {
                        const { left = -1, top = -1 } = u.cursor,
                            step = left < 0 ? -1 : stepAt(p.data, u.posToVal(left, 'x') * 1e9),
                            at = u.over.getBoundingClientRect();
                        p.onCursor(step < 0 ? null : step, at.left + left, at.top + top);
                    },
                ],
            },
        },
        [x, ...values.map(drawn)] as uPlot.AlignedData,
        box,
    );
}

/** Selects a part of a plot by dragging, also on touch screens. `onDrag` reports whether a drag is going on. */
export function brush(
    plot: uPlot,
    onPart: (left: number, right: number, shift: boolean) => void,
    onDrag: (on: boolean) => void,
): void {
    const { over } = plot;
    let from = -1;
    const at = (e: PointerEvent) =>
        Math.min(Math.max(e.clientX - over.getBoundingClientRect().left, 0), over.clientWidth);
    over.style.touchAction = 'pan-y';
    over.addEventListener('pointerdown', (e) => {
        if (e.button) return;
        over.setPointerCapture(e.pointerId);
        from = at(e);
    });
    over.addEventListener('pointermove', (e) => {
        if (from < 0) return;
        markPart(plot, from, at(e));
        onDrag(true);
    });
    const end = () => {
        from = -1;
        markPart(plot, 0, 0);
        onDrag(false);
    };
    over.addEventListener('pointercancel', end);
    over.addEventListener('pointerup', (e) => {
        const a = Math.min(from, at(e)),
            b = Math.max(from, at(e));
        if (from >= 0 && b - a >= 4) onPart(a, b, e.shiftKey);
        end();
    });
}

/** Marks the part between two positions, in pixels. */
export function markPart(plot: uPlot, a: number, b: number): void {
    plot.setSelect(
        { left: Math.min(a, b), width: Math.abs(b - a), top: 0, height: a === b ? 0 : plot.over.clientHeight },
        false,
    );
}
