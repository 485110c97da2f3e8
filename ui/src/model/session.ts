// The profiles that a page has loaded, and the trees that its views show.
import { Steps, atOnce } from '../base/paced';
import { Dataset, Profile } from '../otlp/types';
import { defaultProfile } from './default_type';
import { Filter, noFilter, stackWeights } from './filter';
import { sumOf } from './fold';
import { Bound, Frames, bind } from './frames';
import { Paths, leafOf, pathsOf } from './paths';
import { References } from './reference';
import { sampleSize } from './sample_size';
import { TypeEntry, resourceNames, typesOf } from './types';
import { Tree, byWidth, treeOf } from './tree';
import { DATED } from './units';

export interface TreeResult {
    tree: Tree;
    total: number;
    samples: number;
    observed: number; // timestamps in the selected part of the time; 0 without one
    baseTotal: number; // total of the other profile, not scaled
}

/** The profiles that are shown: of one type, and optionally of one resource, or a single one. */
export interface Choice {
    type: number; // index of Session.types
    resource: string; // its name; '' for all
    one: number; // number of the profile in the dataset; -1: all are added up
}

/** One side of a comparison, with the sums that were computed. */
class Side {
    readonly types: TypeEntry[];
    readonly set: Dataset;
    private readonly sums = new Map<string, Profile>();

    constructor(
        readonly bound: Bound,
        readonly names: string[], // of the resources
    ) {
        this.set = bound.set;
        this.types = typesOf(this.set);
    }

    /** Returns the profiles that are added up. */
    partsOf(t: TypeEntry, resource: string, one: number): Profile[] {
        const { profiles } = this.set;
        if (one >= 0) return [profiles[one]];
        return t.counted.map((i) => profiles[i]).filter((p) => !resource || this.names[p.resource] === resource);
    }

    sum(t: TypeEntry, resource: string, one: number): Profile | null {
        const parts = this.partsOf(t, resource, one),
            key = JSON.stringify([t.type, t.unit, resource, one]);
        let found = this.sums.get(key);
        if (!found && parts.length) this.sums.set(key, (found = sumOf(this.set, parts, this.names)));
        return found ?? null;
    }
}

export class Session {
    readonly frames = new Frames();
    readonly main: Bound;
    readonly base: Bound | null;
    readonly refs = new References(this.frames);
    readonly types: TypeEntry[];
    private readonly side: Side;
    private readonly other: Side | null;
    private nameRank: Uint32Array | null = null;
    private sorted: Paths | null = null;

    constructor(main: Dataset, base: Dataset | null) {
        const own = (set: Dataset): Dataset => ({ ...set, resources: [...set.resources] }), // sums add resources
            names = resourceNames([...main.resources, ...(base?.resources ?? [])]);
        this.main = bind(own(main), this.frames);
        this.base = base && bind(own(base), this.frames);
        this.side = new Side(this.main, names.slice(0, main.resources.length));
        this.other = this.base && new Side(this.base, names.slice(main.resources.length));
        this.types = this.side.types;
        this.names.timeBase = main.timeBase;
        this.names.dated = main.timeBase > DATED;
        this.names.types = this.types.map((t) => `${t.type}/${t.unit}`);
        this.types.forEach((t, k) => t.members.forEach((i) => (this.names.typeOf[i] = k)));
    }

    /** The default type (model/default_type.ts). */
    defaultType(): number {
        return this.names.typeOf[defaultProfile(this.main.set)] ?? 0;
    }

    /** The sum of the chosen profiles; of all of the type when no profile has the resource. */
    profile(c: Choice): Profile {
        const t = this.types[c.type];
        return this.side.sum(t, c.resource, c.one) ?? this.side.sum(t, '', -1)!;
    }

    /** The profiles that profile() adds up. */
    parts(c: Choice): Profile[] {
        const t = this.types[c.type],
            found = this.side.partsOf(t, c.resource, c.one);
        return found.length ? found : this.side.partsOf(t, '', -1);
    }

    /** The resources of a type, largest first; empty when it has only one. */
    resources(type: number): { name: string; total: bigint }[] {
        const sums = new Map<string, bigint>(),
            t = this.types[type];
        for (const p of this.side.partsOf(t, '', -1)) {
            const name = this.side.names[p.resource];
            sums.set(name, (sums.get(name) ?? 0n) + p.total);
        }
        const list = [...sums].map(([name, total]) => ({ name, total }));
        return list.length < 2 ? [] : list.sort((a, b) => (a.total < b.total ? 1 : a.total > b.total ? -1 : 0));
    }

