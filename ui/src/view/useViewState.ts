// The state of the viewer: the fragment of the address, read for the data that are shown. It survives other data, because the
// address identifies frames and times by themselves, not by their position in the data.
import { useMemo, useRef, useState } from 'preact/hooks';
import { Session } from '../model/session';
import { State, changedFragment, readFragment, sameParts, writeFragment } from '../state';
import { address, changeAddress, useAddress } from './address';

export type Patch = Partial<State>;

export interface ViewOptions {
    theme: State['theme'] | null; // null: the viewer stores it itself
    onTheme(t: State['theme']): void;
    /** Returns the query part of the address that belongs to a new fragment. */
    searchFor(fragment: string): string;
}

export function useViewState(session: Session, o: ViewOptions | null): [State, (p: Patch) => void] {
    const { hash } = useAddress(),
        [own, setOwn] = useState<State['theme']>('auto'),
        [help, setHelp] = useState(false),
        last = useRef<State | null>(null);
    const compared = session.base !== null,
        fallback = useMemo(() => session.defaultType(), [session]),
        theme = o?.theme ?? own;
    const state = useMemo(() => {
        const read = readFragment(hash, compared, session.names, fallback),
            next = { ...read, theme, help };
        return (last.current = last.current ? sameParts(last.current, next) : next);
    }, [session, hash, theme, help]);
    const patch = (p: Patch) => {
        if (p.theme) (o?.onTheme ?? setOwn)(p.theme);
        if (p.help !== undefined) setHelp(p.help);
        const text = (s: State) => writeFragment(s, compared, session.names, fallback),
            fragment = changedFragment(address().hash, text(state), text({ ...state, ...p }));
        if (`#${fragment}` === address().hash || (!fragment && !address().hash)) return;
        changeAddress({ hash: fragment && `#${fragment}`, ...(o && { search: o.searchFor(fragment) }) });
    };
    return [state, patch];
}
