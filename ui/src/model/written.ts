// Writes the selected samples as pprof or OTLP: after the filters and the transforms, with the functions, lines and labels of the
// page. Files of everything are those of the server or of the report, which have more (addresses, timestamps).
import { Message } from '../otlp/message';
import { Profile, Value } from '../otlp/types';
import { Filter, TRACE_KEY, labelTest, sampleWeight } from './filter';
import { Bound, Frames, stackFrames } from './frames';
import { Reshape } from './transforms';

/** One side of a comparison, or the only one. */
export interface Part {
    bound: Bound;
    profile: Profile;
    filter: Filter;
    reshape: Reshape | null;
    sign: 1 | -1; // -1: the base of a comparison
}

class Ids {
    private readonly ids = new Map<string, number>();

    /** `first`: the number of the first key. */
    constructor(private readonly first: number) {}

    /** Calls `make` for a new key. */
    get(key: string, make: (id: number) => void): number {
        let id = this.ids.get(key);
        if (id === undefined) {
            this.ids.set(key, (id = this.first + this.ids.size));
            make(id);
        }
        return id;
    }
}

interface Sample {
    stack: number[]; // frames, root first
    lines: number[];
    n: number;
    value: number;
    attributes: number[]; // of the dictionary of the part
    trace: string;
    span: string;
}

function eachSample(p: Part, visit: (s: Sample) => void): void {
    const { profile, bound, filter } = p,
        { links } = bound.set.dict,
        passes = labelTest(bound.set, profile, filter.labels),
        s: Sample = { stack: [], lines: [], n: 0, value: 0, attributes: [], trace: '', span: '' };
    for (let i = 0; i < profile.n; i++) {
        const value = passes(i) ? sampleWeight(profile, i, filter.time) : 0;
        if (!value) continue;
        s.n = stackFrames(bound, profile.stack[i], s.stack, s.lines);
        if (p.reshape) s.n = p.reshape(s.stack, s.n, s.lines);
        if (s.n < 0) continue;
        const link = links[profile.link[i]];
        s.value = value * p.sign;
        s.attributes = Array.from(profile.attribute.subarray(profile.attributeOff[i], profile.attributeOff[i + 1]));
        s.trace = link?.trace ?? '';
        s.span = link?.span ?? '';
        visit(s);
    }
}

/** An address without a symbol: its offset in the library, or its number. */
const addressOf = (f: Frames, frame: number): bigint | null => {
    const m = /^(?:.* )?(\+?)0x([0-9a-f]+)$/.exec(f.name[frame].slice(f.library[frame].length));
    return m ? BigInt(`0x${m[2]}`) : null;
};
const whole = (v: number): bigint => BigInt(Math.round(v));

// ---- pprof ----

/** The label of samples of the base: `go tool pprof` subtracts them. */
const BASE = 'pprof::base';

export function pprofOf(frames: Frames, parts: Part[]): Uint8Array {
    const { profile: p } = parts[0],
        out = new Message(),
        texts: string[] = [],
        strings = new Ids(0),
        text = (s: string) => strings.get(s, () => texts.push(s)),
        places = new Message(),
        mappings = new Ids(1),
        functions = new Ids(1),
        locations = new Ids(1);
    text('');
    const type = (t: string, unit: string) => new Message().int(1, text(t)).int(2, text(unit));
    const mapping = (f: number) =>
        !frames.library[f]
            ? 0
            : mappings.get(frames.library[f], (id) =>
                  places.message(3, new Message().int(1, id).int(5, text(frames.library[f]))),
              );
    const location = (f: number, line: number) =>
        locations.get(`${f} ${line}`, (id) => {
            const m = new Message().int(1, id).int(2, mapping(f)),
                address = addressOf(frames, f);
            if (address !== null) m.int(3, address);
            else if (frames.name[f] !== '?') {
                const fn = functions.get(String(f), (i) =>
                    places.message(
                        5,
                        new Message()
                            .int(1, i)
                            .int(2, text(frames.name[f]))
                            .int(3, text(frames.systemName[f] || frames.name[f]))
                            .int(4, text(frames.file[f]))
                            .int(5, frames.startLine[f]),
                    ),
                );
                m.message(4, new Message().int(1, fn).int(2, line));
            }
            places.message(4, m);
        });
    out.message(1, type(p.type, p.unit));
    for (const part of parts) {
        const { attributes, strings: names } = part.bound.set.dict;
        eachSample(part, (s) => {
            const m = new Message(),
                ids: number[] = [];
            for (let k = s.n - 1; k >= 0; k--)
                if (frames.name[s.stack[k]] !== '?') ids.push(location(s.stack[k], s.lines[k]));
            m.packed(1, ids).packed(2, [whole(s.value)]);
            const label = (key: string, value: Value) => {
                const l = new Message().int(1, text(key));
                if (typeof value === 'number' && Number.isInteger(value)) l.int(3, value);
                else l.int(2, text(typeof value === 'string' ? value : JSON.stringify(value)));
                m.message(3, l);
            };
            for (const a of s.attributes) label(names.get(attributes[a].key), attributes[a].value);
            if (s.trace) (label(TRACE_KEY, s.trace), label('span_id', s.span));
            if (part.sign < 0) label(BASE, 'true');
            out.message(2, m);
        });
    }
    if (p.startUnixNs) out.int(9, p.startUnixNs);
    out.int(10, whole(p.durationNs));
    if (p.period) out.message(11, type(p.periodType, p.periodUnit)).int(12, whole(p.period));
    for (const s of texts) out.text(6, s);
    return join([out.bytes, places.bytes]);
}

