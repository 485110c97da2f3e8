// The address of the page. It is also the state: components read it here, and what the user does changes it here. The address is
// kept in memory, because browsers limit how often a page may write it.
import { useLayoutEffect, useState } from 'preact/hooks';
import { stepOf } from '../state';

export interface Address {
    search: string; // empty, or with ? in front
    hash: string; // empty, or with # in front
}

const PAUSE_MS = 250, // between two writes of one entry
    STEPS_MS = 1000; // successive selections within this time are one entry

const read = (): Address => ({ search: location.search, hash: location.hash });
const same = (a: Address, b: Address) => a.search === b.search && a.hash === b.hash;

/** A downloaded report contains the view that it opens with (source.ts). */
const first = (): Address => (location.hash ? read() : { ...read(), hash: document.body.dataset['view'] ?? '' });

const listeners = new Set<() => void>();
let here = first(), // with the changes of the event that is being handled
    shown = here, // without them
    recorded = here, // the entry of the browser's history
    waiting = false,
    pause = 0,
    last = { of: '', at: 0 };

export const address = (): Address => here;

function record(entry: boolean): void {
    recorded = shown;
    const url = location.pathname + shown.search + shown.hash;
    try {
        if (entry) history.pushState(null, '', url);
        else history.replaceState(null, '', url);
    } catch {
        // This page has no address that can be written (a frame without an origin), or the browser's limit is reached.
    }
}

/** Writes the changes of the present entry that were held back. */
function flush(): void {
    clearTimeout(pause);
    pause = 0;
    if (recorded !== shown) record(false);
}

function show(next: Address): void {
    shown = here = next;
    listeners.forEach((f) => f());
}

/** Ends the changes of one event: together they are one step of the history. */
function commit(): void {
    waiting = false;
    if (same(here, shown)) return;
    const step = here.search === shown.search ? stepOf(shown.hash, here.hash) : { entry: true, of: '' },
        now = performance.now(),
        continued = step.of !== '' && step.of === last.of && (step.of !== 'sel' || now - last.at < STEPS_MS);
    if (step.entry) last = { of: step.of, at: now };
    if (step.entry && !continued) {
        flush();
        shown = here;
        record(true);
    } else {
        shown = here;
        if (!pause) {
            record(false);
            pause = setTimeout(flush, PAUSE_MS) as unknown as number;
        }
    }
    show(shown);
}

/** Changes the address because of an action of the user. */
export function changeAddress(p: Partial<Address>): void {
    here = { ...here, ...p };
    if (!waiting) queueMicrotask(commit);
    waiting = true;
}

/** Corrects the present entry: there is no step to undo. */
export function replaceAddress(p: Partial<Address>): void {
    show({ ...here, ...p });
    flush();
}

function arrived(): void {
    const next = read();
    clearTimeout(pause);
    pause = 0;
    last = { of: '', at: 0 };
    if (!same(next, shown)) show((recorded = next));
}
addEventListener('popstate', arrived);
addEventListener('hashchange', arrived);
addEventListener('pagehide', flush);

export function useAddress(): Address {
    const [now, set] = useState(shown);
    useLayoutEffect(() => {
        const f = () => set(shown);
        f();
        listeners.add(f);
        return () => void listeners.delete(f);
    }, []);
    return now;
}
