// Writes a large profile for the test of size, without any library.

function varint(out, v) {
    while (v > 127) (out.push((v & 127) | 128), (v = Math.floor(v / 128)));
    out.push(v);
}
const field = (out, number, bytes) => {
    varint(out, (number << 3) | 2);
    varint(out, bytes.length);
    for (const b of bytes) out.push(b);
};
const scalar = (number, v) => {
    const out = [];
    varint(out, number << 3);
    varint(out, v);
    return out;
};

/** A profile with `stacks` different stacks, each with about eight frames of its own: 130 000 of them make a flame tree of a
 *  little more than a million nodes. */
export function manyStacks(stacks = 130000) {
    const FUNCTIONS = 20000,
        text = new TextEncoder();
    let seed = 12345;
    const random = (k) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % k;
    const dict = [],
        profile = [],
        path = [];
    field(dict, 1, []);
    field(dict, 2, []);
    field(dict, 3, []);
    field(dict, 4, []);
    for (let i = 1; i <= FUNCTIONS; i++) {
        field(dict, 2, [
            ...scalar(2, 4096 + i * 16),
            ...(() => {
                const o = [];
                field(o, 3, [...scalar(1, i), ...scalar(2, (i % 900) + 1)]);
                return o;
            })(),
        ]);
        field(dict, 3, scalar(1, i));
    }
    field(dict, 5, []);
    for (let i = 1; i <= FUNCTIONS; i++) field(dict, 5, text.encode(`example.com/app/pkg${i % 97}.function${i}`));
    field(dict, 5, text.encode('cpu'));
    field(dict, 5, text.encode('nanoseconds'));
    field(dict, 6, []);
    field(dict, 7, []);
    field(profile, 1, [...scalar(1, FUNCTIONS + 1), ...scalar(2, FUNCTIONS + 2)]);
    for (let s = 1; s <= stacks; s++) {
        const keep = Math.min(path.length, 4 + random(28));
        path.length = keep;
        while (path.length < keep + 8 || path.length < 12) path.push(1 + random(FUNCTIONS));
        const list = [];
        for (let k = path.length - 1; k >= 0; k--) varint(list, path[k]);
        const stack = [];
        field(stack, 1, list);
        field(dict, 7, stack);
        const values = [];
        varint(values, 10000000 * (1 + random(4)));
        const sample = scalar(1, s);
        field(sample, 4, values);
        field(profile, 2, sample);
    }
    const parts = [];
    let inner = profile;
    for (const number of [2, 2, 1]) {
        const out = [];
        varint(out, (number << 3) | 2);
        varint(out, inner.length);
        inner = Buffer.concat([Buffer.from(out), Buffer.from(inner)]);
    }
    parts.push(inner);
    const head = [];
    varint(head, (2 << 3) | 2);
    varint(head, dict.length);
    parts.push(Buffer.from(head), Buffer.from(dict));
    return Buffer.concat(parts);
}
