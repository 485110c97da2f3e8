// Sorted stacks and the tree that is built of them, compared with a tree of unsorted paths.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce } from '../src/base/paced';
import { Frames, bind } from '../src/model/frames';
import { noFilter } from '../src/model/filter';
import { leafOf, pathsOf } from '../src/model/paths';
import { Session } from '../src/model/session';
import { outermost } from '../src/model/table';
import { Tree, TreeBuilder, byWidth, treeOf } from '../src/model/tree';
import { decode } from '../src/otlp/decode';
import { FIRST, Message, profilesData } from './write';

let seed = 11;
const random = (n: number) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;
const NAMES = ['', 'main', '?', 'b', 'Z', 'a', '$x', 'é', 'zz', 'cpu', 'ns'];

/** Random stacks, the first of them empty, some of them equal. */
function randomSet(n: number) {
    const stacks = Array.from({ length: n }, () => Array.from({ length: 1 + random(7) }, () => 1 + random(8)));
    const samples = stacks.map((_, i) => new Message().int(1, i + 1).packed(4, [1 + random(9)]));
    samples.push(new Message().packed(4, [5])); // without a stack
    return decode(profilesData(NAMES, stacks, samples, []), 'x');
}

/** The tree of paths in any order. */
function naive(s: Session, value: Float64Array, base: Float64Array | null): TreeBuilder {
    const paths = s.paths(),
        b = new TreeBuilder(base !== null);
    for (let i = 0; i < paths.n; i++)
        if (value[i] || base?.[i]) {
            const path = paths.frame.subarray(paths.off[i], paths.off[i + 1]);
            b.add(path, path.length, value[i], base ? base[i] : 0);
        }
    return b;
}

const fields = (t: Tree, n: number) => ({ ...t, outer: outermost({ ...t, outer: null }, n) });

test('a tree of sorted paths is the tree of the same paths in any order', () => {
    for (let round = 0; round < 40; round++) {
        const s = new Session(randomSet(1 + random(300)), round % 2 ? randomSet(1 + random(50)) : null),
            paths = s.paths();
        const value = Float64Array.from({ length: paths.n }, () => random(3) - (round % 4 ? 0 : 1)),
            base = round % 2 ? Float64Array.from({ length: paths.n }, () => random(3)) : null;
        const got = treeOf(paths, value, base, s.frames.n),
            want = naive(s, value, base);
        assert.deepEqual(got, fields(want.finish(s.rank()), s.frames.n));
        assert.deepEqual(byWidth(got, s.rank()), want.finish(s.rank(), true));
    }
});

test('a filter that leaves nothing gives a tree without boxes', () => {
    const s = new Session(randomSet(9), null),
        t = treeOf(s.paths(), new Float64Array(s.paths().n), null, s.frames.n);
    assert.deepEqual([t.n, [...t.levelOff], t.total[0], t.count[0]], [1, [0, 1], 0, 0]);
    const none = { ...noFilter, labels: [{ key: 'k', value: 'v', not: false }] };
    assert.equal(s.tree(FIRST, none, 'off', 'value').tree.n, 1);
});

test('sorted stacks stay as they are', () => {
    const frames = new Frames(),
        b = bind(randomSet(200), frames),
        by = Array.from(frames.name, (_, i) => i).sort((x, y) => (frames.name[x] < frames.name[y] ? -1 : 1)),
        rank = new Uint32Array(frames.n);
    by.forEach((f, i) => (rank[f] = i));
    const p = atOnce(pathsOf(b, null, rank)),
        text = (i: number) => Array.from(p.frame.subarray(p.off[i], p.off[i + 1]), (f) => rank[f]);
    const before = (x: number[], y: number[]): boolean => {
        const k = x.findIndex((v, i) => v !== y[i]);
        return k < 0 || (k < y.length && x[k] < y[k]);
    };
    for (let i = 1; i < p.n; i++) assert.ok(before(text(p.order[i - 1]), text(p.order[i])));
    assert.equal(leafOf(p, 0), b.noStack);
    // The same stacks in that order, as reports contain them: only the empty one is elsewhere.
    const { stacks } = b.set.dict,
        list = Array.from(p.order).filter((i) => i > 0),
        off = [0, 0],
        locations: number[] = [];
    for (const i of list) {
        locations.push(...stacks.locations.subarray(stacks.off[i], stacks.off[i + 1]));
        off.push(locations.length);
    }
    const dict = {
        ...b.set.dict,
        stacks: { n: stacks.n, off: Uint32Array.from(off), locations: Uint32Array.from(locations) },
    };
    const again = atOnce(pathsOf({ ...b, set: { ...b.set, dict } }, null, rank));
    assert.equal(again.sorted, false);
    assert.deepEqual(
        Array.from(again.order).filter((i) => i > 0),
        list.map((_, i) => i + 1),
    );
});
