// Self and total of every frame. A frame that calls itself counts once in its total.
import { Tree } from './tree';

export interface Table {
    n: number; // frames that occur in the tree
    frame: Uint32Array;
    self: Float64Array; // by frame
    total: Float64Array;
    baseSelf: Float64Array | null;
    baseTotal: Float64Array | null;
}

/** Marks the nodes whose frame is not on the path above them: totals are sums over these. */
export function outermost(t: Tree, nFrames: number): Uint8Array {
    if (t.outer) return t.outer;
    const out = new Uint8Array(t.n),
        active = new Uint32Array(nFrames);
    // Depth first without recursion: `next` is the child to visit next.
    const next = t.first.slice();
    let i = 0;
    for (;;) {
        if (next[i] < t.first[i] + t.count[i]) {
            i = next[i]++;
            if (!active[t.frame[i]]++) out[i] = 1;
            continue;
        }
        if (i === 0) break;
        active[t.frame[i]]--;
        i = t.parent[i];
    }
    return (t.outer = out);
}

export function tableOf(t: Tree, nFrames: number): Table {
    const self = new Float64Array(nFrames),
        total = new Float64Array(nFrames),
        seen = new Uint8Array(nFrames);
    const baseSelf = t.baseSelf && new Float64Array(nFrames),
        baseTotal = t.baseSelf && new Float64Array(nFrames);
    const top = outermost(t, nFrames);
    for (let i = 1; i < t.n; i++) {
        const f = t.frame[i];
        seen[f] = 1;
        self[f] += t.self[i];
        if (baseSelf) baseSelf[f] += t.baseSelf![i];
        if (!top[i]) continue;
        total[f] += t.total[i];
        if (baseTotal) baseTotal[f] += t.baseTotal![i];
    }
    const frame: number[] = [];
    for (let f = 0; f < nFrames; f++) if (seen[f]) frame.push(f);
    return { n: frame.length, frame: Uint32Array.from(frame), self, total, baseSelf, baseTotal };
}
