// The flame chart: drag to move, wheel with Ctrl (or pinch) to zoom, Shift and drag to select a time range.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { AXIS, ChartScene, HEAD, Place, chartAt, paintChart, placesOf } from '../draw/chart';
import { ROW } from '../draw/flame';
import { ColorBy, Palette } from '../draw/palette';
import { Chart, Lane, chartOf, layersOf, longestBox } from '../model/chart';
import { Filter } from '../model/filter';
import { threadsOf } from '../model/labels';
import { Session } from '../model/session';
import { Reshape } from '../model/transforms';
import { counted, duration, utc } from '../model/units';
import type { Profile } from '../otlp/types';
import { context, timed, useSize } from './hooks';
import { Cursor } from './Cursor';
import { ChartCursor, moveBox } from './moves';
import { placeOf } from './NodeTip';
import { Tip } from './Tip';

export interface ChartProps {
    session: Session;
    profile: Profile;
    filter: Filter;
    palette: Palette;
    color: ColorBy;
    match: Uint8Array | null;
    selected: number;
    reshape: Reshape | null;
    range: [number, number] | null; // of the chart, ns after Dataset.timeBase; null: from the first to the last observation
    window: [number, number] | null;
    onWindow(w: [number, number] | null): void;
    onTime(t: [number, number] | null): void;
    onSelect(frame: number): void;
}

const OPEN_AT_FIRST = 3,
    PART = 14; // lanes that are open at first, and the levels shown of each

/** The rows of a lane after a click on its heading: some levels, then all, then none. */
const nextRows = (p: Place): number => (!p.rows ? PART : p.rows < p.levels ? Infinity : 0);

