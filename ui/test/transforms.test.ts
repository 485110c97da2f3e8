// Transforms of stacks, their form in links, the inverted tree, and the rows of the call tree.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Children, carryOpen, hottest, rowsOf, trunk } from '../src/model/calltree';
import { Frames } from '../src/model/frames';
import { invertOf } from '../src/model/invert';
import { reshaped } from '../src/model/reshape';
import { tableOf } from '../src/model/table';
import { Transform, optionOf, readTransform, reshapeOf, subtreeOf, writeTransform } from '../src/model/transforms';
import { Tree, TreeBuilder, largestOf, matchedTotal, pathOf, zoomFor } from '../src/model/tree';

/** "main" is a function, "libc:read" one of a library, "pkg.f" one of a package. */
class Fixture {
    readonly frames = new Frames();
    readonly noStack = this.frames.intern('?', '', '', '', '', -1);

    frame(text: string): number {
        const [library, name] = text.includes(':') ? text.split(':') : ['', text];
        return this.frames.intern(name, '', library, '', '', 0);
    }
    stack(text: string): number[] {
        return text.split(';').map((x) => (x === '?' ? this.noStack : this.frame(x)));
    }
    names(list: number[]): string {
        return list.map((f) => this.frames.name[f]).join(';');
    }
    /** The stack after the transforms; 'dropped' if it is. */
    after(text: string, ...list: Transform[]): string {
        const stack = this.stack(text),
            n = reshapeOf(list, this.frames, this.noStack)!(stack, stack.length);
        return n < 0 ? 'dropped' : this.names(stack.slice(0, n));
    }
    tree(stacks: string, base = ''): Tree {
        const b = new TreeBuilder(base !== '');
        const add = (text: string, of: boolean) => {
            for (const line of text.split(', ').filter(Boolean)) {
                const at = line.lastIndexOf(' '),
                    path = this.stack(line.slice(0, at)),
                    v = Number(line.slice(at + 1));
                b.add(path, path.length, of ? 0 : v, of ? v : 0);
            }
        };
        add(stacks, false);
        add(base, true);
        return b.finish(this.rank());
    }
    rank(): number[] {
        const order = this.frames.name.map((_, i) => i);
        order.sort((a, b) => (this.frames.name[a] < this.frames.name[b] ? -1 : 1));
        const out: number[] = [];
        order.forEach((f, i) => (out[f] = i));
        return out;
    }
    /** "main 10 0 > run 9 2", in the order of the nodes: name, total, self. */
    nodes(t: Tree): string {
        return Array.from(t.frame, (f, i) =>
            i ? `${'-'.repeat(t.depth[i])}${this.frames.name[f]} ${t.total[i]} ${t.self[i]}` : '',
        )
            .slice(1)
            .join(', ');
    }
}

const of = (kind: Transform['kind'], name: string): Transform => ({ kind, name, path: '' });

test('each transform of a stack', () => {
    const x = new Fixture();
    const cases: [Transform, string, string][] = [
        [of('function', 'run'), 'main;run;work', 'run;work'],
        [of('function', 'run'), 'main;run;run', 'run;run'],
        [of('function', 'run'), 'main;idle', 'dropped'],
        [of('with', 'run'), 'main;run;work', 'main;run;work'],
        [of('with', 'run'), 'main;idle', 'dropped'],
        [of('search', 'WOR'), 'main;work', 'main;work'],
        [of('search', '/^wor.$/'), 'main;work', 'main;work'],
        [of('search', 'wor'), 'main;idle', 'dropped'],
        [of('search', ' '), 'main;idle', 'main;idle'],
        [of('merge', 'run'), 'main;run;run;work', 'main;work'],
        [of('merge', 'run'), 'run', 'dropped'],
        [of('drop', 'run'), 'main;run;work', 'dropped'],
        [of('drop', 'run'), 'main;idle', 'main;idle'],
        [of('collapse', 'run'), 'main;run;work;run', 'main;run'],
        [of('collapse', 'run'), 'main;idle', 'main;idle'],
        [of('direct', 'run'), 'main;run;run;work;run', 'main;run;work;run'],
        [of('direct', 'run'), 'work;work', 'work;work'],
        [of('recursion', 'run'), 'main;run;work;run;run;other;run;end', 'main;run;end'],
        [of('recursion', 'run'), 'run;work;run', 'run'],
        [of('recursion', 'run'), 'work;run;work', 'work;run;work'],
        [of('resource', 'libc'), 'main;libc:a;libc:b;run;libc:c', 'main;[libc];run;[libc]'],
        [of('resource', 'libm'), 'main;libc:a', 'main;libc:a'],
        [of('library', 'libc'), 'main;libc:a;run;libc:b', 'a;b'],
        [of('library', 'libc'), 'main;run', 'dropped'],
        [of('package', 'pkg'), 'main;pkg.f;run;pkg.g', 'pkg.f;pkg.g'],
        // a sample without a stack has no frame that could be removed
        [of('package', 'pkg'), '?', '?'],
        [of('merge', '?'), '?', '?'],
        [of('with', 'run'), '?', 'dropped'],
    ];
    for (const [t, stack, want] of cases)
        assert.equal(x.after(stack, t), want.replace(/libc:/g, ''), `${t.kind} ${t.name}: ${stack}`);
});

