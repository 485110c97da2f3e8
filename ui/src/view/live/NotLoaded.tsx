// The notice above a tree that the server cut: how much of it is missing, and how to load it.
import { Results } from '../../live/load';
import { NOT_LOADED } from '../../live/tree';
import { count, percent } from '../../model/units';

export function NotLoaded(p: { results: Results; busy: boolean; onAll(): void }) {
    const cut = p.results.tree?.cut;
    if (!cut?.folded) return null;
    return (
        <div class="notice" role="status" data-folded={cut.folded}>
            {p.busy
                ? 'Loading more of this part …'
                : `The ${count(cut.nodes)} largest boxes are loaded. The rest, ${percent(cut.folded, cut.root.total)} of the total, is shown as ${NOT_LOADED} and missing from the numbers of functions. Zoom in to load more there, or `}
            {!p.busy && (
                <button class="link" data-do="load-all" onClick={p.onAll}>
                    load everything
                </button>
            )}
            {!p.busy && '.'}
        </div>
    );
}
