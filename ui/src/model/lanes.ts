// Threads over time: what was observed of each, one by one or in steps.

/** What a lane has from `time` on, for `length`: one observation or the sum of a step. */
export interface Lane {
    name: string;
    thread: string; // the value of thread.name
    n: number;
    sum: number;
    time: ArrayLike<number>; // ns after Lanes.base, rising
    length: ArrayLike<number>; // ns; 0: a moment
    value: ArrayLike<number>;
    state: ArrayLike<number> | null; // index of Lanes.states
    frame: ArrayLike<number> | null; // index of Lanes.frames
}

export interface Lanes {
    base: bigint; // Unix ns
    length: number; // ns
    step: number; // ns; 0: observations, one by one
    lanes: Lane[]; // the one with most first
    states: string[];
    frames: string[];
    partial: boolean;
    why: string;
}

/** Do threads say what they were doing? */
export const hasStates = (l: Lanes): boolean => l.step === 0 && l.states.some(Boolean);

/** What an observation stands for: a state where threads say theirs, else the function on top; '': a sum. */
export const groupAt = (l: Lanes, lane: Lane, i: number): string =>
    hasStates(l) ? l.states[lane.state![i]] || 'not known' : lane.frame ? (l.frames[lane.frame[i]] ?? '') : '';

/** Groups with what was measured in them, the largest first. */
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
