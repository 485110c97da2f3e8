// The pure parts of the live page: selectors, times, the address, profiles made one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extentOf, newestPart, typesOf } from '../src/live/questions';
import { EVERYTHING, lastOf, moves, rangeText, readTime, resolve } from '../src/live/range';
import { readAddress, spanBefore, writeAddress } from '../src/live/selection';
import { readSelector, valueOf, withValue, writeSelector } from '../src/live/selector';
import { stackWeights, noFilter } from '../src/model/filter';
import { fold } from '../src/model/fold';
import { heatOf } from '../src/model/heat';
import { Session } from '../src/model/session';
import { decode } from '../src/otlp/decode';
import { fragmentNeedsTime, timelessFragment } from '../src/state';
import { Message, profilesData } from './write';

const NOW = Date.parse('2026-01-02T03:04:05Z');

test('selectors: what is written is read', () => {
    const s = {
        type: 'cpu/nanoseconds',
        matchers: [
            { key: 'service.name', op: '=' as const, value: 'a "b" \\ c\nd' },
            { key: 'odd key', op: '!~' as const, value: '.*' },
            { key: 'empty', op: '!=' as const, value: '' },
        ],
    };
    assert.deepEqual(readSelector(writeSelector(s)), s);
    assert.deepEqual(readSelector(''), { type: '', matchers: [] });
    assert.deepEqual(readSelector('cpu'), { type: 'cpu', matchers: [] });
    assert.deepEqual(readSelector(' {a = b , c=~"x.*"} '), {
        type: '',
        matchers: [
            { key: 'a', op: '=', value: 'b' },
            { key: 'c', op: '=~', value: 'x.*' },
        ],
    });
    for (const wrong of ['{', '{a}', '{a=}', '{a="b}', 'cpu{a=b} x', '{a=b c=d}']) assert.equal(readSelector(wrong), null, wrong);
    assert.equal(writeSelector({ type: 'wall time/ns', matchers: [] }), ''); // cannot be spelled: chosen from the answer
    assert.equal(valueOf(s, 'service.name'), 'a "b" \\ c\nd');
    assert.equal(valueOf(withValue(s, 'service.name', null), 'service.name'), null);
    assert.equal(withValue(s, 'service.name', 'x').matchers.length, 3);
});

test('times as people write them', () => {
    for (const [text, want] of [
        ['now', NOW],
        ['now-90m', NOW - 90 * 60e3],
        ['now-1.5h', NOW - 5400e3],
        ['2025-11-03', Date.UTC(2025, 10, 3)],
        ['2025-11-03 09:14', Date.UTC(2025, 10, 3, 9, 14)],
        ['2025-11-03T09:14:05.250Z', Date.UTC(2025, 10, 3, 9, 14, 5, 250)],
        ['2025-11-03 09:14:05 UTC', Date.UTC(2025, 10, 3, 9, 14, 5)],
        ['2025-11-03 09:14:05 +01:00', Date.UTC(2025, 10, 3, 8, 14, 5)],
        ['1762161245', 1762161245000],
        ['1762161245250', 1762161245250],
        ['yesterday', null],
        ['2025-13-40', null],
        ['', null],
    ] as const)
        assert.equal(readTime(text, NOW), want, text);
});

test('ranges', () => {
    assert.deepEqual(resolve(lastOf('1h'), NOW, null), [NOW - 3600e3, NOW]);
    assert.deepEqual(resolve(EVERYTHING, NOW, [5, 9]), [5, 9]);
    assert.equal(resolve(EVERYTHING, NOW, null), null);
    assert.equal(resolve({ from: 'now', to: 'now-1h' }, NOW, null), null);
    assert.equal(rangeText(lastOf('15m'), null), 'Last 15 min');
    assert.ok(moves(lastOf('1h')) && !moves(EVERYTHING));
    assert.deepEqual(spanBefore([100, 150], 'before'), [50, 100]);
    assert.deepEqual(spanBefore([100, 150], '1d'), [100 - 86400e3, 150 - 86400e3]);
});

