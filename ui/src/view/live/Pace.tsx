// How often the page refreshes, when the server is too slow for the chosen interval (live/runner.ts).
import { duration } from '../../model/units';

/** `refresh`: the chosen interval in s; `took`: ms until the latest response. */
export function Pace(p: { refresh: number; took: number }) {
    const every = Math.ceil((2 * p.took) / 1e3);
    if (!p.refresh || every <= p.refresh) return null;
    return (
        <span class="pace" data-pace={every}>
            every {every} s: the last response took {duration(p.took * 1e6)}
        </span>
    );
}
