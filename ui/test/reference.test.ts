// References to frames in addresses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Frames } from '../src/model/frames';
import { References, readPath, writePath } from '../src/model/reference';
import { TreeBuilder, pathOf } from '../src/model/tree';

let seed = 11;
const random = (n: number) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;

/** The same functions in a table with another order, and stacks over them. */
function twoTables() {
    const names = Array.from({ length: 60 }, (_, i) => [`function${i % 50}`, i < 50 ? 'a.c' : `b${i}.c`, 'lib.so']),
        frames = new Frames(),
        others = new Frames();
    for (const [n, f, l] of names) frames.intern(n, f, l, '', '', 0);
    for (const [n, f, l] of [...names].reverse()) others.intern(n, f, l, '', '', 0);
    const stacks = Array.from({ length: 400 }, () => Array.from({ length: 1 + random(12) }, () => 1 + random(60)));
    const build = (of: (f: number) => number) => {
        const b = new TreeBuilder();
        for (const s of stacks) b.add(s.map(of), s.length, 1);
        return b.finish(null);
    };
    return { frames, others, tree: build((f) => f), other: build((f) => 61 - f) };
}

test('references: each frame and node is found again in another table', () => {
    const { frames, others, tree, other } = twoTables(),
        refs = new References(frames),
        there = new References(others);
    for (let f = 1; f < frames.n; f++) {
        assert.equal(refs.write(f).length, 11);
        assert.equal(there.read(refs.write(f)), 61 - f);
        assert.equal(there.read(`${frames.name[f]}\t${frames.file[f]}`), 61 - f, 'an older link');
    }
    assert.equal(refs.read('.text.startup'), 0);
    for (let i = 1; i < tree.n; i++) {
        const path = pathOf(tree, i).map((k) => refs.step(tree.frame[k])),
            [text] = writePath(path);
        assert.ok(text.length <= 1 + 5 * path.length);
        const found = there.follow(other, readPath([text]));
        assert.deepEqual(
            pathOf(other, found).map((k) => others.name[other.frame[k]] + others.file[other.frame[k]]),
            pathOf(tree, i).map((k) => frames.name[tree.frame[k]] + frames.file[tree.frame[k]]),
        );
        const old = pathOf(tree, i).map((k) => `${frames.name[tree.frame[k]]}\t${frames.file[tree.frame[k]]}`);
        assert.equal(there.follow(other, readPath(old)), found, 'an older link');
        assert.deepEqual(writePath(readPath(old)), old);
    }
});

test('references: hashes never change, because links contain them', () => {
    const frames = new Frames();
    frames.intern('main', 'main.c', 'a.out', '', '', 1);
    frames.intern('.Lambda_1234', '', '', '', '', 1);
    const refs = new References(frames);
    assert.equal(refs.write(1), WRITTEN);
    assert.equal(refs.read('.Lambda_1234'), 2, 'a name that looks like a reference');
    const elsewhere = new Frames();
    elsewhere.intern('main', '/build/main.c', 'a.out.debug', '', '', 1);
    assert.equal(new References(elsewhere).read(WRITTEN), 1, 'the name decides');
});
const WRITTEN = '.tkJm-zp7fx';
