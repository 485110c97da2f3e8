// The types of a dataset, and which profiles of a type are added up: the rules of query/cumulative.h and of `kiln top`.
import { Dataset, Profile, Resource, Value } from '../otlp/types';
import { valueText } from './filter';

export interface TypeEntry {
    type: string;
    unit: string;
    members: number[]; // profiles, by their number in the dataset
    counted: number[]; // those that are added up
    total: bigint; // of `counted`
}

const TEMPORALITY = 'kiln.aggregation_temporality';

/** A level is an amount at one time, which cannot be added up over time. */
const isLevel = (p: Profile): boolean => p.type.startsWith('inuse_');

function isCumulative({ dict }: Dataset, p: Profile): boolean {
    const found = p.attributes.find((i) => dict.strings.get(dict.attributes[i].key) === TEMPORALITY);
    return found !== undefined && dict.attributes[found].value === 'cumulative';
}

/** The identity of a resource: its text and integers, in any order. */
export const resourceKey = (r: Resource | undefined): string =>
    JSON.stringify(
        (r?.attributes ?? [])
            .filter(({ value }) => typeof value === 'string' || typeof value === 'number')
            .map(({ key, value }) => [key, value])
            .sort((a, b) => (String(a) < String(b) ? -1 : 1)),
    );

const endOf = (p: Profile): bigint => p.startUnixNs + BigInt(p.durationNs);

/** Returns the profiles that count when profiles of one type are added up. Of cumulative profiles with the same
 *  resource and start, the newest includes the others; of levels, the newest of each resource counts. */
export function countedOf(set: Dataset, members: number[]): number[] {
    const newest = new Map<string, number>(),
        ends = new Map<string, bigint>();
    const key = set.resources.map(resourceKey),
        start = (p: Profile) => `${p.startUnixNs} ${key[p.resource]}`;
    for (const i of members) {
        const p = set.profiles[i],
            level = key[p.resource];
        if (isLevel(p) && endOf(p) > (ends.get(level) ?? -1n)) ends.set(level, endOf(p));
        if (!isCumulative(set, p)) continue;
        const before = newest.get(start(p));
        if (before === undefined || set.profiles[before].durationNs <= p.durationNs) newest.set(start(p), i);
    }
    return members.filter((i) => {
        const p = set.profiles[i];
        if (isCumulative(set, p) && newest.get(start(p)) !== i) return false;
        return !isLevel(p) || ends.get(key[p.resource]) === endOf(p);
    });
}

/** Returns the types in the order of the dataset. */
export function typesOf(set: Dataset): TypeEntry[] {
    const all = new Map<string, number[]>();
    set.profiles.forEach((p, i) => {
        const key = `${p.type}/${p.unit}`,
            list = all.get(key);
        if (list) list.push(i);
        else all.set(key, [i]);
    });
    return [...all.values()].map((members) => {
        const { type, unit } = set.profiles[members[0]],
            counted = countedOf(set, members);
        return { type, unit, members, counted, total: counted.reduce((t, i) => t + set.profiles[i].total, 0n) };
    });
}

// Keys that name a resource best come first; the others follow in alphabetical order.
const NAMING = [
    'service.name',
    'service.namespace',
    'service.instance.id',
    'host.name',
    'k8s.pod.name',
    'container.name',
    'process.executable.name',
    'process.pid',
    'service.version',
];
const BARE = /^service\.name$|^process\.executable\.name$/;

/** Names resources by the attributes that tell them apart. Equal resources have equal names. */
export function resourceNames(resources: Resource[]): string[] {
    const values = resources.map((r) => new Map(r.attributes.map((a): [string, Value] => [a.key, a.value]))),
        text = (i: number, key: string) => (values[i].has(key) ? valueText(values[i].get(key)) : '');
    const wanted = new Set(resources.map(resourceKey)).size,
        others = [...new Set(values.flatMap((v) => [...v.keys()]))].filter((k) => !NAMING.includes(k)).sort();
    let found = 1;
    const keys: string[] = [],
        tuple = (i: number, list: string[]) => list.map((k) => text(i, k)).join('\0');
    for (const key of [...NAMING, ...others]) {
        if (found >= wanted) break;
        const n = new Set(resources.map((_, i) => tuple(i, [...keys, key]))).size;
        if (n > found) keys.push(key);
        found = Math.max(found, n);
    }
    return resources.map(
        (_, i) =>
            keys
                .filter((k) => text(i, k))
                .map((k) => (BARE.test(k) ? text(i, k) : `${k}=${text(i, k)}`))
                .join(' · ') || (keys.length ? `no ${keys[0]}` : ''),
    );
}
