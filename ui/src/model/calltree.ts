// The rows of the call tree: nodes of a flame tree, each with its opened children below it, the largest first.
import type { Drawn } from './carry';
import { Tree } from './tree';

/** The children of nodes, the largest first. Sorted when they are first needed. */
export class Children {
    private readonly known = new Map<number, Uint32Array>();
    constructor(
        private readonly t: Tree,
        private readonly rank: ArrayLike<number>,
    ) {}

    of(node: number): Uint32Array {
        let list = this.known.get(node);
        if (!list) {
            const { first, count, total, frame } = this.t,
                { rank } = this;
            list = Uint32Array.from({ length: count[node] }, (_, k) => first[node] + k);
            list.sort((a, b) => Math.abs(total[b]) - Math.abs(total[a]) || rank[frame[a]] - rank[frame[b]]);
            this.known.set(node, list);
        }
        return list;
    }
}

/** Returns the visible rows: the nodes below the root, and below every opened node, from top to bottom. */
export function rowsOf(t: Tree, children: Children, open: ReadonlySet<number>): number[] {
    const out: number[] = [],
        todo = Array.from(children.of(0)).reverse();
    while (todo.length) {
        const i = todo.pop()!;
        out.push(i);
        if (!open.has(i) || !t.count[i]) continue;
        const list = children.of(i);
        for (let k = list.length; k-- > 0;) todo.push(list[k]);
    }
    return out;
}

/** The nodes from `node` down to the end of its hottest path, without the node itself. */
export function hottest(children: Children, node: number): number[] {
    const out: number[] = [];
    for (let list = children.of(node); list.length; list = children.of(list[0])) out.push(list[0]);
    return out;
}

const TRUNK = 0.95;

/** The nodes to open at first: those that nearly all stacks go through, up to the first branch. */
export function trunk(t: Tree, children: Children): Set<number> {
    const out = new Set<number>();
    for (let i = 0; t.count[i];) {
        const next = children.of(i)[0];
        if (Math.abs(t.total[next]) < TRUNK * Math.abs(t.total[0])) break;
        out.add((i = next));
    }
    return out;
}

/** Finds the nodes of another tree with the paths of `open`, by name. */
export function carryOpen(from: Drawn, open: ReadonlySet<number>, to: Drawn): Set<number> {
    const at = new Map<number, number>([[0, 0]]),
        out = new Set<number>(),
        { first, count, frame } = to.tree;
    for (const i of [...open].sort((a, b) => a - b)) {
        const up = at.get(from.tree.parent[i]), // parents have smaller numbers
            key = from.frames.key(from.tree.frame[i]);
        if (up === undefined) continue;
        for (let k = first[up]; k < first[up] + count[up]; k++) {
            if (to.frames.key(frame[k]) !== key) continue;
            at.set(i, k);
            out.add(k);
        }
    }
    return out;
}
