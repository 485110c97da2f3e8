// Sums over time, one line per service or one in total. Dragging selects a part, with Shift the part to compare with.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { hash, oklch } from '../../draw/palette';
import { Counts } from '../../live/queries';
import { Span } from '../../live/range';
import { roundSteps, withUnit } from '../../model/units';
import { useSize } from '../hooks';

export type Side = 'this' | 'base';

export interface SeriesProps {
    counts: Counts;
    span: Span;
    unit: string;
    theme: 'light' | 'dark';
    /** Comparison: the span contains both sides. */
    sides: { this: Span; base: Span; baseCounts: Counts | null } | null;
    onSpan(s: Span, side: Side): void;
}

const LINES = 8,
    HEIGHT = 110,
    LEFT = 62,
    RIGHT = 22,
    EDGE = 32; // labels closer to the edge would be truncated or overlap the numbers on the left

/** A time in UTC, as precise as the steps between ticks. */
function timeText(t: number, incr: number): string {
    const iso = new Date(t * 1e3).toISOString();
    if (incr >= 28 * 86400) return iso.slice(0, 7);
    if (incr >= 86400) return iso.slice(5, 10);
    return incr >= 60 ? iso.slice(11, 16) : incr >= 1 ? iso.slice(11, 19) : iso.slice(14, 23);
}

interface Line {
    label: string;
    sum: number[];
}

/** The largest rows, and all others combined. */
function linesOf(c: Counts): Line[] {
    const size = (l: Line) => l.sum.reduce((a, b) => a + Math.abs(b), 0),
        all = c.rows.map((r) => ({ label: r.label, sum: r.sum })).sort((a, b) => size(b) - size(a));
    if (all.length <= LINES) return all;
    const rest = all.slice(LINES - 1);
    return [
        ...all.slice(0, LINES - 1),
        { label: `${rest.length} others`, sum: rest[0].sum.map((_, i) => rest.reduce((t, r) => t + r.sum[i], 0)) },
    ];
}

const HUES = [45, 250, 150, 330, 95, 200, 290, 15];
const BASE_HUE = 1;

type Ink = (alpha: number) => string;

function ink(hue: number, dark: boolean): Ink {
    const c = oklch(dark ? 0.74 : 0.6, 0.13, HUES[hue % HUES.length]);
    return (alpha) =>
        c +
        Math.round(alpha * 255)
            .toString(16)
            .padStart(2, '0');
}

/** A service keeps its colour when others come and go, as long as there are enough colours. Comparisons have fixed
 *  colours. */
function inksOf(lines: Line[], dark: boolean, sides: boolean): Ink[] {
    const taken = new Set<number>();
    return lines.map((l, i) => {
        let h = sides || lines.length === 1 ? i * BASE_HUE : hash(l.label) % HUES.length;
        for (let k = 0; k < HUES.length && taken.has(h); k++) h = (h + 1) % HUES.length;
        taken.add(h);
        return ink(h + (i >= HUES.length ? 1 : 0), dark);
    });
}

/** Selects a part of a plot by dragging, also on touch screens. */
function brush(plot: uPlot, onPart: (left: number, right: number, shift: boolean) => void): void {
    const { over } = plot;
    let from = -1;
    const at = (e: PointerEvent) =>
        Math.min(Math.max(e.clientX - over.getBoundingClientRect().left, 0), over.clientWidth);
    const mark = (e: PointerEvent) =>
        plot.setSelect(
            { left: Math.min(from, at(e)), width: Math.abs(at(e) - from), top: 0, height: over.clientHeight },
            false,
        );
    over.style.touchAction = 'pan-y';
    over.addEventListener('pointerdown', (e) => {
        if (e.button) return;
        over.setPointerCapture(e.pointerId);
        from = at(e);
    });
    over.addEventListener('pointermove', (e) => from >= 0 && mark(e));
    over.addEventListener('pointercancel', () => (from = -1));
    over.addEventListener('pointerup', (e) => {
        const a = Math.min(from, at(e)),
            b = Math.max(from, at(e));
        if (from >= 0 && b - a >= 4) onPart(a, b, e.shiftKey);
        from = -1;
        plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    });
}

