// Views over time, labels, filters and the address, with a small profile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ticks } from '../src/draw/axis';
import { chartOf, layersOf } from '../src/model/chart';
import { detailsOf } from '../src/model/details';
import { noFilter, stackWeights } from '../src/model/filter';
import { ROWS, columnFor, heatOf } from '../src/model/heat';
import { labelsOf, threadsOf } from '../src/model/labels';
import { Session } from '../src/model/session';
import { decode } from '../src/otlp/decode';
import { initial, readFragment, writeFragment } from '../src/state';
import { back } from '../src/view/keys';
import { FIRST, Message, profilesData } from './write';

const MS = 1000000n,
    T0 = 1700000000000000000n;

/** main → a, main → b on two threads, a sample every 10 ms. */
function session(): Session {
    const samples: Message[] = [];
    for (let i = 0n; i < 6n; i++)
        samples.push(
            new Message()
                .int(1, i < 3n ? 1 : 2)
                .packed(2, [Number(i % 2n) + 1])
                .packed(4, [10])
                .fixed(5, [T0 + i * 10n * MS]),
        );
    return new Session(
        decode(
            profilesData(
                ['', 'main', 'a', 'b', 'thread.name', 'cpu', 'ms'],
                [
                    [2, 1],
                    [3, 1],
                ],
                samples,
                [
                    ['thread.name', 't1'],
                    ['thread.name', 't2'],
                ],
            ),
            'x',
        ),
        null,
    );
}

test('threads and labels', () => {
    const s = session(),
        p = s.profile(FIRST);
    assert.deepEqual(threadsOf(s.main.set, p).name, ['t1', 't2']);
    const keys = labelsOf(s.main.set, p, noFilter);
    assert.deepEqual(
        keys.map((k) => [k.key, k.total, k.values.map((v) => [v.value, v.total])]),
        [
            [
                'thread.name',
                60,
                [
                    ['t1', 30],
                    ['t2', 30],
                ],
            ],
        ],
    );
    const one = { labels: [{ key: 'thread.name', value: 't1', not: false }], time: null };
    assert.equal(labelsOf(s.main.set, p, one)[0].values.length, 2, 'the other value can still be selected');
});

test('filters: by label, without it, by time', () => {
    const s = session(),
        p = s.profile(FIRST),
        of = (not: boolean) => ({ labels: [{ key: 'thread.name', value: 't1', not }], time: null });
    assert.equal(stackWeights(s.main.set, p, noFilter).total, 60);
    assert.equal(stackWeights(s.main.set, p, of(false)).total, 30);
    assert.equal(stackWeights(s.main.set, p, of(true)).total, 30);
    assert.equal(stackWeights(s.main.set, p, { labels: [], time: [0, 20e6] }).total, 20);
    assert.equal(stackWeights(s.main.set, p, { labels: of(false).labels, time: [0, 20e6] }).total, 10);
    assert.equal(stackWeights(s.main.set, p, { labels: [{ key: 'x', value: 'y', not: false }], time: null }).total, 0);
    assert.equal(s.tree(FIRST, of(false), 'off', 'name').tree.total[0], 30);
});

test('chart: neighbouring samples share their boxes', () => {
    const s = session(),
        p = s.profile(FIRST),
        c = chartOf(s.main, p, threadsOf(s.main.set, p), noFilter);
    assert.deepEqual(
        c.lanes.map((l) => [l.name, l.n]),
        [
            ['t1', 3],
            ['t2', 3],
        ],
    );
    const layers = layersOf(s.main, c.lanes[0]),
        names = (d: number) => Array.from(layers[d].frame, (f) => s.frames.name[f]);
    assert.deepEqual(names(0), ['main']);
    assert.deepEqual(names(1), ['a', 'b']);
    for (const l of layers) for (let i = 1; i < l.x.length; i++) assert.ok(l.x[i] >= l.x[i - 1] + l.w[i - 1]);
});

test('chart: sparse samples of CPU time last for their period', () => {
    const s = session(),
        p = { ...s.profile(FIRST), type: 'cpu', unit: 'nanoseconds', period: 1e6, periodUnit: 'nanoseconds' },
        c = chartOf(s.main, p, threadsOf(s.main.set, p), noFilter);
    for (const l of c.lanes)
        for (let i = 0; i < l.n; i++) assert.ok(l.end[i] - l.time[i] <= 2e6, `${l.end[i] - l.time[i]} ns`);
    assert.equal(layersOf(s.main, c.lanes[0])[0].x.length, 3); // three moments of main, not one long call
});

