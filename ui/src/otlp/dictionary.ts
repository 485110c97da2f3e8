// Decodes ProfilesDictionary to typed arrays.
import { GrowU32 } from '../base/grow';
import { Steps } from '../base/paced';
import { Cursor } from './cursor';
import { Attribute, Dictionary, Mapping, Strings, Value } from './types';

const MAX_DEPTH = 64,
    MAX_RESERVED = 1 << 25; // frames
/** Messages between two yields. */
export const SLICE = 4096;
const utf8 = new TextDecoder();

export const hex = (b: Uint8Array): string => Array.from(b, (x) => x.toString(16).padStart(2, '0')).join('');

/** Passes the elements of a packed or unpacked field to `push`. */
export function indices(c: Cursor, push: (v: number) => void): void {
    if (c.wire === 0) return push(c.index());
    const end = c.until(),
        outer = c.end;
    c.end = end;
    while (c.pos < end) push(c.u32());
    c.end = outer;
}

/** Appends the elements of a packed or unpacked field. */
export function appendIndices(c: Cursor, out: GrowU32): void {
    if (c.wire === 0) return out.push(c.index());
    const outer = c.enter(),
        { b, end } = c;
    out.reserve(end - c.pos); // an element has at least one byte
    const { a } = out;
    let { n } = out;
    while (c.pos < end) {
        const byte = b[c.pos];
        if (byte < 128) {
            c.pos++;
            a[n++] = byte;
        } else a[n++] = c.u32();
    }
    out.n = n;
    c.leave(outer);
}

const exact = (c: Cursor): Value => {
    const v = c.signed();
    return Number.isSafeInteger(v) ? v : BigInt.asIntN(64, c.big()).toString();
};

/** Reads an AnyValue. A string by index is looked up with `string` when the table is complete. */
export function anyValue(c: Cursor, string: (i: number) => string, depth = 0): Value {
    if (depth > MAX_DEPTH) c.fail(`a value is nested more than ${MAX_DEPTH} deep`);
    let out: Value = null;
    while (c.next()) {
        switch (c.field) {
            case 1:
                out = utf8.decode(c.bytes());
                break;
            case 2:
                out = c.index() !== 0;
                break;
            case 3:
                c.scalar();
                out = exact(c);
                break;
            case 4: {
                c.fixed64();
                out = new Float64Array(new Uint32Array([c.lo, c.hi]).buffer)[0];
                break;
            }
            case 5: {
                const list: Value[] = [],
                    m = c.message();
                while (m.next()) m.field === 1 ? list.push(anyValue(m.message(), string, depth + 1)) : m.skip();
                out = list;
                break;
            }
            case 6: {
                const all: { [k: string]: Value } = {},
                    m = c.message();
                while (m.next()) {
                    if (m.field !== 1) {
                        m.skip();
                        continue;
                    }
                    const kv = keyValue(m.message(), string, depth + 1);
                    all[kv.key] = kv.value;
                }
                out = all;
                break;
            }
            case 7:
                out = hex(c.bytes());
                break;
            case 8:
                out = string(c.index());
                break;
            default:
                c.skip();
        }
    }
    return out;
}

export function keyValue(c: Cursor, string: (i: number) => string, depth = 0): { key: string; value: Value } {
    let key = '',
        value: Value = null;
    while (c.next()) {
        if (c.field === 1) key = utf8.decode(c.bytes());
        else if (c.field === 2) value = anyValue(c.message(), string, depth);
        else if (c.field === 3) key = string(c.index()) || key;
        else c.skip();
    }
    return { key, value };
}

class Tables {
    at = new GrowU32();
    len = new GrowU32();
    mappings: Mapping[] = [];
    fnName = new GrowU32();
    fnSystem = new GrowU32();
    fnFile = new GrowU32();
    fnStart = new GrowU32();
    locMapping = new GrowU32();
    locLo = new GrowU32();
    locHi = new GrowU32();
    lineOff = new GrowU32();
    lineFn = new GrowU32();
    line = new GrowU32();
    column = new GrowU32();
    locAttrOff = new GrowU32();
    locAttrs = new GrowU32();
    stackOff = new GrowU32();
    frames = new GrowU32();
    attributes: Cursor[] = [];
    links: { trace: string; span: string }[] = [];

    mapping(c: Cursor): void {
        const m: Mapping = { start: 0n, limit: 0n, offset: 0n, filename: 0, attributes: [] };
        while (c.next()) {
            if (c.field === 1) (c.scalar(), (m.start = c.big()));
            else if (c.field === 2) (c.scalar(), (m.limit = c.big()));
            else if (c.field === 3) (c.scalar(), (m.offset = c.big()));
            else if (c.field === 4) m.filename = c.index();
            else if (c.field === 5) indices(c, (i) => m.attributes.push(i));
            else c.skip();
        }
        this.mappings.push(m);
    }

