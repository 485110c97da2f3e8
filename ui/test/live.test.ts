// The parts of the live page without a DOM: selectors, times, addresses, merged profiles.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readColumns } from '../src/live/columns';
import { extentOf, newestPart, typesOf } from '../src/live/queries';
import { EVERYTHING, hull, lastOf, moves, rangeText, readTime, resolve, spanText, writeTime } from '../src/live/range';
import {
    NO_IDS,
    brokenAddress,
    halves,
    linkedIds,
    readAddress,
    readIds,
    spanBefore,
    writeAddress,
} from '../src/live/selection';
import { readSelector, valueOf, withLabels, withValue, writeSelector } from '../src/live/selector';
import { stackWeights, noFilter } from '../src/model/filter';
import { aboutFrom, aboutOf, isEmpty } from '../src/model/about';
import { heatOf } from '../src/model/heat';
import { Session } from '../src/model/session';
import { decode } from '../src/otlp/decode';
import { partOf, readFragment, timelessFragment, needsOf, writeFragment, initial } from '../src/state';
import { FIRST, Message, profilesData } from './write';

const TRACE = 'e1f08aee9b782c3b8416089b191a6bf0',
    SPAN = '295ef6684424c055';
const NOW = Date.parse('2026-01-02T03:04:05Z');

