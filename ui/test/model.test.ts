// Compares trees, tables, sandwiches and boxes with simple implementations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boxAt, visibleBoxes } from '../src/draw/boxes';
import { Fitter, shortName } from '../src/draw/label';
import { placeName } from '../src/model/frames';
import { defaultProfile, typeRank } from '../src/model/default_type';
import { observations } from '../src/model/observed';
import { sandwichOf } from '../src/model/sandwich';
import { tableOf } from '../src/model/table';
import { Tree, TreeBuilder, matchedTotal, pathOf } from '../src/model/tree';
import type { Dataset, Profile } from '../src/otlp/types';
import { bytes, count, duration, percent, roundSteps, withUnit } from '../src/model/units';

let seed = 7;
const random = (n: number) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;

/** Random stacks over few frames, so that they share prefixes and recurse. */
function randomStacks(n: number, frames: number): { path: number[]; value: number }[] {
    return Array.from({ length: n }, () => ({
        path: Array.from({ length: 1 + random(9) }, () => 1 + random(frames)),
        value: 1 + random(50),
    }));
}
function build(stacks: { path: number[]; value: number }[], rank: number[] | null = null): Tree {
    const b = new TreeBuilder();
    for (const s of stacks) b.add(s.path, s.path.length, s.value);
    return b.finish(rank);
}

test('tree: invariants of the numbering, sums, places', () => {
    for (let round = 0; round < 30; round++) {
        const stacks = randomStacks(200, 8),
            t = build(stacks, round % 2 ? Array.from({ length: 9 }, (_, i) => i) : null);
        const sum = stacks.reduce((a, s) => a + s.value, 0);
        assert.equal(t.total[0], sum);
        assert.equal(
            t.self.reduce((a, b) => a + b, 0),
            sum,
        );
        for (let d = 0; d + 1 < t.levelOff.length; d++)
            for (let i = t.levelOff[d]; i < t.levelOff[d + 1]; i++) {
                assert.equal(t.depth[i], d);
                if (i > t.levelOff[d]) assert.ok(t.x[i] >= t.x[i - 1] + t.w[i - 1], 'boxes of a level overlap');
                let below = t.self[i];
                for (let k = t.first[i]; k < t.first[i] + t.count[i]; k++) {
                    assert.equal(t.parent[k], i);
                    below += t.total[k];
                }
                assert.equal(below, t.total[i]);
            }
        const distinct = new Set(stacks.flatMap((s) => s.path.map((_, i) => s.path.slice(0, i + 1).join())));
        assert.equal(t.n, distinct.size + 1);
    }
});

test('table: self and total as counted stack by stack', () => {
    const stacks = randomStacks(500, 6),
        table = tableOf(build(stacks), 7);
    for (let f = 1; f < 7; f++) {
        assert.equal(
            table.self[f],
            stacks.reduce((a, s) => a + (s.path.at(-1) === f ? s.value : 0), 0),
        );
        assert.equal(
            table.total[f],
            stacks.reduce((a, s) => a + (s.path.includes(f) ? s.value : 0), 0),
        );
    }
});

test('sandwich: both sides add up to the total of the frame', () => {
    const stacks = randomStacks(500, 6),
        t = build(stacks),
        table = tableOf(t, 7);
    for (let f = 1; f < 7; f++) {
        const s = sandwichOf(t, f, 7, null);
        assert.equal(s.callers.total[0], table.total[f]);
        assert.equal(s.callees.total[0], table.total[f]);
        assert.equal(s.callees.frame[1], f);
    }
});

test('search: matches below matches count once', () => {
    const stacks = randomStacks(400, 6),
        t = build(stacks),
        match = new Uint8Array(7);
    match[2] = match[5] = 1;
    const plain = stacks.reduce((a, s) => a + (s.path.some((f) => match[f]) ? s.value : 0), 0);
    assert.equal(matchedTotal(t, match).total, plain);
});

test('comparison: widths hold both sides, a gone stack stays visible', () => {
    const b = new TreeBuilder(true);
    b.add([1, 2], 2, 10, 0);
    b.add([1, 3], 2, 0, 4);
    const t = b.finish(null);
    assert.equal(t.total[0], 10);
    assert.equal(t.baseTotal![0], 4);
    assert.equal(t.w[0], 14);
});

test('negative values have a width', () => {
    const b = new TreeBuilder();
    b.add([1], 1, -5);
    b.add([2], 1, 3);
    const t = b.finish(null);
    assert.equal(t.total[0], -2);
    assert.equal(t.w[0], 8);
});

test('boxes: drawing only visible boxes covers the same pixels as drawing all', () => {
    for (let round = 0; round < 40; round++) {
        const n = 3000,
            x = new Float64Array(n),
            w = new Float64Array(n);
        let at = 0;
        for (let i = 0; i < n; i++) {
            at += random(4) ? 0 : random(30);
            x[i] = at;
            at += w[i] = random(5) ? random(3) : random(200);
        }
        const x0 = random(at >> 1),
            x1 = x0 + 1 + random(at),
            scale = 700 / (x1 - x0),
            row = { x, w, from: 0, to: n };
        const got = new Uint8Array(702),
            want = new Uint8Array(702);
        const fill = (a: Uint8Array, px: number, pw: number) => {
            for (let p = Math.max(Math.floor(px), 0); p < Math.min(px + pw, 700); p++) a[p] = 1;
        };
        let calls = 0;
        visibleBoxes(
            row,
            x0,
            x1,
            scale,
            0.6,
            (_, px, pw) => (calls++, fill(got, px, pw)),
            (px, pw) => (calls++, fill(got, px, pw)),
        );
        for (let i = 0; i < n; i++)
            if (w[i] > 0 && x[i] + w[i] > x0 && x[i] < x1) fill(want, (x[i] - x0) * scale, w[i] * scale);
        let missed = 0;
        for (let p = 1; p < 699; p++) missed += want[p] && !got[p] && !got[p - 1] && !got[p + 1] ? 1 : 0;
        assert.equal(missed, 0);
        assert.ok(calls < 3000);
        const i = random(n);
        if (w[i] > 0) assert.equal(boxAt(row, x[i] + w[i] / 2), i);
    }
});

