// Applies transforms to a flame tree: every path that has an amount of its own is changed, and the paths make a new tree.
import type { TreeResult } from './session';
import { Reshape } from './transforms';
import { Tree, TreeBuilder } from './tree';

/** Calls `visit` with every node that has an amount of its own, and the frames from the root to it. `path` is scratch:
 *  `visit` may change it. */
function eachPath(t: Tree, visit: (path: number[], n: number, node: number) => void): void {
    const next = t.first.slice(),
        above: number[] = [],
        path: number[] = [];
    for (let i = 0; ;) {
        if (next[i] < t.first[i] + t.count[i]) {
            i = next[i]++;
            const n = t.depth[i];
            above[n - 1] = t.frame[i];
            if (!t.self[i] && !t.baseSelf?.[i]) continue;
            for (let k = 0; k < n; k++) path[k] = above[k];
            visit(path, n, i);
        } else if (i === 0) return;
        else i = t.parent[i];
    }
}

/** `share`: the other profile of a comparison is scaled to the total of this one, as it is after the transforms. */
export function reshaped(
    r: TreeResult,
    reshape: Reshape,
    rank: ArrayLike<number>,
    byValue: boolean,
    share: boolean,
): TreeResult {
    const t = r.tree,
        b = new TreeBuilder(t.baseSelf !== null),
        baseOf = (i: number) => t.baseSelf?.[i] ?? 0;
    let total = 0,
        base = 0;
    const sum = (i: number) => {
        total += t.self[i];
        base += baseOf(i);
    };
    let scale = 1;
    if (share && t.baseSelf) {
        eachPath(t, (path, n, i) => reshape(path, n) >= 0 && sum(i));
        if (base) scale = total / base;
        total = base = 0;
    }
    eachPath(t, (path, n, i) => {
        const m = reshape(path, n);
        if (m < 0) return;
        sum(i);
        b.add(path, m, t.self[i], baseOf(i) * scale);
    });
    const before = t.baseTotal?.[0] ?? 0,
        tree = b.finish(rank, byValue);
    tree.sampleSize = t.sampleSize;
    tree.baseSampleSize = t.baseSampleSize * scale;
    return {
        tree,
        total,
        samples: r.samples,
        observed: r.observed,
        baseTotal: before ? (r.baseTotal * base) / before : r.baseTotal,
    };
}
