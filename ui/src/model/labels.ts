// Attributes and trace links of samples as labels to view and filter by.
import { Dataset, Profile } from '../otlp/types';
import { Filter, TRACE_KEY, labelTest, sampleWeight, valueText } from './filter';
import { threadTitle } from './threads';

export interface LabelValue {
    value: string;
    total: number;
    samples: number;
}
export interface LabelKey {
    key: string;
    unit: string;
    total: number; // sum over the samples that have it
    samples: number;
    values: LabelValue[]; // largest first
}

/** Returns the samples that match all filters except those of the key itself, so that the other values of a filtered
 *  key stay visible and can be selected too. */
export function labelsOf(set: Dataset, p: Profile, f: Filter): LabelKey[] {
    const { attributes, strings, links } = set.dict,
        keys = new Map<string, LabelKey & { by: Map<string, LabelValue> }>();
    const tests = new Map<string, (i: number) => boolean>();
    const passes = (key: string) => {
        let t = tests.get(key);
        if (!t)
            tests.set(
                key,
                (t = labelTest(
                    set,
                    p,
                    f.labels.filter((l) => l.key !== key),
                )),
            );
        return t;
    };
    const add = (key: string, unit: string, value: string, w: number) => {
        let k = keys.get(key);
        if (!k) keys.set(key, (k = { key, unit, total: 0, samples: 0, values: [], by: new Map() }));
        let v = k.by.get(value);
        if (!v) k.by.set(value, (v = { value, total: 0, samples: 0 }));
        v.total += w;
        v.samples++;
        k.total += w;
        k.samples++;
    };
    const names = attributes.map((a) => ({
        key: strings.get(a.key),
        unit: strings.get(a.unit),
        text: valueText(a.value),
    }));
    for (let i = 0; i < p.n; i++) {
        const w = sampleWeight(p, i, f.time);
        if (f.time && w === 0) continue;
        for (let k = p.attributeOff[i]; k < p.attributeOff[i + 1]; k++) {
            const a = names[p.attribute[k]];
            if (a.key && passes(a.key)(i)) add(a.key, a.unit, a.text, w);
        }
        const trace = links[p.link[i]]?.trace;
        if (p.link[i] && trace && passes(TRACE_KEY)(i)) add(TRACE_KEY, '', trace, w);
    }
    return [...keys.values()]
        .map(({ by, ...k }) => ({
            ...k,
            values: [...by.values()].sort((a, b) => Math.abs(b.total) - Math.abs(a.total)),
        }))
        .sort((a, b) => b.samples - a.samples || (a.key < b.key ? -1 : 1));
}

/** Returns the thread of each sample: name and id, as far as known. */
export interface Threads {
    name: string[];
    of: Uint32Array; // by sample
}

const NAME_KEYS = ['thread.name', 'thread_name', 'thread'],
    ID_KEYS = ['thread.id', 'thread_id', 'tid'];
const CPU_KEYS = ['cpu.logical_number'];

export function threadsOf(set: Dataset, p: Profile): Threads {
    const { attributes, strings } = set.dict,
        names = new Map<string, number>(),
        of = new Uint32Array(p.n),
        name: string[] = [];
    let piece = 0;
    const role = Uint8Array.from(attributes, (a) => {
        const key = strings.get(a.key);
        return NAME_KEYS.includes(key) ? 1 : ID_KEYS.includes(key) ? 2 : CPU_KEYS.includes(key) ? 3 : 0;
    });
    const text = attributes.map((a, i) => (role[i] ? valueText(a.value) : ''));
    for (let i = 0; i < p.n; i++) {
        const parts = ['', '', '', ''];
        for (let k = p.attributeOff[i]; k < p.attributeOff[i + 1]; k++)
            parts[role[p.attribute[k]]] = text[p.attribute[k]];
        const [, n, id, cpu] = parts;
        while (piece < p.pieces.length && i >= p.pieces[piece].end) piece++;
        const process = p.pieces.length ? p.pieces[piece].name : '', // threads of processes may have equal names
            label = threadTitle(n, id, process, cpu ? `CPU ${cpu}` : undefined);
        let t = names.get(label);
        if (t === undefined) {
            names.set(label, (t = name.length));
            name.push(label);
        }
        of[i] = t;
    }
    return { name, of };
}
