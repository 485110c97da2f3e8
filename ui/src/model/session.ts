// Everything one page has loaded, and the questions its views ask. Answers are kept until the question changes.
import { Dataset, Profile } from '../otlp/types';
import { Filter, stackWeights } from './filter';
import { Bound, Frames, bind, stackFrames } from './frames';
import { Tree, TreeBuilder } from './tree';
import { DATED } from './units';

export interface Answer {
    tree: Tree;
    total: number;
    samples: number;
    baseTotal: number; // of the other profile as it is, not scaled
}

export class Session {
    readonly frames = new Frames();
    readonly main: Bound;
    readonly base: Bound | null;
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

    /** The profile of the other dataset that measures the same. */
    twin(i: number): Profile | null {
        if (!this.base) return null;
        const p = this.profiles[i],
            same = (q: Profile) => q.type === p.type && q.unit === p.unit;
        const nth = this.profiles.slice(0, i).filter(same).length,
            found = this.base.set.profiles.filter(same);
        return found[nth] ?? found[0] ?? null;
    }

    /** Alphabetical order of frames: the same stacks stand at the same place in every picture. */
    rank(): Uint32Array {
        if (this.nameRank?.length === this.frames.n) return this.nameRank;
        const { name } = this.frames,
            order = Array.from(name, (_, i) => i);
        order.sort((a, b) => (name[a] < name[b] ? -1 : name[a] > name[b] ? 1 : a - b));
        const rank = new Uint32Array(order.length);
        order.forEach((f, i) => (rank[f] = i));
        return (this.nameRank = rank);
    }

    tree(profile: number, filter: Filter, compare: 'off' | 'share' | 'absolute', order: 'name' | 'value'): Answer {
        const p = this.profiles[profile],
            twin = compare === 'off' ? null : this.twin(profile);
        const b = new TreeBuilder(twin !== null),
            path: number[] = [];
        const w = stackWeights(this.main.set, p, filter);
        for (let s = 0; s < w.used.length; s++) if (w.used[s]) b.add(path, stackFrames(this.main, s, path), w.value[s]);
        let baseTotal = 0;
        if (twin) {
            const v = stackWeights(this.base!.set, twin, { labels: filter.labels, time: null });
            const scale = compare === 'share' && v.total ? w.total / v.total : 1;
            baseTotal = v.total;
            for (let s = 0; s < v.used.length; s++)
                if (v.used[s]) b.add(path, stackFrames(this.base!, s, path), 0, v.value[s] * scale);
        }
        return { tree: b.finish(order === 'name' ? this.rank() : null), total: w.total, samples: w.samples, baseTotal };
    }

    /** Frames by what another page would know them by. */
    readonly names = {
        timeBase: 0n,
        dated: false,
        write: (f: number): string =>
            this.frames.file[f] ? `${this.frames.name[f]}\t${this.frames.file[f]}` : this.frames.name[f],
        read: (text: string): number => {
            const [name, file] = text.split('\t');
            const { frames: t } = this;
            let found = 0;
            for (let f = 1; f < t.n && !found; f++) if (t.name[f] === name && (!file || t.file[f] === file)) found = f;
            return found;
        },
    };
}

export const hasTime = (p: Profile): boolean => p.time.length > 0;
export const hasLabels = (p: Profile): boolean => p.attribute.length > 0 || p.link.some((l) => l > 0);
