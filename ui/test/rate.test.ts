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
        const [word, ...f] = line.split('\t');
        if (!word || word.startsWith('#')) continue;
        const got =
            word === 'rate'
                ? rateOf(f[0], f[1]).text(rateOf(f[0], f[1]).of(Number(f[2]), Number(f[3]) * 1e9)).replace('−', '-')
                : word === 'bytes'
                  ? bytes(Number(f[0]))
                  : duration(Number(f[0])).replace('µ', 'u');
        assert.equal(got, f.at(-1), line);
        n++;
    }
    assert.ok(n > 20);
});

test('durations that round up to the next unit', () => {
    assert.equal(duration(7199.7e9), '2 h');
    assert.equal(duration(125e9), '2 min 5 s');
});

test('a rate of no time is 0, and sizes have round steps in any unit', () => {
    assert.equal(rateOf('cpu', 'ns').of(1, 0), 0);
    const r = rateOf('alloc_space', 'kilobytes');
    assert.equal(r.text(r.of(1024, 1e9)), '1 MiB/s');
    assert.ok(r.incrs!.includes(2 ** 20));
});
