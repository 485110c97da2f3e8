// Axes of charts over time, and numbers that C and the viewer print alike (tests/support/human_cases.txt).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { rateOf } from '../src/model/rate';
import { bytes, duration } from '../src/model/units';

test('times and sizes are printed as the C code prints them', () => {
    const file = join(process.env['KILN_SRC'] ?? '..', 'tests/support/human_cases.txt');
    let n = 0;
    for (const line of readFileSync(file, 'utf8').split('\n')) {
        const [word, value, want] = line.split('\t');
        if (!word || word.startsWith('#')) continue;
        const got = word === 'bytes' ? bytes(Number(value)) : duration(Number(value)).replace('µ', 'u');
        assert.equal(got, want, line);
        n++;
    }
    assert.ok(n > 20);
});

test('durations that round up to the next unit', () => {
    assert.equal(duration(7199.7e9), '2 h');
    assert.equal(duration(125e9), '2 min 5 s');
});

test('rates: cores, threads, bytes per second, per second; levels as measured', () => {
    for (const [type, unit, sum, seconds, want] of [
        ['cpu', 'nanoseconds', 25e9, 10, '2.5 cores'],
        ['cpu', 'nanoseconds', 2.5e9, 1, '2.5 cores'],
        ['cpu', 'milliseconds', 10e3, 10, '1 core'],
        ['cpu', 'nanoseconds', 3e6, 1, '0.003 cores'],
        ['cpu', 'nanoseconds', 0, 1, '0'],
        ['cpu', 'nanoseconds', -5e9, 1, '−5 cores'],
        ['off_cpu', 'nanoseconds', 120e9, 10, '12 threads'],
        ['wall', 'microseconds', 1e6, 1, '1 thread'],
        ['alloc_space', 'bytes', 10 * 2 ** 20, 10, '1 MiB/s'],
        ['alloc_space', 'kilobytes', 1024, 1, '1 MiB/s'],
        ['alloc_objects', 'count', 400, 10, '40/s'],
        ['samples', '{samples}', 123456, 1, '123 k/s'],
        ['inuse_space', 'bytes', 2 ** 29, 10, '512 MiB'],
        ['inuse_space', 'bytes', 2 ** 29, 1, '512 MiB'],
        ['inuse_objects', 'count', 12, 3600, '12'],
    ] as const) {
        const r = rateOf(type, unit);
        assert.equal(r.text(r.of(sum, seconds * 1e9)), want, `${type} in ${unit}`);
    }
    assert.equal(rateOf('cpu', 'ns').of(1, 0), 0);
});