    /** The profiles to choose one from, with their numbers, in the order of time. */
    members(type: number, resource: string): { number: number; profile: Profile; name: string }[] {
        const { profiles } = this.main.set,
            of = (number: number) => ({
                number,
                profile: profiles[number],
                name: this.side.names[profiles[number].resource],
            });
        return this.types[type].members
            .map(of)
            .filter((m) => !resource || m.name === resource)
            .sort((a, b) =>
                a.profile.startUnixNs < b.profile.startUnixNs
                    ? -1
                    : a.profile.startUnixNs > b.profile.startUnixNs
                      ? 1
                      : 0,
            );
    }

    /** The profile of the other side of a comparison: the sum of the same type and resource. */
    twin(c: Choice): Profile | null {
        const { type, unit } = this.types[c.type],
            found = this.other?.types.find((t) => t.type === type && t.unit === unit);
        return found ? this.other!.sum(found, c.resource, -1) : null;
    }

    /** The alphabetical order of frames, so that the same stacks have the same position in every picture. */
    rank(): Uint32Array {
        if (this.nameRank?.length === this.frames.n) return this.nameRank;
        const { name } = this.frames,
            order = Array.from(name, (_, i) => i);
        order.sort((a, b) => (name[a] < name[b] ? -1 : name[a] > name[b] ? 1 : a - b));
        const rank = new Uint32Array(order.length);
        order.forEach((f, i) => (rank[f] = i));
        return (this.nameRank = rank);
    }

    tree(c: Choice, filter: Filter, compare: 'off' | 'share' | 'absolute', order: 'name' | 'value'): TreeResult {
        const p = this.profile(c),
            twin = compare === 'off' ? null : this.twin(c);
        const paths = this.paths(),
            w = stackWeights(this.main.set, p, filter);
        let { value } = w,
            base: Float64Array | null = null,
            baseTotal = 0,
            baseSize = 0;
        if (this.base) (value = new Float64Array(paths.n)).set(w.value);
        if (twin) {
            const v = stackWeights(this.base!.set, twin, { labels: filter.labels, time: null });
            const scale = compare === 'share' && v.total ? w.total / v.total : 1;
            baseTotal = v.total;
            baseSize = sampleSize(this.base!.set.dict, twin) * scale;
            base = new Float64Array(paths.n);
            for (let s = 0; s < v.value.length; s++) base[paths.first + s] = v.value[s] * scale;
        }
        const named = treeOf(paths, value, base, this.frames.n),
            tree = order === 'name' ? named : byWidth(named, this.rank());
        if (twin) ((tree.sampleSize = sampleSize(this.main.set.dict, p)), (tree.baseSampleSize = baseSize));
        return { tree, total: w.total, samples: w.samples, observed: w.observed, baseTotal };
    }

    /** All stacks in alphabetical order. */
    paths(): Paths {
        return this.sorted ?? atOnce(this.prepare());
    }

    /** Computes paths() in slices. */
    *prepare(): Steps<Paths> {
        return (this.sorted ??= yield* pathsOf(this.main, this.base, this.rank()));
    }

    /** The amount of each frame as a leaf, in the whole profile. */
    selfOf(profile: Profile): Float64Array {
        const w = stackWeights(this.main.set, profile, noFilter),
            out = new Float64Array(this.frames.n),
            paths = this.paths();
        for (let s = 0; s < w.value.length; s++) if (w.value[s]) out[leafOf(paths, s)] += Math.abs(w.value[s]);
        return out;
    }

    /** Converts what is shown to references that are valid in other pages, too. */
    readonly names = {
        timeBase: 0n,
        dated: false,
        types: [] as string[],
        typeOf: [] as number[],
        write: (f: number): string => this.refs.write(f),
        read: (text: string): number => this.refs.read(text),
    };
}

export const hasTime = (p: Profile): boolean => p.time.length > 0;
export const hasLabels = (p: Profile): boolean => p.attribute.length > 0 || p.link.some((l) => l > 0);