test('transforms apply in their order', () => {
    const x = new Fixture();
    assert.equal(x.after('main;run;work;run', of('function', 'work'), of('collapse', 'run')), 'work;run');
    assert.equal(x.after('main;run;work;run', of('collapse', 'run'), of('function', 'work')), 'dropped');
    assert.equal(x.after('a;run;b;run', of('merge', 'b'), of('direct', 'run')), 'a;run');
    assert.equal(x.after('a;libc:x;libc:y;b', of('resource', 'libc'), of('merge', '[libc]')), 'a;b');
    assert.equal(reshapeOf([], x.frames, x.noStack), null);
});

test('subtrees: by the path from the root, or from the leaf', () => {
    const x = new Fixture(),
        path = (s: string) => x.stack(s);
    const down = subtreeOf(x.frames, path('main;run'), false),
        up = subtreeOf(x.frames, path('work;run'), true);
    assert.equal(x.after('main;run;work', down), 'run;work');
    assert.equal(x.after('main;run', down), 'run');
    assert.equal(x.after('run;main;run', down), 'dropped');
    assert.equal(x.after('main', down), 'dropped');
    assert.equal(x.after('main;run;work', up), 'main;run');
    assert.equal(x.after('main;work', up), 'dropped');
    assert.equal(x.after('main;idle;run;work', up), 'main;idle;run');
    // the same names in another page, where frames have other numbers
    const y = new Fixture();
    y.frame('work');
    y.frame('other');
    assert.equal(y.after('main;run;work', readTransform(writeTransform(down))!), 'run;work');
});

test('lines move with their frames', () => {
    const x = new Fixture(),
        stack = x.stack('main;libc:a;libc:b;run;run;work'),
        lines = [1, 2, 3, 4, 5, 6];
    const list = [of('function', 'a'), of('resource', 'libc'), of('recursion', 'run')];
    const n = reshapeOf(list, x.frames, x.noStack)!(stack, 6, lines);
    assert.equal(x.names(stack.slice(0, n)), '[libc];run;work');
    assert.deepEqual(lines.slice(0, n), [0, 4, 6]);
});

test('links: short, and mistakes are ignored', () => {
    const x = new Fixture();
    const list = [of('merge', 'a.b.c'), of('resource', 'libc.so.6'), of('search', 's.'), of('package', 'x')];
    for (const t of [...list, subtreeOf(x.frames, x.stack('main;ns.f'), true)])
        assert.deepEqual(readTransform(writeTransform(t)), t);
    assert.equal(writeTransform(list[0]), 'm.a.b.c');
    assert.match(writeTransform(subtreeOf(x.frames, x.stack('a;b;c.d'), false)), /^s\.3\.[0-9a-z]{1,7}\.c\.d$/);
    for (const text of ['', 'm', 'm.', 'x.y', 's.name', 's.1.!.n', 's.1.ab.', 'main'])
        assert.equal(readTransform(text), null);
});

test('options of kiln with the same effect', () => {
    const x = new Fixture();
    x.stack("main;libc.so:f(int);it's");
    assert.equal(optionOf(of('merge', 'f(int)'), x.frames), "--hide '^f\\(int\\)$'");
    assert.equal(optionOf(of('drop', "it's"), x.frames), "--ignore '^it'\\''s$'");
    assert.equal(optionOf(of('resource', 'libc.so'), x.frames), "--collapse-library '(^|/)libc\\.so$'");
    assert.equal(optionOf(of('search', 'f'), x.frames), '');
    assert.equal(optionOf(of('merge', 'libc.so+0x12'), x.frames), '');
});

test('the inverted tree: sums, order, amounts of the leaves', () => {
    const x = new Fixture(),
        t = x.tree('main;run;work 3, main;run 2, main;run;run;work;run 4, main;idle 1'),
        u = invertOf(t, x.frames.n, x.rank(), true);
    assert.equal(u.total[0], 10);
    assert.equal(
        x.nodes(u),
        'run 6 6, work 3 3, idle 1 1, work 4 0, main 2 0, run 3 0, main 1 0, run 4 0, main 3 0, run 4 0, main 4 0'
            .split(', ')
            .map((line, i) => '-'.repeat([1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5][i]) + line)
            .join(', '),
    );
    const table = tableOf(t, x.frames.n);
    for (let i = 1; i < u.levelOff[2]; i++) assert.equal(u.total[i], table.self[u.frame[i]]);
    for (let i = 1; i < u.n; i++) {
        assert.equal(u.depth[i], u.depth[u.parent[i]] + 1);
        assert.ok(u.x[i] >= u.x[u.parent[i]] && u.x[i] + u.w[i] <= u.x[u.parent[i]] + u.w[u.parent[i]]);
    }
    assert.equal(u.levelOff[u.levelOff.length - 1], u.n);
    const named = invertOf(t, x.frames.n, x.rank(), false);
    assert.equal(x.frames.name[named.frame[1]], 'idle');
});

