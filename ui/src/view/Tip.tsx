// The tooltip next to the mouse pointer.
import { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

export function Tip(p: { x: number; y: number; children: ComponentChildren }) {
    const ref = useRef<HTMLDivElement>(null);
    useLayoutEffect(() => {
        const e = ref.current!,
            pad = 12;
        const right = p.x + pad + e.offsetWidth < innerWidth - 4,
            below = p.y + pad + e.offsetHeight < innerHeight - 4;
        e.style.left = `${Math.max(4, right ? p.x + pad : p.x - pad - e.offsetWidth)}px`;
        e.style.top = `${Math.max(4, below ? p.y + pad : p.y - pad - e.offsetHeight)}px`;
    });
    return (
        <div class="tip" ref={ref} role="tooltip">
            {p.children}
        </div>
    );
}
