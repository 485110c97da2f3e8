// Adds nodes to a tree that the server cut, where the user zooms to.
import { useEffect, useState } from 'preact/hooks';
import { grow } from '../../live/below';
import { Results } from '../../live/load';

interface Deeper {
    of: Results;
    results: Results;
    tried: string[]; // paths for which nothing is left to add
}

export interface DeeperResults {
    results: Results | null;
    busy: boolean;
}

/** `zoom`: the path that is shown. */
export function useDeeper(found: Results | null, zoom: string[], onError: (e: unknown) => void): DeeperResults {
    const [deeper, setDeeper] = useState<Deeper | null>(null),
        [busy, setBusy] = useState(false);
    const path = zoom.join(''),
        state = deeper?.of === found ? deeper : null,
        results = state?.results ?? found;
    useEffect(() => {
        const tree = results?.tree;
        if (!found || !tree?.cut.folded || !path || state?.tried.includes(path)) return;
        const stop = new AbortController();
        setBusy(true);
        grow({ tree, session: results!.session }, zoom, stop.signal)
            .then((grown) => {
                if (stop.signal.aborted) return;
                setDeeper({ of: found, results: { ...results!, ...grown }, tried: [...(state?.tried ?? []), path] });
            })
            .catch((e: unknown) => stop.signal.aborted || onError(e))
            .finally(() => stop.signal.aborted || setBusy(false));
        return () => (stop.abort(), setBusy(false));
    }, [found, path]);
    return { results, busy };
}