test('an address without a symbol has the same name in every process that maps the file', () => {
    const at = (start: bigint) => ({ start, limit: start + 0x1000n, offset: 0x2000n, filename: 1, attributes: [] });
    assert.equal(placeName(0x7f0000000123n, at(0x7f0000000000n), 'libx.so'), '+0x2123');
    assert.equal(placeName(0x560000000123n, at(0x560000000000n), 'libx.so'), '+0x2123');
    assert.equal(placeName(0x7f0000001000n, at(0x7f0000000000n), 'libx.so'), '0x7f0000001000'); // beyond it
    assert.equal(placeName(0x123n, undefined, ''), '0x123');
    assert.equal(placeName(0n, undefined, 'libx.so'), 'libx.so');
});

test('names get shorter from the left', () => {
    assert.equal(shortName('java.util.HashMap.get'), 'HashMap.get');
    assert.equal(shortName('github.com/foo/bar.(*T).Run'), 'bar.(*T).Run');
    assert.equal(shortName('main'), 'main');
    assert.equal(shortName('net/http.serverHandler.ServeHTTP'), 'http.serverHandler.ServeHTTP');
    const f = new Fitter((s) => s.length * 10);
    assert.equal(f.fit('abcdef', 60), 'abcdef');
    assert.equal(f.fit('abcdef', 50), 'abcd…');
    assert.equal(f.fit('abcdef', 15), '');
    assert.equal(f.name('java.util.HashMap.get', 120), 'HashMap.get');
});

test('numbers for people', () => {
    assert.equal(duration(1234), '1.23 µs');
    assert.equal(duration(3.05e9), '3.05 s');
    assert.equal(duration(125e9), '2 min 5 s');
    assert.equal(bytes(3123970048), '2.91 GiB');
    assert.equal(count(1234567), '1\u202f234\u202f567');
    assert.equal(withUnit(552, 'count'), '552');
    assert.equal(withUnit(2e6, 'nanoseconds'), '2 ms');
    assert.equal(withUnit(1536, 'bytes'), '1.5 KiB');
    assert.equal(withUnit(3, 'widgets'), '3 widgets');
    assert.equal(withUnit(0, 'nanoseconds'), '0');
    assert.equal(withUnit(-2e6, 'nanoseconds'), '−2 ms');
    assert.equal(percent(1, 3), '33.3%');
    assert.equal(percent(0, 3), '0%');
    assert.equal(percent(1, 0), '–');
});

test('steps of axes are round when printed', () => {
    const words = (unit: string) => roundSteps(unit)!.map((s) => withUnit(s, unit));
    assert.ok(
        words('nanoseconds').every((w) => /^(1|2|5|10|20|30|50|100|200|500|60|\d+0*) (ns|µs|ms|s|min|h)$/.test(w)),
    );
    assert.ok(['1 MiB', '500 KiB'].every((w) => words('bytes').includes(w)));
    assert.ok(roundSteps('seconds')!.includes(60) && roundSteps('count') === null);
});

test('the default type', () => {
    const of = (types: string[], zero: string[] = [], ownDefault = false) =>
        types[
            defaultProfile({
                profiles: types.map((type) => ({ type, total: zero.includes(type) ? 0n : 7n })),
                ownDefault,
            } as unknown as Dataset)
        ];
    assert.equal(of(['samples', 'wall', 'cpu']), 'cpu');
    assert.equal(of(['off_cpu', 'cpu-clock']), 'cpu-clock');
    assert.equal(of(['alloc_space', 'inuse_objects', 'inuse_space']), 'inuse_space');
    assert.equal(of(['wall', 'cpu'], ['cpu']), 'wall');
    assert.equal(of(['alloc_space', 'cpu'], [], true), 'alloc_space');
    assert.equal(of(['alloc_space', 'cpu'], ['alloc_space'], true), 'cpu');
    assert.equal(of(['b', 'a']), 'b');
    assert.ok(typeRank('cycles:P') < typeRank('wall'));
});

test('observations of samples', () => {
    const of = (p: Partial<Profile>, values: number[], times: number[][]) => {
        const off = [0];
        for (const t of times) off.push(off[off.length - 1] + t.length);
        return observations({
            ...{ type: 'cpu', unit: 'nanoseconds', periodType: 'cpu', periodUnit: 'nanoseconds', period: 0 },
            ...p,
            n: values.length,
            value: Float64Array.from(values),
            timeOff: Uint32Array.from(off),
            time: Float64Array.from(times.flat()),
        } as Profile);
    };
    assert.equal(of({ period: 1e7 }, [3e7, 1e7], [[], []]), 4);
    assert.equal(of({ period: 1 }, [3e7, 1e7], [[], []]), 2);
    assert.equal(of({ period: 1e7 }, [3e7, 1e7], [[1, 2], []]), 3);
    assert.equal(of({ type: 'samples', unit: 'count' }, [5, 6], [[], []]), 11);
    assert.equal(of({ type: 'inuse_space', unit: 'bytes', period: 512 }, [5000, 600], [[], []]), 2);
});
