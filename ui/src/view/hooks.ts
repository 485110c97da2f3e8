import { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';

/** The size of an element, kept up to date. */
export function useSize(ref: RefObject<HTMLElement>): { width: number; height: number } {
    const [size, set] = useState({ width: 0, height: 0 });
    useLayoutEffect(() => {
        const e = ref.current!;
        const measure = () =>
            set((old) =>
                old.width === e.clientWidth && old.height === e.clientHeight
                    ? old
                    : { width: e.clientWidth, height: e.clientHeight },
            );
        const o = new ResizeObserver(measure);
        o.observe(e);
        measure();
        return () => o.disconnect();
    }, []);
    return size;
}

export function useMedia(query: string): boolean {
    const m = matchMedia(query),
        [on, set] = useState(m.matches);
    useEffect(() => {
        const f = () => set(m.matches);
        m.addEventListener('change', f);
        return () => m.removeEventListener('change', f);
    }, [query]);
    return on;
}

/** Sizes a canvas for the pixels of the screen and returns a context that uses CSS pixels. */
export function context(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
    const ratio = Math.max(window.devicePixelRatio || 1, 1);
    const w = Math.round(width * ratio),
        h = Math.round(height * ratio);
    if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
        canvas.style.width = `${width}px`;
        canvas.style.height = `${height}px`;
    }
    const g = canvas.getContext('2d')!;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    return g;
}

/** Runs f and records the duration for `performance.getEntriesByName`. */
export function timed<T>(name: string, f: () => T): T {
    const start = performance.now();
    const out = f();
    performance.measure(`kiln:${name}`, { start, end: performance.now() });
    return out;
}
