// The selection, stored in the address: each action of the user is an entry of the browser's history.
import { useEffect, useState } from 'preact/hooks';
import { Selection, linkedIds, readAddress, writeAddress } from '../../live/selection';
import { timelessFragment } from '../../state';

/** `fragment` is the new state of the viewer, if it changes too. */
export type Go = (p: Partial<Selection>, fragment?: string) => void;

/** Reads the address. Links to traces that other tools create are converted. */
function atFirst(): Selection {
    const ids = linkedIds(location.search, location.hash),
        sel = readAddress(location.search);
    if (!ids || sel.page === 'trace') return sel;
    const found: Selection = { ...readAddress(''), page: 'trace', ids };
    history.replaceState(null, '', writeAddress(found));
    return found;
}

/** `onFragment` is called when the fragment may have changed. */
export function useSelection(onFragment: (f: string) => void): [Selection, Go, (r: Selection['range']) => void] {
    const [sel, setSel] = useState(atFirst);
    useEffect(() => {
        const back = () => {
            const here = atFirst();
            setSel((s) => (writeAddress(s) === writeAddress(here) ? s : here));
            onFragment(location.hash);
        };
        addEventListener('popstate', back);
        addEventListener('hashchange', back);
        return () => {
            removeEventListener('popstate', back);
            removeEventListener('hashchange', back);
        };
    }, []);
    const go: Go = (p, fragment) => {
        const next = { ...sel, ...p },
            same = !('selector' in p || 'range' in p || 'against' in p);
        const address = writeAddress(next) || location.pathname,
            hash =
                fragment !== undefined
                    ? fragment && `#${fragment}`
                    : same
                      ? location.hash
                      : timelessFragment(location.hash);
        if (address !== (location.search || location.pathname)) history.pushState(null, '', address + hash);
        else if (hash !== location.hash) history.replaceState(null, '', address + hash);
        onFragment(hash);
        setSel(next);
    };
    /** Fixes the time range, so that it no longer moves with the clock. */
    const pin = (range: Selection['range']) => {
        const next = { ...sel, range };
        history.replaceState(null, '', writeAddress(next) + location.hash);
        setSel(next);
    };
    return [sel, go, pin];
}
