// Filters samples by labels and time, and sums the rest by stack.
import { Dataset, Profile } from '../otlp/types';

export interface LabelFilter {
    key: string;
    value: string;
    not: boolean;
}

export interface Filter {
    labels: LabelFilter[];
    time: [number, number] | null; // ns after Dataset.timeBase
}

export const noFilter: Filter = { labels: [], time: null };

export const valueText = (v: unknown): string => (typeof v === 'string' ? v : (JSON.stringify(v) ?? ''));

/** The label key of trace links. */
export const TRACE_KEY = 'trace_id';

/** Returns the test of a sample. Values of one key are alternatives, all keys must match, and values with `not` must not occur. */
export function labelTest(set: Dataset, p: Profile, labels: LabelFilter[]): (sample: number) => boolean {
    if (!labels.length) return () => true;
    const { attributes, strings, links } = set.dict;
    const keys = [...new Set(labels.filter((l) => !l.not).map((l) => l.key))];
    if (keys.length > 30) keys.length = 30;
    const wanted = (1 << keys.length) - 1,
        EXCLUDED = -1;
    const bit = (key: string, value: string): number => {
        let bits = 0;
        for (const l of labels) {
            if (l.key !== key || l.value !== value) continue;
            if (l.not) return EXCLUDED;
            bits |= 1 << keys.indexOf(l.key);
        }
        return bits;
    };
    const ofAttribute = Int32Array.from(attributes, (a) => bit(strings.get(a.key), valueText(a.value)));
    const ofLink = Int32Array.from(links, (l) => (l.trace ? bit(TRACE_KEY, l.trace) : 0));
    return (i) => {
        let bits = ofLink.length ? ofLink[p.link[i]] : 0;
        for (let k = p.attributeOff[i]; k < p.attributeOff[i + 1] && bits !== EXCLUDED; k++) {
            const b = ofAttribute[p.attribute[k]];
            bits = b === EXCLUDED ? EXCLUDED : bits | b;
        }
        return bits !== EXCLUDED && bits === wanted;
    };
}

/** The sum of a sample's values inside the window. */
export function sampleWeight(p: Profile, i: number, time: [number, number] | null): number {
    if (!time) return p.value[i];
    let sum = 0;
    for (let k = p.timeOff[i]; k < p.timeOff[i + 1]; k++)
        if (p.time[k] >= time[0] && p.time[k] < time[1]) sum += p.timeValue[k];
    return sum;
}

function timesIn(p: Profile, i: number, time: [number, number]): number {
    let n = 0;
    for (let k = p.timeOff[i]; k < p.timeOff[i + 1]; k++) if (p.time[k] >= time[0] && p.time[k] < time[1]) n++;
    return n;
}

export interface Weights {
    value: Float64Array; // by stack
    total: number;
    samples: number;
    observed: number; // timestamps in the window; 0 without a window
}

export function stackWeights(set: Dataset, p: Profile, f: Filter): Weights {
    const n = Math.max(set.dict.stacks.n, 1);
    const out: Weights = { value: new Float64Array(n), total: 0, samples: 0, observed: 0 };
    const passes = labelTest(set, p, f.labels);
    for (let i = 0; i < p.n; i++) {
        if (!passes(i)) continue;
        const w = sampleWeight(p, i, f.time);
        if (f.time && w === 0) continue;
        out.value[p.stack[i]] += w;
        out.total += w;
        out.samples++;
        if (f.time) out.observed += timesIn(p, i, f.time);
    }
    return out;
}
