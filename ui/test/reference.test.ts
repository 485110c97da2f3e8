// References to frames in addresses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Frames } from '../src/model/frames';
import { References, readPath, writePath } from '../src/model/reference';
import { pathOf } from '../src/model/tree';
import { twoTables } from './two_tables';

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
            pathOf(other, found).map((k) => others.key(other.frame[k])),
            pathOf(tree, i).map((k) => frames.key(tree.frame[k])),
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
