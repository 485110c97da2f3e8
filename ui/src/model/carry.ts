// Finds a node again when other data replace a tree: the node with the same frames, by name, on the path from the root.
import { Frames } from './frames';
import { Tree, pathOf } from './tree';

export interface Drawn {
    tree: Tree;
    frames: Frames;
}

/** Returns the node of `to` that corresponds to a node of `from`; -1: there is none. */
export function carry(from: Drawn, node: number, to: Drawn): number {
    if (node < 1 || from.tree === to.tree) return node;
    const { tree } = to;
    let at = 0;
    for (const i of pathOf(from.tree, node)) {
        const key = from.frames.key(from.tree.frame[i]);
        let next = -1;
        for (let k = tree.first[at]; k < tree.first[at] + tree.count[at] && next < 0; k++)
            if (to.frames.key(tree.frame[k]) === key) next = k;
        if (next < 0) return -1;
        at = next;
    }
    return at;
}
