// The flame tree in typed arrays.
//
// Nodes are numbered level by level from the root, and inside a level from left to right:
//   (1) the nodes of depth d are levelOff[d] .. levelOff[d + 1], with ascending x;
//   (2) the children of a node are neighbours: first[i] .. first[i] + count[i];
//   (3) a parent's number is below its children's.
// Drawing needs (1): it finds the first visible box of a level by binary search. Sums need (3).
import type { Paths } from './paths';

export interface Tree {
    n: number;
    frame: Uint32Array;
    parent: Int32Array;
    depth: Uint16Array;
    first: Uint32Array;
    count: Uint32Array;
    self: Float64Array;
    total: Float64Array;
    /** The other profile of a comparison, scaled to this one if requested; null: no comparison. */
    baseSelf: Float64Array | null;
    baseTotal: Float64Array | null;
    /** Position and width of a node. The width equals the total unless values are negative. */
    x: Float64Array;
    w: Float64Array;
    levelOff: Uint32Array;
    /** Comparison: what one sample of each side adds to a total; 0: not known. */
    sampleSize: number;
    baseSampleSize: number;
    /** 1: the frame is not on the path above the node. null: not computed yet (model/table.ts). */
    outer: Uint8Array | null;
}

const MAX_DEPTH = 65535;

/** Builds a tree of sorted paths, with siblings in the order of the paths. `value` and `base` are by path; a path
 *  without a value is not part of the tree.
 *
 *  A level is written from left to right while the paths are read, so the numbers of nodes are final when they are made:
 *  the first pass counts the nodes of every level. */
export function treeOf(p: Paths, value: Float64Array, base: Float64Array | null, nFrames: number): Tree {
    const { off, order, shared } = p,
        used = new Uint32Array(p.n), // paths with a value, and the frames that each shares with the one before
        keep = new Uint32Array(p.n),
        added: number[] = [0, 0]; // by depth: change of the number of nodes that a path adds
    let nUsed = 0,
        deepest = 0,
        common = Infinity;
    for (let i = 0; i < p.n; i++) {
        const s = order[i],
            length = Math.min(off[s + 1] - off[s], MAX_DEPTH - 1);
        common = Math.min(common, shared[i]);
        if (!value[s] && !base?.[s]) continue;
        const k = nUsed ? Math.min(common, length) : 0;
        for (; deepest < length; deepest++) added.push(0);
        added[k + 1]++;
        added[length + 1]--;
        used[nUsed] = s;
        keep[nUsed++] = k;
        common = Infinity;
    }
    const levelOff = new Uint32Array(deepest + 2),
        end = new Uint32Array(deepest + 3); // by depth: the next node
    levelOff[1] = end[1] = 1;
    for (let d = 1, more = 0; d <= deepest; d++) {
        more += added[d];
        levelOff[d + 1] = end[d + 1] = levelOff[d] + more;
    }
    const n = levelOff[deepest + 1],
        t = emptyTree(n, base !== null);
    t.levelOff = levelOff;
    t.parent[0] = -1;
    t.first[0] = 1;
    const node = new Uint32Array(deepest + 1), // the path to the latest node
        active = new Uint32Array(nFrames), // by frame: nodes on that path
        outer = (t.outer = new Uint8Array(n)),
        { frame, parent, first, count, depth, self, baseSelf } = t;
    for (let i = 0, above = 0; i < nUsed; i++) {
        const s = used[i],
            from = off[s],
            length = Math.min(off[s + 1] - from, MAX_DEPTH - 1);
        for (let d = keep[i]; d < above; d++) active[frame[node[d + 1]]]--;
        for (let d = keep[i]; d < length; d++) {
            const k = end[d + 1]++,
                up = node[d],
                f = p.frame[from + d];
            frame[k] = f;
            parent[k] = up;
            depth[k] = d + 1;
            first[k] = end[d + 2];
            count[up]++;
            if (!active[f]++) outer[k] = 1;
            node[d + 1] = k;
        }
        above = length;
        self[node[length]] += value[s];
        if (baseSelf) baseSelf[node[length]] += base![s];
    }
    addUp(t);
    return t;
}

function emptyTree(n: number, compared: boolean): Tree {
    return {
        n,
        frame: new Uint32Array(n),
        parent: new Int32Array(n),
        depth: new Uint16Array(n),
        first: new Uint32Array(n),
        count: new Uint32Array(n),
        self: new Float64Array(n),
        total: new Float64Array(n),
        x: new Float64Array(n),
        w: new Float64Array(n),
        levelOff: new Uint32Array(0),
        baseSelf: compared ? new Float64Array(n) : null,
        baseTotal: compared ? new Float64Array(n) : null,
        sampleSize: 0,
        baseSampleSize: 0,
        outer: null,
    };
}