test('selectors: written text reads back the same', () => {
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
    for (const wrong of ['{', '{a}', '{a=}', '{a="b}', 'cpu{a=b} x', '{a=b c=d}'])
        assert.equal(readSelector(wrong), null, wrong);
    assert.equal(writeSelector({ type: 'wall time/ns', matchers: [] }), ''); // the grammar cannot express it
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
        ['1762161245250125', 1762161245250.125],
        ['1762161245250125000', 1762161245250.125],
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

test('times are precise to the microsecond', () => {
    for (const text of ['2025-11-03T09:14:05Z', '2025-11-03T09:14:05.250Z', '2025-11-03T09:14:05.250001Z'])
        assert.equal(writeTime(readTime(text, NOW)!), text);
    assert.equal(spanText([NOW, NOW + 0.5]), '2026-01-02 03:04:05 – 03:04:05.000500');
    assert.deepEqual(hull([100, 200], [300, 400]), [91, 409]);
    assert.deepEqual(halves([NOW, NOW + 2000]), {
        against: { from: '2026-01-02T03:04:05Z', to: '2026-01-02T03:04:06Z' },
        range: { from: '2026-01-02T03:04:06Z', to: '2026-01-02T03:04:07Z' },
    });
});

test('ids of traces and spans, as other tools write them', () => {
    const dashed = TRACE.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    for (const [text, want] of [
        [TRACE, { trace: TRACE, span: '' }],
        [` ${TRACE.toUpperCase()} `, { trace: TRACE, span: '' }],
        [dashed, { trace: TRACE, span: '' }],
        [SPAN, { trace: '', span: SPAN }],
        [`0x${SPAN}`, { trace: '', span: SPAN }],
        [`00-${TRACE}-${SPAN}-01`, { trace: TRACE, span: SPAN }],
        [TRACE.slice(1), null],
        [`${SPAN}g`, null],
        ['', null],
    ] as const)
        assert.deepEqual(readIds(text), want, text);
    for (const [search, hash, want] of [
        ['', `#trace=${TRACE}`, { trace: TRACE, span: '' }],
        ['', `#trace=${TRACE}&span=${SPAN}`, { trace: TRACE, span: SPAN }],
        [`?trace_id=${TRACE}`, '#view=table', { trace: TRACE, span: '' }],
        [`?spanID=${SPAN}`, '', { trace: '', span: SPAN }],
        ['', `#/?traceparent=00-${TRACE}-${SPAN}-01`, { trace: TRACE, span: SPAN }],
        ['?trace=nonsense', '#view=chart', null],
    ] as const)
        assert.deepEqual(linkedIds(search, hash), want, search + hash);
});

test('mistakes in an address are reported', () => {
    for (const [search, hash, want] of [
        ['', '', ''],
        [`?query=cpu%7Ba%3D%22b%22%7D&from=now-5m&to=now`, `#trace=${TRACE}`, ''],
        ['?query=cpu%7Bservice', '', 'query=cpu{service is not a selector'],
        ['?from=yesterday&to=now', '', 'from=yesterday is not a time'],
        ['', '#trace=zz', 'trace=zz is not an id'],
        ['?span_id=12', '#view=table', 'span_id=12 is not an id'],
    ] as const) {
        const got = brokenAddress(search, hash);
        assert.ok(want ? got.includes(want) : got === '', got || search + hash);
    }
});

test('labels of the viewer as a selector', () => {
    const labels = [
        { key: 'a', value: 'x.y', not: false },
        { key: 'a', value: 'z', not: false },
        { key: 'b', value: '1', not: true },
        { key: 'c', value: 'd', not: false },
    ];
    assert.equal(
        writeSelector(withLabels({ type: 'cpu', matchers: [] }, labels)),
        'cpu{a=~"x\\\\.y|z", c="d", b!="1"}',
    );
});

test('binary responses', () => {
    const head = new TextEncoder().encode(
        '{"answer":{"schema":1,"start":1762161245000000001,"column":20,"sum":null,"frames":{"label":null},"big":[null]},' +
            '"columns":[{"path":["sum"],"type":"f64","at":0,"n":2},{"path":["frames","label"],"type":"str","at":16,"n":2},' +
            '{"path":["big",0],"type":"i64","at":40,"n":1}]}',
    );
    const data = Math.ceil((16 + head.length) / 8) * 8,
        b = new ArrayBuffer(data + 48),
        v = new DataView(b);
    new Uint8Array(b).set(new TextEncoder().encode('KLNA'));
    v.setUint32(4, 1, true);
    v.setUint32(8, head.length, true);
    v.setUint32(12, data, true);
    new Uint8Array(b).set(head, 16);
    v.setFloat64(data, 1.5, true);
    v.setFloat64(data + 8, -2, true);
    [0, 1, 3].forEach((o, i) => v.setUint32(data + 16 + i * 4, o, true));
    new Uint8Array(b).set(new TextEncoder().encode('aé'), data + 28);
    v.setBigInt64(data + 40, -5n, true);
    const a = readColumns<{ column: number; sum: Float64Array; frames: { label: string[] }; big: Float64Array[] }>(b);
    assert.deepEqual(
        [a.startNs, a.column, [...a.sum], a.frames.label, [...a.big[0]]],
        [1762161245000000001n, 20, [1.5, -2], ['a', 'é'], [-5]],
    );
    assert.throws(() => readColumns(new ArrayBuffer(16)), /unknown encoding/);
});

test('the address stores the selection', () => {
    assert.equal(writeAddress(readAddress('')), '');
    const selector = { type: 'cpu/nanoseconds', matchers: [{ key: 'a', op: '=' as const, value: 'b&c=d' }] };
    for (const s of [
        {
            page: 'explore',
            selector,
            range: lastOf('6h'),
            against: { shift: 'before' },
            refresh: 15,
            ids: NO_IDS,
            by: 'thread.name',
        },
        { page: 'profiles', selector, range: EVERYTHING, against: null, refresh: 0, ids: NO_IDS, by: '' },
        {
            page: 'trace',
            selector,
            range: EVERYTHING,
            against: null,
            refresh: 0,
            ids: { trace: TRACE, span: SPAN },
            by: null,
        },
        {
            page: 'explore',
            selector,
            range: { from: '2025-11-03T09:00:00Z', to: 'now' },
            against: { query: '{x="y"}', range: { from: '1', to: '2' } },
            refresh: 0,
            ids: NO_IDS,
            by: null,
        },
    ] as const)
        assert.deepEqual(readAddress(writeAddress(s as never)), s);
    assert.equal(readAddress('?page=nonsense&refresh=7&query=%7B').page, 'explore');
});

test('the fragment of other data', () => {
    assert.equal(timelessFragment('#view=table&time=1-2&window=3-4&q=x'), '#view=table&q=x');
    assert.equal(timelessFragment('#time=1-2'), '');
    const none = { times: false, attributes: false, stacks: false, view: null, zoom: [], part: null };
    assert.deepEqual(needsOf('#view=chart&q=x'), { ...none, times: true });
    assert.deepEqual(needsOf('#view=heat&time=1762161245000000001-1762161246000000002'), {
        ...none,
        part: [1762161245000000001n, 1762161246000000002n],
    });
    assert.deepEqual(needsOf('#label=a%3Db'), { ...none, attributes: true });
    assert.deepEqual(needsOf('#view=labels'), { ...none, attributes: true });
    assert.deepEqual(needsOf('#invert=1'), { ...none, stacks: true });
    assert.deepEqual(needsOf('#t=m.malloc'), { ...none, view: { transform: 'm.malloc', key: 'hide', pattern: '^malloc$' } });
    assert.deepEqual(needsOf('#t=m.malloc&t=d.free'), { ...none, stacks: true });
    assert.deepEqual(needsOf('#t=m.0x12'), { ...none, stacks: true }, 'an address has no name on the server');
    assert.equal(partOf('x-y'), null);
});

test('times in the fragment stay valid when data are added', () => {
    const names = { types: [], typeOf: [], write: String, read: Number, timeBase: 1762161245000000000n, dated: true };
    const s = { ...initial(false), filter: { labels: [], time: [5, 700] as [number, number] } },
        text = writeFragment(s, false, names);
    assert.equal(text, 'time=1762161245000000005-1762161245000000700');
    const later = readFragment(text, false, { ...names, timeBase: names.timeBase - 1000n });
    assert.deepEqual(later.filter.time, [1005, 1700]);
    assert.deepEqual(readFragment('time=5-700', false, names).filter.time, [5, 700]); // as older reports wrote it
    const uptime = { ...names, timeBase: 1000n };
    assert.deepEqual(readFragment(writeFragment(s, false, uptime), false, uptime).filter.time, [5, 700]);
    const report = { ...names, timeBase: 1000n, dated: false };
    assert.equal(writeFragment(s, false, report), 'time=5-700');
});

test('extent, types and newest part', () => {
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
    const wall = series('w', 3, NOW, NOW + 50);
    assert.deepEqual(extentOf([...list, wall]), [NOW - 1, NOW + 51]); // the others have clocks without a date
    assert.deepEqual(extentOf([...list, wall], false), [89, 301]);
    assert.equal(extentOf([wall], false), null);
    assert.deepEqual(extentOf([series('both', 3, 5, NOW)]), [Date.UTC(2000, 0, 1), NOW + 1]);
    assert.deepEqual(
        typesOf(list).map((t) => t.type),
        ['a', 'b', 'c'],
    );
    assert.deepEqual(
        typesOf([series('samples', 5, 1, 2), series('cpu', 5, 1, 2)]).map((t) => t.type),
        ['cpu', 'samples'],
    );
    const counts = { start: 0, step: 1e9, rows: [{ label: '', sum: [], count: [9, 0, 4, 5, 0] }] };
    assert.deepEqual(newestPart(counts, 9), [2000, 5000]);
    assert.deepEqual(newestPart(counts, 100), [0, 5000]);
    assert.deepEqual(newestPart(counts, 4), [3000, 4000]);
    assert.equal(newestPart({ ...counts, rows: [{ label: '', sum: [], count: [9] }] }, 4), null);
});

test('profiles of one type are merged', () => {
    const T0 = 1700000000000000000n;
    const sample = (stack: number, value: number, at: bigint) =>
        new Message()
            .int(1, stack)
            .packed(2, [1])
            .packed(4, [value])
            .fixed(5, [T0 + at]);
    const one = decode(
        profilesData(
            ['', 'main', 'a', 'b', 'cpu', 'ns'],
            [
                [2, 1],
                [3, 1],
            ],
            [sample(1, 10, 0n), sample(2, 5, 7n)],
            [['thread.name', 'x']],
        ),
        'one',
    );
    const twice = { ...one, profiles: [one.profiles[0], one.profiles[0]] },
        session = new Session(twice, one),
        { set } = session.main,
        sum = session.profile(FIRST);
    assert.equal(session.types.length, 1);
    assert.equal(sum.total, 30n);
    const w = stackWeights(set, sum, noFilter);
    assert.deepEqual([w.total, w.samples], [30, 4]);
    assert.deepEqual([...sum.timeOff], [0, 1, 2, 3, 4]);
    assert.deepEqual([...sum.attributeOff], [0, 1, 2, 3, 4]);
    assert.equal(
        heatOf(set, sum, noFilter).cell.reduce((a, b) => a + b, 0),
        30,
    );
    assert.equal(session.tree(FIRST, noFilter, 'absolute', 'name').baseTotal, 15);
    assert.equal(new Session(one, null).profile(FIRST), one.profiles[0]);
});

test('facts about a profile: comments of both kinds, temporality, attributes, the original file', () => {
    const about = aboutFrom(
        [
            { key: 'pprof.profile.comment', value: ['one', 'two'] },
            { key: 'pprof.profile.comment.0', value: 'three' },
            { key: 'pprof.profile.comments', value: 'not one' },
            { key: 'kiln.aggregation_temporality', value: 'cumulative' },
            { key: 'kiln.sum.samples', value: 3 },
            { key: 'kiln.sum.squares', value: 9 },
            { key: 'limit', value: 7, unit: 'By' },
        ],
        { format: 'jfr', bytes: 15 },
    );
    assert.deepEqual(about, {
        comments: ['one', 'two', 'three'],
        temporality: 'cumulative',
        attributes: [
            { key: 'pprof.profile.comments', text: 'not one' },
            { key: 'limit', text: '7 By' },
        ],
        original: 'jfr, 15 B',
    });
    assert.ok(isEmpty(aboutFrom([], { format: '', bytes: 0 })));
});

test('a sum of profiles: comments of all, other attributes only where all agree', () => {
    const strings = ['', 'f', 'pprof.profile.comment', 'host', 'cpu', 'ns'];
    const set = decode(
        profilesData(
            strings,
            [[1]],
            [new Message().int(1, 1).packed(4, [5])],
            [
                ['pprof.profile.comment', 'a'],
                ['pprof.profile.comment', 'b'],
                ['host', 'h'],
            ],
        ),
        'x',
    );
    const with_ = (attributes: number[]) => ({ ...set.profiles[0], attributes });
    const about = (...lists: number[][]) => {
        const session = new Session({ ...set, profiles: lists.map(with_) }, null);
        return aboutOf(session.main.set, session.profile(FIRST));
    };
    assert.deepEqual(about([1, 3], [2, 3], [2]).comments, ['a', 'b']);
    assert.deepEqual(about([1, 3], [2, 3], [2]).attributes, []);
    assert.deepEqual(about([1, 3], [2, 3]).attributes, [{ key: 'host', text: 'h' }]);
});
