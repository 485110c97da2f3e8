// Keyboard shortcuts of the page.
import { useLayoutEffect } from 'preact/hooks';
import { ColorBy } from '../draw/palette';
import { Transform } from '../model/transforms';
import { State, View } from '../state';

export interface KeyActions {
    state: State;
    views: View[];
    theme: 'light' | 'dark';
    colors: ColorBy[];
    compared: boolean;
    focusSearch(): void;
    nextMatch(step: number): void;
    onlyMatches(): void;
    transform(list: Transform[]): void;
    invert(on: boolean): void;
    patch(p: Partial<State>): void;
}

/** Clears one thing: the help, the search, the zoom, the window, the selection, the last transform, or the filters, in this
 *  order. */
export function back(s: State): Partial<State> | null {
    if (s.help) return { help: false };
    if (s.search) return { search: '' };
    if (s.zoom.length) return { zoom: [] };
    if (s.window) return { window: null };
    if (s.selected) return { selected: 0 };
    if (s.transforms.length) return { transforms: s.transforms.slice(0, -1) };
    if (s.filter.time || s.filter.labels.length) return { filter: { labels: [], time: null } };
    return null;
}

function act(a: KeyActions, key: string): boolean {
    const { state: s, patch } = a,
        n = Number(key);
    if (n >= 1 && n <= a.views.length) patch({ view: a.views[n - 1] });
    else if (key === '/') a.focusSearch();
    else if (key === 'n') a.nextMatch(1);
    else if (key === 'N') a.nextMatch(-1);
    else if (key === 'o') a.onlyMatches();
    else if (key === 'u' && s.transforms.length) a.transform(s.transforms.slice(0, -1));
    else if (key === 'v') a.invert(!s.inverted);
    else if (key === 'i') patch({ icicle: !s.icicle });
    else if (key === 's' && s.selected) patch({ view: 'sandwich' });
    else if (key === 'c') patch({ color: a.colors[(a.colors.indexOf(s.color) + 1) % a.colors.length] });
    else if (key === 'd' && a.compared) patch({ compare: s.compare === 'off' ? 'share' : 'off' });
    else if (key === 't') patch({ theme: a.theme === 'dark' ? 'light' : 'dark' });
    else if (key === '?') patch({ help: !s.help });
    else return false;
    return true;
}

export function useKeys(a: KeyActions): void {
    // A layout effect, because the next key may come before the next frame and must see the new state
    useLayoutEffect(() => {
        const down = (e: KeyboardEvent) => {
            const typing =
                (e.target instanceof HTMLInputElement && !['checkbox', 'file'].includes(e.target.type)) ||
                e.target instanceof HTMLSelectElement;
            if (e.key === 'Escape') {
                const p = back(a.state);
                if (typing) (e.target as HTMLElement).blur();
                if (p) a.patch(p);
            } else if (typing || e.ctrlKey || e.metaKey || e.altKey || !act(a, e.key)) return;
            e.preventDefault();
        };
        addEventListener('keydown', down);
        return () => removeEventListener('keydown', down);
    });
}