/** Computes totals, widths and positions. */
function addUp(t: Tree): void {
    const { n, parent, first, self, total, w, x, baseSelf, baseTotal } = t;
    total.set(self);
    for (let i = 0; i < n; i++) w[i] = Math.abs(self[i]);
    if (baseSelf && baseTotal) {
        baseTotal.set(baseSelf);
        for (let i = 0; i < n; i++) w[i] = Math.max(w[i], Math.abs(baseSelf[i]));
        for (let i = n - 1; i > 0; i--) baseTotal[parent[i]] += baseTotal[i];
    }
    for (let i = n - 1; i > 0; i--) {
        total[parent[i]] += total[i];
        w[parent[i]] += w[i];
    }
    for (let i = 1; i < n; i++) x[i] = first[parent[i]] === i ? x[parent[i]] : x[i - 1] + w[i - 1];
}

/** Returns the tree with siblings ordered by width, and equal ones by rank. */
export function byWidth(t: Tree, rank: ArrayLike<number>): Tree {
    const off = new Uint32Array(t.n + 1),
        list = new Uint32Array(Math.max(t.n - 1, 0));
    for (let i = 0; i < t.n; i++) off[i] = t.first[i] - 1;
    off[t.n] = t.n - 1;
    for (let i = 0; i < list.length; i++) list[i] = i + 1;
    return place({ ...t, base: t.baseSelf, width: t.w, off, list }, rank, true);
}

/** Builds a tree of paths in any order. Nodes are numbered in order of first use; children are found by a hash of (parent, frame). */
export class TreeBuilder {
    private cap = 1 << 12;
    private frame = new Uint32Array(this.cap);
    private parent = new Int32Array(this.cap);
    private self = new Float64Array(this.cap);
    private base: Float64Array | null;
    private slots = new Int32Array(this.cap * 2);
    private n = 1;
    // The latest path: profiles have sorted stacks, so the next stack usually shares most of it.
    private readonly pathFrame: number[] = [];
    private readonly pathNode: number[] = [];
    private pathLength = 0;

    constructor(compared = false) {
        this.parent[0] = -1;
        this.base = compared ? new Float64Array(this.cap) : null;
    }

    private grow(): void {
        const cap = this.cap * 2;
        const copy = <T extends Uint32Array | Int32Array | Float64Array>(to: T, from: T): T => (to.set(from), to);
        this.frame = copy(new Uint32Array(cap), this.frame);
        this.parent = copy(new Int32Array(cap), this.parent);
        this.self = copy(new Float64Array(cap), this.self);
        if (this.base) this.base = copy(new Float64Array(cap), this.base);
        this.cap = cap;
        this.slots = new Int32Array(cap * 2);
        for (let i = 1; i < this.n; i++) this.slots[this.slot(this.parent[i], this.frame[i])] = i;
    }

    private slot(parent: number, frame: number): number {
        const mask = this.slots.length - 1;
        let h = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b)) >>> 0;
        h = (h ^ (h >>> 15)) & mask;
        for (let i = this.slots[h]; i; i = this.slots[(h = (h + 1) & mask)])
            if (this.parent[i] === parent && this.frame[i] === frame) break;
        return h;
    }

    child(parent: number, frame: number): number {
        let h = this.slot(parent, frame);
        if (this.slots[h]) return this.slots[h];
        if (this.n === this.cap) {
            this.grow();
            h = this.slot(parent, frame);
        }
        const i = this.n++;
        this.frame[i] = frame;
        this.parent[i] = parent;
        return (this.slots[h] = i);
    }

    addSelf(node: number, value: number, base: number): void {
        this.self[node] += value;
        if (this.base) this.base[node] += base;
    }

    /** Adds a path of n frames, root first, with its value in this profile and in the other one. */
    add(path: ArrayLike<number>, n: number, value: number, base = 0): void {
        n = Math.min(n, MAX_DEPTH - 1);
        let k = 0;
        while (k < n && k < this.pathLength && this.pathFrame[k] === path[k]) k++;
        let node = k ? this.pathNode[k - 1] : 0;
        for (; k < n; k++) {
            node = this.child(node, path[k]);
            this.pathFrame[k] = path[k];
            this.pathNode[k] = node;
        }
        this.pathLength = n;
        this.addSelf(node, value, base);
    }

    /** Orders siblings from left to right: by `rank` of their frames, or the larger first and equal ones by rank. */
    finish(rank: ArrayLike<number> | null, byValue = rank === null): Tree {
        const n = this.n,
            parent = this.parent;
        const total = sums(this.self, parent, n);
        const extent = new Float64Array(n),
            base = this.base;
        for (let i = 0; i < n; i++) extent[i] = Math.max(Math.abs(this.self[i]), base ? Math.abs(base[i]) : 0);
        const width = sums(extent, parent, n),
            baseTotal = base && sums(base, parent, n);
        const { off, list } = childLists(parent, n);
        return place(
            { n, frame: this.frame, parent, self: this.self, total, base, baseTotal, width, off, list },
            rank,
            byValue,
        );
    }
}

/** Computes sums over subtrees. A child has a higher number than its parent. */
function sums(self: Float64Array, parent: Int32Array, n: number): Float64Array {
    const out = self.slice(0, n);
    for (let i = n - 1; i > 0; i--) out[parent[i]] += out[i];
    return out;
}

