// model/observed.ts - the number of observations of a profile: the rule of query/observed.h.
import type { Profile } from '../otlp/types';

const LEAST_PERIOD_NS = 1000; // tools that do not know the period write 1
const MOST_COUNTED = 1e9; // larger sums in a file of collapsed stacks are times or bytes, not samples

/** Returns the value of one observation; 0: not known. */
function observationSize(p: Profile, sum: number): number {
    const counts = ['1', 'count', 'samples', '{samples}', '{sample}'].includes(p.unit);
    if (counts && (p.type === 'samples' || /^\{?samples\}?$/.test(p.unit))) return sum < MOST_COUNTED ? 1 : 0;
    const timed = p.unit === 'nanoseconds' && p.periodType === p.type && p.periodUnit === p.unit;
    return timed && p.period >= LEAST_PERIOD_NS ? p.period : 0;
}

export function observations(p: Profile): number {
    let sums = 0,
        sum = 0;
    for (let i = 0; i < p.n; i++) {
        if (p.timeOff[i] !== p.timeOff[i + 1]) continue;
        sums++;
        sum += Math.abs(p.value[i]);
    }
    const size = observationSize(p, sum);
    return p.time.length + Math.max(sums, size ? Math.round(sum / size) : 0);
}