test('the address keeps the selection', () => {
    assert.equal(writeAddress(readAddress('')), '');
    const selector = { type: 'cpu/nanoseconds', matchers: [{ key: 'a', op: '=' as const, value: 'b&c=d' }] };
    for (const s of [
        { page: 'explore', selector, range: lastOf('6h'), against: { shift: 'before' }, refresh: 15 },
        { page: 'profiles', selector, range: EVERYTHING, against: null, refresh: 0 },
        {
            page: 'explore',
            selector,
            range: { from: '2025-11-03T09:00:00Z', to: 'now' },
            against: { query: '{x="y"}', range: { from: '1', to: '2' } },
            refresh: 0,
        },
    ] as const)
        assert.deepEqual(readAddress(writeAddress(s as never)), s);
    assert.equal(readAddress('?page=nonsense&refresh=7&query=%7B').page, 'explore');
});

test('the fragment of other data', () => {
    assert.equal(timelessFragment('#view=table&time=1-2&window=3-4&q=x'), '#view=table&q=x');
    assert.equal(timelessFragment('#time=1-2'), '');
    assert.ok(fragmentNeedsTime('#view=heat') && fragmentNeedsTime('#time=1-2') && !fragmentNeedsTime('#view=table'));
});

test('what there is', () => {
    const series = (type: string, samples: number, first: number, last: number) => ({
        type,
        unit: 'n',
        samples,
        first: first * 1e6,
        last: last * 1e6,
        resource: {},
    });
    const list = [series('a', 5, 100, 200), series('b', 7, 150, 300), series('a', 4, 90, 95), series('c', 0, 1e9, 0)];
    assert.deepEqual(extentOf(list), [89, 301]);
    assert.equal(extentOf([]), null);
    assert.deepEqual(
        typesOf(list).map((t) => t.type),
        ['a', 'b', 'c'],
    );
    const counts = { start: 0, step: 1e9, rows: [{ label: '', sum: [], count: [9, 0, 4, 5, 0] }] };
    assert.deepEqual(newestPart(counts, 9), [2000, 5000]);
    assert.deepEqual(newestPart(counts, 100), [0, 5000]);
    assert.deepEqual(newestPart(counts, 4), [3000, 4000]);
    assert.equal(newestPart({ ...counts, rows: [{ label: '', sum: [], count: [9] }] }, 4), null);
});

test('profiles of one type are looked at as one', () => {
    const T0 = 1700000000000000000n;
    const sample = (stack: number, value: number, at: bigint) =>
        new Message()
            .int(1, stack)
            .packed(2, [1])
            .packed(4, [value])
            .fixed(5, [T0 + at]);
    const one = decode(
        profilesData(['', 'main', 'a', 'b', 'cpu', 'ns'], [[2, 1], [3, 1]], [sample(1, 10, 0n), sample(2, 5, 7n)], [
            ['thread.name', 'x'],
        ]),
        'one',
    );
    const twice = { ...one, profiles: [one.profiles[0], one.profiles[0]] },
        set = fold(twice);
    assert.equal(set.profiles.length, 1);
    assert.equal(set.profiles[0].total, 30n);
    const w = stackWeights(set, set.profiles[0], noFilter);
    assert.deepEqual([w.total, w.samples], [30, 4]);
    assert.deepEqual([...set.profiles[0].timeOff], [0, 1, 2, 3, 4]);
    assert.deepEqual([...set.profiles[0].attributeOff], [0, 1, 2, 3, 4]);
    assert.equal(
        heatOf(set, set.profiles[0], noFilter).cell.reduce((a, b) => a + b, 0),
        30,
    );
    assert.equal(new Session(set, one).tree(0, noFilter, 'absolute', 'name').baseTotal, 15);
    assert.equal(fold(one).profiles[0], one.profiles[0]);
});
