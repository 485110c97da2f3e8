// Compares the decoder with facts that Google's protobuf library reads from bytes made by protoc (tests/vectors).
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Cursor } from '../src/otlp/cursor';
import { decode } from '../src/otlp/decode';
import { Session } from '../src/model/session';
import { Bound, Frames, bind } from '../src/model/frames';
import { noFilter } from '../src/model/filter';
import { Profile } from '../src/otlp/types';
import { FIRST } from './write';

const root = process.env['KILN_SRC'] ?? '..';
const vectors = join(root, 'tests/vectors/v1_10');

/** Parses JSON and keeps numbers beyond 2^53 exact. */
const parse = (text: string) => JSON.parse(text.replace(/(?<=[:\[,]\s*)-?\d{16,}(?=\s*[,\]}])/g, '"$&"'));

/** A sample in the form of the facts: frames innermost first, labels by name. */
function sampleFacts(b: Bound, p: Profile, i: number) {
    const { stacks, locations: l, functions: f, strings: s, attributes, links } = b.set.dict,
        stack: string[] = [];
    for (let k = stacks.off[p.stack[i]]; k < stacks.off[p.stack[i] + 1]; k++) {
        const at = stacks.locations[k];
        for (let q = l.lineOff[at]; q < l.lineOff[at + 1]; q++)
            stack.push(
                s.get(f.name[l.lineFunction[q]]) +
                    (f.filename[l.lineFunction[q]] ? `@${s.get(f.filename[l.lineFunction[q]])}:${l.line[q]}` : ''),
            );
        if (l.lineOff[at] === l.lineOff[at + 1]) stack.push('');
    }
    const link = links[p.link[i]];
    return {
        stack,
        link: link?.trace ? `${link.trace}/${link.span}` : '',
        labels: Array.from(p.attribute.subarray(p.attributeOff[i], p.attributeOff[i + 1]), (a) =>
            s.get(attributes[a].key),
        ).sort(),
        times: Array.from(p.time.subarray(p.timeOff[i], p.timeOff[i + 1]), (t) => String(b.set.timeBase + BigInt(t))),
        value: p.value[i],
    };
}

for (const name of ['basic', 'multi', 'nulls', 'anyvalue', 'payload', 'minimal'])
    test(`protoc: ${name}`, () => {
        const set = decode(readFileSync(join(vectors, `${name}.bin`)), name),
            bound = bind(set, new Frames());
        const facts = parse(readFileSync(join(vectors, `${name}.facts.json`), 'utf8'));
        const wanted = facts.resources.flatMap((r: any) => r.scopes.flatMap((s: any) => s.profiles));
        assert.equal(set.profiles.length, wanted.length);
        assert.deepEqual(
            set.resources.map((r) => r.attributes.map((a) => a.key).sort()),
            facts.resources.map((r: any) => Object.keys(r.attributes).sort()),
        );
        wanted.forEach((w: any, i: number) => {
            const p = set.profiles[i];
            assert.deepEqual(
                [p.type, p.unit, p.n, String(p.total), p.id, p.period, String(p.startUnixNs)],
                [
                    w.sample_type,
                    w.unit,
                    w.n_samples,
                    String(w.total),
                    w.profile_id,
                    Number(w.period),
                    String(w.time_unix_nano),
                ],
            );
            w.samples.forEach((x: any, k: number) => {
                const got = sampleFacts(bound, p, k);
                assert.deepEqual(got.times, x.timestamps.map(String));
                assert.deepEqual(got.labels, Object.keys(x.attributes).sort());
                assert.equal(got.link, x.link ?? '');
                assert.equal(
                    got.value,
                    x.values.length ? x.values.reduce((a: number, b: number) => a + Number(b), 0) : x.timestamps.length,
                );
                const named = (f: string) => f && !/^\+?0x|^[?:]/.test(f);
                assert.deepEqual(got.stack.filter(named), x.stack.filter(named));
            });
        });
    });

test('a tree adds up to its samples, whatever the profile', () => {
    for (const name of ['basic', 'multi', 'nulls']) {
        const s = new Session(decode(readFileSync(join(vectors, `${name}.bin`)), name), null);
        s.types.forEach((t, type) => {
            const { tree, total } = s.tree({ ...FIRST, type }, noFilter, 'off', 'name');
            assert.equal(tree.total[0], Number(t.total));
            assert.equal(total, Number(t.total));
        });
    }
});

test('every cut of a message is an error or a dataset, never a hang', () => {
    const b = readFileSync(join(vectors, 'basic.bin'));
    for (let n = 0; n < b.length; n++) {
        try {
            decode(b.subarray(0, n), 'cut');
        } catch (e) {
            assert.match((e as Error).message, /\(byte \d+\)$/);
        }
    }
});

test('damaged bytes throw or decode', () => {
    const b = Uint8Array.from(readFileSync(join(vectors, 'basic.bin')));
    let seed = 1;
    const random = (n: number) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;
    for (let k = 0; k < 3000; k++) {
        const c = b.slice();
        for (let i = 0; i < 3; i++) c[random(c.length)] = random(256);
        try {
            const s = new Session(decode(c, 'damaged'), null);
            s.types.forEach((_, type) => s.tree({ ...FIRST, type }, noFilter, 'off', 'name'));
        } catch (e) {
            assert.match((e as Error).message, /\(byte \d+\)$/, (e as Error).stack);
        }
    }
});

test('varints: 64 bits, ten bytes, the end', () => {
    const read = (...b: number[]) => {
        const c = new Cursor(Uint8Array.from(b));
        c.varint();
        return c;
    };
    assert.equal(read(0xac, 0x02).unsigned(), 300);
    assert.equal(read(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01).signed(), -1);
    assert.equal(read(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01).big(), 2n ** 63n);
    assert.equal(read(0xff, 0xff, 0xff, 0xff, 0x0f).unsigned(), 2 ** 32 - 1);
    assert.throws(() => read(0x80), /past the end/);
    assert.throws(() => read(...Array(11).fill(0x80), 1), /more than ten/);
});

const corpus = process.env['KILN_CORPUS'] ?? join(root, '../shared/corpus');
const foreign = join(corpus, 'otlp/async45-jfrconv-cpu.otlp');
test('a file that async-profiler wrote', { skip: existsSync(foreign) ? false : `no corpus at ${corpus}` }, () => {
    const set = decode(readFileSync(foreign), 'x');
    assert.equal(set.profiles[0].total, 552n);
    assert.equal(set.profiles[0].time.length, 552);
});
