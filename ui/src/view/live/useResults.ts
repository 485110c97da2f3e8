// The results of the selection: one load at a time, repeated when newer data are wanted.
import { useRef } from 'preact/hooks';
import { Results, load, nameOf } from '../../live/load';
import { statusNow } from '../../live/queries';
import { Queried } from '../../live/runner';
import { NO_IDS, Selection, writeAddress } from '../../live/selection';
import { Needs } from '../../state';
import { useQuery } from './useQuery';

let skew = 0; // offset of the server's clock from this machine's, ms
export const now = () => Date.now() + skew;

/** How often newer data were wanted: by the timer, and by the user. */
export interface Again {
    timer: number;
    user: number;
}

interface Loaded {
    results: Results;
    of: string; // the selection
    timer: number;
    times: boolean; // timestamps were queried: such a result serves every view
}

export interface Found extends Queried<Results> {
    loads: number;
}

export function useResults(sel: Selection, needs: Needs, again: Again, onError: (e: unknown) => void): Found {
    const latest = useRef<Loaded | null>(null),
        loads = useRef(0);
    const of = JSON.stringify([
            writeAddress({ ...sel, page: 'explore', refresh: 0, ids: NO_IDS, by: null }),
            needs.part?.join('-') ?? '',
        ]),
        have = latest.current?.of === of && latest.current.timer === again.timer && latest.current.times,
        times = needs.times || have;
    const run = async (signal: AbortSignal): Promise<Loaded> => {
        if (!skew) skew = Math.round((await statusNow(signal)).now / 1e6 - Date.now()) || 1;
        const start = performance.now(),
            results = await load(sel, { ...needs, times }, now(), signal);
        performance.measure('kiln:load', { start, end: performance.now() });
        return { results, of, timer: again.timer, times };
    };
    const q = useQuery<Loaded>(
        {
            subject: sel.page === 'explore' ? JSON.stringify([of, times]) : '',
            version: JSON.stringify([of, times, again.timer]),
            again: again.user,
            run,
            onError,
        },
        false,
    );
    if (q.result && q.result !== latest.current) {
        latest.current = q.result;
        loads.current++;
        document.title = `${nameOf(q.result.results.selector)} - kiln`;
    }
    return {
        ...q,
        result: q.result?.results ?? null,
        stale: sel.page === 'explore' && q.result !== null && q.result.of !== of,
        loads: loads.current,
    };
}
