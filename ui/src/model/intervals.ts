// Observations that are intervals: waits, and events with a duration.
import { Dataset, Profile } from '../otlp/types';
import { valueText } from './filter';

/** True if values are durations that start at their timestamps (docs/attributes.md: kiln.event.interval). src/query/extent.c has
 *  the same rule. */
export function isInterval({ dict }: Dataset, p: Profile): boolean {
    const { attributes, strings } = dict,
        marked = (a: number) =>
            attributes[a] &&
            strings.get(attributes[a].key) === 'kiln.event.interval' &&
            valueText(attributes[a].value) === 'true';
    return p.type === 'off_cpu' || p.attributes.some(marked);
}

/** Spreads the values of intervals over steps of time, in units of a step. Steps that an interval covers are noted as differences,
 *  so that it costs the same whatever their number (src/query/spread.h). */
export class Spread {
    private readonly whole: Float64Array;
    constructor(private readonly sum: Float64Array) {
        this.whole = new Float64Array(sum.length + 1);
    }

    /** Adds the interval [from, to), from < to. Its part after the last step does not count. */
    add(from: number, to: number, value: number): void {
        const n = this.sum.length,
            each = value / (to - from),
            end = Math.min(to, n),
            first = Math.floor(from),
            last = Math.min(Math.floor(end), n - 1);
        if (from < 0 || from >= end) return;
        if (first === last) {
            this.sum[first] += (end - from) * each;
            return;
        }
        this.sum[first] += (first + 1 - from) * each;
        this.sum[last] += (end - last) * each;
        this.whole[first + 1] += each;
        this.whole[last] -= each;
    }

    finish(): void {
        let each = 0;
        const none = this.whole.reduce((m, v) => Math.max(m, Math.abs(v)), 0) * 1e-9; // differences do not cancel exactly
        for (let i = 0; i < this.sum.length; i++) {
            each += this.whole[i];
            if (Math.abs(each) > none) this.sum[i] += each;
        }
    }
}
