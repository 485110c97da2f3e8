// The menu of a frame: what the transforms of model/transforms.ts can do with it. The letters are those of the Firefox
// Profiler where it has the same operation.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { shortName } from '../draw/label';
import { Frames } from '../model/frames';
import { Transform, optionOf, subtreeOf } from '../model/transforms';

export interface MenuAt {
    frame: number;
    path: number[] | null; // frames from the root of the shown tree; null: the view shows functions, not paths
    inverted: boolean;
    x: number;
    y: number;
}

interface Item {
    key: string;
    text: string;
    transform: Transform;
}

function itemsOf(frames: Frames, at: MenuAt): Item[] {
    const name = frames.name[at.frame],
        short = shortName(name),
        library = frames.library[at.frame],
        category = frames.kind[at.frame],
        pack = frames.package[at.frame];
    const of = (kind: Transform['kind'], name: string): Transform => ({ kind, name, path: '' });
    const out: Item[] = [{ key: 'f', text: 'Focus on function', transform: of('function', name) }];
    if (at.path?.length)
        out.push({
            key: 'S',
            text: at.inverted ? 'Only this path of callers' : 'Focus on subtree',
            transform: subtreeOf(frames, at.path, at.inverted),
        });
    out.push(
        { key: 'o', text: 'Only stacks with the function', transform: of('with', name) },
        { key: 'm', text: 'Merge function into its callers', transform: of('merge', name) },
        { key: 'd', text: 'Drop stacks with the function', transform: of('drop', name) },
        { key: 'c', text: `Collapse calls below ${short}`, transform: of('collapse', name) },
        { key: 'r', text: 'Collapse recursion', transform: of('recursion', name) },
        { key: 'R', text: 'Collapse direct recursion', transform: of('direct', name) },
    );
    if (library) out.push({ key: 'C', text: `Collapse library ${library}`, transform: of('resource', library) });
    if (category) out.push({ key: 'g', text: `Focus on category ${category}`, transform: of('category', category) });
    if (pack) out.push({ key: 'p', text: `Only package ${pack}`, transform: of('package', pack) });
    if (library) out.push({ key: 'l', text: `Only library ${library}`, transform: of('library', library) });
    return out;
}

export interface FrameMenuProps {
    frames: Frames;
    at: MenuAt;
    onTransform(t: Transform): void;
    onClose(): void;
}

export function FrameMenu(p: FrameMenuProps) {
    const box = useRef<HTMLDivElement>(null),
        before = useRef(document.activeElement as HTMLElement | null);
    const items = itemsOf(p.frames, p.at);
    const close = () => {
        p.onClose();
        before.current?.focus?.();
    };
    const choose = (t: Transform) => {
        p.onTransform(t);
        close();
    };
    useLayoutEffect(() => {
        // inside the window, and with the focus, so that letters and arrows work at once
        const e = box.current!,
            r = e.getBoundingClientRect();
        e.style.left = `${Math.max(Math.min(p.at.x, innerWidth - r.width - 4), 4)}px`;
        e.style.top = `${Math.max(Math.min(p.at.y, innerHeight - r.height - 4), 4)}px`;
        e.querySelector<HTMLElement>('[role=menuitem]')!.focus();
        const outside = (d: PointerEvent) => !e.contains(d.target as Node) && p.onClose();
        addEventListener('pointerdown', outside, true);
        return () => removeEventListener('pointerdown', outside, true);
    }, [p.at]);
    const key = (e: KeyboardEvent) => {
        e.stopPropagation();
        if (e.ctrlKey || e.metaKey || e.altKey) return;
        const all = [...box.current!.querySelectorAll<HTMLElement>('[role=menuitem]')],
            i = all.indexOf(document.activeElement as HTMLElement);
        const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: -1 }[e.key];
        const item = items.find((x) => x.key === e.key);
        if (to !== undefined) all[(to + all.length) % all.length].focus();
        else if (item) choose(item.transform);
        else if (e.key === 'Escape' || e.key === 'Tab') close();
        else return;
        e.preventDefault();
    };
    return (
        <div class="menu" ref={box} onKeyDown={key} onContextMenu={(e) => e.preventDefault()}>
            <b title={p.frames.name[p.at.frame]}>{shortName(p.frames.name[p.at.frame])}</b>
            <div role="menu" aria-label={`Transforms of ${p.frames.name[p.at.frame]}`}>
                {items.map((x) => (
                    <button
                        key={x.key}
                        role="menuitem"
                        tabIndex={-1}
                        aria-keyshortcuts={x.key}
                        data-transform={x.transform.kind}
                        title={optionOf(x.transform, p.frames) && `kiln top ${optionOf(x.transform, p.frames)}`}
                        onClick={() => choose(x.transform)}
                    >
                        <span>{x.text}</span>
                        <kbd>{x.key}</kbd>
                    </button>
                ))}
            </div>
        </div>
    );
}

/** Returns whether a key asks for the menu of the current frame. */
export const isMenuKey = (e: KeyboardEvent): boolean =>
    e.key === 'ContextMenu' ||
    (e.key === 'F10' && e.shiftKey) ||
    (e.key === 'm' && !e.ctrlKey && !e.metaKey && !e.altKey);
