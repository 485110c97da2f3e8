// Threads over time. Dragging selects a time range, a click on a name selects that thread.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { COLUMN, LaneScene, TOP, colorOf, isNarrow, laneAt, laneHeight, nsAt, paintLanes, partsAt, xOf } from '../../draw/lanes';
import { STRIP, paintSpans, spanAt } from '../../draw/laneSpans';
import { LaneSpan, laneSpans } from '../../live/laneSpans';
import { lanesOver } from '../../live/lanes';
import { timeOf } from '../../live/load';
import { Span } from '../../live/range';
import { withLabels } from '../../live/selector';
import { Lanes, groupAt, groupText, groupsOf, hasStates, sharesAt, stateSums } from '../../model/lanes';
import { count, counted, duration, percent, utc, withUnit } from '../../model/units';
import { context, timed, useSize } from '../hooks';
import { Cursor } from '../Cursor';
import { LaneCursor, moveLane } from '../moves';
import { Tip } from '../Tip';
import { ResultFrame, NotRefreshed, SELECTIONS } from './ResultFrame';
import { LiveTimeProps } from './LiveHeat';
import { useQuery } from './useQuery';

const GROUPS = 8, // most groups in the legend
    THREAD = 'thread.name';

/** Explains boxes and colours. */
function explained(l: Lanes): string {
    const states = hasStates(l);
    if (!l.step)
        return `Each row is a thread. Colours show ${states ? 'the state of the thread' : 'the function on top'}${
            l.scale ? '; heights are shares of the time where observations are too short to see' : ''
        }.`;
    return `Each row is a thread, each box ${duration(l.step)}. ${
        states ? 'Colours show the share of each thread state.' : l.scale ? 'Heights are shares of the time.' : 'Stronger colours mean larger values.'
    }`;
}

interface DrawnProps extends LiveTimeProps {
    found: Lanes;
    spans: LaneSpan[];
}

