// model/default_type.ts - the default type: the rule of query/default_type.h.
import type { Dataset } from '../otlp/types';

const BEGINS: [RegExp, number][] = [
    [/^(cpu|cycles|task-clock)/, 0],
    [/^(off[_-]cpu|wall)/, 1],
    [/^inuse_space/, 2],
    [/^inuse/, 3],
];

/** Returns the rank of a type; 0 is the most preferred. */
export const typeRank = (type: string): number => BEGINS.find(([begins]) => begins.test(type))?.[1] ?? 4;

/** Returns the default profile: that of the file, or the first with values among those of the lowest rank. */
export function defaultProfile({ profiles, ownDefault }: Dataset): number {
    let best = -1;
    if (ownDefault && profiles.length && profiles[0].total !== 0n) return 0;
    profiles.forEach((p, i) => {
        if (p.total !== 0n && (best < 0 || typeRank(p.type) < typeRank(profiles[best].type))) best = i;
    });
    return Math.max(best, 0);
}
