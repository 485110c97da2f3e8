// Callers and callees of one frame, each as a tree: the sum of either root is the frame's total.
import { outermost } from './table';
import { Tree, TreeBuilder } from './tree';

export interface Sandwich {
    callers: Tree; // the frame is the root's only child; its callers are below it
    callees: Tree;
}

export function sandwichOf(t: Tree, frame: number, nFrames: number, rank: ArrayLike<number> | null): Sandwich {
    const compared = t.baseSelf !== null;
    const up = new TreeBuilder(compared),
        down = new TreeBuilder(compared);
    const top = outermost(t, nFrames),
        to = new Int32Array(t.n).fill(-1),
        path: number[] = [];
    for (let i = 1; i < t.n; i++) {
        if (t.frame[i] === frame && top[i]) {
            let n = 0;
            for (let k = i; k > 0; k = t.parent[k]) path[n++] = t.frame[k];
            up.add(path, n, t.total[i], t.baseTotal ? t.baseTotal[i] : 0);
            to[i] = down.child(0, frame);
        } else if (to[t.parent[i]] >= 0) {
            to[i] = down.child(to[t.parent[i]], t.frame[i]);
        }
        if (to[i] >= 0) down.addSelf(to[i], t.self[i], t.baseSelf ? t.baseSelf[i] : 0);
    }
    const sizes = { sampleSize: t.sampleSize, baseSampleSize: t.baseSampleSize };
    return { callers: { ...up.finish(rank), ...sizes }, callees: { ...down.finish(rank), ...sizes } };
}
