// The rows of the home page: grouping, default types, rates, order, links, and senders with trouble.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Party, Series } from '../src/live/queries';
import { lastOf } from '../src/live/range';
import { NO_IDS, Selection, readAddress, writeAddress } from '../src/live/selection';
import { Listed, Row, groupServices, linkTo, sortServices, storedSizes, troubles } from '../src/live/services';

const S = 1e9,
    START = 1.76e18;
const row = (service: string, type: string, unit: string, sum: number, more: Partial<Row> = {}): Row => ({
    service,
    type,
    unit,
    first: START,
    last: START + 60 * S,
    level: false,
    sum,
    function: 'main',
    flat: sum,
    sums: [sum, 0, 0, 0, 0, 0],
    counts: [3, 0, 0, 0, 0, 0],
    ...more,
});
const listed = (...rows: Row[]): Listed => ({ start: START, end: START + 60 * S, step: 10 * S, rows, partial: false });
const series = (service: string, type: string, unit: string, first: number, last: number, samples = 1): Series => ({
    type,
    unit,
    first,
    last,
    samples,
    resource: service ? { 'service.name': service } : {},
});
const sel: Selection = {
    page: 'services',
    selector: { type: '', matchers: [{ key: 'env', op: '=', value: 'prod' }] },
    range: lastOf('6h'),
    against: null,
    refresh: 15,
    ids: NO_IDS,
    by: null,
};

test('the default type is cpu, then off_cpu or wall, then heap in use; never the one with most samples', () => {
    const many = { counts: [9e6, 0, 0, 0, 0, 0] };
    const of = (...types: string[]) => {
        const rows = types.map((t, i) => row('a', t, 'x', 1, i ? many : {}));
        return groupServices(listed(...rows.reverse()), [])[0].kinds.map((k) => k.row.type);
    };
    assert.deepEqual(of('cpu', 'wall', 'alloc_space'), ['cpu', 'wall', 'alloc_space']);
    assert.deepEqual(of('off_cpu', 'inuse_space', 'samples'), ['off_cpu', 'inuse_space', 'samples']);
    assert.deepEqual(of('inuse_space', 'alloc_objects'), ['inuse_space', 'alloc_objects']);
    const other = groupServices(listed(row('a', 'alloc_space', 'bytes', 1)), [series('a', 'cpu', 'nanoseconds', 1, 2)]);
    assert.equal(other[0].kinds[0].row.type, 'alloc_space', 'a type without data in the range');
});

test('rates are per second since the first profile, and levels as measured', () => {
    const text = (r: Row) => groupServices(listed(r), [])[0].kinds[0].text;
    assert.equal(text(row('a', 'cpu', 'nanoseconds', 150 * S)), '2.5 cores');
    assert.equal(text(row('a', 'cpu', 'nanoseconds', 30 * S, { first: START + 30 * S })), '1 core');
    assert.equal(text(row('a', 'wall', 'nanoseconds', 600 * S)), '10 threads');
    assert.equal(text(row('a', 'alloc_space', 'bytes', 60 * 2048)), '2 KiB/s');
    assert.equal(text(row('a', 'alloc_objects', 'count', 120)), '2/s');
    assert.equal(text(row('a', 'inuse_space', 'bytes', 3 << 20, { level: true })), '3 MiB');
});

test('points: rates of each step; levels as they are; the newest data may be under way', () => {
    const points = (r: Row) => groupServices(listed(r), [])[0].kinds[0].points;
    const sums = [10 * S, 0, 20 * S, 0, 0, 0],
        counts = [1, 0, 1, 0, 0, 0];
    assert.deepEqual(points(row('a', 'cpu', 'nanoseconds', 30 * S, { sums, counts })), [1, 0, 2, 0, 0, 0]);
    assert.deepEqual(
        points(row('a', 'cpu', 'nanoseconds', 30 * S, { sums, counts, last: START + 35 * S })),
        [1, 0, 2, 0],
    );
    assert.deepEqual(
        points(row('a', 'cpu', 'nanoseconds', 30 * S, { sums, counts, last: START + 15 * S })),
        [1, 0, 2, 0, 0, 0],
        'a service that has stopped',
    );
    const level = { level: true, sums: [5, 5, 7, 7, 7, 7], counts };
    assert.deepEqual(
        points(row('a', 'inuse_space', 'bytes', 7, level)),
        [5, 5, 7, 7, 7, 7],
        'as the server holds them',
    );
});

