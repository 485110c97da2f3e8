// The call tree as a table: total, self and function, top-down or inverted. Only the visible rows are in the document.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Children, carryOpen, hottest, rowsOf, trunk } from '../model/calltree';
import { Drawn, carry } from '../model/carry';
import { Palette, stepIn } from '../draw/palette';
import { Frames } from '../model/frames';
import { Tree, largestOf, pathOf } from '../model/tree';
import { percent, signedPercent, withUnit } from '../model/units';
import { isMenuKey } from './FrameMenu';
import { useSize } from './hooks';
import { placeOf } from './NodeTip';

const LINE = 26,
    HEAD = 30,
    PAGE = 15,
    NARROW = 600, // px
    ROOM = { indent: 14, name: 420 }, // of a level, and of a name behind the deepest indentation
    NARROW_ROOM = { indent: 8, name: 290 };

export interface CallTreeProps {
    tree: Tree;
    frames: Frames;
    rank: ArrayLike<number>;
    palette: Palette;
    color: (node: number) => string;
    unit: string;
    whole: number;
    inverted: boolean;
    match: Uint8Array | null;
    selected: number;
    onSelect(frame: number): void;
    onOpen(frame: number): void;
    onMenu(node: number, x: number, y: number): void;
}

/** The opened nodes. When the tree changes, those with the same path stay open. */
function useOpen(of: Drawn, children: Children): [Set<number>, (s: Set<number>) => void] {
    const last = useRef<{ of: Drawn; open: Set<number> } | null>(null),
        [, render] = useState(0);
    if (last.current?.of.tree !== of.tree) {
        const carried = last.current ? carryOpen(last.current.of, last.current.open, of) : null;
        last.current = { of, open: carried?.size ? carried : trunk(of.tree, children) };
    }
    const set = (open: Set<number>) => {
        last.current = { of, open };
        render((n) => n + 1);
    };
    return [last.current!.open, set];
}