function Drawn(p: DrawnProps) {
    const { found, results, spans } = p,
        strip = spans.length ? STRIP : 0,
        off = Number(found.base - p.base); // offset of the lanes from the session
    const box = useRef<HTMLDivElement>(null),
        canvas = useRef<HTMLCanvasElement>(null),
        size = useSize(box);
    const [pointed, setHover] = useState<{ of: Lanes; x: number; y: number; lane: number; i: number } | null>(null),
        hover = pointed?.of === found ? pointed : null;
    const [pointedSpan, setHoverSpan] = useState<LaneSpan | null>(null),
        hoverSpan = pointedSpan && spans.includes(pointedSpan) ? pointedSpan : null;
    const [drag, setDrag] = useState<[number, number] | null>(null); // pixels
    const [cursor, setCursor] = useState<(LaneCursor & { of: Lanes; anchor: number | null }) | null>(null), // moved by keys
        keyed = cursor?.of === found ? cursor : null;
    const groups = useMemo(() => groupsOf(found), [found]),
        height = TOP + found.lanes.length * laneHeight({ strip });
    const narrow = size.width < 600,
        left = narrow ? 96 : 170,
        shown = narrow ? 4 : GROUPS;
    const chosen: [number, number] | null = p.time && [p.time[0] - off, p.time[1] - off];
    const scene = (): LaneScene => {
        const css = getComputedStyle(document.documentElement),
            v = (n: string) => css.getPropertyValue(n).trim();
        return {
            lanes: found,
            theme: p.theme,
            ink: { text: v('--ink'), dim: v('--dim'), line: v('--line'), faint: v('--faint') },
            left,
            strip,
            width: size.width,
            chosen,
            hover: hover && !drag ? hover : null,
        };
    };
    useLayoutEffect(() => {
        if (canvas.current && size.width)
            timed('draw', () => {
                const g = context(canvas.current!, size.width, height),
                    s = scene();
                paintLanes(g, s);
                paintSpans(g, s, spans, drag ? null : hoverSpan);
            });
    });
    const at = (e: PointerEvent) => {
        const r = canvas.current!.getBoundingClientRect();
        return { x: Math.min(Math.max(e.clientX - r.left, 0), size.width), y: e.clientY - r.top };
    };
    const toggle = (value: string) => {
        const rest = p.labels.filter((l) => l.key !== THREAD || l.value !== value);
        p.onLabels(rest.length < p.labels.length ? rest : [...rest, { key: THREAD, value, not: false }]);
    };
    const up = (e: PointerEvent) => {
        const q = at(e),
            s = scene();
        if (drag && Math.abs(drag[1] - drag[0]) > 3)
            p.onTime(
                [Math.min(...drag), Math.max(...drag)].map((x) => Math.round(nsAt(s, x)) + off) as [number, number],
            );
        else if (q.x < left) {
            const lane = found.lanes[Math.floor((q.y - TOP) / laneHeight(s))];
            if (lane?.thread) toggle(lane.thread);
        } else {
            const span = spanAt(s, spans, q.x, q.y);
            if (span) p.onIds(span);
        }
        setDrag(null);
    };
    /** The time of a box, which is at least as long as it is visible. */
    const timeOf = (c: LaneCursor): [number, number] => {
        const l = found.lanes[c.lane];
        return [l.time[c.i], l.time[c.i] + Math.max(l.length[c.i], found.length / 1000)];
    };
    const key = (e: KeyboardEvent) => {
        if (e.altKey || e.ctrlKey || e.metaKey) return;
        const to = moveLane(found, keyed, e.key);
        if (to) {
            const anchor = e.shiftKey ? (keyed?.anchor ?? timeOf(keyed ?? to)[0]) : null;
            setCursor({ ...to, of: found, anchor });
        } else if (keyed && e.key === 'Enter') {
            const [from, end] = timeOf(keyed),
                anchor = keyed.anchor ?? from;
            p.onTime([Math.min(anchor, from) + off, Math.max(anchor, end) + off].map(Math.round) as [number, number]);
        } else if (keyed && e.key === ' ') {
            const { thread } = found.lanes[keyed.lane];
            if (thread) toggle(thread);
        } else if (keyed && e.key === 'Escape') setCursor(null);
        else return;
        e.preventDefault();
        e.stopPropagation();
    };
    const keyBox = () => {
        const s = scene(),
            [from, end] = timeOf(keyed!),
            a = xOf(s, Math.min(from, keyed!.anchor ?? from));
        return { left: a, top: TOP + keyed!.lane * laneHeight(s), width: xOf(s, end) - a, height: laneHeight(s) };
    };
    /** The share of a step: of its time, or of its sum when the values are not times. */
    const shareOf = (l: Lanes['lanes'][number], i: number, value: number): string =>
        found.scale ? percent(value * found.scale, l.length[i]) : percent(value, Math.abs(l.value[i]));
    const boxText = (l: Lanes['lanes'][number], i: number): string =>
        [
            l.name,
            l.frame ? found.frames[l.frame[i]] : '',
            l.state && hasStates(found) ? groupText(found, groupAt(found, l, i)) : '',
            ...sharesAt(found, l, i).map((s) => `${groupText(found, s.name)} ${shareOf(l, i, s.value)}`),
            withUnit(l.value[i], results.unit),
            utc(found.base + BigInt(Math.round(l.time[i])), true),
        ]
            .filter(Boolean)
            .join(', ');
    const boxTip = (l: Lanes['lanes'][number], i: number) => (
        <>
            <b>{l.name}</b>
            {l.frame && <div>{found.frames[l.frame[i]]}</div>}
            {l.state && hasStates(found) && <div>{groupText(found, groupAt(found, l, i))}</div>}
            {sharesAt(found, l, i).map((s) => (
                <div key={s.name}>
                    <i class="swatch" style={{ background: colorOf(s.name, p.theme) }} /> {groupText(found, s.name)}{' '}
                    {shareOf(l, i, s.value)}, {withUnit(s.value, results.unit)}
                </div>
            ))}
            <div>{withUnit(l.value[i], results.unit)}</div>
            <div class="dim">{utc(found.base + BigInt(Math.round(l.time[i])), true)}</div>
        </>
    );
    const lane = hover && found.lanes[hover.lane],
        column =
            lane && canvas.current && hover.i >= 0 && isNarrow(scene(), lane, hover.i)
                ? partsAt(scene(), lane, hover.x - canvas.current.getBoundingClientRect().left)
                : [],
        unixMs = (ns: number) => Number(found.base / 1000n) / 1e3 + ns / 1e6;
    return (
        <div class="heat lanes">
            <p class="dim">
                {explained(found)} Drag to select a time range, click a name to show only that thread
                {p.time ? '' : '.'}
                {chosen && (
                    <>
                        {' · '}
                        <button class="link" onClick={() => p.onTime(null)}>
                            whole time range
                        </button>
                        {' · '}
                        <button class="link" onClick={() => p.onView('flame')}>
                            flame graph of the selection
                        </button>
                        {' · '}
                        <button class="link" data-do="closer" onClick={() => p.onSpan(chosen.map(unixMs) as Span)}>
                            zoom to the selection
                        </button>
                    </>
                )}
            </p>
            {groups.length > 0 && (
                <ul class="legend" data-groups={groups.length}>
                    {groups.slice(0, shown).map((g) => (
                        <li key={g.name} title={`${groupText(found, g.name)}: ${withUnit(g.sum, results.unit)}`}>
                            <i class="swatch" style={{ background: colorOf(g.name, p.theme) }} />
                            {groupText(found, g.name)}
                        </li>
                    ))}
                    {groups.length > shown && <li>and {count(groups.length - shown)} others</li>}
                </ul>
            )}
            <div
                class="scroll"
                ref={box}
                tabIndex={0}
                role="application"
                aria-label="Threads over time. Arrow keys move between threads and boxes, Shift with arrow keys selects, Enter selects the time, Space shows only the thread."
                onKeyDown={key}
                onBlur={() => setCursor(null)}
            >
                <Cursor
                    name="lanes"
                    at={keyed && size.width ? keyBox() : null}
                    text={keyed ? boxText(found.lanes[keyed.lane], keyed.i) : ''}
                >
                    {keyed && boxTip(found.lanes[keyed.lane], keyed.i)}
                </Cursor>
                <canvas
                    ref={canvas}
                    onPointerDown={(e) => {
                        const { x } = at(e);
                        if (e.button || x < left) return;
                        canvas.current!.setPointerCapture(e.pointerId);
                        setDrag([x, x]);
                    }}
                    onPointerMove={(e) => {
                        const q = at(e),
                            f = laneAt(scene(), q.x, q.y);
                        setHover(f && { of: found, x: e.clientX, y: e.clientY, ...f });
                        setHoverSpan(spanAt(scene(), spans, q.x, q.y));
                        if (drag) setDrag([drag[0], Math.max(q.x, left)]);
                    }}
                    onPointerUp={up}
                    onPointerLeave={() => (setHover(null), setHoverSpan(null))}
                />
                {(drag ?? (chosen && chosen.map((t) => xOf(scene(), t)))) &&
                    (() => {
                        const [a, b] = drag ?? (chosen!.map((t) => xOf(scene(), t)) as [number, number]),
                            from = Math.max(Math.min(a, b), left);
                        return (
                            <div
                                class="mark"
                                style={{
                                    left: `${from}px`,
                                    width: `${Math.max(Math.max(a, b) - from, 1)}px`,
                                    height: `${height}px`,
                                }}
                            />
                        );
                    })()}
                <ul class="unseen">
                    {found.lanes.map((l) => (
                        <li key={l.name} data-lane={l.name} data-n={l.n} data-sum={l.sum}>
                            {l.name}: {counted(l.n, 'observation')}, {withUnit(l.sum, results.unit)}
                            {stateSums(found, l).map(([name, sum]) => (
                                <span key={name} data-state={name} data-sum={sum}>
                                    , {groupText(found, name)} {percent(sum, Math.abs(l.sum))}
                                </span>
                            ))}
                        </li>
                    ))}
                </ul>
            </div>
            <SpanList spans={spans} lanes={found} onIds={p.onIds} />
            {hover && hoverSpan && (
                <Tip x={hover.x} y={hover.y}>
                    <b class="mono">{hoverSpan.span}</b>
                    <div class="dim">trace {hoverSpan.trace}</div>
                    <div>{duration(hoverSpan.to - hoverSpan.from)}</div>
                    <div class="dim">{utc(found.base + BigInt(Math.round(hoverSpan.from)), true)}</div>
                </Tip>
            )}
            {hover && lane && !hoverSpan && (
                <Tip x={hover.x} y={hover.y}>
                    {hover.i < 0 ? (
                        <>
                            <b>{lane.name}</b>
                            <div class="dim">
                                {counted(lane.n, 'observation')}, {withUnit(lane.sum, results.unit)}
                            </div>
                        </>
                    ) : (
                        <>
                            {boxTip(lane, hover.i)}
                            {column.length > 0 && found.scale > 0 && (
                                <div class="dim">
                                    around it, of {duration((COLUMN * found.length) / (size.width - left))}:
                                </div>
                            )}
                            {column.map((q) => (
                                <div key={q.name}>
                                    <i class="swatch" style={{ background: colorOf(q.name, p.theme) }} />{' '}
                                    {q.name || '(no name)'} {percent(q.share, 1)}
                                </div>
                            ))}
                        </>
                    )}
                </Tip>
            )}
        </div>
    );
}

