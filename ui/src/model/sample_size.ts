// model/sample_size.ts - the value of one sample, by which sums are divided to get counts: view_sample_size of src/query/samples.c.
import { Dictionary, Profile } from '../otlp/types';

const COUNTS = ['count', '1', 'samples', '{samples}', '{sample}'];

/** The attribute of a sum of profiles that has the squares of the observations. */
function squaresOf(d: Dictionary, p: Profile): number {
    const found = p.attributes.map((i) => d.attributes[i]).find((a) => d.strings.get(a.key) === 'kiln.sum.squares');
    return typeof found?.value === 'number' ? found.value : 0;
}

/** Returns 0 when samples cannot be counted: negative values, no samples. */
export function sampleSize(d: Dictionary, p: Profile): number {
    let sum = 0,
        squares = 0;
    const add = (v: number) => ((sum += v), (squares += v * v));
    for (let i = 0; i < p.n; i++) {
        const from = p.timeOff[i],
            to = p.timeOff[i + 1];
        if (p.value[i] < 0) return 0;
        if (from === to) add(p.value[i]);
        for (let k = from; k < to; k++) add(p.timeValue[k]);
    }
    if (!sum) return 0;
    if (COUNTS.includes(p.unit)) return 1;
    if (p.period > 0 && p.periodUnit === p.unit) return p.period;
    return (squaresOf(d, p) || squares) / sum;
}
