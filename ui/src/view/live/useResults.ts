// The results of the selection: one load at a time, repeated when newer data are wanted.
import { useRef } from 'preact/hooks';
import { Results, load, nameOf } from '../../live/load';
import { statusNow } from '../../live/queries';
import { Queried } from '../../live/runner';
import { NO_IDS, Selection, writeAddress } from '../../live/selection';
import { serverSources } from '../../live/source';
import { SourceLink, Sources } from '../../model/source';
import { Needs } from '../../state';
import { useQuery } from './useQuery';

let skew = 0; // offset of the server's clock from this machine's, ms
let link: SourceLink | null = null;
let sources: Sources | null = null;
/** Where the server's links to source code lead; null: nowhere. */
export const sourceLink = () => link;
/** The source files that the server fetches; null: it has no source of them. */
export const liveSources = () => sources;
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
    request: string; // for which needs it was queried
}

export interface Found extends Queried<Results> {
    loads: number;
}

/** Whether results that were loaded for other needs serve these, too. */
function serves(r: Results, n: Needs, timesQueried: boolean): boolean {
    if (n.times && !timesQueried) return false;
    if (!r.tree) return true;
    if (n.attributes || r.tree.transform) return !n.attributes && r.tree.transform === n.view?.transform;
    return !r.tree.cut.folded || (!n.stacks && !n.view);
}

const TIMES = 'times';

export function useResults(sel: Selection, needs: Needs, again: Again, onError: (e: unknown) => void): Found {
    const latest = useRef<Loaded | null>(null),
        loads = useRef(0);
    const of = JSON.stringify([
            writeAddress({ ...sel, page: 'explore', refresh: 0, ids: NO_IDS, by: null }),
            needs.part?.join('-') ?? '',
        ]),
        have = latest.current,
        enough = (l: Loaded) => l.of === of && serves(l.results, needs, l.request === TIMES),
        own = needs.times ? TIMES : needs.attributes || needs.stacks ? 'samples' : (needs.view?.transform ?? ''),
        request = have && have.timer === again.timer && enough(have) ? have.request : own;
    const run = async (signal: AbortSignal): Promise<Loaded> => {
        if (!skew) {
            const s = await statusNow(signal);
            skew = Math.round(s.now / 1e6 - Date.now()) || 1;
            link = s.source_link ? { template: s.source_link, trim: s.source_trim } : null;
            sources = s.source_server ? serverSources() : null;
        }
        const start = performance.now(),
            results = await load(sel, { ...needs, times: request === TIMES }, now(), signal);
        performance.measure('kiln:load', { start, end: performance.now() });
        return { results, of, timer: again.timer, request };
    };
    const q = useQuery<Loaded>(
        {
            subject: sel.page === 'explore' ? JSON.stringify([of, request]) : '',
            version: JSON.stringify([of, request, again.timer]),
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
    const shown = q.result,
        lacking = shown !== null && (shown.of !== of || !serves(shown.results, { ...needs, times: false }, false));
    return {
        ...q,
        result: shown?.results ?? null,
        stale: sel.page === 'explore' && lacking,
        loads: loads.current,
    };
}