test('details: neighbours and lines', () => {
    const s = session(),
        p = s.profile(FIRST),
        { tree } = s.tree(FIRST, noFilter, 'off', 'name'),
        of = (n: string) => s.frames.name.indexOf(n);
    const named = (l: { frame: number; value: number }[]) => l.map((x) => [s.frames.name[x.frame], x.value]);
    const main = detailsOf(s, p, noFilter, tree, of('main')),
        a = detailsOf(s, p, noFilter, tree, of('a'));
    assert.deepEqual(named(main.callees), [
        ['a', 30],
        ['b', 30],
    ]);
    assert.deepEqual(named(main.callers), []);
    assert.deepEqual(named(a.callers), [['main', 30]]);
    assert.deepEqual(a.lines, [{ line: 7, self: 30, total: 30 }]);
    assert.deepEqual(main.lines, [{ line: 7, self: 0, total: 60 }]);
});

test('heat map: every observation has a cell', () => {
    const s = session(),
        h = heatOf(s.main.set, s.profile(FIRST), noFilter);
    assert.equal(
        h.cell.reduce((a, b) => a + b, 0),
        60,
    );
    assert.equal(h.cell.length, h.columns * ROWS);
    assert.equal(columnFor(60e9), 1e9);
    assert.equal(columnFor(3600e9), 5e9); // rows of 100 ms over an hour
    assert.ok((86400e9 * 30) / columnFor(86400e9 * 30) <= 1200);
    assert.ok(columnFor(1) > 0);
});

test('heat map: a wait counts in all cells that it covers', () => {
    const s = session(),
        ms = { ...s.profile(FIRST), type: 'off_cpu', unit: 'ms' }, // waits of 10 ms, one after another
        h = heatOf(s.main.set, ms, noFilter),
        cell = h.column / ROWS / 1e6; // ms
    assert.ok(Math.abs(h.cell.reduce((a, b) => a + b, 0) - 60) < 1e-6);
    assert.ok(h.most <= cell * 1.000001, `${h.most} ms in a cell of ${cell} ms`);
});

test('axis: few ticks, round numbers', () => {
    assert.deepEqual(
        ticks(0, 3e9, 700).map((t) => t.text),
        ['0', '500 ms', '1 s', '1.5 s', '2 s', '2.5 s', '3 s'],
    );
    assert.ok(ticks(5, 6, 700).length < 20);
    assert.deepEqual(
        ticks(0, 360e9, 700).map((t) => t.text),
        ['0', '1 min', '2 min', '3 min', '4 min', '5 min', '6 min'],
    );
    assert.deepEqual(
        ticks(0, 150e9, 700).map((t) => t.text),
        ['0', '30 s', '1 min', '1 min 30 s', '2 min', '2 min 30 s'],
    );
    assert.deepEqual(
        ticks(0, 100e9, 700).map((t) => t.text),
        ['0', '20 s', '40 s', '60 s', '80 s', '100 s'],
    );
    assert.ok(ticks(0, 86400e9 * 400, 700).length < 10);
});

test('the address stores the state', () => {
    const s = session(),
        f = s.frames.name.indexOf('a');
    const state = {
        ...initial(false),
        view: 'table' as const,
        search: 'x&y=ü',
        selected: f,
        zoom: [s.frames.name.indexOf('main'), f].map((i) => s.refs.step(i)),
        icicle: true,
        filter: { labels: [{ key: 'k=1', value: 'a b', not: true }], time: [1, 2] as [number, number] },
    };
    // a key with = in it is cut at the first one: the rest belongs to the value
    state.filter.labels[0].key = 'k';
    assert.deepEqual(readFragment('#' + writeFragment(state, false, s.names), false, s.names), state);
    assert.equal(writeFragment(initial(false), false, s.names), '');
    assert.deepEqual(readFragment('#view=nonsense&profile=99&time=x&sel=gone', false, s.names), initial(false));
});

test('Esc clears one thing at a time', () => {
    let s = { ...initial(false), search: 'x', zoom: ['AAAAA'], selected: 2, help: true };
    const order: string[] = [];
    for (let p = back(s); p; p = back(s)) {
        order.push(Object.keys(p)[0]);
        s = { ...s, ...p };
    }
    assert.deepEqual(order, ['help', 'search', 'zoom', 'selected']);
});
