// The stacks of a session as paths of frames, sorted by the names of their frames. Equal beginnings are neighbours, so
// that a flame tree is built in one pass, without looking up nodes (model/tree.ts).
import { Steps } from '../base/paced';
import { Bound } from './frames';

export interface Paths {
    n: number; // stacks of the profile, then those of the other side of a comparison
    first: number; // stacks of the profile
    /** Path i has frames off[i] .. off[i + 1], root first. */
    off: Uint32Array;
    frame: Uint32Array;
    order: Uint32Array; // paths, sorted
    sorted: boolean; // the stacks had to be sorted
    shared: Uint32Array; // by position in `order`: the frames that a path has in common with the one before
}

const countOf = (b: Bound): number => Math.max(b.set.dict.stacks.n, 1);

function frameCount(b: Bound): number {
    const { locations } = b.set.dict.stacks;
    let n = countOf(b);
    for (let i = 0; i < locations.length; i++) n += b.off[locations[i] + 1] - b.off[locations[i]];
    return n;
}

/** Writes the frames of all stacks of one side from path `at` on. A sample without a stack has one frame. */
function* expand(b: Bound, off: Uint32Array, frame: Uint32Array, at: number): Steps<void> {
    const { stacks } = b.set.dict,
        { off: places, frame: frames } = b;
    let n = off[at];
    for (let s = 0; s < countOf(b); s++) {
        const from = n;
        for (let i = stacks.n ? stacks.off[s + 1] - 1 : -1; i >= (stacks.n ? stacks.off[s] : 0); i--) {
            const place = stacks.locations[i];
            for (let k = places[place + 1] - 1; k >= places[place]; k--) frame[n++] = frames[k];
        }
        if (n === from) frame[n++] = b.noStack;
        off[at + s + 1] = n;
        if (!(s % SLICE)) yield 0;
    }
}

const FEW = 12,
    SLICE = 1024; // stacks or parts between two yields

/** Sorts `order` by the ranks of the frames: multikey quicksort, which compares one level at a time and keeps the
 *  ranks of the level beside the paths. */
function* sortPaths(order: Uint32Array, off: Uint32Array, frame: Uint32Array, rank: Uint32Array): Steps<void> {
    const key = new Int32Array(order.length);
    const load = (from: number, to: number, depth: number) => {
        for (let i = from; i < to; i++) {
            const at = off[order[i]] + depth;
            key[i] = at < off[order[i] + 1] ? rank[frame[at]] : -1;
        }
    };
    const compare = (a: number, b: number, depth: number): number => {
        const n = Math.min(off[a + 1] - off[a], off[b + 1] - off[b]);
        for (let d = depth; d < n; d++) {
            const x = frame[off[a] + d],
                y = frame[off[b] + d];
            if (x !== y) return rank[x] - rank[y];
        }
        return off[a + 1] - off[a] - (off[b + 1] - off[b]);
    };
    const todo: number[] = []; // from, to, depth, 1 if the keys are loaded
    const push = (from: number, to: number, depth: number, loaded: number) => {
        if (to - from > 1) todo.push(from, to, depth, loaded);
    };
    push(0, order.length, 0, 0);
    for (let n = 1; todo.length; n++) {
        if (!(n % SLICE)) yield 0.5;
        const loaded = todo.pop()!,
            depth = todo.pop()!,
            to = todo.pop()!,
            from = todo.pop()!;
        if (to - from <= FEW) {
            for (let i = from + 1; i < to; i++) {
                const x = order[i];
                let j = i;
                for (; j > from && compare(order[j - 1], x, depth) > 0; j--) order[j] = order[j - 1];
                order[j] = x;
            }
            continue;
        }
        if (!loaded) load(from, to, depth);
        const a = key[from],
            b = key[(from + to) >> 1],
            c = key[to - 1],
            pivot = Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
        let less = from,
            more = to;
        for (let i = from; i < more;) {
            const k = key[i];
            if (k === pivot) {
                i++;
                continue;
            }
            const j = k < pivot ? less++ : --more,
                x = order[i];
            key[i] = key[j];
            key[j] = k;
            order[i] = order[j];
            order[j] = x;
            if (k < pivot) i++;
        }
        push(from, less, depth, 1);
        push(more, to, depth, 1);
        if (pivot >= 0) push(less, more, depth + 1, 0);
    }
}

/** Moves path 0, which is the stack without frames, to its place among sorted paths. */
function placeEmpty(order: Uint32Array, off: Uint32Array, frame: Uint32Array, rank: Uint32Array): void {
    let at = 0,
        end = order.length - 1;
    const own = rank[frame[0]];
    while (at < end) {
        const middle = (at + end + 1) >> 1;
        if (rank[frame[off[middle]]] < own) at = middle;
        else end = middle - 1;
    }
    order.copyWithin(0, 1, at + 1);
    order[at] = 0;
}

/** `rank`: the alphabetical order of frames. Reports contain sorted stacks (format/html_order.c), which need no sorting. */
export function* pathsOf(main: Bound, base: Bound | null, rank: Uint32Array): Steps<Paths> {
    const first = countOf(main),
        n = first + (base ? countOf(base) : 0),
        off = new Uint32Array(n + 1),
        frame = new Uint32Array(frameCount(main) + (base ? frameCount(base) : 0)),
        order = new Uint32Array(n),
        shared = new Uint32Array(n);
    yield* expand(main, off, frame, 0);
    if (base) yield* expand(base, off, frame, first);
    for (let i = 0; i < n; i++) order[i] = i;
    placeEmpty(order, off, frame, rank);
    const link = (): boolean => {
        for (let i = 1; i < n; i++) {
            const a = off[order[i - 1]],
                b = off[order[i]],
                na = off[order[i - 1] + 1] - a,
                nb = off[order[i] + 1] - b;
            let k = 0;
            while (k < na && k < nb && frame[a + k] === frame[b + k]) k++;
            shared[i] = k;
            if (k === nb ? k < na : k < na && rank[frame[a + k]] > rank[frame[b + k]]) return false;
        }
        return true;
    };
    const sorted = !link();
    if (sorted) {
        const start = performance.now();
        yield* sortPaths(order, off, frame, rank);
        link();
        performance.measure('kiln:sort', { start, end: performance.now() });
    }
    return { n, first, off, frame, order, sorted, shared };
}

/** The last frame of a path. */
export const leafOf = (p: Paths, i: number): number => p.frame[p.off[i + 1] - 1];