    oneLine(c: Cursor): void {
        let fn = 0,
            line = 0,
            column = 0;
        while (c.next()) {
            if (c.field === 1) fn = c.index();
            else if (c.field === 2) line = c.index();
            else if (c.field === 3) column = c.index();
            else c.skip();
        }
        this.lineFn.push(fn);
        this.line.push(line);
        this.column.push(column);
    }

    location(c: Cursor): void {
        let mapping = 0,
            lo = 0,
            hi = 0;
        this.lineOff.push(this.line.n);
        this.locAttrOff.push(this.locAttrs.n);
        while (c.next()) {
            if (c.field === 1) mapping = c.index();
            else if (c.field === 2) (c.scalar(), (lo = c.lo), (hi = c.hi));
            else if (c.field === 3) this.oneLine(c.message());
            else if (c.field === 4) appendIndices(c, this.locAttrs);
            else c.skip();
        }
        this.locMapping.push(mapping);
        this.locLo.push(lo);
        this.locHi.push(hi);
    }

    fn(c: Cursor): void {
        let name = 0,
            system = 0,
            file = 0,
            start = 0;
        while (c.next()) {
            if (c.field === 1) name = c.index();
            else if (c.field === 2) system = c.index();
            else if (c.field === 3) file = c.index();
            else if (c.field === 4) start = c.index();
            else c.skip();
        }
        this.fnName.push(name);
        this.fnSystem.push(system);
        this.fnFile.push(file);
        this.fnStart.push(start);
    }

    link(c: Cursor): void {
        const l = { trace: '', span: '' };
        while (c.next()) {
            if (c.field === 1) l.trace = hex(c.bytes());
            else if (c.field === 2) l.span = hex(c.bytes());
            else c.skip();
        }
        this.links.push(l);
    }

    stack(c: Cursor): void {
        this.stackOff.push(this.frames.n);
        while (c.next()) {
            if (c.field === 1) appendIndices(c, this.frames);
            else c.skip();
        }
    }

    /** Yields the bytes that were read. */
    *read(c: Cursor): Steps<void> {
        for (let n = 1; c.next(); n++) {
            if (!(n % SLICE)) yield c.pos;
            switch (c.field) {
                case 1:
                    this.mapping(c.message());
                    break;
                case 2: {
                    const outer = c.enter();
                    this.location(c);
                    c.leave(outer);
                    break;
                }
                case 3:
                    this.fn(c.message());
                    break;
                case 4:
                    this.link(c.message());
                    break;
                case 5: {
                    const end = c.until();
                    this.at.push(c.pos);
                    this.len.push(end - c.pos);
                    c.pos = end;
                    break;
                }
                case 6:
                    this.attributes.push(c.message());
                    break;
                case 7: {
                    const outer = c.enter();
                    this.stack(c);
                    c.leave(outer);
                    break;
                }
                default:
                    c.skip();
            }
        }
    }
}

function attribute(c: Cursor, string: (i: number) => string): Attribute {
    const a: Attribute = { key: 0, unit: 0, value: null };
    while (c.next()) {
        if (c.field === 1) a.key = c.index();
        else if (c.field === 2) a.value = anyValue(c.message(), string);
        else if (c.field === 3) a.unit = c.index();
        else c.skip();
    }
    return a;
}

/** Reads the dictionary. A message may contain several pieces, which are merged. Yields the bytes that were read. */
export function* dictionary(pieces: Cursor[], b: Uint8Array): Steps<Dictionary> {
    const t = new Tables();
    t.frames.reserve(Math.min(pieces.reduce((n, c) => n + c.end - c.pos, 0) >> 1, MAX_RESERVED));
    for (const c of pieces) yield* t.read(c);
    t.lineOff.push(t.line.n);
    t.locAttrOff.push(t.locAttrs.n);
    t.stackOff.push(t.frames.n);
    const strings = new Strings(b, t.at.done(), t.len.done());
    return {
        strings,
        mappings: t.mappings,
        functions: {
            n: t.fnName.n,
            name: t.fnName.done(),
            systemName: t.fnSystem.done(),
            filename: t.fnFile.done(),
            startLine: t.fnStart.done(),
        },
        locations: {
            n: t.locMapping.n,
            mapping: t.locMapping.done(),
            addressLo: t.locLo.done(),
            addressHi: t.locHi.done(),
            lineOff: t.lineOff.done(),
            lineFunction: t.lineFn.done(),
            line: t.line.done(),
            column: t.column.done(),
            attributeOff: t.locAttrOff.done(),
            attributes: t.locAttrs.done(),
        },
        stacks: { n: t.stackOff.n - 1, off: t.stackOff.done(), locations: t.frames.done() },
        attributes: t.attributes.map((c) => attribute(c, (i) => strings.get(i))),
        links: t.links,
    };
}
