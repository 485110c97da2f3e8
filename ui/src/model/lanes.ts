// Threads over time: the observations of each thread, single or summed by step.

/** A lane: observations or sums of steps, each from `time` for `length`. */
export interface Lane {
    name: string;
    thread: string; // the value of thread.name
    n: number;
    sum: number;
    time: ArrayLike<number>; // ns after Lanes.base, ascending
    length: ArrayLike<number>; // ns; 0: a moment
    value: ArrayLike<number>;
    state: ArrayLike<number> | null; // index of Lanes.states
    frame: ArrayLike<number> | null; // index of Lanes.frames
}

export interface Lanes {
    base: bigint; // Unix ns
    length: number; // ns
    step: number; // ns; 0: observations, one by one
    lanes: Lane[]; // largest first
    states: string[];
    frames: string[];
    partial: boolean;
    why: string;
}

/** True if the samples have thread states. */
export const hasStates = (l: Lanes): boolean => l.step === 0 && l.states.some(Boolean);

/** Returns the group of an observation: the thread state if known, else the function on top; '' for a sum. */
export const groupAt = (l: Lanes, lane: Lane, i: number): string =>
    hasStates(l) ? l.states[lane.state![i]] || 'unknown' : lane.frame ? (l.frames[lane.frame[i]] ?? '') : '';

/** Returns the groups with their sums, largest first. */
export function groupsOf(l: Lanes): { name: string; sum: number }[] {
    const sums = new Map<string, number>();
    if (!l.step)
        for (const lane of l.lanes)
            for (let i = 0; i < lane.n; i++) {
                const g = groupAt(l, lane, i);
                sums.set(g, (sums.get(g) ?? 0) + Math.abs(lane.value[i]));
            }
    return [...sums].map(([name, sum]) => ({ name, sum })).sort((a, b) => b.sum - a.sum);
}
