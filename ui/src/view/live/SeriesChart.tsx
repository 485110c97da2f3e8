// Rates or levels over time: one area per row, stacked, or the two lines of a comparison. Dragging or Shift with the arrow keys
// selects a part; dragging with Shift selects the part to compare with.
import { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { Span } from '../../live/range';
import { Rate, rateOf } from '../../model/rate';
import { Counts, Line, Lines, linesOf, stepAt, sumAt } from '../../model/series';
import { useSize } from '../hooks';
import { Tip } from '../Tip';
import { Ink, inksOf, sideInks } from './seriesInk';
import { brush, heightOf, makePlot, markPart } from './seriesPlot';

export type Side = 'this' | 'base';

export interface SeriesProps {
    counts: Counts;
    span: Span;
    type: string;
    unit: string;
    theme: 'light' | 'dark';
    /** Comparison: the span contains both sides. */
    sides: { this: Span; base: Span; baseCounts: Counts | null } | null;
    onSpan(s: Span, side: Side): void;
    /** Shows only this row, or all but this one. */
    onRow(label: string, not: boolean): void;
    /** Controls beside the legend. */
    children?: ComponentChildren;
}

const LINES = 8,
    CONTROLS = 150; // px beside the times of the axis

/** The lines of a comparison: both sides, not added up. */
function sideLines(p: SeriesProps, rate: Rate): Lines {
    const own = linesOf(p.counts, rate, 1),
        other = p.sides!.baseCounts && linesOf(p.sides!.baseCounts, rate, 1);
    const named = (l: Lines | null, label: string): Line[] =>
        (l?.lines ?? []).slice(0, 1).map((x) => ({ ...x, label, others: 0 }));
    return { ...own, lines: [...named(own, 'this'), ...named(other, 'against')] };
}

const rowName = (l: Line): string => l.label || '(no value)';
const timeOf = (ns: number, step: number): string =>
    new Date(ns / 1e6)
        .toISOString()
        .replace('T', ' ')
        .slice(0, step < 1e9 ? 23 : 19);

interface StepTextProps {
    data: Lines;
    inks: Ink[];
    rate: Rate;
    step: number; // index
    length: number; // ns
    sum: boolean;
}

/** The values of all rows in a step, the largest first. */
function StepText(p: StepTextProps) {
    const { lines, edge, time } = p.data,
        text = (v: number | null) => (v === null ? 'no data' : p.rate.text(v)),
        rows = lines.map((l, i) => ({ l, i })).sort((a, b) => (b.l.values[p.step] ?? -1) - (a.l.values[p.step] ?? -1));
    return (
        <table class="series-values">
            <caption>
                {timeOf(time[p.step], p.length)} UTC
                {edge !== null && time[p.step + 1] > edge && <span class="dim"> · not complete yet</span>}
            </caption>
            <tbody>
                {rows.map(({ l, i }) => (
                    <tr key={l.label}>
                        <th scope="row">
                            <i class="swatch" style={{ background: p.inks[i](1) }} />
                            {lines.length > 1 ? rowName(l) : 'all'}
                        </th>
                        <td>{text(l.values[p.step])}</td>
                    </tr>
                ))}
                {p.sum && lines.length > 1 && (
                    <tr class="sum">
                        <th scope="row">sum</th>
                        <td>{text(sumAt(lines, p.step))}</td>
                    </tr>
                )}
            </tbody>
        </table>
    );
}

/** The same for the live region. */
function spoken(data: Lines, rate: Rate, step: number, length: number, chosen: [number, number] | null): string {
    const text = (v: number | null) => (v === null ? 'no data' : rate.text(v)),
        { lines, time } = data;
    const values =
        lines.length > 1
            ? [...lines.map((l) => `${rowName(l)} ${text(l.values[step])}`), `sum ${text(sumAt(lines, step))}`]
            : [text(lines[0]?.values[step] ?? null)];
    const part =
        chosen && chosen[0] !== chosen[1]
            ? ` Selected from ${timeOf(time[chosen[0]], length)} to ${timeOf(time[chosen[1] + 1], length)}.`
            : '';
    return `${timeOf(time[step], length)}: ${values.join(', ')}.${part}`;
}

interface Cursor {
    step: number;
    time: number; // of its beginning
    x: number;
    y: number;
    keys: boolean; // moved by keys
}

export function SeriesChart(p: SeriesProps) {
    const box = useRef<HTMLDivElement>(null),
        plot = useRef<uPlot | null>(null),
        byKeys = useRef(false),
        size = useSize(box);
    const { sides, counts } = p,
        [dragged, setDragged] = useState<Side>('this'),
        [dragging, setDragging] = useState(false),
        [cursor, setCursor] = useState<Cursor | null>(null),
        [anchor, setAnchor] = useState<number | null>(null); // the step at which a selection by keys begins
    const dark = p.theme === 'dark',
        rate = useMemo(() => rateOf(p.type, p.unit), [p.type, p.unit]),
        data = useMemo(
            () => (sides ? sideLines(p, rate) : linesOf(counts, rate, LINES)),
            [counts, sides?.baseCounts, !sides, rate],
        ),
        inks = sides ? sideInks(dark) : inksOf(data.lines, dark),
        overAxis = !!p.children && !sides && data.lines.length < 2, // no legend: the controls are beside the times
        steps = data.lines[0]?.values.length ?? 0,
        at = cursor && cursor.step < steps ? cursor : null,
        chosen: [number, number] | null =
            anchor !== null && at ? [Math.min(anchor, at.step), Math.max(anchor, at.step)] : null;
    const side = (shift: boolean): Side => (shift ? 'base' : sides ? dragged : 'this');
    // A layout effect: keys and drags work as soon as the chart can be seen.
    useLayoutEffect(() => {
        if (!box.current || !size.width || !steps) return;
        const made = makePlot(
            {
                data,
                rate,
                inks,
                span: p.span,
                width: size.width,
                marked: sides
                    ? (['base', 'this'] as const).map((s) => ({
                          span: sides[s],
                          color: inks[s === 'base' ? 1 : 0](dark ? 0.24 : 0.16),
                      }))
                    : [],
                stack: !sides,
                reserved: overAxis ? CONTROLS : 0,
                onCursor: (step, x, y) =>
                    setCursor(step === null ? null : { step, time: data.time[step], x, y, keys: byKeys.current }),
            },
            box.current,
        );
        plot.current = made;
        const ms = (px: number) => made.posToVal(px, 'x') * 1e3;
        brush(made, (a, b, shift) => {
            const grain = p.span[1] - p.span[0] > 5e3 ? 1 : 1e-3, // ms
                from = Math.floor(ms(a) / grain) * grain;
            p.onSpan([from, Math.max(Math.ceil(ms(b) / grain) * grain, from + grain)], side(shift));
        }, setDragging);
        if (at?.keys) {
            const again = stepAt(data, at.time);
            show(Math.min(Math.max(again, 0), steps - 1), anchor === null ? null : Math.min(anchor, steps - 1));
        }
        return () => {
            plot.current = null;
            made.destroy();
            setDragging(false);
        };
    }, [data, p.span, p.theme, size.width, dragged]);

    /** Moves the cursor to the middle of a step. */
    const show = (step: number, from: number | null) => {
        const u = plot.current;
        if (!u) return;
        const x = (ns: number) => u.valToPos(ns / 1e9, 'x'),
            [a, b] = from === null ? [step, step] : [Math.min(from, step), Math.max(from, step)];
        byKeys.current = true;
        u.setCursor({ left: (x(data.time[step]) + x(data.time[step + 1])) / 2, top: 10 });
        byKeys.current = false;
        setAnchor(from);
        if (from === null) markPart(u, 0, 0);
        else markPart(u, x(data.time[a]), x(data.time[b + 1]));
    };
    const key = (e: KeyboardEvent) => {
        if (e.altKey || e.ctrlKey || e.metaKey || e.target !== box.current || !steps) return;
        const move: Record<string, number> = {
            ArrowLeft: -1,
            ArrowRight: 1,
            PageUp: -10,
            PageDown: 10,
            Home: -steps,
            End: steps,
        };
        const here = at?.step ?? (move[e.key] > 0 ? -1 : steps);
        if (e.key in move) {
            const to = Math.min(Math.max(here + move[e.key], 0), steps - 1);
            show(to, e.shiftKey ? (anchor ?? Math.min(Math.max(here, 0), steps - 1)) : null);
        } else if (e.key === 'Enter' && at) {
            const [a, b] = chosen ?? [at.step, at.step];
            p.onSpan([Math.floor(data.time[a] / 1e6), Math.ceil(data.time[b + 1] / 1e6)], side(e.shiftKey));
            setAnchor(null);
        } else if (e.key === 'Escape' && at) {
            plot.current?.setCursor({ left: -10, top: -10 });
            show0();
        } else return;
        e.preventDefault();
        e.stopPropagation();
    };
    const show0 = () => {
        setAnchor(null);
        setCursor(null);
        if (plot.current) markPart(plot.current, 0, 0);
    };
    const what = `${p.type || 'samples'}${rate.axis ? ` in ${rate.axis}` : ''} over time`;
    return (
        <div class="series">
            <div
                class="plot"
                ref={box}
                style={{ height: `${heightOf(size.width)}px` }}
                tabIndex={0}
                role="application"
                aria-label={`${what}. Arrow keys move the cursor, Shift with arrow keys selects, Enter shows the selection.`}
                data-edge={data.edge === null ? '' : data.edge / 1e6}
                onKeyDown={key}
                onBlur={show0}
            />
            <div class="unseen" aria-live="polite" data-live="series">
                {at?.keys ? spoken(data, rate, at.step, counts.step, chosen) : ''}
            </div>
            {at && !dragging && (
                <Tip x={at.x} y={at.y}>
                    <StepText data={data} inks={inks} rate={rate} step={at.step} length={counts.step} sum={!sides} />
                </Tip>
            )}
            <div class={overAxis ? 'series-foot over' : 'series-foot'}>
                {sides ? (
                    <div class="legend">
                        A drag selects
                        {(['this', 'base'] as const).map((s) => (
                            <button
                                key={s}
                                aria-pressed={dragged === s}
                                data-drag={s}
                                title={s === 'base' ? 'Or hold Shift while dragging' : ''}
                                onClick={() => setDragged(s)}
                            >
                                <i class={`swatch ${s}`} />
                                {s === 'this' ? 'this side' : 'the other side'}
                            </button>
                        ))}
                    </div>
                ) : (
                    data.lines.length > 1 && (
                        <ul class="legend" data-legend>
                            {data.lines.map((l, i) => (
                                <li key={l.label}>
                                    {l.others ? (
                                        <span>
                                            <i class="swatch" style={{ background: inks[i](1) }} />
                                            {l.label}
                                        </span>
                                    ) : (
                                        <button
                                            data-row={l.label}
                                            title={`${rowName(l)}: click to show only this, with Alt or Ctrl to exclude it`}
                                            onClick={(e) => p.onRow(l.label, e.altKey || e.ctrlKey || e.metaKey)}
                                        >
                                            <i class="swatch" style={{ background: inks[i](1) }} />
                                            {rowName(l)}
                                        </button>
                                    )}
                                </li>
                            ))}
                        </ul>
                    )
                )}
                {p.children}
            </div>
        </div>
    );
}
