// The same random stacks over two tables of frames with different numbers.
import { Frames } from '../src/model/frames';
import { TreeBuilder } from '../src/model/tree';

let seed = 11;
const random = (n: number) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;

export function twoTables() {
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
