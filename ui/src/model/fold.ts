// Combines profiles of one type: a server exports them in pieces. They share a dictionary, so their columns are concatenated.
import { Dataset, Dictionary, Profile, Resource } from '../otlp/types';
import { isComment } from './about';
import { valueText } from './filter';
import { typeRank } from './default_type';

type Column = Float64Array | Uint32Array;

function join<T extends Column>(parts: T[], make: (n: number) => T): T {
    const out = make(parts.reduce((n, p) => n + p.length, 0));
    let at = 0;
    for (const p of parts) {
        out.set(p as never, at);
        at += p.length;
    }
    return out;
}

/** Concatenates offsets. Each part has one more offset than samples. */
function joinOffsets(parts: Uint32Array[]): Uint32Array {
    const out = new Uint32Array(parts.reduce((n, p) => n + Math.max(p.length - 1, 0), 1));
    let at = 0,
        base = 0;
    for (const p of parts) {
        for (let i = 0; i + 1 < p.length; i++) out[at++] = base + p[i];
        base += p.length ? p[p.length - 1] : 0;
    }
    out[at] = base;
    return out;
}

const floats = (n: number) => new Float64Array(n),
    ints = (n: number) => new Uint32Array(n);

/** Returns the attributes that all profiles have, and the comments of each. */
function commonAttributes(list: Profile[], d: Dictionary): number[] {
    const text = (i: number) => `${d.attributes[i].key}=${valueText(d.attributes[i].value)}`,
        out = new Map<string, number>(),
        others = list.slice(1).map((p) => new Set(p.attributes.map(text)));
    for (const i of list[0].attributes) if (others.every((o) => o.has(text(i)))) out.set(text(i), i);
    for (const p of list)
        for (const i of p.attributes) if (isComment(d.strings.get(d.attributes[i].key))) out.set(text(i), i);
    return [...out.values()];
}

function joined(list: Profile[], resource: number, d: Dictionary): Profile {
    const first = list.reduce((a, p) => (p.startUnixNs < a ? p.startUnixNs : a), list[0].startUnixNs);
    const end = list.reduce((a, p) => Math.max(a, Number(p.startUnixNs - first) + p.durationNs), 0);
    const scopes = new Set(list.map((p) => p.scope));
    return {
        ...list[0],
        id: '',
        resource,
        scope: scopes.size === 1 ? list[0].scope : '',
        attributes: commonAttributes(list, d),
        original: { format: '', bytes: 0 },
        startUnixNs: first,
        durationNs: end,
        n: list.reduce((n, p) => n + p.n, 0),
        stack: join(
            list.map((p) => p.stack),
            ints,
        ),
        link: join(
            list.map((p) => p.link),
            ints,
        ),
        value: join(
            list.map((p) => p.value),
            floats,
        ),
        attributeOff: joinOffsets(list.map((p) => p.attributeOff)),
        attribute: join(
            list.map((p) => p.attribute),
            ints,
        ),
        timeOff: joinOffsets(list.map((p) => p.timeOff)),
        time: join(
            list.map((p) => p.time),
            floats,
        ),
        timeValue: join(
            list.map((p) => p.timeValue),
            floats,
        ),
        total: list.reduce((t, p) => t + p.total, 0n),
    };
}

/** Returns the attributes that all resources have. */
function common(of: Resource[]): Resource {
    const rest = of.slice(1).map((r) => new Map(r.attributes.map((a) => [a.key, valueText(a.value)])));
    return {
        attributes: (of[0]?.attributes ?? []).filter((a) => rest.every((m) => m.get(a.key) === valueText(a.value))),
    };
}

/** Returns one profile per type and unit, the default type first (model/default_type.ts). */
export function fold(set: Dataset): Dataset {
    const kinds = new Map<string, Profile[]>();
    for (const p of set.profiles) {
        const key = `${p.type}/${p.unit}`,
            list = kinds.get(key);
        if (list) list.push(p);
        else kinds.set(key, [p]);
    }
    const out: Dataset = { ...set, resources: [...set.resources], profiles: [] };
    for (const list of kinds.values()) {
        if (list.length === 1) {
            out.profiles.push(list[0]);
            continue;
        }
        const resources = [...new Set(list.map((p) => p.resource))].map((i) => set.resources[i]);
        out.resources.push(common(resources));
        out.profiles.push(joined(list, out.resources.length - 1, set.dict));
    }
    out.profiles.sort((a, b) => typeRank(a.type) - typeRank(b.type) || b.n - a.n);
    return out;
}
