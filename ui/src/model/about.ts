// Facts about a profile besides its samples: comments, temporality, other attributes, and the original file.
import { Dataset, Profile, Value } from '../otlp/types';
import { valueText } from './filter';
import { bytes } from './units';

const COMMENT = /^pprof\.profile\.comment(\.\d+)?$/; // the OpenTelemetry Collector numbers comments
const TEMPORALITY = 'kiln.aggregation_temporality';
const INTERNAL = /^kiln\.sum\./; // of profiles that a server added up: for tests of noise, not for readers

export interface About {
    comments: string[];
    temporality: string; // '' when not known
    attributes: { key: string; text: string }[];
    original: string; // '' when there is none
}

export interface Attribute {
    key: string;
    value: Value;
    unit?: string;
}

export const isComment = (key: string): boolean => COMMENT.test(key);

export function aboutFrom(list: Attribute[], original: { format: string; bytes: number }): About {
    const out: About = { comments: [], temporality: '', attributes: [], original: '' };
    for (const { key, value, unit } of list)
        if (isComment(key))
            for (const c of Array.isArray(value) ? value : [value]) {
                const text = valueText(c);
                if (!out.comments.includes(text)) out.comments.push(text);
            }
        else if (key === TEMPORALITY) out.temporality = valueText(value);
        else if (!INTERNAL.test(key)) out.attributes.push({ key, text: valueText(value) + (unit ? ` ${unit}` : '') });
    if (original.format || original.bytes)
        out.original = `${original.format || '(no name)'}, ${bytes(original.bytes)}`;
    return out;
}

export const aboutOf = (set: Dataset, p: Profile): About =>
    aboutFrom(
        p.attributes.map((i) => {
            const a = set.dict.attributes[i];
            return { key: set.dict.strings.get(a.key), value: a.value, unit: set.dict.strings.get(a.unit) };
        }),
        p.original,
    );

export const isEmpty = (a: About): boolean =>
    !a.comments.length && !a.temporality && !a.attributes.length && !a.original;
