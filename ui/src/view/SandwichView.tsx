// Callers above, the selected function in the middle, callees below.
import { useMemo, useState } from 'preact/hooks';
import { ColorBy, Palette } from '../draw/palette';
import { Frames } from '../model/frames';
import { sandwichOf } from '../model/sandwich';
import { Table } from '../model/table';
import { References } from '../model/reference';
import { Tree, pathOf } from '../model/tree';
import { percent, withUnit } from '../model/units';
import { FlameCanvas } from './FlameCanvas';
import { timed } from './hooks';

export interface SandwichProps {
    tree: Tree;
    table: Table;
    frames: Frames;
    refs: References;
    rank: ArrayLike<number> | null;
    palette: Palette;
    color: ColorBy;
    unit: string;
    whole: number;
    match: Uint8Array | null;
    selected: number;
    onSelect(frame: number): void;
    onMenu(frame: number, x: number, y: number): void;
}

const LIST = 12;

/** Nothing is selected yet: offers the functions with the largest self values. */
function Choose(p: SandwichProps) {
    const top = Array.from(p.table.frame)
        .filter((f) => !p.match || p.match[f])
        .sort((a, b) => p.table.self[b] - p.table.self[a])
        .slice(0, LIST);
    return (
        <div class="choose">
            <h2>Callers and callees of one function</h2>
            <p class="dim">Select one here, or select a box in the flame graph or a row in the table.</p>
            <ol>
                {top.map((f) => (
                    <li key={f}>
                        <button onClick={() => p.onSelect(f)}>
                            <span
                                class="bar"
                                style={{
                                    width: `${p.whole ? Math.min(Math.abs(p.table.self[f] / p.whole), 1) * 100 : 0}%`,
                                }}
                            />
                            <span class="name">{p.frames.name[f]}</span>
                            <span class="value">{withUnit(p.table.self[f], p.unit)} self</span>
                        </button>
                    </li>
                ))}
            </ol>
        </div>
    );
}

function Half(p: SandwichProps & { side: Tree; up: boolean; label: string }) {
    const [zoom, setZoom] = useState({ of: '', path: [] as string[] }),
        of = p.refs.write(p.selected),
        node = useMemo(() => (zoom.of === of ? p.refs.follow(p.side, zoom.path) : 0), [p.side, of, zoom]);
    return (
        <FlameCanvas
            tree={p.side}
            frames={p.frames}
            palette={p.palette}
            color={p.color}
            unit={p.unit}
            baseTotal={p.whole}
            up={p.up}
            match={p.match}
            selected={0}
            zoom={node}
            label={p.label}
            fixed
            skipRoot
            onSelect={() => {}}
            onZoom={(n) => setZoom({ of, path: pathOf(p.side, n).map((i) => p.refs.step(p.side.frame[i])) })}
            onOpen={p.onSelect}
            onMenu={(i, x, y) => p.onMenu(p.side.frame[i], x, y)}
        />
    );
}

export function SandwichView(p: SandwichProps) {
    const s = useMemo(
        () => (p.selected ? timed('sandwich', () => sandwichOf(p.tree, p.selected, p.frames.n, p.rank)) : null),
        [p.tree, p.selected, p.rank],
    );
    if (!s || s.callees.n < 2) return <Choose {...p} />;
    const f = p.selected;
    return (
        <div class="sandwich">
            <h2>
                <span>Callers</span>
            </h2>
            {s.callers.levelOff.length > 3 ? (
                <Half {...p} side={s.callers} up label="Callers" />
            ) : (
                <p class="empty">No callers: stacks start with this function.</p>
            )}
            <h2 class="middle">
                <b>{p.frames.name[f]}</b>{' '}
                <span>
                    {withUnit(p.table.total[f], p.unit)} total, {percent(p.table.total[f], p.whole)}
                </span>
                <span>{withUnit(p.table.self[f], p.unit)} self</span>
            </h2>
            {s.callees.levelOff.length > 3 ? (
                <Half {...p} side={s.callees} up={false} label="Callees" />
            ) : (
                <p class="empty">No callees: this function calls no other functions.</p>
            )}
            {s.callees.levelOff.length > 3 && (
                <h2>
                    <span>Callees</span>
                </h2>
            )}
        </div>
    );
}
