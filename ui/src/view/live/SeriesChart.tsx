// Sums over time, a line for each service (or one in all). Drag over a part to look at it.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { hash, oklch } from '../../draw/palette';
import { Counts } from '../../live/questions';
import { Span } from '../../live/range';
import { withUnit } from '../../model/units';
import { useSize } from '../hooks';

export interface SeriesProps {
    counts: Counts;
    span: Span;
    unit: string;
    theme: 'light' | 'dark';
    onSpan(s: Span): void;
}

const LINES = 8,
    HEIGHT = 110;

/** As fine as the steps between ticks are; UTC. */
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

/** The largest rows, and the others as one. */
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
/** A service keeps its colour when others come and go, as far as there are colours. */
function colorsOf(lines: Line[], dark: boolean): ((alpha: number) => string)[] {
    const taken = new Set<number>();
    return lines.map((l, i) => {
        let h = lines.length === 1 ? 0 : hash(l.label) % HUES.length;
        for (let k = 0; k < HUES.length && taken.has(h); k++) h = (h + 1) % HUES.length;
        taken.add(h);
        const c = oklch(dark ? 0.74 : 0.6, 0.13, HUES[(h + (i >= HUES.length ? 1 : 0)) % HUES.length]);
        return (alpha) =>
            c +
            Math.round(alpha * 255)
                .toString(16)
                .padStart(2, '0');
    });
}

export function SeriesChart(p: SeriesProps) {
    const box = useRef<HTMLDivElement>(null),
        size = useSize(box);
    const lines = linesOf(p.counts);
    useEffect(() => {
        if (!box.current || !size.width || !lines.length) return;
        const css = getComputedStyle(document.documentElement),
            v = (n: string) => css.getPropertyValue(n).trim(),
            { start, step } = p.counts;
        const colors = colorsOf(lines, p.theme === 'dark'),
            x = lines[0].sum.map((_, i) => (start + i * step) / 1e9);
        x.push((start + x.length * step) / 1e9); // the end of the last step
        const axis = { stroke: v('--dim'), grid: { stroke: v('--line'), width: 1 }, ticks: { show: false } },
            font = '11px system-ui, sans-serif';
        const plot = new uPlot(
            {
                width: size.width,
                height: HEIGHT,
                padding: [8, 8, 0, 0],
                tzDate: (t) => uPlot.tzDate(new Date(t * 1e3), 'Etc/UTC'),
                legend: { show: false },
                cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 4 } },
                scales: {
                    x: { range: () => [p.span[0] / 1e3, p.span[1] / 1e3] },
                    y: { range: (_, lo, hi) => [Math.min(lo ?? 0, 0), (hi ?? 0) > 0 ? hi * 1.08 : 1] },
                },
                axes: [
                    {
                        ...axis,
                        font,
                        size: 24,
                        gap: 2,
                        grid: { show: false },
                        values: (_, ticks, _axis, _space, incr) => ticks.map((t) => timeText(t, incr)),
                    },
                    {
                        ...axis,
                        font,
                        size: 62,
                        gap: 4,
                        space: 32,
                        values: (_, ticks) => ticks.map((t) => withUnit(t, p.unit)),
                    },
                ],
                series: [
                    {},
                    ...lines.map((l, i) => ({
                        label: l.label,
                        stroke: colors[i](1),
                        fill: colors[i](lines.length === 1 ? 0.18 : 0.07),
                        width: 1.5,
                        points: { show: false },
                        paths: uPlot.paths.stepped!({ align: 1 }),
                    })),
                ],
                hooks: {
                    setSelect: [
                        (u) => {
                            if (u.select.width < 4) return;
                            const ms = (px: number) => u.posToVal(px, 'x') * 1e3,
                                a = ms(u.select.left),
                                b = ms(u.select.left + u.select.width);
                            u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
                            p.onSpan([Math.floor(a), Math.max(Math.ceil(b), Math.floor(a) + 1)]);
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
        return () => plot.destroy();
    }, [p.counts, p.span, p.unit, p.theme, size.width]);
    const colors = colorsOf(lines, p.theme === 'dark');
    return (
        <div class="series">
            <div class="plot" ref={box} style={{ height: `${HEIGHT}px` }} aria-label="Over time" role="img">
                <div class="series-tip" hidden />
            </div>
            {lines.length > 1 && (
                <ul class="legend">
                    {lines.map((l, i) => (
                        <li key={l.label}>
                            <i class="swatch" style={{ background: colors[i](1) }} />
                            {l.label || '(no name)'}
                        </li>
                    ))}
                </ul>
            )}
        </div>
    );
}