// ---- OTLP ----

function anyValue(v: Value): Message {
    const m = new Message();
    if (typeof v === 'string') return m.text(1, v);
    if (typeof v === 'boolean') return v ? m.int(2, 1) : m.raw(1, new Uint8Array(0));
    if (typeof v === 'number') return Number.isInteger(v) && v ? m.int(3, whole(v)) : m.double(4, v);
    if (v === null) return m;
    return m.text(1, JSON.stringify(v));
}

export function otlpOf(frames: Frames, part: Part): Uint8Array {
    const { bound, profile: p } = part,
        { dict, resources } = bound.set,
        d = new Message(),
        texts: string[] = [],
        strings = new Ids(0),
        text = (s: string) => strings.get(s, () => texts.push(s)),
        tables = { mapping: new Ids(1), location: new Ids(1), fn: new Ids(1), link: new Ids(1), attribute: new Ids(1), stack: new Ids(1) };
    text('');
    const zero = new Message();
    for (const table of [1, 2, 3, 4, 6, 7]) d.message(table, zero);
    const attribute = (key: string, unit: string, value: Value) =>
        tables.attribute.get(JSON.stringify([key, unit, value]), () =>
            d.message(6, new Message().int(1, text(key)).message(2, anyValue(value)).int(3, text(unit))),
        );
    const mapping = (f: number) =>
        !frames.library[f]
            ? 0
            : tables.mapping.get(frames.library[f], () => d.message(1, new Message().int(4, text(frames.library[f]))));
    const location = (f: number, line: number) =>
        tables.location.get(`${f} ${line}`, () => {
            const m = new Message().int(1, mapping(f)),
                address = addressOf(frames, f);
            if (address !== null) m.int(2, address);
            else {
                const fn = tables.fn.get(String(f), () =>
                    d.message(
                        3,
                        new Message()
                            .int(1, text(frames.name[f]))
                            .int(2, text(frames.systemName[f]))
                            .int(3, text(frames.file[f]))
                            .int(4, frames.startLine[f]),
                    ),
                );
                m.message(3, new Message().int(1, fn).int(2, line));
            }
            if (frames.kind[f]) m.packed(4, [attribute('profile.frame.type', '', frames.kind[f])]);
            d.message(2, m);
        });
    const hex = (s: string) => Uint8Array.from(s.match(/../g) ?? [], (x) => parseInt(x, 16));
    const body = new Message().message(1, new Message().int(1, text(p.type)).int(2, text(p.unit)));
    eachSample(part, (s) => {
        const ids: number[] = [];
        for (let k = s.n - 1; k >= 0; k--)
            if (frames.name[s.stack[k]] !== '?') ids.push(location(s.stack[k], s.lines[k]));
        const stack = !ids.length
            ? 0
            : tables.stack.get(ids.join(), () => d.message(7, new Message().packed(1, ids)));
        const m = new Message().int(1, stack);
        m.packed(
            2,
            s.attributes.map((a) => {
                const { key, unit, value } = dict.attributes[a];
                return attribute(dict.strings.get(key), dict.strings.get(unit), value);
            }),
        );
        if (s.trace)
            m.int(
                3,
                tables.link.get(`${s.trace} ${s.span}`, () =>
                    d.message(4, new Message().raw(1, hex(s.trace)).raw(2, hex(s.span))),
                ),
            );
        body.message(2, m.packed(4, [whole(s.value)]));
    });
    body.fixed64(3, p.startUnixNs).int(4, whole(p.durationNs));
    if (p.period) body.message(5, new Message().int(1, text(p.periodType)).int(2, text(p.periodUnit))).int(6, whole(p.period));
    const resource = new Message();
    for (const { key, value } of resources[p.resource]?.attributes ?? [])
        resource.message(1, new Message().text(1, key).message(2, anyValue(value)));
    for (const s of texts) d.text(5, s);
    const scope = new Message().message(2, body);
    return new Message().message(1, new Message().message(1, resource).message(2, scope)).message(2, d).bytes;
}

function join(parts: Uint8Array[]): Uint8Array {
    const out = new Uint8Array(parts.reduce((n, b) => n + b.length, 0));
    let at = 0;
    for (const b of parts) {
        out.set(b, at);
        at += b.length;
    }
    return out;
}