test('the inverted tree of a comparison, and of a large profile', () => {
    const x = new Fixture(),
        t = x.tree('main;a 4, main;b 2', 'main;a 1, main;c 5'),
        u = invertOf(t, x.frames.n, x.rank(), true);
    const of = (name: string) => u.frame.indexOf(x.frame(name));
    assert.equal(u.baseTotal![of('a')], 1);
    assert.equal(u.baseTotal![of('c')], 5);
    assert.equal(u.total[of('c')], 0);
    assert.equal(u.baseSelf![of('c')], 5);
    // above the limit, callers of rows below 0.001 % are not computed
    const many = x.tree(`r;main;big 999999, r;main;small 1`),
        cut = invertOf(many, x.frames.n, x.rank(), true, 1);
    assert.equal(x.nodes(cut), '-big 999999 999999, -small 1 1, --main 999999 0, ---r 999999 0');
    assert.equal(cut.total[0], 1000000);
});

test('rows of the call tree', () => {
    const x = new Fixture(),
        t = x.tree('main;run;work;deep 3, main;run 2, main;idle 9, main;run;zzz 8'),
        c = new Children(t, x.rank()),
        names = (list: number[]) => x.names(list.map((i) => t.frame[i]));
    assert.equal(names(rowsOf(t, c, new Set())), 'main');
    assert.equal(names(rowsOf(t, c, trunk(t, c))), 'main;run;idle');
    const path = hottest(c, 0);
    assert.equal(names(path), 'main;run;zzz');
    assert.equal(names(rowsOf(t, c, new Set(path))), 'main;run;zzz;work;idle');
    assert.deepEqual(hottest(c, path[2]), []);
    // another tree, in which nodes have other numbers
    const other = x.tree('before;a 1, main;run;work;deep 3, main;run;zzz 1'),
        carried = carryOpen({ tree: t, frames: x.frames }, new Set([...path, t.frame.indexOf(x.frame('work'))]), {
            tree: other,
            frames: x.frames,
        });
    assert.equal(x.names([...carried].map((i) => other.frame[i])), 'main;run;work;zzz');
});

test('a tree after transforms: sums, and the scale of a comparison', () => {
    const x = new Fixture(),
        tree = x.tree('main;run;work 3, main;run 2, main;idle 1', 'main;run;work 1, main;idle 5'),
        of = (list: Transform[], share: boolean) =>
            reshaped(
                { tree, total: 6, samples: 9, baseTotal: 12 },
                reshapeOf(list, x.frames, x.noStack)!,
                x.rank(),
                false,
                share,
            );
    const merged = of([{ kind: 'merge', name: 'run', path: '' }], false);
    assert.equal(x.nodes(merged.tree), '-main 6 2, --idle 1 1, --work 3 3');
    assert.equal(merged.total, 6);
    assert.equal(merged.baseTotal, 12);
    const part = of([{ kind: 'with', name: 'run', path: '' }], true);
    assert.equal(part.total, 5);
    assert.equal(part.tree.baseTotal![0], 5); // scaled to the total of this profile
    assert.equal(part.baseTotal, 2); // one sixth of the other profile is left
    assert.equal(of([{ kind: 'drop', name: 'main', path: '' }], true).tree.n, 1);
});

test('the search goes to the largest box, and zooms so far that it can be seen', () => {
    const x = new Fixture(),
        t = x.tree('main;a;f 1, main;b;c;f 2, main;d 997'),
        f = x.frame('f');
    const to = largestOf(t, f);
    assert.equal(x.names(pathOf(t, to).map((i) => t.frame[i])), 'main;b;c;f');
    assert.equal(t.frame[zoomFor(t, to, 1 / 40)], x.frame('b'));
    assert.equal(zoomFor(t, to, 1 / 10000), 0);
    // inside the zoom, if it occurs there
    const a = t.frame.indexOf(x.frame('a'));
    assert.equal(x.names(pathOf(t, largestOf(t, f, a)).map((i) => t.frame[i])), 'main;a;f');
    assert.equal(largestOf(t, x.frame('unknown')), 0);
    assert.equal(matchedTotal(t, x.frames.match('f')!).total, 3);
});