export function SeriesChart(p: SeriesProps) {
    const box = useRef<HTMLDivElement>(null),
        size = useSize(box);
    const { sides } = p,
        [dragged, setDragged] = useState<Side>('this');
    const lines: Line[] = sides
        ? [
              { label: 'this', sum: p.counts.rows[0]?.sum ?? [] },
              ...(sides.baseCounts ? [{ label: 'against', sum: sides.baseCounts.rows[0]?.sum ?? [] }] : []),
          ].filter((l) => l.sum.length)
        : linesOf(p.counts);
    const dark = p.theme === 'dark',
        inks = inksOf(lines, dark, !!sides);
    useEffect(() => {
        if (!box.current || !size.width || !lines.length) return;
        const css = getComputedStyle(document.documentElement),
            v = (n: string) => css.getPropertyValue(n).trim(),
            { start, step } = p.counts;
        const incrs = roundSteps(p.unit),
            x = lines[0].sum.map((_, i) => (start + i * step) / 1e9);
        x.push((start + x.length * step) / 1e9); // the end of the last step
        const axis = { stroke: v('--dim'), grid: { stroke: v('--line'), width: 1 }, ticks: { show: false } },
            font = '11px system-ui, sans-serif';
        const plot = new uPlot(
            {
                width: size.width,
                height: HEIGHT,
                padding: [8, RIGHT, 0, 0],
                tzDate: (t) => uPlot.tzDate(new Date(t * 1e3), 'Etc/UTC'),
                legend: { show: false },
                cursor: { y: false, points: { show: false }, drag: { x: false, y: false, setScale: false } },
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
                        space: (_, _i, min, max, dim) => {
                            const narrow = size.width < 600;
                            return narrow && ((max - min) / dim) * 46 > 30 ? 46 : narrow ? 62 : 76;
                        },
                        gap: 2,
                        grid: { show: false },
                        values: (_, ticks, _axis, _space, incr) =>
                            ticks.map((t) => {
                                const x =
                                        ((t * 1e3 - p.span[0]) / (p.span[1] - p.span[0])) * (size.width - LEFT - RIGHT),
                                    whole = x > EDGE && x < size.width - LEFT - EDGE;
                                return whole ? timeText(t, incr) : '';
                            }),
                    },
                    {
                        ...axis,
                        font,
                        size: LEFT,
                        gap: 4,
                        space: 32,
                        ...(incrs && { incrs }),
                        values: (_, ticks) => ticks.map((t) => withUnit(t, p.unit)),
                    },
                ],
                series: [
                    {},
                    ...lines.map((l, i) => ({
                        label: l.label,
                        stroke: inks[i](1),
                        fill: inks[i](lines.length === 1 ? 0.18 : 0.07),
                        width: 1.5,
                        points: { show: false },
                        paths: uPlot.paths.stepped!({ align: 1 }),
                    })),
                ],
                hooks: {
                    drawClear: [
                        (u) => {
                            if (!sides) return;
                            for (const side of ['base', 'this'] as const) {
                                const x0 = u.valToPos(sides[side][0] / 1e3, 'x', true),
                                    x1 = u.valToPos(sides[side][1] / 1e3, 'x', true),
                                    { top, height } = u.bbox;
                                u.ctx.fillStyle = ink(side === 'base' ? BASE_HUE : 0, dark)(dark ? 0.24 : 0.16);
                                u.ctx.fillRect(x0, top, Math.max(x1 - x0, 3), height);
                            }
                        },
                    ],
                    setCursor: [
                        (u) => {
                            const tip = box.current?.querySelector<HTMLElement>('.series-tip');
                            if (!tip) return;
                            const i = u.cursor.idx;
                            tip.hidden = i === null || i === undefined || (u.cursor.left ?? -1) < 0;
                            if (tip.hidden) return;
                            const at = Math.min(i!, lines[0].sum.length - 1);
                            tip.textContent = [
                                new Date((start + at * step) / 1e6).toISOString().slice(11, 19),
                                ...lines
                                    .map((l) => ({ name: l.label, n: l.sum[at] }))
                                    .filter((l) => l.n)
                                    .slice(0, 4)
                                    .map((l) => (lines.length > 1 ? `${l.name} ` : '') + withUnit(l.n, p.unit)),
                            ].join('  ');
                        },
                    ],
                },
            },
            [x, ...lines.map((l) => [...l.sum, l.sum.at(-1) ?? 0])],
            box.current,
        );
        const ms = (px: number) => plot.posToVal(px, 'x') * 1e3;
        brush(plot, (a, b, shift) => {
            const grain = p.span[1] - p.span[0] > 5e3 ? 1 : 1e-3, // ms
                from = Math.floor(ms(a) / grain) * grain;
            p.onSpan(
                [from, Math.max(Math.ceil(ms(b) / grain) * grain, from + grain)],
                shift ? 'base' : sides ? dragged : 'this',
            );
        });
        return () => plot.destroy();
    }, [p.counts, p.span, p.unit, p.theme, size.width, dragged]);
    return (
        <div class="series">
            <div class="plot" ref={box} style={{ height: `${HEIGHT}px` }} aria-label="Over time" role="img">
                <div class="series-tip" hidden />
            </div>
            {sides ? (
                <div class="legend">
                    Drag to select
                    {(['this', 'base'] as const).map((side) => (
                        <button
                            key={side}
                            aria-pressed={dragged === side}
                            data-drag={side}
                            title={side === 'base' ? 'Or hold Shift while dragging' : ''}
                            onClick={() => setDragged(side)}
                        >
                            <i class={`swatch ${side}`} />
                            {side === 'this' ? 'this' : 'the comparison'}
                        </button>
                    ))}
                </div>
            ) : (
                lines.length > 1 && (
                    <ul class="legend">
                        {lines.map((l, i) => (
                            <li key={l.label}>
                                <i class="swatch" style={{ background: inks[i](1) }} />
                                {l.label || '(no name)'}
                            </li>
                        ))}
                    </ul>
                )
            )}
        </div>
    );
}