export function CallTreeView(p: CallTreeProps) {
    const t = p.tree,
        { frames } = p,
        box = useRef<HTMLDivElement>(null),
        size = useSize(box);
    const children = useMemo(() => new Children(t, p.rank), [t, p.rank]);
    const drawn: Drawn = { tree: t, frames },
        [open, setOpen] = useOpen(drawn, children),
        [top, setTop] = useState(0),
        room = size.width && size.width < NARROW ? NARROW_ROOM : ROOM,
        [current, setCurrent] = useState({ of: drawn, node: 0 });
    const rows = useMemo(() => rowsOf(t, children, open), [t, children, open]);
    const node = useMemo(() => Math.max(carry(current.of, current.node, drawn), 0), [current, t]),
        at = node ? rows.indexOf(node) : -1;
    const deepest = useMemo(() => rows.reduce((d, i) => Math.max(d, t.depth[i]), 1), [rows]);

    const mostChange = useMemo(
        () => (t.baseTotal ? rows.reduce((m, i) => Math.max(m, Math.abs(t.total[i] - t.baseTotal![i])), 0) : 0) || 1,
        [rows],
    );

    const go = (i: number) => {
        if (!i) return;
        setCurrent({ of: drawn, node: i });
        p.onSelect(t.frame[i]);
    };
    const opened = (more: number[]) => setOpen(new Set([...open, ...more]));
    const closed = (i: number) => setOpen(new Set([...open].filter((k) => k !== i)));
    // A function that was selected elsewhere, or by the search, is shown at its largest node.
    useLayoutEffect(() => {
        if (!p.selected || (node && t.frame[node] === p.selected)) return;
        const to = largestOf(t, p.selected);
        if (!to) return;
        opened(pathOf(t, to).slice(0, -1));
        setCurrent({ of: drawn, node: to });
    }, [frames.key(p.selected)]); // newer data number the frames differently
    useLayoutEffect(() => {
        const e = box.current!;
        if (at < 0) return;
        const y = at * LINE,
            indent = (t.depth[node] - 1) * room.indent,
            width = e.clientWidth - (e.querySelector<HTMLElement>('.figures-of')?.offsetWidth ?? 0);
        if (y < e.scrollTop) e.scrollTop = y;
        else if (y + LINE > e.scrollTop + e.clientHeight - HEAD) e.scrollTop = y + LINE - e.clientHeight + HEAD;
        if (indent < e.scrollLeft || indent > e.scrollLeft + width * 0.7)
            e.scrollLeft = Math.max(indent - width * 0.3, 0);
    }, [node, rows]);

    const key = (e: KeyboardEvent) => {
        const step = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE, Home: -1e9, End: 1e9 }[e.key];
        if (step && rows.length) {
            go(rows[at < 0 && Math.abs(step) < 1e9 ? 0 : Math.min(Math.max(at + step, 0), rows.length - 1)]);
        } else if (e.key === 'ArrowRight' && node) {
            if (!open.has(node)) t.count[node] && opened([node]);
            else go(children.of(node)[0] ?? 0);
        } else if (e.key === 'ArrowLeft' && node) {
            if (open.has(node) && t.count[node]) closed(node);
            else go(t.parent[node]);
        } else if (e.key === '*') {
            const path = hottest(children, node);
            opened([node, ...path]);
            go(path[path.length - 1] ?? node);
        } else if (e.key === 'Enter' && node) {
            p.onOpen(t.frame[node]);
        } else if (isMenuKey(e) && node) {
            const r = box.current!.querySelector('[aria-selected=true] .name b')?.getBoundingClientRect();
            p.onMenu(node, r?.left ?? 0, r?.bottom ?? 0);
        } else return;
        e.preventDefault();
        e.stopPropagation();
    };

    const from = Math.max(Math.floor(top / LINE) - 6, 0),
        to = Math.min(rows.length, from + Math.ceil((size.height || 600) / LINE) + 12);
    const figure = (v: number, kind: string) => (
        <span role="gridcell" class="number" data-col={kind} data-value={v}>
            <span class={v ? 'value' : 'value dim'}>{v ? withUnit(v, p.unit) : '0'}</span>
            <span class="share">{v ? percent(v, p.whole) : ''}</span>
        </span>
    );
    const change = (i: number) => {
        const before = t.baseTotal![i],
            v = t.total[i] - before,
            step = stepIn(t, t.total[i], before);
        return (
            <span role="gridcell" class="number" data-col="change" data-value={v} data-change={step}>
                <i
                    class="bar"
                    style={{ width: `${(Math.abs(v) / mostChange) * 100}%`, background: p.palette.change(step) }}
                />
                <span class={step ? 'value' : 'value dim'}>
                    {v > 0 ? '+' : ''}
                    {withUnit(v, p.unit)}
                </span>
                <span class="share">{before ? signedPercent(v, Math.abs(before)) : 'new'}</span>
            </span>
        );
    };
    const columns = t.baseTotal ? 3 : 2;
    const line = (i: number, k: number) => {
        const f = t.frame[i],
            siblings = children.of(t.parent[i]),
            isOpen = open.has(i);
        return (
            <div
                key={i}
                id={`call-${i}`}
                role="row"
                class={`call${i === node ? ' selected' : ''}${p.match ? (p.match[f] ? ' hit' : ' faded') : ''}`}
                style={{ transform: `translateY(${k * LINE}px)` }}
                aria-level={t.depth[i]}
                aria-posinset={siblings.indexOf(i) + 1}
                aria-setsize={siblings.length}
                aria-rowindex={k + 2}
                aria-selected={i === node}
                {...(t.count[i] ? { 'aria-expanded': isOpen } : {})}
                data-depth={t.depth[i]}
                onClick={() => go(i)}
                onDblClick={() => p.onOpen(f)}
                onContextMenu={(e) => {
                    e.preventDefault();
                    go(i);
                    p.onMenu(i, e.clientX, e.clientY);
                }}
            >
                <span class="figures-of" role="none">
                    {figure(t.total[i], 'total')}
                    {figure(t.self[i], 'self')}
                    {t.baseTotal && change(i)}
                </span>
                <span
                    role="gridcell"
                    class="name"
                    style={{ paddingLeft: `${(t.depth[i] - 1) * room.indent}px` }}
                    title={[frames.name[f], placeOf(frames, f)].filter(Boolean).join('\n')}
                >
                    <i
                        class="twist"
                        onClick={(e) => {
                            e.stopPropagation();
                            go(i);
                            if (t.count[i]) isOpen ? closed(i) : opened([i]);
                        }}
                    >
                        {t.count[i] ? (isOpen ? '▾' : '▸') : ''}
                    </i>
                    <i class="swatch" style={{ background: p.color(i) }} />
                    <b>{frames.name[f]}</b>
                    <span class="dim">{frames.library[f] || frames.file[f]?.replace(/^.*[\\/]/, '')}</span>
                </span>
            </div>
        );
    };
    return (
        <div
            class="calltree"
            ref={box}
            tabIndex={0}
            role="treegrid"
            aria-label={p.inverted ? 'Inverted call tree' : 'Call tree'}
            aria-rowcount={rows.length + 1}
            aria-colcount={columns + 1}
            aria-activedescendant={at >= from && at < to ? `call-${node}` : undefined}
            onScroll={(e) => setTop(e.currentTarget.scrollTop)}
            onKeyDown={key}
        >
            <div
                class={t.baseTotal ? 'sheet compared' : 'sheet'}
                role="none"
                style={{ height: `${rows.length * LINE + HEAD}px`, minWidth: `${deepest * room.indent + room.name}px` }}
            >
                <div role="rowgroup">
                    <div role="row" class="call-head" aria-rowindex={1}>
                        <span class="figures-of" role="none">
                            <span role="columnheader" class="number" title="including all functions that it calls">
                                Total
                            </span>
                            <span role="columnheader" class="number" title="in the function itself">
                                Self
                            </span>
                            {t.baseTotal && (
                                <span role="columnheader" class="number" title="of the total">
                                    Change
                                </span>
                            )}
                        </span>
                        <span role="columnheader" class="name">
                            Function
                        </span>
                    </div>
                </div>
                <div role="rowgroup" class="calls">
                    {rows.slice(from, to).map((i, k) => line(i, from + k))}
                </div>
            </div>
        </div>
    );
}
