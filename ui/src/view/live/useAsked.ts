// An answer that a view asks for by itself.
import { useEffect, useState } from 'preact/hooks';

export interface Asked<T> {
    answer: T | null; // of an earlier question, as long as the new one has none
    failed: string;
}

const KEPT = 8;
/** The last answers: a view that is made anew, because a part of the time was chosen, has its picture at once. */
const kept = new Map<string, unknown>();

function keep(key: string, answer: unknown): void {
    kept.delete(key);
    kept.set(key, answer);
    if (kept.size > KEPT) kept.delete(kept.keys().next().value!);
}

/** Asks again when the key, which says all of the question, changes; the older question ends. */
export function useAsked<T>(
    key: string,
    ask: (signal: AbortSignal) => Promise<T>,
    onError: (e: unknown) => void,
): Asked<T> {
    const [found, setFound] = useState<Asked<T>>({ answer: (kept.get(key) as T) ?? null, failed: '' });
    useEffect(() => {
        const known = kept.get(key) as T | undefined;
        if (known) return setFound((f) => (f.answer === known ? f : { answer: known, failed: '' }));
        const stop = new AbortController();
        ask(stop.signal).then(
            (answer) => {
                if (stop.signal.aborted) return;
                keep(key, answer);
                setFound({ answer, failed: '' });
            },
            (e: Error) => {
                if (stop.signal.aborted) return;
                setFound({ answer: null, failed: e.message });
                onError(e);
            },
        );
        return () => stop.abort();
    }, [key]);
    return found;
}
