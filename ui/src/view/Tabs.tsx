// The tabs of the views: one of them is in the tab order, arrow keys move between them.
import { useEffect, useRef } from 'preact/hooks';
import { View } from '../state';

export const VIEW_ID = 'view'; // of the element that shows the view

export function Tabs(p: { views: View[]; view: View; titles: Record<View, string>; onView(v: View): void }) {
    const box = useRef<HTMLElement>(null);
    const current = () => box.current?.querySelector<HTMLElement>('[aria-selected=true]');
    useEffect(() => current()?.scrollIntoView({ block: 'nearest', inline: 'nearest' }), [p.view]);
    const key = (e: KeyboardEvent) => {
        const n = p.views.length,
            at = p.views.indexOf(p.view),
            to = { ArrowLeft: (at + n - 1) % n, ArrowRight: (at + 1) % n, Home: 0, End: n - 1 }[e.key];
        if (to === undefined) return;
        p.onView(p.views[to]);
        box.current!.querySelector<HTMLElement>(`[data-tab=${p.views[to]}]`)!.focus();
        e.preventDefault();
        e.stopPropagation();
    };
    return (
        <nav class="tabs" role="tablist" aria-label="Views" ref={box} onKeyDown={key}>
            {p.views.map((v, i) => (
                <button
                    key={v}
                    role="tab"
                    aria-selected={v === p.view}
                    aria-controls={VIEW_ID}
                    tabIndex={v === p.view ? 0 : -1}
                    data-tab={v}
                    title={`${p.titles[v]} (${i + 1})`}
                    onClick={() => p.onView(v)}
                >
                    {p.titles[v]}
                </button>
            ))}
        </nav>
    );
}
