// A button with a small panel below it, which closes on Escape, on a click elsewhere, or after a choice.
import { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface PopoverProps {
    label: ComponentChildren;
    title: string;
    name: string; // data-do
    class?: string;
    children(close: () => void): ComponentChildren;
}

export function Popover(p: PopoverProps) {
    const [open, setOpen] = useState(false),
        box = useRef<HTMLDivElement>(null);
    // A layout effect: the focus and Escape work at once, not after the next frame.
    useLayoutEffect(() => {
        if (!open) return;
        const key = (e: KeyboardEvent) => {
            if (e.key !== 'Escape') return;
            e.stopPropagation();
            setOpen(false);
            box.current?.querySelector<HTMLElement>('.pick')?.focus();
        };
        const down = (e: Event) => !box.current?.contains(e.target as Node) && setOpen(false);
        document.addEventListener('keydown', key, true);
        document.addEventListener('pointerdown', down, true);
        const first = (of: string) => box.current?.querySelector<HTMLElement>(of);
        (first('.pop input, .pop select') ?? first('.pop button'))?.focus();
        return () => {
            document.removeEventListener('keydown', key, true);
            document.removeEventListener('pointerdown', down, true);
        };
    }, [open]);
    return (
        <div class={`pop-box ${p.class ?? ''}`} ref={box}>
            <button
                class="pick"
                title={p.title}
                aria-expanded={open}
                data-do={p.name}
                onClick={() => setOpen((o) => !o)}
            >
                {p.label}
            </button>
            {open && (
                <div class="pop" role="dialog" aria-label={p.title}>
                    {p.children(() => setOpen(false))}
                </div>
            )}
        </div>
    );
}
