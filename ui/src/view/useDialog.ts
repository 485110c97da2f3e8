// The focus of a dialog: inside while it is open, then back where it was.
import { useLayoutEffect, useRef } from 'preact/hooks';

const REACHABLE = 'button:not(:disabled), input, select, textarea, a[href], [tabindex="0"]';

export function useDialog<T extends HTMLElement>() {
    const box = useRef<T>(null);
    // A layout effect: the next key may come before the next frame.
    useLayoutEffect(() => {
        const e = box.current!,
            before = document.activeElement as HTMLElement | null;
        if (!e.contains(before)) e.querySelector<HTMLElement>(REACHABLE)?.focus();
        const key = (k: KeyboardEvent) => {
            const list = [...e.querySelectorAll<HTMLElement>(REACHABLE)],
                at = list.indexOf(document.activeElement as HTMLElement),
                end = k.shiftKey ? 0 : list.length - 1;
            if (k.key !== 'Tab' || (at >= 0 && at !== end)) return;
            list[list.length - 1 - end]?.focus();
            k.preventDefault();
        };
        e.addEventListener('keydown', key);
        return () => {
            e.removeEventListener('keydown', key);
            before?.focus();
        };
    }, []);
    return box;
}
