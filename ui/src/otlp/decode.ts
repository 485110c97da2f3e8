// Decodes ProfilesData (the current layout, as Kiln writes it) to a Dataset.
import { GrowF64, GrowU32 } from '../base/grow';
import { Steps, atOnce } from '../base/paced';
import { Cursor } from './cursor';
import { SLICE, appendIndices, dictionary, hex, indices, keyValue } from './dictionary';
import { Dataset, Dictionary, Profile, Resource } from './types';

const TWO32 = 4294967296;
const MAX = 2n ** 63n - 1n;
const utf8 = new TextDecoder();

/** Times are stored as ns after the first one: a Unix time in ns does not fit a double. */
class Clock {
    base: bigint | null = null;
    private hi = 0;
    private lo = 0;
    after(c: Cursor): number {
        if (this.base === null) {
            this.base = c.big();
            this.hi = c.hi;
            this.lo = c.lo;
        }
        return (c.hi - this.hi) * TWO32 + (c.lo - this.lo);
    }
}

class Samples {
    stack = new GrowU32();
    link = new GrowU32();
    value = new GrowF64();
    attrOff = new GrowU32();
    attrs = new GrowU32();
    timeOff = new GrowU32();
    time = new GrowF64();
    timeValue = new GrowF64();
    // The sum is exact: low halves and signed high halves are added separately, without rounding.
    private sumLo = 0;
    private sumHi = 0;
    private readonly values: number[] = [];

    constructor(private readonly clock: Clock) {}

    private addValue(c: Cursor): void {
        this.sumLo += c.lo;
        this.sumHi += c.hi | 0;
        this.values.push(c.signed());
    }

    private readValues(c: Cursor): void {
        if (c.wire === 0) {
            c.scalar();
            return this.addValue(c);
        }
        const end = c.until(),
            outer = c.end;
        c.end = end;
        while (c.pos < end) {
            c.varint();
            this.addValue(c);
        }
        c.end = outer;
    }

    private readTimes(c: Cursor): void {
        if (c.wire === 1) {
            c.fixed64();
            return this.time.push(this.clock.after(c));
        }
        const end = c.until();
        while (c.pos < end) {
            c.fixed64();
            this.time.push(this.clock.after(c));
        }
    }

    read(c: Cursor): void {
        const values = this.values,
            firstTime = this.time.n;
        let stack = 0,
            link = 0;
        values.length = 0;
        this.attrOff.push(this.attrs.n);
        this.timeOff.push(firstTime);
        while (c.next()) {
            switch (c.field) {
                case 1:
                    stack = c.index();
                    break;
                case 2:
                    appendIndices(c, this.attrs);
                    break;
                case 3:
                    link = c.index();
                    break;
                case 4:
                    this.readValues(c);
                    break;
                case 5:
                    this.readTimes(c);
                    break;
                default:
                    c.skip();
            }
        }
        const nTimes = this.time.n - firstTime;
        let sum = 0;
        for (const v of values) sum += v;
        if (!values.length) {
            sum = nTimes;
            this.sumLo += nTimes;
        }
        this.stack.push(stack);
        this.link.push(link);
        this.value.push(sum);
        for (let i = 0; i < nTimes; i++)
            this.timeValue.push(!values.length ? 1 : values.length === nTimes ? values[i] : sum / nTimes);
    }

    total(): bigint {
        const t = BigInt(this.sumHi) * BigInt(TWO32) + BigInt(this.sumLo);
        return t > MAX ? MAX : t < -MAX - 1n ? -MAX - 1n : t;
    }
}

function valueType(c: Cursor): [number, number] {
    let type = 0,
        unit = 0;
    while (c.next()) {
        if (c.field === 1) type = c.index();
        else if (c.field === 2) unit = c.index();
        else c.skip();
    }
    return [type, unit];
}

