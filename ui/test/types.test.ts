// Which profiles are added up, and the names of resources.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noFilter } from '../src/model/filter';
import { threadsOf } from '../src/model/labels';
import { resourceNames } from '../src/model/types';
import { Session } from '../src/model/session';
import { decode } from '../src/otlp/decode';
import type { Dataset, Profile } from '../src/otlp/types';
import { initial, readFragment, writeFragment } from '../src/state';
import { FIRST, Message, profilesData } from './write';

const one = decode(
    profilesData(
        ['', 'main', 'kiln.aggregation_temporality', 'cpu', 'ns'],
        [[1]],
        [new Message().int(1, 1).packed(4, [10])],
        [['kiln.aggregation_temporality', 'cumulative']],
    ),
    'one',
);
const resource = (service: string, pid = 1) => ({
    attributes: [
        { key: 'service.name', value: service },
        { key: 'process.pid', value: pid },
    ],
});
const profiles = (...list: Partial<Profile>[]): Dataset => ({
    ...one,
    resources: [resource('shop'), resource('cart'), resource('shop')],
    profiles: list.map((p, i) => ({
        ...one.profiles[0],
        startUnixNs: BigInt(1e18 + i * 1e10),
        durationNs: 1e10,
        ...p,
    })),
});
const totals = (s: Session) => s.types.map((_, type) => s.profile({ ...FIRST, type }).total);

test('profiles of a type are one entry, which is their sum', () => {
    const s = new Session(profiles({}, { unit: 'count' }, { resource: 1 }, {}, { resource: 2 }), null);
    assert.deepEqual(s.names.types, ['cpu/ns', 'cpu/count']);
    assert.deepEqual(totals(s), [40n, 10n]);
    assert.equal(s.tree(FIRST, noFilter, 'off', 'name').total, 40);
    assert.deepEqual(s.resources(0), [
        { name: 'shop', total: 30n },
        { name: 'cart', total: 10n },
    ]);
    assert.deepEqual(s.resources(1), []);
    assert.equal(s.profile({ ...FIRST, resource: 'shop' }).total, 30n);
    assert.equal(s.profile({ ...FIRST, one: 3 }), s.main.set.profiles[3]);
    assert.equal(s.profile({ ...FIRST, resource: 'gone' }).total, 40n);
    assert.deepEqual(
        s.members(0, 'shop').map((m) => m.number),
        [0, 3, 4],
    );
    assert.deepEqual(threadsOf(s.main.set, s.profile(FIRST)).name, ['all samples · shop', 'all samples · cart']);
    assert.deepEqual(threadsOf(s.main.set, s.profile({ ...FIRST, resource: 'shop' })).name, ['all samples']);
});

test('cumulative profiles and levels are not added over time', () => {
    const start = { startUnixNs: 5n, attributes: [1] },
        cumulative = profiles(
            { ...start, durationNs: 5 },
            { ...start, durationNs: 9, total: 25n },
            { ...start, durationNs: 7 },
            { ...start, durationNs: 7, resource: 1 },
        );
    assert.deepEqual(totals(new Session(cumulative, null)), [35n]);
    const level = { type: 'inuse_space' },
        levels = new Session(profiles(level, { ...level, total: 12n }, { ...level, resource: 1 }, {}), null);
    assert.deepEqual(totals(levels), [22n, 10n]);
    assert.equal(levels.profile({ ...FIRST, one: 0 }).total, 10n, 'an older level can be chosen');
});

test('a comparison is with the sum of the same type and resource', () => {
    const base = profiles({ resource: 1 }, { total: 7n }, { unit: 'count' }),
        s = new Session(profiles({}, { resource: 1 }), base);
    assert.equal(s.twin(FIRST)!.total, 17n);
    assert.equal(s.twin({ ...FIRST, resource: 'shop' })!.total, 7n);
});

test('names of resources', () => {
    assert.deepEqual(resourceNames([resource('a'), resource('a')]), ['', '']);
    assert.deepEqual(resourceNames([resource('a', 1), resource('a', 2)]), ['process.pid=1', 'process.pid=2']);
    assert.deepEqual(resourceNames([resource('a', 1), resource('b', 2), resource('b', 3)]), [
        'a · process.pid=1',
        'b · process.pid=2',
        'b · process.pid=3',
    ]);
    assert.deepEqual(resourceNames([resource('a'), { attributes: [] }]), ['a', 'no service.name']);
});

test('addresses name what is shown', () => {
    const { names } = new Session(profiles({}, { unit: 'count' }, {}), null);
    for (const choice of [{ type: 1 }, { resource: 'shop' }, { type: 1, one: 1 }]) {
        const s = { ...initial(false), ...choice };
        assert.deepEqual(readFragment(writeFragment(s, false, names), false, names), s);
    }
    assert.equal(readFragment('profile=9', false, names).one, -1);
    assert.equal(writeFragment({ ...initial(false), type: 1 }, false, names), 'type=cpu%2Fcount');
});
