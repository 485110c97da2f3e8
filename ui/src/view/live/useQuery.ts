// The result of a query that a view sends by itself.
import { useEffect, useState } from 'preact/hooks';

export interface Queried<T> {
    result: T | null; // the previous result until the new query has one
    error: string;
}

const CACHED = 8;
/** The latest results: a view that is created again, because a part of the time was selected, has its picture at
 *  once. */
const cache = new Map<string, unknown>();

function store(key: string, result: unknown): void {
    cache.delete(key);
    cache.set(key, result);
    if (cache.size > CACHED) cache.delete(cache.keys().next().value!);
}

/** Runs the query again when the key, which identifies it, changes. The previous query is aborted. */
export function useQuery<T>(
    key: string,
    run: (signal: AbortSignal) => Promise<T>,
    onError: (e: unknown) => void,
): Queried<T> {
    const [state, setState] = useState<Queried<T>>({ result: (cache.get(key) as T) ?? null, error: '' });
    useEffect(() => {
        const known = cache.get(key) as T | undefined;
        if (known) return setState((f) => (f.result === known ? f : { result: known, error: '' }));
        const stop = new AbortController();
        run(stop.signal).then(
            (result) => {
                if (stop.signal.aborted) return;
                store(key, result);
                setState({ result, error: '' });
            },
            (e: Error) => {
                if (stop.signal.aborted) return;
                setState({ result: null, error: e.message });
                onError(e);
            },
        );
        return () => stop.abort();
    }, [key]);
    return state;
}