const MOST_LISTED = 50;

/** The spans as a list, for the keyboard and screen readers. */
function SpanList({ spans, lanes, onIds }: { spans: LaneSpan[]; lanes: Lanes; onIds: LiveTimeProps['onIds'] }) {
    if (!spans.length) return null;
    const longest = [...spans].sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, MOST_LISTED);
    return (
        <details class="lane-spans" data-spans={spans.length}>
            <summary>
                {count(spans.length)} {spans.length === 1 ? 'span' : 'spans'} above the threads
                {spans.length > MOST_LISTED && `, the ${MOST_LISTED} longest`}
            </summary>
            <ul>
                {longest.map((s) => (
                    <li key={`${s.trace} ${s.span} ${s.lane}`} data-lane-span={s.span}>
                        <button
                            class="link mono"
                            title={`Only this span of trace ${s.trace}`}
                            onClick={() => onIds({ trace: s.trace, span: s.span })}
                        >
                            {s.span}
                        </button>{' '}
                        {lanes.lanes[s.lane].name}, {duration(s.to - s.from)}
                    </li>
                ))}
            </ul>
        </details>
    );
}

export function LiveLanes(p: LiveTimeProps) {
    const { span } = p.results,
        selector = withLabels(p.results.selector, p.labels);
    const { result, error, stale } = useQuery({
        subject: JSON.stringify(['lanes', selector, timeOf(p.results)]),
        version: JSON.stringify(['lanes', selector, span]),
        again: p.again,
        run: async (signal) => {
            const found = await lanesOver(selector, span!, p.results, signal);
            return { found, spans: await laneSpans(selector, span!, found, signal) };
        },
        onError: p.onError,
    });
    if (error && (!result || stale)) return <p class="empty big">Threads cannot be shown: {error}.</p>;
    if (!result) return <p class="empty big">Loading threads …</p>;
    const { found, spans } = result;
    return (
        <ResultFrame stale={stale} {...SELECTIONS}>
            <NotRefreshed what="The list of threads" error={error} />
            {found.partial && (
                <div class="notice" role="status">
                    The list is incomplete: {found.why}.
                </div>
            )}
            {found.lanes.length ? (
                <Drawn {...p} found={found} spans={spans} />
            ) : (
                <p class="empty big">These samples have no timestamps: their senders sent sums.</p>
            )}
        </ResultFrame>
    );
}
