// model/lead.ts - which type is shown when nobody names one: the rule of query/lead.h, over profiles that are folded by type.
import type { Dataset } from '../otlp/types';

const BEGINS: [RegExp, number][] = [
    [/^(cpu|cycles|task-clock)/, 0],
    [/^(off[_-]cpu|wall)/, 1],
    [/^inuse_space/, 2],
    [/^inuse/, 3],
];

/** 0 leads. */
export const leadRank = (type: string): number => BEGINS.find(([begins]) => begins.test(type))?.[1] ?? 4;

/** The profile that leads: the file's own default, or the first with values among those of the least rank. */
export function leadProfile({ profiles, ownDefault }: Dataset): number {
    let best = -1;
    if (ownDefault && profiles.length && profiles[0].total !== 0n) return 0;
    profiles.forEach((p, i) => {
        if (p.total !== 0n && (best < 0 || leadRank(p.type) < leadRank(profiles[best].type))) best = i;
    });
    return Math.max(best, 0);
}