function* profile(c: Cursor, d: Dictionary, clock: Clock, resource: number, scope: string): Steps<Profile> {
    const s = new Samples(clock),
        attributes: number[] = [],
        original = { format: '', bytes: 0 };
    let type = [0, 0],
        periodType = [0, 0],
        period = 0,
        durationNs = 0,
        startUnixNs = 0n,
        id = '';
    while (c.next()) {
        switch (c.field) {
            case 1:
                type = valueType(c.message());
                break;
            case 2: {
                const outer = c.enter();
                s.read(c);
                c.leave(outer);
                if (!(s.stack.n % SLICE)) yield c.pos;
                break;
            }
            case 3:
                c.fixed64();
                startUnixNs = c.big();
                break;
            case 4:
                c.scalar();
                durationNs = c.unsigned();
                break;
            case 5:
                periodType = valueType(c.message());
                break;
            case 6:
                c.scalar();
                period = c.signed();
                break;
            case 7:
                id = hex(c.bytes());
                break;
            case 9:
                original.format = utf8.decode(c.bytes());
                break;
            case 10:
                original.bytes = c.bytes().length;
                break;
            case 11:
                indices(c, (i) => attributes.push(i));
                break;
            default:
                c.skip();
        }
    }
    s.attrOff.push(s.attrs.n);
    s.timeOff.push(s.time.n);
    const text = (i: number) => d.strings.get(i);
    return {
        type: text(type[0]),
        unit: text(type[1]),
        periodType: text(periodType[0]),
        periodUnit: text(periodType[1]),
        period,
        startUnixNs,
        durationNs,
        id,
        resource,
        scope,
        attributes,
        original,
        pieces: [],
        n: s.stack.n,
        stack: s.stack.done(),
        link: s.link.done(),
        value: s.value.done(),
        attributeOff: s.attrOff.done(),
        attribute: s.attrs.done(),
        timeOff: s.timeOff.done(),
        time: s.time.done(),
        timeValue: s.timeValue.done(),
        total: s.total(),
    };
}

/** Clears indices outside their tables once, as `kiln check --fix` does, so that later code need not check them. */
function clampIndices(set: Dataset): void {
    const d = set.dict;
    const clamp = (a: Uint32Array, n: number) => {
        for (let i = 0; i < a.length; i++) if (a[i] >= n) a[i] = 0;
    };
    clamp(d.locations.mapping, d.mappings.length);
    clamp(d.locations.lineFunction, d.functions.n);
    clamp(d.locations.attributes, d.attributes.length);
    clamp(d.stacks.locations, d.locations.n);
    for (const p of set.profiles) {
        clamp(p.stack, d.stacks.n);
        clamp(p.link, d.links.length);
        clamp(p.attribute, d.attributes.length);
        p.attributes = p.attributes.filter((i) => i > 0 && i < d.attributes.length);
    }
}

function scopeName(c: Cursor): string {
    let name = '',
        version = '';
    while (c.next()) {
        if (c.field === 1) name = utf8.decode(c.bytes());
        else if (c.field === 2) version = utf8.decode(c.bytes());
        else c.skip();
    }
    return version ? `${name} ${version}` : name;
}

export const decode = (b: Uint8Array, name: string): Dataset => atOnce(decodeSteps(b, name));

export function* decodeSteps(b: Uint8Array, name: string): Steps<Dataset> {
    const top = new Cursor(b),
        pieces: Cursor[] = [],
        bodies: Cursor[] = [];
    while (top.next()) {
        if (top.field === 1) bodies.push(top.message());
        else if (top.field === 2) pieces.push(top.message());
        else top.skip();
    }
    const size = bodies.reduce((n, c) => n + c.end - c.pos, 0),
        first = bodies[0]?.pos ?? 0;
    /** Turns positions from `start` on into shares; `before` bytes were read earlier. */
    function* part<T>(work: Steps<T>, start: number, before: number): Steps<T> {
        for (;;) {
            const step = work.next();
            if (step.done) return step.value;
            yield (before + step.value - start) / b.length;
        }
    }
    const dict = yield* part(dictionary(pieces, b), pieces[0]?.pos ?? 0, 0),
        clock = new Clock();
    const set: Dataset = { name, dict, resources: [], profiles: [], timeBase: 0n, ownDefault: false };
    let nScopes = 0;
    const text = (i: number) => dict.strings.get(i);
    for (const [r, c] of bodies.entries()) {
        const resource: Resource = { attributes: [] };
        while (c.next()) {
            if (c.field === 1) {
                const m = c.message();
                while (m.next()) m.field === 1 ? resource.attributes.push(keyValue(m.message(), text)) : m.skip();
            } else if (c.field === 2) {
                const m = c.message(),
                    found: Cursor[] = [];
                let scope = '';
                nScopes++;
                while (m.next()) {
                    if (m.field === 1) scope = scopeName(m.message());
                    else if (m.field === 2) found.push(m.message());
                    else m.skip();
                }
                for (const p of found)
                    set.profiles.push(yield* part(profile(p, dict, clock, r, scope), first, b.length - size));
                set.ownDefault = nScopes === 1;
            } else c.skip();
        }
        set.resources.push(resource);
    }
    set.timeBase = clock.base ?? 0n;
    clampIndices(set);
    return set;
}
