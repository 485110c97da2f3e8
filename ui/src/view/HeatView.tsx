// The heat map: columns are seconds, rows parts of a second. Dragging from one cell to another selects the time between them.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ticks } from '../draw/axis';
import { heatColor } from '../draw/palette';
import { Filter } from '../model/filter';
import { Heat, heatOf } from '../model/heat';
import { Session } from '../model/session';
import { count, duration, utc, withUnit } from '../model/units';
import type { Profile } from '../otlp/types';
import { context, timed, useSize } from './hooks';
import { Tip } from './Tip';

export interface HeatProps {
    heat: Heat;
    base: bigint; // Unix ns from which heat.from and times count
    unit: string;
    time: [number, number] | null; // the selected range
    theme: 'light' | 'dark';
    onTime(t: [number, number] | null): void;
    onView(): void;
    onCloser?(): void; // shows a finer map of the selection, if there is one
}

const LEFT = 52,
    AXIS = 26,
    GROUND = 1;

/** The heat map of observations that the page has loaded. */
export function HeatView(
    p: Omit<HeatProps, 'heat' | 'base' | 'unit' | 'time'> & { session: Session; profile: Profile; filter: Filter },
) {
    const { set } = p.session.main,
        { profile } = p;
    const heat = useMemo(() => timed('heat', () => heatOf(set, profile, p.filter)), [profile, p.filter.labels]);
    return <HeatMap {...p} heat={heat} base={set.timeBase} unit={profile.unit} time={p.filter.time} />;
}

export function HeatMap(p: HeatProps) {
    const { heat } = p,
        ROWS = heat.rows;
    const box = useRef<HTMLDivElement>(null),
        canvas = useRef<HTMLCanvasElement>(null),
        size = useSize(box);
    const [hover, setHover] = useState<{ x: number; y: number; cell: number } | null>(null);
    const [drag, setDrag] = useState<[number, number] | null>(null); // cells
    const cw = Math.min(Math.max((size.width - LEFT) / heat.columns, 1.5), 40),
        ch = Math.max(Math.min((size.height - AXIS - 8) / ROWS, 14), 5);
    const cellNs = heat.column / ROWS,
        width = LEFT + cw * heat.columns,
        height = ROWS * ch + AXIS;
    const chosen = drag
        ? [Math.min(...drag), Math.max(...drag) + 1]
        : p.time
          ? [(p.time[0] - heat.from) / cellNs, (p.time[1] - heat.from) / cellNs]
          : null;

    const draw = () => {
        if (!canvas.current || !size.width) return;
        const g = context(canvas.current, width, height),
            css = getComputedStyle(document.documentElement);
        const v = (n: string) => css.getPropertyValue(n).trim();
        g.clearRect(0, 0, width, height);
        g.font = '11px system-ui, sans-serif';
        g.textBaseline = 'middle';
        const gap = cw > 5 ? GROUND : 0;
        for (let c = 0; c < heat.columns; c++)
            for (let r = 0; r < ROWS; r++) {
                const value = heat.cell[c * ROWS + r],
                    y = (ROWS - 1 - r) * ch;
                g.fillStyle = value ? heatColor(value, heat.most, p.theme) : v('--faint');
                const inside = !chosen || (c * ROWS + r >= chosen[0] - 1e-6 && c * ROWS + r < chosen[1] - 1e-6);
                g.globalAlpha = inside ? 1 : 0.3;
                g.fillRect(LEFT + c * cw, y, cw - gap, ch - gap);
            }
        g.globalAlpha = 1;
        g.fillStyle = v('--dim');
        for (let r = 0; r < ROWS; r += 10) g.fillText(r ? duration(r * cellNs) : '0', 2, (ROWS - r) * ch - ch / 2);
        for (const t of ticks(0, heat.columns * heat.column, heat.columns * cw)) {
            const x = LEFT + (t.at / heat.column) * cw;
            if (x < width - 30 || t.at === 0) g.fillText(t.text, x, ROWS * ch + AXIS / 2);
        }
    };
    useLayoutEffect(draw);
    const cellAt = (e: PointerEvent): number => {
        const r = canvas.current!.getBoundingClientRect();
        const c = Math.floor((e.clientX - r.left - LEFT) / cw),
            row = ROWS - 1 - Math.floor((e.clientY - r.top) / ch);
        return c < 0 || c >= heat.columns || row < 0 || row >= ROWS ? -1 : c * ROWS + row;
    };
    return (
        <div class="heat">
            <p class="dim">
                Each column is {duration(heat.column)}, each row {duration(cellNs)}. Stronger colours mean larger
                values. Drag from one cell to another to select the time between them{p.time ? '' : '.'}
                {p.time && (
                    <>
                        {' '}
                        ·{' '}
                        <button class="link" onClick={() => p.onTime(null)}>
                            whole time range
                        </button>{' '}
                        ·{' '}
                        <button class="link" onClick={p.onView}>
                            flame graph of the selection
                        </button>
                        {p.onCloser && (
                            <>
                                {' '}
                                ·{' '}
                                <button class="link" data-do="closer" onClick={p.onCloser}>
                                    finer heat map
                                </button>
                            </>
                        )}
                    </>
                )}
            </p>
            <div class="scroll" ref={box}>
                <canvas
                    ref={canvas}
                    aria-label="Heat map"
                    onPointerDown={(e) => {
                        const c = cellAt(e);
                        if (c < 0) return;
                        canvas.current!.setPointerCapture(e.pointerId);
                        setDrag([c, c]);
                    }}
                    onPointerMove={(e) => {
                        const cell = cellAt(e);
                        setHover(cell < 0 ? null : { x: e.clientX, y: e.clientY, cell });
                        if (drag && cell >= 0) setDrag([drag[0], cell]);
                    }}
                    onPointerUp={() => {
                        if (drag)
                            p.onTime([
                                heat.from + Math.min(...drag) * cellNs,
                                heat.from + (Math.max(...drag) + 1) * cellNs,
                            ]);
                        setDrag(null);
                    }}
                    onPointerLeave={() => setHover(null)}
                />
            </div>
            {hover && hover.cell < heat.cell.length && (
                <Tip x={hover.x} y={hover.y}>
                    <b>{withUnit(heat.cell[hover.cell], p.unit)}</b>
                    <div class="dim">{duration(hover.cell * cellNs)} after the start</div>
                    <div class="dim">
                        {utc(p.base + BigInt(Math.round(heat.from + hover.cell * cellNs)), cellNs < 1e9)}
                    </div>
                    {drag && (
                        <div>
                            {count(Math.abs(drag[1] - drag[0]) + 1)} cells,{' '}
                            {duration((Math.abs(drag[1] - drag[0]) + 1) * cellNs)}
                        </div>
                    )}
                </Tip>
            )}
        </div>
    );
}