test('order: types of one rank together, services without data last', () => {
    const list = groupServices(
        listed(
            row('heap', 'inuse_space', 'bytes', 1e12, { level: true }),
            row('idle', 'cpu', 'nanoseconds', 1),
            row('busy', 'cpu', 'nanoseconds', 9 * S),
            row('waits', 'wall', 'nanoseconds', 999 * S),
        ),
        [series('gone', 'cpu', 'nanoseconds', START - 9 * S, START - 5 * S)],
    );
    const names = (by: 'name' | 'rate' | 'last', down: boolean) => sortServices(list, { by, down }).map((s) => s.name);
    assert.deepEqual(names('rate', true), ['busy', 'idle', 'waits', 'heap', 'gone']);
    assert.deepEqual(names('rate', false), ['idle', 'busy', 'waits', 'heap', 'gone']);
    assert.deepEqual(names('name', false), ['busy', 'heap', 'idle', 'waits', 'gone']);
    assert.deepEqual(names('name', true), ['waits', 'idle', 'heap', 'busy', 'gone']);
});

test('links: the shown range, or the last hour of a service outside it', () => {
    const [a] = groupServices(listed(row('a "b"', 'cpu', 'nanoseconds', 1)), []);
    const s = readAddress(linkTo(sel, a.kinds[0]).slice(1));
    assert.deepEqual([s.page, s.selector.type, s.range, s.refresh], ['explore', 'cpu/nanoseconds', sel.range, 15]);
    assert.deepEqual(
        s.selector.matchers.map((m) => `${m.key}${m.op}${m.value}`),
        ['service.name=a "b"', 'env=prod'],
    );
    const [gone] = groupServices(listed(), [
        series('gone', 'cpu', 'nanoseconds', START - 9e3 * S, START - 8e3 * S, 5),
        series('gone', 'cpu', 'nanoseconds', START - 99e3 * S, START - 98e3 * S, 2),
    ]);
    const range = readAddress(linkTo(sel, gone.kinds[0]).slice(1)).range;
    const at = (t: string) => (Date.parse(t) * 1e6 - START) / S;
    assert.ok(Math.abs(at(range.to) + 8e3) < 1 && Math.abs(at(range.from) + 8e3 + 3600) < 1, JSON.stringify(range));
    assert.equal(storedSizes([series('x', 'a', '', 1, 2, 3), series('x', 'b', '', 1, 2, 4)]).get('x'), 7);
});

test('addresses: / is the services, a selection without a page is Explore', () => {
    for (const [search, page] of [
        ['', 'services'],
        ['?page=services&from=now-6h&to=now', 'services'],
        ['?query=cpu', 'explore'],
        ['?from=now-5m&to=now&refresh=5', 'explore'],
        ['?range=all', 'explore'],
        ['?page=explore', 'explore'],
        ['?page=health', 'health'],
    ])
        assert.equal(readAddress(search).page, page, search);
    for (const page of ['services', 'explore'] as const)
        for (const range of [lastOf('1h'), lastOf('6h')])
            for (const refresh of [0, 5]) {
                const s = { ...sel, page, range, refresh };
                assert.deepEqual(readAddress(writeAddress(s)), s);
            }
    assert.equal(writeAddress(readAddress('')), '');
    assert.equal(writeAddress(readAddress('?query=cpu')), '?query=cpu', 'short as before');
});

test('senders with trouble', () => {
    const party = (more: Partial<Party>): Party => ({
        name: 'x',
        requests: 10,
        profiles: 10,
        samples: 10,
        bytes: 10,
        refused: 0,
        rejected: 0,
        why: '',
        first: START,
        last: START + 90 * S,
        ...more,
    });
    const of = (more: Partial<Party>, now = START + 100 * S) =>
        troubles([party(more)], now, (ns) => `${ns / S} s`, String).flatMap((t) => [...t.texts, t.why]);
    assert.deepEqual(of({}), []);
    assert.deepEqual(of({ refused: 2, why: 'no' }), ['2 of 10 requests refused', 'no']);
    assert.deepEqual(of({ rejected: 3, why: 'bad' }), ['3 profiles or records rejected in partial successes', 'bad']);
    assert.deepEqual(of({}, START + 490 * S), ['silent for 400 s, after a request every 10 s', '']);
    assert.deepEqual(of({ requests: 1 }, START + 1e6 * S), [], 'a sender of one file');
    assert.deepEqual(of({ last: START + 9000 * S }, START + 15000 * S), [], 'it usually sends every 1000 s');
});
