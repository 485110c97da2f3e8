// Adds up profiles of one type. They share a dictionary, so their columns are concatenated.
import { Dataset, Dictionary, Profile, Resource } from '../otlp/types';
import { isComment } from './about';
import { valueText } from './filter';

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

/** Returns the attributes that all resources have. */
function common(of: Resource[]): Resource {
    const rest = of.slice(1).map((r) => new Map(r.attributes.map((a) => [a.key, valueText(a.value)])));
    return {
        attributes: (of[0]?.attributes ?? []).filter((a) => rest.every((m) => m.get(a.key) === valueText(a.value))),
    };
}

/** Returns the sum of profiles of one type: the only profile itself, or a new one whose resource, which is added to the
 *  dataset, has the attributes that all have. `names`: of the resources, in case they differ (model/types.ts). */
export function sumOf(set: Dataset, list: Profile[], names: string[]): Profile {
    if (list.length === 1) return list[0];
    const first = list.reduce((a, p) => (p.startUnixNs < a ? p.startUnixNs : a), list[0].startUnixNs);
    const end = list.reduce((a, p) => Math.max(a, Number(p.startUnixNs - first) + p.durationNs), 0);
    const scopes = new Set(list.map((p) => p.scope)),
        uints = (get: (p: Profile) => Uint32Array) => join(list.map(get), (k) => new Uint32Array(k)),
        doubles = (get: (p: Profile) => Float64Array) => join(list.map(get), (k) => new Float64Array(k));
    const resources = [...new Set(list.map((p) => p.resource))],
        differ = new Set(resources.map((r) => names[r])).size > 1;
    let n = 0;
    const pieces = list.map((p) => ({ end: (n += p.n), name: names[p.resource] }));
    set.resources.push(common(resources.map((i) => set.resources[i])));
    return {
        ...list[0],
        id: '',
        resource: set.resources.length - 1,
        scope: scopes.size === 1 ? list[0].scope : '',
        attributes: commonAttributes(list, set.dict),
        original: { format: '', bytes: 0 },
        startUnixNs: first,
        durationNs: end,
        n,
        pieces: differ ? pieces : [],
        stack: uints((p) => p.stack),
        link: uints((p) => p.link),
        value: doubles((p) => p.value),
        attributeOff: joinOffsets(list.map((p) => p.attributeOff)),
        attribute: uints((p) => p.attribute),
        timeOff: joinOffsets(list.map((p) => p.timeOff)),
        time: doubles((p) => p.time),
        timeValue: doubles((p) => p.timeValue),
        total: list.reduce((t, p) => t + p.total, 0n),
    };
}
