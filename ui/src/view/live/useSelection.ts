// The selection, stored in the query part of the address.
import { useLayoutEffect, useMemo } from 'preact/hooks';
import { Selection, linkedIds, readAddress, writeAddress } from '../../live/selection';
import { timelessFragment } from '../../state';
import { Address, changeAddress, replaceAddress, useAddress } from '../address';

/** `fragment` is the new state of the viewer, if it changes too. */
export type Go = (p: Partial<Selection>, fragment?: string) => void;

/** Converts links to traces that other tools create; null: this is none. */
function linked(a: Address): Address | null {
    const ids = linkedIds(a.search, a.hash);
    if (!ids || readAddress(a.search).page === 'trace') return null;
    return { search: writeAddress({ ...readAddress(''), page: 'trace', ids }), hash: '' };
}

export function useSelection(): [Selection, Go, Address] {
    const here = useAddress(),
        link = linked(here),
        { search } = link ?? here,
        sel = useMemo(() => readAddress(search), [search]);
    useLayoutEffect(() => {
        if (link) replaceAddress(link);
    }, [link?.search]);
    const go: Go = (p, fragment) => {
        const same = !('selector' in p || 'range' in p || 'against' in p),
            kept = same ? here.hash : timelessFragment(here.hash);
        changeAddress({
            search: writeAddress({ ...sel, ...p }),
            hash: fragment === undefined ? kept : fragment && `#${fragment}`,
        });
    };
    return [sel, go, here];
}
