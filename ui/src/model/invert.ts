// The inverted tree: leaves at the root, their callers below them.
//
// Every node with an amount of its own is one path from the leaf to the root. The tree is built level by level: the paths
// of a node are split by their next frame, with a counting sort. So nodes are created in the order that Tree requires, and
// a path costs memory only at the level under work.
import { GrowF64, GrowU32 } from '../base/grow';
import { Tree } from './tree';

/** Above this number of nodes, the tree ends at rows below LEAST of the whole: its size would be the sum of the depths
 *  of all stacks. */
const LARGE = 500_000,
    LEAST = 1e-5;

/** The paths of one level, in the order of its nodes. */
interface Paths {
    at: Uint32Array; // the current node
    leaf: Uint32Array;
    n: number;
}

const paths = (room: number): Paths => ({ at: new Uint32Array(room), leaf: new Uint32Array(room), n: 0 });

/** The groups into which the paths of a node are split, by frame. */
class Groups {
    n = 0;
    order: number[] = [];
    readonly frame: number[] = [];
    readonly count: number[] = [];
    readonly total: number[] = [];
    readonly base: number[] = [];
    readonly w: number[] = [];
    private readonly slot: Int32Array;
    constructor(nFrames: number) {
        this.slot = new Int32Array(nFrames).fill(-1);
    }
    add(frame: number, total: number, base: number, w: number): void {
        let g = this.slot[frame];
        if (g < 0) {
            g = this.slot[frame] = this.n++;
            this.frame[g] = frame;
            this.count[g] = this.total[g] = this.base[g] = this.w[g] = 0;
        }
        this.count[g]++;
        this.total[g] += total;
        this.base[g] += base;
        this.w[g] += w;
    }
    /** Orders the groups and turns counts into places, beginning at `at`. */
    place(at: number, rank: ArrayLike<number>, byValue: boolean): void {
        this.order.length = 0;
        for (let g = 0; g < this.n; g++) this.order.push(g);
        if (this.n > 1)
            this.order.sort(
                (a, b) => (byValue ? this.w[b] - this.w[a] : 0) || rank[this.frame[a]] - rank[this.frame[b]],
            );
        for (const g of this.order) {
            const n = this.count[g];
            this.count[g] = at;
            at += n;
        }
    }
    next(frame: number): number {
        return this.count[this.slot[frame]]++;
    }
    clear(): void {
        for (let g = 0; g < this.n; g++) this.slot[this.frame[g]] = -1;
        this.n = 0;
    }
}

/** Siblings are ordered by `rank`, or the larger first and equal ones by rank. `large`: the number of nodes above which
 *  the tree is cut. */
export function invertOf(t: Tree, nFrames: number, rank: ArrayLike<number>, byValue: boolean, large = LARGE): Tree {
    const frame = new GrowU32(),
        parent = new GrowU32(),
        depth = new GrowU32(),
        first = new GrowU32(),
        count = new GrowU32(),
        end = new GrowU32(), // of the paths of a node in its level
        total = new GrowF64(),
        base = new GrowF64(),
        x = new GrowF64(),
        w = new GrowF64();
    const node = (f: number, up: number, d: number, v: number, b: number, at: number, width: number, last: number) => {
        (frame.push(f), parent.push(up), depth.push(d), total.push(v), base.push(b), x.push(at), w.push(width));
        end.push(last);
    };
    const before = t.baseSelf,
        baseOf = (i: number) => (before ? before[i] : 0),
        extent = (i: number) => Math.max(Math.abs(t.self[i]), Math.abs(baseOf(i)));
    let room = 0,
        value = 0,
        baseValue = 0,
        width = 0;
    for (let i = 1; i < t.n; i++) if (t.self[i] || baseOf(i)) room++;
    let now = paths(room),
        next = paths(room);
    for (let i = 1; i < t.n; i++) {
        if (!t.self[i] && !baseOf(i)) continue;
        now.at[now.n] = now.leaf[now.n] = i;
        now.n++;
        value += t.self[i];
        baseValue += baseOf(i);
        width += extent(i);
    }
    node(0, 0, 0, value, baseValue, 0, width, now.n);
    const least = t.n > large ? width * LEAST : 0,
        groups = new Groups(nFrames),
        levels = [0];
    for (let from = 0, to = 1; from < to; [from, to] = [to, frame.n]) {
        levels.push(to);
        next.n = 0;
        for (let i = from, k = 0; i < to; i++) {
            const begin = k,
                d = depth.a[i] + 1;
            k = end.a[i];
            first.push(frame.n);
            if (i && w.a[i] < least) {
                count.push(0);
                continue;
            }
            for (let j = begin; j < k; j++) {
                const leaf = now.leaf[j];
                if (now.at[j]) groups.add(t.frame[now.at[j]], t.self[leaf], baseOf(leaf), extent(leaf)); // 0: at its end
            }
            groups.place(next.n, rank, byValue);
            count.push(groups.n);
            for (let j = begin; j < k; j++) {
                if (!now.at[j]) continue;
                const to = groups.next(t.frame[now.at[j]]);
                next.at[to] = t.parent[now.at[j]];
                next.leaf[to] = now.leaf[j];
                next.n++;
            }
            let left = x.a[i];
            for (const g of groups.order) {
                const wide = groups.w[g]; // the count of a group is the end of its paths now
                node(groups.frame[g], i, d, groups.total[g], groups.base[g], left, wide, groups.count[g]);
                left += wide;
            }
            groups.clear();
        }
        [now, next] = [next, now];
    }
    /** Only the leaves themselves, next to the root, have amounts of their own. */
    const own = (of: GrowF64) => Float64Array.from(of.done(), (v, i) => (depth.a[i] === 1 ? v : 0));
    const up = Int32Array.from(parent.done());
    up[0] = -1;
    return {
        n: frame.n,
        frame: frame.done(),
        parent: up,
        depth: Uint16Array.from(depth.done()),
        first: first.done(),
        count: count.done(),
        self: own(total),
        total: total.done(),
        baseSelf: before && own(base),
        baseTotal: before && base.done(),
        sampleSize: t.sampleSize,
        baseSampleSize: t.baseSampleSize,
        outer: null,
        x: x.done(),
        w: w.done(),
        levelOff: Uint32Array.from(levels),
    };
}
