// Charts over time: rates, gaps, the edge of what has arrived, stacks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepLanes } from '../src/live/lanes';
import { observations, sumOf } from '../src/live/queries';
import { groupsOf, hasStates, sharesAt } from '../src/model/lanes';
import { rateOf } from '../src/model/rate';
import { Counts, linesOf, stacked, sumAt } from '../src/model/series';

const S = 1e9,
    START = 1.7e18,
    cpu = rateOf('cpu', 'nanoseconds'),
    heap = rateOf('inuse_space', 'bytes');

const counts = (rows: [string, number[], number?][], end = 4, step = 1): Counts => ({
    start: START,
    end: START + end * S,
    step: step * S,
    levels: false,
    rows: rows.map(([label, sum, complete]) => ({
        label,
        sum: sum.map((v) => v * S),
        count: sum.map((v) => Number(v > 0)),
        complete: START + (complete ?? end) * S,
    })),
});

test('a rate does not depend on the step, nor on a last step that is cut', () => {
    assert.deepEqual(linesOf(counts([['a', [2, 2, 2, 2]]]), cpu, 8).lines[0].values, [2, 2, 2, 2]);
    assert.deepEqual(linesOf(counts([['a', [4, 4]]], 4, 2), cpu, 8).lines[0].values, [2, 2]);
    const cut = linesOf(counts([['a', [6, 2]]], 4, 3), cpu, 8);
    assert.deepEqual(cut.lines[0].values, [2, 2]);
    assert.deepEqual(cut.time, [START, START + 3 * S, START + 4 * S]);
    assert.equal(cut.edge, null);
});

test('the live edge holds the last rate and is marked', () => {
    const l = linesOf(
        counts([
            ['a', [2, 2, 0.2, 0], 2.1],
            ['b', [1, 1, 1, 0.8], 3.8],
        ]),
        cpu,
        8,
    );
    assert.deepEqual(l.lines[0].values, [2, 2, 2, 2]); // a tenth of a second is not enough for a rate
    assert.deepEqual(
        l.lines[1].values.map((v) => v!.toFixed(3)),
        ['1.000', '1.000', '1.000', '1.000'],
    );
    assert.equal(l.edge, START + 2.1 * S);
});

test('a series that has ended falls to 0', () => {
    const l = linesOf(counts([['a', [2, 2, 0, 0]]]), cpu, 8);
    assert.deepEqual(l.lines[0].values, [2, 2, 0, 0]);
});

test('levels hold, and then have a gap; their sum is the last one', () => {
    const c = counts([
        ['a', [3, 3, 3, 0]],
        ['b', [0, 1, 1, 1]],
    ]);
    c.levels = true;
    c.rows[0].series = [1, 1, 1, 0];
    c.rows[1].series = [0, 1, 1, 1];
    const l = linesOf(c, heap, 8);
    assert.deepEqual(l.lines[0].values, [3 * S, 3 * S, 3 * S, null]);
    assert.deepEqual(l.lines[1].values, [null, S, S, S]);
    assert.equal(sumAt(l.lines, 0), 3 * S);
    assert.equal(sumAt(l.lines, 3), S);
    assert.deepEqual(stacked(l.lines)[1], [3 * S, 4 * S, 4 * S, S]);
    assert.equal(l.edge, null);
    assert.equal(sumOf(c), S);
    assert.equal(observations(c), 6);
});

test('at most N lines; the others are added up', () => {
    const c = counts(Array.from({ length: 12 }, (_, i) => [`r${i}`, [i, i, i, i]] as [string, number[]])),
        l = linesOf(c, cpu, 5);
    assert.deepEqual(
        l.lines.map((x) => x.label),
        ['r11', 'r10', 'r9', 'r8', '8 others'],
    );
    assert.equal(l.lines[4].values[0], 28);
    assert.equal(l.lines[4].others, 8);
    assert.equal(sumAt(l.lines, 2), 66);
    assert.deepEqual(linesOf(counts([]), cpu, 5), { time: [], lines: [], edge: null });
});

test('threads in steps have shares of states', () => {
    const c = counts([
        ['w', [3, 0, 1, 0]],
        ['w', [1, 0, 0, 2]],
        ['v', [0, 5, 0, 0]],
    ]);
    ['running', 'waiting', ''].forEach((s, i) => (c.rows[i].split = s));
    const l = stepLanes(c, [START / 1e6, START / 1e6 + 4000], 'nanoseconds'),
        w = l.lanes.find((x) => x.thread === 'w')!;
    assert.deepEqual([w.n, w.sum, w.time.length], [4, 7 * S, 3]);
    assert.deepEqual(sharesAt(l, w, 0), [
        { name: 'running', value: 3 * S, share: 0.75 },
        { name: 'waiting', value: S, share: 0.25 },
    ]);
    assert.deepEqual(groupsOf(l), [
        { name: 'unknown', sum: 5 * S },
        { name: 'running', sum: 4 * S },
        { name: 'waiting', sum: 3 * S },
    ]);
    c.rows.forEach((r) => (r.split = ''));
    assert.ok(!hasStates(stepLanes(c, [0, 4000], 'nanoseconds')) && stepLanes(c, [0, 4000], 'nanoseconds').lanes[0].shares === null);
});
