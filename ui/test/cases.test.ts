// tests/support/flame_cases.txt: packages, trees and colours on which C and the viewer agree. The file describes its lines.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { boxOf, groupOf, huesOf, stepOf } from '../src/draw/palette';
import { libraryOf, packageAt } from '../src/model/package';
import { noFilter } from '../src/model/filter';
import { Session } from '../src/model/session';
import { decode } from '../src/otlp/decode';
import { FIRST, Message, profilesData } from './write';

const file = join(process.env['KILN_SRC'] ?? '..', 'tests/support/flame_cases.txt');
const GREY = 12;

function dataset(folded: string[]) {
    const strings = [''],
        at = (s: string) => (strings.includes(s) ? strings.indexOf(s) : strings.push(s) - 1);
    const rows = folded.map((line) => ({
        stack: line.slice(0, line.lastIndexOf(' ')).split(';').map(at).reverse(),
        value: Number(line.slice(line.lastIndexOf(' ') + 1)),
    }));
    strings.push('cpu', 'ns');
    const samples = rows.map((r, i) => new Message().int(1, i + 1).packed(4, [r.value]));
    return decode(
        profilesData(
            strings,
            rows.map((r) => r.stack),
            samples,
            [],
        ),
        'case',
    );
}

/** The nodes of a case as lines of the file. */
function nodes(stacks: string[], base: string[], order: 'name' | 'value'): string[] {
    const session = new Session(dataset(stacks), base.length ? dataset(base) : null),
        { frames } = session;
    const { tree: t, total, baseTotal } = session.tree(FIRST, noFilter, base.length ? 'share' : 'off', order);
    const self = session.selfOf(session.profile(FIRST)),
        shares = new Map<string, number>();
    for (let i = 1; i < frames.n; i++) {
        const g = groupOf(frames, i, 'package');
        shares.set(g, (shares.get(g) ?? 0) + self[i]);
    }
    const hues = huesOf(shares),
        out: string[] = [];
    const visit = (i: number): void => {
        const name = frames.name[t.frame[i]],
            group = i ? groupOf(frames, t.frame[i], 'package') : '',
            [row, shade] = i ? boxOf(hues.get(group), name) : [GREY, 0];
        out.push(
            (t.baseTotal
                ? [
                      'change',
                      t.depth[i],
                      name,
                      t.total[i],
                      (t.baseTotal[i] / total) * baseTotal,
                      i ? stepOf(t.total[i], t.baseTotal[i], 0, 0) : 0,
                  ]
                : ['node', t.depth[i], name, t.total[i], t.self[i], group, row, shade]
            ).join('\t'),
        );
        for (let k = t.first[i]; k < t.first[i] + t.count[i]; k++) visit(k);
    };
    visit(0);
    return out;
}

test('packages, trees and colours are those of the C code', () => {
    let order: 'name' | 'value' = 'name',
        stacks: string[] = [],
        base: string[] = [],
        want: string[] = [];
    for (const line of readFileSync(file, 'utf8').split('\n')) {
        const [word, ...f] = line.split('\t');
        if (!word || word.startsWith('#')) continue;
        if (word === 'package') assert.equal(packageAt(f[0], f[1], f[2]), f[3], line);
        else if (word === 'library') assert.equal(libraryOf(f[0]), f[1], line);
        else if (word === 'step') {
            const [after, before, size, baseSize, step] = f.map(Number);
            assert.equal(stepOf(after, before, size, baseSize), step, line);
        } else if (word === 'tree') order = f[0] as 'name' | 'value';
        else if (word === 'stack') stacks.push(f[0]);
        else if (word === 'base') base.push(f[0]);
        else if (word === 'end') {
            assert.deepEqual(nodes(stacks, base, order), want);
            [stacks, base, want] = [[], [], []];
        } else want.push(line);
    }
});
