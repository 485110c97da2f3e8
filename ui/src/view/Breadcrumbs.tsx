// The path from the root to the frame that the picture is zoomed to.
import { Frames } from '../model/frames';
import { shortName } from '../draw/label';
import { Tree, pathOf } from '../model/tree';

const SHOWN = 5; // frames shown at the end of a deep path; only the number of those before is shown

export function Breadcrumbs(p: { tree: Tree; frames: Frames; node: number; onZoom(node: number): void }) {
    const path = [0, ...pathOf(p.tree, p.node)];
    const cut = path.length > SHOWN + 1 ? path.length - SHOWN : 0;
    const crumb = (i: number, last: boolean) => (
        <li key={i}>
            {last ? (
                <b title={p.frames.name[p.tree.frame[i]]}>{shortName(p.frames.name[p.tree.frame[i]])}</b>
            ) : (
                <button onClick={() => p.onZoom(i)} title={p.frames.name[p.tree.frame[i]]}>
                    {shortName(p.frames.name[p.tree.frame[i]])}
                </button>
            )}
        </li>
    );
    return (
        <nav class="crumbs" aria-label="Zoomed to">
            <ol>
                {cut > 0 && crumb(0, false)}
                {cut > 1 && <li class="dim">… {cut - 1} more</li>}
                {path.slice(cut).map((i, k, all) => crumb(i, k === all.length - 1))}
            </ol>
        </nav>
    );
}