/** Children of i: list[off[i]] .. list[off[i + 1]]. */
function childLists(parent: Int32Array, n: number): { off: Uint32Array; list: Uint32Array } {
    const off = new Uint32Array(n + 1),
        list = new Uint32Array(Math.max(n - 1, 0));
    for (let i = 1; i < n; i++) off[parent[i] + 1]++;
    for (let i = 0; i < n; i++) off[i + 1] += off[i];
    const at = off.slice(0, n);
    for (let i = 1; i < n; i++) list[at[parent[i]]++] = i;
    return { off, list };
}

interface Raw {
    n: number;
    frame: Uint32Array;
    parent: Int32Array;
    self: Float64Array;
    total: Float64Array;
    base: Float64Array | null;
    baseTotal: Float64Array | null;
    width: Float64Array;
    off: Uint32Array;
    list: Uint32Array;
}

const FEW = 24;

/** Sorts list[from .. to). Nearly all nodes have few children, which are sorted by insertion. */
function sortRange(list: Uint32Array, from: number, to: number, order: (a: number, b: number) => number): void {
    if (to - from > FEW) {
        list.subarray(from, to).sort(order);
        return;
    }
    for (let i = from + 1; i < to; i++) {
        const x = list[i];
        let j = i;
        for (; j > from && order(list[j - 1], x) > 0; j--) list[j] = list[j - 1];
        list[j] = x;
    }
}

/** Renumbers the nodes level by level and computes their positions. */
function place(r: Raw, rank: ArrayLike<number> | null, byValue: boolean): Tree {
    const { n, off, list, frame, width } = r;
    const byRank = rank ? (a: number, b: number) => rank[frame[a]] - rank[frame[b]] : (a: number, b: number) => a - b;
    const siblings = byValue ? (a: number, b: number) => width[b] - width[a] || byRank(a, b) : byRank;
    for (let i = 0; i < n; i++) sortRange(list, off[i], off[i + 1], siblings);
    const t = emptyTree(n, r.base !== null);
    const order = new Uint32Array(n),
        levels = [0];
    t.parent[0] = -1;
    let end = 1;
    for (let i = 0; i < n; i++) {
        const old = order[i];
        if (i && t.depth[i] !== t.depth[i - 1]) levels.push(i);
        t.frame[i] = frame[old];
        t.self[i] = r.self[old];
        t.total[i] = r.total[old];
        t.w[i] = width[old];
        if (t.baseSelf) ((t.baseSelf[i] = r.base![old]), (t.baseTotal![i] = r.baseTotal![old]));
        t.first[i] = end;
        t.count[i] = off[old + 1] - off[old];
        let x = t.x[i];
        for (let k = off[old]; k < off[old + 1]; k++, end++) {
            order[end] = list[k];
            t.parent[end] = i;
            t.depth[end] = t.depth[i] + 1;
            t.x[end] = x;
            x += width[list[k]];
        }
    }
    levels.push(n);
    t.levelOff = Uint32Array.from(levels);
    return t;
}

export const depthOf = (t: Tree): number => t.levelOff.length - 1;

/** Returns the total of matched frames; a match below another match counts once. */
export function matchedTotal(t: Tree, match: Uint8Array): { total: number; nodes: number } {
    const { n, parent, frame, total: sums } = t,
        covered = new Uint8Array(n);
    let total = 0,
        nodes = 0;
    for (let i = 1; i < n; i++) {
        const above = covered[parent[i]],
            hit = match[frame[i]];
        covered[i] = above | hit;
        nodes += hit;
        if (hit > above) total += sums[i];
    }
    return { total, nodes };
}

/** Returns the nodes from the root to a node; References.follow returns the node at the end of such a path. */
export function pathOf(t: Tree, node: number): number[] {
    const out: number[] = [];
    for (let i = node; i > 0; i = t.parent[i]) out.push(i);
    return out.reverse();
}

/** Returns the node with the largest total of a frame, inside the subtree of `below` if the frame occurs there; 0: the
 *  frame does not occur. */
export function largestOf(t: Tree, frame: number, below = 0): number {
    let best = 0,
        inside = 0;
    const from = t.x[below],
        to = from + t.w[below];
    for (let i = 1; i < t.n; i++) {
        if (t.frame[i] !== frame) continue;
        if (!best || Math.abs(t.total[i]) > Math.abs(t.total[best])) best = i;
        if (t.depth[i] < t.depth[below] || t.x[i] < from || t.x[i] + t.w[i] > to) continue;
        if (!inside || Math.abs(t.total[i]) > Math.abs(t.total[inside])) inside = i;
    }
    return inside || best;
}

/** Returns the node to zoom to so that `node` fills at least `share` of the width, with as many callers as possible. */
export function zoomFor(t: Tree, node: number, share: number): number {
    let out = node;
    for (let i = t.parent[node]; i >= 0 && t.w[node] >= share * t.w[i]; i = t.parent[i]) out = i;
    return out;
}