export function ChartView(p: ChartProps) {
    const box = useRef<HTMLDivElement>(null),
        canvas = useRef<HTMLCanvasElement>(null),
        size = useSize(box);
    const { profile } = p,
        bound = p.session.main;
    const observed: Chart = useMemo(
        () => timed('chart', () => chartOf(bound, profile, threadsOf(bound.set, profile), { ...p.filter, time: null })),
        [profile, p.filter.labels, p.reshape],
    );
    // The time of the other views, unless the observations have another clock.
    const { range } = p,
        fits = range && range[0] <= observed.from && observed.from < range[1],
        begin = fits ? range[0] : observed.from,
        end = fits ? range[1] : observed.to;
    const chart: Chart = useMemo(() => ({ ...observed, from: begin, to: end }), [observed, begin, end]);
    const [opened, setOpened] = useState<Map<string, number>>(new Map());
    const [hover, setHover] = useState<{ x: number; y: number } | null>(null);
    const [mark, setMark] = useState<[number, number] | null>(null); // pixels, while a time range is being selected
    const [cursor, setCursor] = useState<(ChartCursor & { of: Chart }) | null>(null), // moved by keys
        keyed = cursor?.of === chart ? cursor : null;
    const drag = useRef<{
        x: number;
        y: number;
        x0: number;
        x1: number;
        scroll: number;
        moved: boolean;
        marking: boolean;
    } | null>(null);

    const most = (l: Lane, i: number) =>
        opened.get(l.name) ?? (chart.lanes.length === 1 ? Infinity : i < OPEN_AT_FIRST ? PART : 0);
    const places = useMemo(() => placesOf(chart, most, (l) => layersOf(bound, l, p.reshape).length), [chart, opened]);
    const all = places.reduce((h, q) => h + q.height, 0) + AXIS,
        height = Math.min(size.height, all);
    const view: [number, number] = p.window ?? [chart.from, chart.to];
    const show = (a: number, b: number) => {
        const least = 1000,
            whole = chart.to - chart.from;
        const span = Math.min(Math.max(b - a, least), whole),
            from = Math.min(Math.max(a, chart.from), chart.to - span);
        p.onWindow(span >= whole ? null : [Math.round(from), Math.round(from + span)]);
    };
    const color = useMemo(
        () => p.palette.byFrame(p.session.frames, p.color === 'diff' ? 'package' : p.color),
        [p.palette, p.color, p.session.frames.n],
    );
    const scene = (): ChartScene => {
        const css = getComputedStyle(document.documentElement),
            v = (n: string) => css.getPropertyValue(n).trim();
        const s: ChartScene = {
            chart,
            places,
            frames: p.session.frames,
            palette: p.palette,
            color,
            match: p.match,
            selected: p.selected,
            ink: { text: v('--ink'), dim: v('--dim'), line: v('--line'), ground: v('--paper') },
            x0: view[0],
            x1: view[1],
            scroll: box.current?.scrollTop ?? 0,
            width: size.width,
            height,
            hover: null,
        };
        return s;
    };
    const draw = () => {
        if (!canvas.current || !size.width || !height) return;
        const s = scene(),
            r = canvas.current.getBoundingClientRect();
        const at = hover && chartAt(s, hover.x - r.left, hover.y - r.top);
        if (at && at.box >= 0) s.hover = { lane: at.place.lane, depth: at.depth, box: at.box };
        const g = context(canvas.current, size.width, height);
        timed('draw', () => paintChart(g, s));
    };
    useLayoutEffect(draw);
    useEffect(() => {
        // Ctrl+wheel zooms, Shift+wheel or a sideways wheel moves; a passive listener could not prevent scrolling
        const e = box.current!;
        const wheel = (w: WheelEvent) => {
            const r = e.getBoundingClientRect(),
                [a, b] = view,
                span = b - a;
            if (w.ctrlKey || w.metaKey) {
                const k = Math.exp(w.deltaY * 0.004),
                    at = a + ((w.clientX - r.left) / size.width) * span;
                show(at - (at - a) * k, at + (b - at) * k);
            } else if (w.shiftKey || Math.abs(w.deltaX) > Math.abs(w.deltaY)) {
                const by = ((w.deltaX || w.deltaY) / size.width) * span;
                show(a + by, b + by);
            } else return;
            w.preventDefault();
        };
        e.addEventListener('wheel', wheel, { passive: false });
        return () => e.removeEventListener('wheel', wheel);
    });

    // A function that was selected elsewhere, or by the search, is brought into view if no box of it is visible.
    useEffect(() => {
        if (!p.selected || !size.width) return;
        const [a, b] = view,
            top = box.current!.scrollTop;
        for (const q of places)
            for (let d = 0; d < Math.min(q.rows, q.lane.layers?.length ?? 0); d++) {
                const y = q.top + AXIS + HEAD + d * ROW;
                if (y < top || y + ROW > top + size.height) continue;
                const l = q.lane.layers![d];
                if (l.frame.some((f, i) => f === p.selected && l.x[i] < b && l.x[i] + l.w[i] > a)) return;
            }
        const to = longestBox(chart, p.selected, (l) => layersOf(bound, l, p.reshape));
        if (!to) return;
        if (to.depth >= places[to.lane].rows) setOpened((m) => new Map(m).set(chart.lanes[to.lane].name, Infinity));
        if (to.x + to.w < a || to.x > b) show(to.x + to.w / 2 - (b - a) / 2, to.x + to.w / 2 + (b - a) / 2);
        box.current!.scrollTop = places[to.lane].top + to.depth * ROW - size.height / 3;
    }, [p.selected, chart]);

    const look = (e: { clientX: number; clientY: number }) => {
        const r = canvas.current!.getBoundingClientRect();
        return chartAt(scene(), e.clientX - r.left, e.clientY - r.top);
    };
    const timeAt = (px: number) => view[0] + (px / size.width) * (view[1] - view[0]);
    const down = (e: PointerEvent) => {
        canvas.current!.setPointerCapture(e.pointerId);
        drag.current = {
            x: e.clientX,
            y: e.clientY,
            x0: view[0],
            x1: view[1],
            scroll: box.current!.scrollTop,
            moved: false,
            marking: e.shiftKey,
        };
    };
    const move = (e: PointerEvent) => {
        const d = drag.current;
        if (!d) return setHover({ x: e.clientX, y: e.clientY });
        if (Math.abs(e.clientX - d.x) + Math.abs(e.clientY - d.y) > 4) d.moved = true;
        if (!d.moved) return;
        setHover(null);
        const left = canvas.current!.getBoundingClientRect().left;
        if (d.marking) return setMark([Math.min(d.x, e.clientX) - left, Math.max(d.x, e.clientX) - left]);
        const by = ((d.x - e.clientX) / size.width) * (d.x1 - d.x0);
        show(d.x0 + by, d.x1 + by);
        box.current!.scrollTop = d.scroll + d.y - e.clientY;
    };
    const up = (e: PointerEvent) => {
        const d = drag.current;
        drag.current = null;
        if (d?.marking && mark) p.onTime([timeAt(mark[0]), timeAt(mark[1])]);
        setMark(null);
        if (!d || d.moved) return;
        const at = look(e);
        if (!at) return;
        if (at.box >= 0) {
            const l = at.place.lane.layers![at.depth];
            p.onSelect(l.frame[at.box]);
        } else if (at.depth < 0) setOpened((m) => new Map(m).set(at.place.lane.name, nextRows(at.place)));
    };
    const key = (e: KeyboardEvent) => {
        const [a, b] = view,
            span = b - a,
            to = e.shiftKey ? null : moveBox(places, keyed, e.key, a);
        if (to) goTo(to);
        else if (keyed && e.key === 'Enter') open(keyed, e.shiftKey);
        else if (e.key === 'ArrowLeft') show(a - span / 5, b - span / 5);
        else if (e.key === 'ArrowRight') show(a + span / 5, b + span / 5);
        else if (e.key === '+' || e.key === '=') show(a + span / 4, b - span / 4);
        else if (e.key === '-') show(a - span / 2, b + span / 2);
        else return;
        e.preventDefault();
        e.stopPropagation();
    };
    /** The times at which the box under the cursor begins and ends; null: a heading. */
    const timesOf = (c: ChartCursor): [number, number] | null => {
        const l = places[c.lane].lane.layers?.[c.depth];
        return l && c.depth >= 0 ? [l.x[c.box], l.x[c.box] + l.w[c.box]] : null;
    };
    const goTo = (c: ChartCursor) => {
        const t = timesOf(c),
            span = view[1] - view[0];
        setCursor({ ...c, of: chart });
        if (t && (t[1] <= view[0] || t[0] >= view[1])) show(t[0] - span / 4, t[0] + (span * 3) / 4);
    };
    /** Zooms to a box, or selects its time; opens or closes the lane of a heading. */
    const open = (c: ChartCursor, select: boolean) => {
        const t = timesOf(c),
            place = places[c.lane];
        if (!t) return setOpened((m) => new Map(m).set(place.lane.name, nextRows(place)));
        if (select) return p.onTime(t);
        p.onSelect(place.lane.layers![c.depth].frame[c.box]);
        show(...t);
    };
    const cursorBox = (c: ChartCursor) => {
        const top = AXIS + places[c.lane].top,
            t = timesOf(c),
            x = (v: number) => Math.min(Math.max(((v - view[0]) / (view[1] - view[0])) * size.width, 0), size.width);
        if (!t) return { left: 0, top, width: size.width, height: HEAD };
        return { left: x(t[0]), top: top + HEAD + c.depth * ROW, width: x(t[1]) - x(t[0]), height: ROW };
    };
    const cursorText = (c: ChartCursor): string => {
        const { lane: l, rows, levels } = places[c.lane],
            t = timesOf(c);
        if (!t)
            return `Thread ${l.name}: ${counted(l.n, 'observation')}, ${rows ? `${rows} of ${levels} levels shown` : 'closed'}`;
        return `${p.session.frames.name[l.layers![c.depth].frame[c.box]]}: ${duration(t[1] - t[0])} from ${duration(t[0] - chart.from)}, level ${c.depth + 1}, thread ${l.name}`;
    };
    /** The tooltip of a box. */
    const boxText = (frame: number, from: number, length: number) => (
        <>
            <b>{p.session.frames.name[frame]}</b>
            <div class="dim">
                {[placeOf(p.session.frames, frame), p.session.frames.library[frame]].filter(Boolean).join(' · ')}
            </div>
            <div class="dim">{utc(bound.set.timeBase + BigInt(Math.round(from)), true)}</div>
            <div>
                {duration(length)} from {duration(from - chart.from)}
            </div>
        </>
    );
    const marked = keyed && size.width && timesOf(keyed) ? keyed : null,
        markedLayer = marked && places[marked.lane].lane.layers![marked.depth];
    const at = hover && look({ clientX: hover.x, clientY: hover.y }),
        layer = at && at.box >= 0 ? at.place.lane.layers![at.depth] : null;
    return (
        <div
            class="flame chart"
            ref={box}
            tabIndex={0}
            role="application"
            aria-label="Flame chart. Arrow keys move from box to box, Enter zooms or opens a thread, Shift+Enter selects the time, Shift with arrow keys moves in time, plus and minus zoom."
            onBlur={() => setCursor(null)}
            onScroll={draw}
            onKeyDown={key}
        >
            <div style={{ height: `${all}px` }}>
                <canvas
                    ref={canvas}
                    onPointerDown={down}
                    onPointerMove={move}
                    onPointerUp={up}
                    onPointerLeave={() => setHover(null)}
                    onDblClick={() => p.onWindow(null)}
                />
                <Cursor
                    name="chart"
                    at={keyed && size.width ? cursorBox(keyed) : null}
                    text={keyed ? cursorText(keyed) : ''}
                >
                    {keyed && markedLayer
                        ? boxText(markedLayer.frame[keyed.box], markedLayer.x[keyed.box], markedLayer.w[keyed.box])
                        : keyed && cursorText(keyed)}
                </Cursor>
                {mark && <div class="mark" style={{ left: `${mark[0]}px`, width: `${mark[1] - mark[0]}px` }} />}
            </div>
            {layer && hover && at && (
                <Tip x={hover.x} y={hover.y}>
                    {boxText(layer.frame[at.box], layer.x[at.box], layer.w[at.box])}
                </Tip>
            )}
        </div>
    );
}
