// The profiles that a page has loaded, and the trees that its views show.
import { Dataset, Profile } from '../otlp/types';
import { Filter, noFilter, stackWeights } from './filter';
import { Bound, Frames, bind, stackFrames } from './frames';
import { References } from './reference';
import { sampleSize } from './sample_size';
import { Tree, TreeBuilder } from './tree';
import { DATED } from './units';

export interface TreeResult {
    tree: Tree;
    total: number;
    samples: number;
    baseTotal: number; // total of the other profile, not scaled
}

export class Session {
    readonly frames = new Frames();
    readonly main: Bound;
    readonly base: Bound | null;
    readonly refs = new References(this.frames);
    private nameRank: Uint32Array | null = null;

    constructor(main: Dataset, base: Dataset | null) {
        this.main = bind(main, this.frames);
        this.base = base && bind(base, this.frames);
        this.names.timeBase = main.timeBase;
        this.names.dated = main.timeBase > DATED;
    }

    get profiles(): Profile[] {
        return this.main.set.profiles;
    }

    /** Returns the profile of the other dataset with the same type. */
    twin(i: number): Profile | null {
        if (!this.base) return null;
        const p = this.profiles[i],
            same = (q: Profile) => q.type === p.type && q.unit === p.unit;
        const nth = this.profiles.slice(0, i).filter(same).length,
            found = this.base.set.profiles.filter(same);
        return found[nth] ?? found[0] ?? null;
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

    tree(profile: number, filter: Filter, compare: 'off' | 'share' | 'absolute', order: 'name' | 'value'): TreeResult {
        const p = this.profiles[profile],
            twin = compare === 'off' ? null : this.twin(profile);
        const b = new TreeBuilder(twin !== null),
            path: number[] = [];
        const w = stackWeights(this.main.set, p, filter);
        let baseSize = 0;
        for (let s = 0; s < w.value.length; s++) if (w.value[s]) b.add(path, stackFrames(this.main, s, path), w.value[s]);
        let baseTotal = 0;
        if (twin) {
            const v = stackWeights(this.base!.set, twin, { labels: filter.labels, time: null });
            const scale = compare === 'share' && v.total ? w.total / v.total : 1;
            baseTotal = v.total;
            baseSize = sampleSize(this.base!.set.dict, twin) * scale;
            for (let s = 0; s < v.value.length; s++)
                if (v.value[s]) b.add(path, stackFrames(this.base!, s, path), 0, v.value[s] * scale);
        }
        const tree = b.finish(this.rank(), order === 'value');
        if (twin) ((tree.sampleSize = sampleSize(this.main.set.dict, p)), (tree.baseSampleSize = baseSize));
        return { tree, total: w.total, samples: w.samples, baseTotal };
    }

    /** The amount of each frame as a leaf, in the whole profile. */
    selfOf(profile: number): Float64Array {
        const w = stackWeights(this.main.set, this.profiles[profile], noFilter),
            out = new Float64Array(this.frames.n),
            path: number[] = [];
        for (let s = 0; s < w.value.length; s++)
            if (w.value[s]) out[path[stackFrames(this.main, s, path) - 1]] += Math.abs(w.value[s]);
        return out;
    }

    /** Converts frames to references that are valid in other pages, too. */
    readonly names = {
        timeBase: 0n,
        dated: false,
        write: (f: number): string => this.refs.write(f),
        read: (text: string): number => this.refs.read(text),
    };
}

export const hasTime = (p: Profile): boolean => p.time.length > 0;
export const hasLabels = (p: Profile): boolean => p.attribute.length > 0 || p.link.some((l) => l > 0);
