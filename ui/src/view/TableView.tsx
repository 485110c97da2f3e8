// The table of functions with self and total. Only the visible rows are in the document.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Palette, stepIn } from '../draw/palette';
import { Frames } from '../model/frames';
import { Table } from '../model/table';
import { Tree } from '../model/tree';
import { percent, signedPercent, withUnit } from '../model/units';
import { isMenuKey } from './FrameMenu';
import { useSize } from './hooks';
import { placeOf } from './NodeTip';

const LINE = 28;

interface Column {
    id: string;
    title: string;
    hint: string;
    value(f: number): number | string;
}

function columns(t: Table, frames: Frames): Column[] {
    const out: Column[] = [
        { id: 'self', title: 'Self', hint: 'time or amount in the function itself', value: (f) => t.self[f] },
        { id: 'total', title: 'Total', hint: 'including all functions that it calls', value: (f) => t.total[f] },
    ];
    if (t.baseTotal) {
        out.push(
            {
                id: 'change',
                title: 'Change, self',
                hint: 'compared with the other profile',
                value: (f) => t.self[f] - t.baseSelf![f],
            },
            {
                id: 'changeTotal',
                title: 'Change, total',
                hint: 'compared with the other profile',
                value: (f) => t.total[f] - t.baseTotal![f],
            },
        );
    }
    out.push({ id: 'name', title: 'Function', hint: '', value: (f) => frames.name[f] });
    return out;
}

export interface TableProps {
    tree: Tree; // that the table is of
    table: Table;
    palette: Palette;
    frames: Frames;
    color: (frame: number) => string;
    unit: string;
    whole: number;
    match: Uint8Array | null;
    search: string; // that `match` is of
    selected: number;
    sort: string;
    onSort(s: string): void;
    onSelect(frame: number): void;
    onOpen(frame: number): void;
    onMenu(frame: number, x: number, y: number): void;
}

export function TableView(p: TableProps) {
    const cols = columns(p.table, p.frames),
        box = useRef<HTMLDivElement>(null),
        size = useSize(box);
    const [top, setTop] = useState(0);
    const up = p.sort.startsWith('-'),
        by = cols.find((c) => c.id === p.sort.replace(/^-/, '')) ?? cols[0];
    const rows = useMemo(() => {
        const list = Array.from(p.table.frame).filter((f) => !p.match || p.match[f]);
        const size = (v: number | string) => (by.id.startsWith('change') ? Math.abs(v as number) : (v as number));
        list.sort((a, b) => {
            const x = by.value(a),
                y = by.value(b);
            const d = typeof x === 'string' ? x.localeCompare(y as string) : size(y) - size(x);
            return (up ? -d : d) || a - b;
        });
        return list;
    }, [p.table, p.match, p.sort]);
    const at = p.selected ? rows.indexOf(p.selected) : -1,
        chosen = p.selected ? p.frames.key(p.selected) : ''; // newer data number the frames differently
    useLayoutEffect(() => {
        // scrolls to a function that was selected in another view
        const e = box.current!;
        if (at >= 0 && (at * LINE < e.scrollTop || (at + 2) * LINE > e.scrollTop + e.clientHeight))
            e.scrollTop = Math.max((at - 3) * LINE, 0);
    }, [chosen, p.sort]);
    useEffect(() => void (at < 0 && (box.current!.scrollTop = 0)), [p.search, p.sort]);
    const most = useMemo(() => {
        const out: Record<string, number> = {};
        for (const c of cols)
            if (c.id !== 'name') out[c.id] = rows.reduce((m, f) => Math.max(m, Math.abs(c.value(f) as number)), 0);
        return out;
    }, [rows, p.table]);

    const from = Math.max(Math.floor(top / LINE) - 4, 0),
        to = Math.min(rows.length, from + Math.ceil((size.height || 600) / LINE) + 10);
    const move = (e: KeyboardEvent) => {
        const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -1e9, End: 1e9 }[e.key];
        if (e.key === 'Enter' && p.selected) return p.onOpen(p.selected);
        if (isMenuKey(e) && at >= 0) {
            const r = box.current!.querySelector('.row.selected .name')?.getBoundingClientRect();
            p.onMenu(p.selected, r?.left ?? 0, r?.bottom ?? 0);
            e.preventDefault();
            e.stopPropagation();
            return;
        }
        if (!step || !rows.length) return;
        p.onSelect(rows[Math.min(Math.max(at + step, 0), rows.length - 1)]);
        e.preventDefault();
        e.stopPropagation();
    };
    const number = (c: Column, f: number) => {
        const v = c.value(f) as number,
            of = { change: p.table.baseSelf, changeTotal: p.table.baseTotal }[c.id];
        const step = of ? stepIn(p.tree, of[f] + v, of[f]) : null, // null: not a column of changes
            share = !v ? '' : !of ? percent(v, p.whole) : of[f] ? signedPercent(v, Math.abs(of[f])) : 'new';
        return (
            <td class="number" title={String(v)} data-change={step ?? undefined}>
                <span
                    class="bar"
                    style={{
                        width: `${most[c.id] ? (Math.abs(v) / most[c.id]) * 100 : 0}%`,
                        ...(step !== null && { background: p.palette.change(step) }),
                    }}
                />
                <span class={v && step !== 0 ? 'value' : 'value dim'}>
                    {of && v > 0 ? '+' : ''}
                    {withUnit(v, p.unit)}
                </span>
                <span class="share">{share}</span>
            </td>
        );
    };
    return (
        <div class="table" ref={box} tabIndex={0} onScroll={(e) => setTop(e.currentTarget.scrollTop)} onKeyDown={move}>
            <table class={p.table.baseTotal ? 'compared' : ''}>
                <thead>
                    <tr>
                        {cols.map((c) => (
                            <th
                                key={c.id}
                                class={c.id === 'name' ? '' : 'number'}
                                aria-sort={c === by ? (up ? 'ascending' : 'descending') : 'none'}
                            >
                                <button title={c.hint} onClick={() => p.onSort(c === by && !up ? `-${c.id}` : c.id)}>
                                    {c.title}
                                    <i>{c === by ? (up ? '↑' : '↓') : ''}</i>
                                </button>
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    <tr style={{ height: `${from * LINE}px` }} />
                    {rows.slice(from, to).map((f) => (
                        <tr
                            key={p.frames.key(f)}
                            class={f === p.selected ? 'row selected' : 'row'}
                            onClick={() => p.onSelect(f)}
                            onDblClick={() => p.onOpen(f)}
                            onContextMenu={(e) => {
                                e.preventDefault();
                                p.onSelect(f);
                                p.onMenu(f, e.clientX, e.clientY);
                            }}
                        >
                            {cols.slice(0, -1).map((c) => number(c, f))}
                            <td
                                class="name"
                                title={[p.frames.name[f], placeOf(p.frames, f)].filter(Boolean).join('\n')}
                            >
                                <i class="swatch" style={{ background: p.color(f) }} />
                                {p.frames.name[f]}
                                <span class="dim">{p.frames.library[f] || p.frames.file[f]?.replace(/^.*\//, '')}</span>
                            </td>
                        </tr>
                    ))}
                    <tr style={{ height: `${(rows.length - to) * LINE}px` }} />
                </tbody>
            </table>
            {!rows.length && <p class="empty">No function matches the search.</p>}
        </div>
    );
}
