// An interactive flame graph: zoom, selection, keyboard.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Scene, contentHeight, levelTop, nodeAt, paint, ROW, rowFor } from '../draw/flame';
import { ColorBy, Palette } from '../draw/palette';
import { Drawn, carry } from '../model/carry';
import { Frames } from '../model/frames';
import { Tree, largestOf } from '../model/tree';
import { isMenuKey } from './FrameMenu';
import { context, timed, useMedia, useSize } from './hooks';
import { NodeTip, nodeText } from './NodeTip';
import { Spoken } from './Spoken';

export interface FlameProps {
    tree: Tree;
    frames: Frames;
    palette: Palette;
    color: ColorBy;
    unit: string;
    baseTotal: number; // total of the whole profile, for percentages
    up: boolean;
    match: Uint8Array | null;
    selected: number;
    zoom: number;
    label: string;
    onSelect(frame: number, node: number): void;
    onZoom(node: number): void;
    onOpen?(frame: number): void; // a double click
    onMenu?(node: number, x: number, y: number): void;
    fixed?: boolean; // as high as its rows, which have the minimum height
    skipRoot?: boolean;
}

const ANIMATION_MS = 140;
const LARGE = 100_000; // boxes

export function FlameCanvas(p: FlameProps) {
    const box = useRef<HTMLDivElement>(null),
        canvas = useRef<HTMLCanvasElement>(null);
    const size = useSize(box),
        still = useMedia('(prefers-reduced-motion: reduce)'),
        touch = useMedia('(hover: none)');
    const [hover, setHover] = useState<{ x: number; y: number } | null>(null);
    const [cursor, setCursor] = useState<{ of: Drawn; node: number } | null>(null);
    const drawn: Drawn = { tree: p.tree, frames: p.frames },
        node = useMemo(() => (cursor ? carry(cursor.of, cursor.node, drawn) : -1), [cursor, p.tree]),
        setNode = (i: number) => setCursor({ of: drawn, node: i });
    const fromRoot = useRef(0); // pixels between the root and the lower edge, when the root is at the bottom
    let over = -1; // the node below the pointer
    const [byKeys, setByKeys] = useState(false); // the cursor was moved by keys
    const view = useRef({ x0: 0, x1: 1, tree: null as Tree | null, timer: 0 });
    const color = useMemo(() => p.palette.byNode(p.tree, p.frames, p.color), [p.palette, p.tree, p.frames, p.color]);
    const top = p.skipRoot ? 1 : 0,
        rowHeight = p.fixed ? ROW : rowFor(p.tree, top, size.height),
        all = contentHeight(p.tree, top, rowHeight),
        height = Math.min(size.height || 0, all);

    const target = (): [number, number] => {
        const x = p.tree.x[p.zoom],
            w = p.tree.w[p.zoom] || 1;
        return [x, x + w];
    };
    const scene = (): Scene => ({
        tree: p.tree,
        frames: p.frames,
        palette: p.palette,
        color,
        up: p.up,
        match: p.match,
        selected: p.selected,
        node,
        zoom: p.zoom,
        x0: view.current.x0,
        x1: view.current.x1,
        scroll: box.current?.scrollTop ?? 0,
        width: size.width,
        height,
        hover: over,
        top,
        row: rowHeight,
    });
    const latest = useRef(scene);
    latest.current = scene;
    const draw = () => {
        if (!canvas.current || !size.width || !height) return;
        const g = context(canvas.current, size.width, height);
        timed('draw', () => paint(g, latest.current()));
    };
    const drawLatest = useRef(draw);
    drawLatest.current = draw;

    // A new tree is shown at once; another zoom of the same tree is animated.
    useLayoutEffect(() => {
        const v = view.current,
            [x0, x1] = target();
        cancelAnimationFrame(v.timer);
        if (v.tree !== p.tree || still || (v.x0 === x0 && v.x1 === x1)) {
            v.tree = p.tree;
            v.x0 = x0;
            v.x1 = x1;
            return;
        }
        const from0 = v.x0,
            from1 = v.x1,
            start = performance.now();
        const step = (now: number) => {
            const k = Math.min(Math.max((now - start) / ANIMATION_MS, 0), 1),
                e = 1 - (1 - k) ** 3;
            v.x0 = from0 + (x0 - from0) * e;
            v.x1 = from1 + (x1 - from1) * e;
            drawLatest.current();
            if (k < 1) v.timer = requestAnimationFrame(step);
        };
        v.timer = requestAnimationFrame(step);
    }, [p.tree, p.zoom]);
    useLayoutEffect(() => void (fromRoot.current = 0), [p.up]); // starts at the root
    useLayoutEffect(() => {
        const e = box.current!;
        if (p.up) e.scrollTop = all - e.clientHeight - fromRoot.current;
    }, [all, p.up, size.height]);
    useLayoutEffect(draw);
    // A function that was selected elsewhere, or by the search, is shown at its largest box. A layout effect: the next key
    // moves from there.
    useLayoutEffect(() => {
        const i =
            node >= 0 && p.tree.frame[node] === p.selected ? 0 : p.selected && largestOf(p.tree, p.selected, p.zoom);
        if (!i || !height) return;
        setNode(i);
        show(i);
    }, [p.frames.key(p.selected), !height]); // newer data number the frames differently
    // The first drawing of a large picture runs code that the browser has not compiled yet. Drawing it again while the page
    // is idle makes the first zoom as fast as later ones.
    useEffect(() => {
        if (p.tree.n < LARGE) return;
        let left = 4;
        const again = () => {
            drawLatest.current();
            if (--left) timer = setTimeout(again, 60);
        };
        let timer = setTimeout(again, 60);
        return () => clearTimeout(timer);
    }, [p.tree]);

    const below = (x: number, y: number): number => {
        const r = canvas.current!.getBoundingClientRect();
        return nodeAt(scene(), x - r.left, y - r.top);
    };
    const at = (e: MouseEvent): number => below(e.clientX, e.clientY);
    if (hover && canvas.current) over = below(hover.x, hover.y);
    const show = (i: number) => {
        // scrolls until the level is visible
        const y = levelTop(scene(), p.tree.depth[i]);
        if (y < 0) box.current!.scrollTop += y - rowHeight;
        else if (y + rowHeight > height) box.current!.scrollTop += y + 2 * rowHeight - height;
    };
    const go = (i: number) => {
        if (i < 0) return;
        setNode(i);
        setByKeys(true);
        show(i);
        p.onSelect(p.tree.frame[i], i);
    };
    const key = (e: KeyboardEvent) => {
        const t = p.tree,
            i = node < 0 ? p.zoom : node,
            toLeaf = p.up ? 'ArrowUp' : 'ArrowDown';
        const level = (d: number) => d >= t.levelOff[t.depth[i]] && d < t.levelOff[t.depth[i] + 1];
        if (e.key === toLeaf) {
            let best = -1; // the widest child
            for (let k = t.first[i]; k < t.first[i] + t.count[i]; k++) if (best < 0 || t.w[k] > t.w[best]) best = k;
            go(best);
        } else if (e.key === 'ArrowUp' || e.key === 'ArrowDown') go(t.parent[i]);
        else if (e.key === 'ArrowLeft') level(i - 1) && go(i - 1);
        else if (e.key === 'ArrowRight') level(i + 1) && go(i + 1);
        else if (e.key === 'Enter') p.onZoom(i);
        else if (isMenuKey(e) && p.onMenu && i > 0) {
            const r = canvas.current!.getBoundingClientRect(),
                s = scene(),
                x = ((t.x[i] - s.x0) / (s.x1 - s.x0 || 1)) * s.width;
            p.onMenu(i, r.left + Math.max(x, 0) + 8, r.top + levelTop(s, t.depth[i]) + rowHeight);
        } else if (e.key === 'Backspace') p.onZoom(Math.max(t.parent[p.zoom], 0));
        else if (e.key === 's' && node > 0 && p.onOpen) p.onOpen(t.frame[node]);
        else return;
        e.preventDefault();
        e.stopPropagation();
    };

    const marked = byKeys && canvas.current ? node : -1;
    /** The lower left corner of a box in the window. */
    const corner = (i: number) => {
        const [x0, x1] = target(),
            r = canvas.current!.getBoundingClientRect();
        return {
            x: r.left + Math.max((p.tree.x[i] - x0) / (x1 - x0), 0) * size.width,
            y: r.top + levelTop(scene(), p.tree.depth[i]) + rowHeight,
        };
    };
    return (
        <div
            class="flame"
            ref={box}
            style={p.fixed ? { height: `${all}px` } : undefined}
            tabIndex={0}
            role="application"
            aria-label={`${p.label}. Arrow keys move from box to box, Enter zooms, Backspace zooms out, s shows callers and callees.`}
            data-row={rowHeight}
            onScroll={(e) => {
                fromRoot.current = all - e.currentTarget.clientHeight - e.currentTarget.scrollTop;
                drawLatest.current();
            }}
            onKeyDown={key}
            onBlur={() => setByKeys(false)}
        >
            <div style={{ height: `${all}px` }}>
                <canvas
                    ref={canvas}
                    style={{ cursor: over >= 0 ? 'pointer' : 'default' }}
                    onMouseMove={(e) => setHover({ x: e.clientX, y: e.clientY })}
                    onMouseLeave={() => setHover(null)}
                    onContextMenu={(e) => {
                        const i = at(e);
                        if (i <= 0 || !p.onMenu) return;
                        e.preventDefault();
                        setHover(null);
                        setNode(i);
                        p.onSelect(p.tree.frame[i], i);
                        p.onMenu(i, e.clientX, e.clientY);
                    }}
                    onDblClick={(e) => at(e) >= 0 && p.onOpen?.(p.tree.frame[at(e)])}
                    onClick={(e) => {
                        const i = at(e);
                        if (i < 0) return;
                        setNode(i);
                        setByKeys(false);
                        timed('zoom', () => (p.onSelect(p.tree.frame[i], i), p.onZoom(i)));
                    }}
                />
            </div>
            <Spoken name={p.label} text={marked < 0 ? '' : nodeText(p.tree, marked, p.frames, p.unit, p.baseTotal)} />
            {marked >= 0 && !hover && (
                <NodeTip
                    {...corner(marked)}
                    tree={p.tree}
                    node={marked}
                    frames={p.frames}
                    unit={p.unit}
                    whole={p.baseTotal}
                />
            )}
            {hover && over >= 0 && !touch && (
                <NodeTip
                    x={hover.x}
                    y={hover.y}
                    tree={p.tree}
                    node={over}
                    frames={p.frames}
                    unit={p.unit}
                    whole={p.baseTotal}
                />
            )}
        </div>
    );
}
