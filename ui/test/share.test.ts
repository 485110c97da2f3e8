// Share: commands are quoted for a shell and select the shown samples; folded stacks and names of stacks.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';
import { Inputs, Shown, commandOf, fileWord, labelOptions, shellQuote } from '../src/model/command';
import { View } from '../src/state';
import { foldedOf, stackText } from '../src/model/folded';
import { Frames } from '../src/model/frames';
import { TreeBuilder, largestOf } from '../src/model/tree';

const label = (key: string, value: string, not = false) => ({ key, value, not });

test('a shell reads quoted words as they are', () => {
    const words = [
        "it's",
        '$(id)',
        '`id`',
        'a b',
        '',
        '!!',
        '\\',
        '"',
        "'",
        ';rm -rf /',
        'ü\n',
        '*',
        '~',
        '#',
        '-x',
        '{a,b}',
    ];
    const out = execFileSync('sh', ['-c', `printf '%s\\0' ${words.map(shellQuote).join(' ')}`]);
    assert.deepEqual(String(out).split('\0').slice(0, -1), words);
    assert.equal(shellQuote('a/b-1.otlp'), 'a/b-1.otlp');
});

test('each view has its command', () => {
    const one: Inputs = { main: 'a b.otlp', base: null, options: ['-s', 'cpu/nanoseconds'] },
        two = { ...one, base: 'old.otlp' };
    const line = (view: View, i = one, more: Partial<Shown> = {}) =>
        commandOf({ view, frame: '', inverted: false, icicle: false, ...more }, i).line;
    const frame = 'a::b(int)';
    assert.equal(line('flame'), "kiln flame 'a b.otlp' -s cpu/nanoseconds");
    assert.equal(line('flame', one, { inverted: true, icicle: true }), "kiln flame 'a b.otlp' --inverted --icicle -s cpu/nanoseconds");
    assert.equal(line('tree', one, { icicle: true }), "kiln flame 'a b.otlp' -s cpu/nanoseconds");
    assert.equal(line('tree', one, { inverted: true }), "kiln flame 'a b.otlp' --inverted -s cpu/nanoseconds");
    assert.equal(line('table', one, { frame }), "kiln top 'a b.otlp' -s cpu/nanoseconds");
    assert.equal(line('heat'), "kiln series --heat 'a b.otlp' -s cpu/nanoseconds");
    assert.equal(line('chart'), "kiln traces 'a b.otlp' -s cpu/nanoseconds");
    assert.equal(line('labels'), "kiln traces 'a b.otlp' -s cpu/nanoseconds");
    assert.equal(line('lanes'), "kiln flame 'a b.otlp' --tagroot thread.name,thread.id -s cpu/nanoseconds");
    assert.equal(line('sandwich', one, { frame }), "kiln peek '^a::b\\(int\\)$' 'a b.otlp' -s cpu/nanoseconds");
    assert.equal(line('source', one, { frame }), "kiln list '^a::b\\(int\\)$' 'a b.otlp' -s cpu/nanoseconds");
    assert.equal(line('sandwich'), "kiln top 'a b.otlp' -s cpu/nanoseconds");
    assert.equal(line('flame', two), "kiln flame 'a b.otlp' --diff old.otlp -s cpu/nanoseconds");
    assert.equal(line('tree', two, { inverted: true }), "kiln flame 'a b.otlp' --inverted --diff old.otlp -s cpu/nanoseconds");
    assert.equal(line('table', two), "kiln diff --per second old.otlp 'a b.otlp' -s cpu/nanoseconds");
    const gives = (view: View, i: typeof one) => commandOf({ view, frame: '', inverted: false, icicle: false }, i).gives;
    assert.equal(gives('tree', two), 'this result');
    assert.equal(gives('lanes', one), 'the total of each thread');
    assert.equal(gives('heat', two), 'this result of this side');
    assert.equal(fileWord('-n'), './-n');
});

test('label filters become patterns that match these values only', () => {
    assert.deepEqual(labelOptions([]), []);
    assert.deepEqual(labelOptions([label('k', 'a,b'), label('k', 'c=d'), label('l', 'x.y'), label('m', 'z', true)]), [
        '--tagfocus',
        '^k:(a\\x2cb|c\\x3dd)$,^l:(x\\.y)$',
        '--tagignore',
        '^m:z$',
    ]);
});

test('folded stacks and the text of a stack', () => {
    const frames = new Frames(),
        b = new TreeBuilder(),
        id = (name: string) => frames.intern(name, '', '', '', '', 0);
    const add = (value: number, ...names: string[]) => b.add(names.map(id), names.length, value);
    add(3, 'main', 'a;b');
    add(4, 'main');
    add(5, '#include', 'x\ny');
    add(2, 'main', 'deep', 'a;b');
    const tree = b.finish(
        Uint32Array.from({ length: frames.n }, (_, i) => i),
        false,
    );
    assert.deepEqual(foldedOf(tree, frames).trimEnd().split('\n').sort(), [
        '_include;x_y 5',
        'main 4',
        'main;a:b 3',
        'main;deep;a:b 2',
    ]);
    assert.equal(stackText(tree, frames, largestOf(tree, id('a;b'), 0)), 'a;b\nmain');
    const deep = largestOf(tree, id('deep'), 0);
    assert.equal(stackText(tree, frames, largestOf(tree, id('a;b'), deep)), 'a;b\ndeep\nmain');
    assert.equal(largestOf(tree, id('missing'), 0), 0);
    assert.equal(stackText(tree, frames, 0), '');
});
