// An answer that a view asks for by itself.
import { useEffect, useState } from 'preact/hooks';

export interface Asked<T> {
    answer: T | null; // of an earlier question, as long as the new one has none
    failed: string;
}

/** Asks again when the key changes; the older question ends. */
export function useAsked<T>(
    key: string,
    ask: (signal: AbortSignal) => Promise<T>,
    onError: (e: unknown) => void,
): Asked<T> {
    const [found, setFound] = useState<Asked<T>>({ answer: null, failed: '' });
    useEffect(() => {
        const stop = new AbortController();
        ask(stop.signal).then(
            (answer) => stop.signal.aborted || setFound({ answer, failed: '' }),
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
