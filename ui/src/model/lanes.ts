// Threads over time: the observations of each thread, single or summed by step.

/** A lane: observations or sums of steps, each from `time` for `length`. */
export interface Lane {
    name: string;
    key: string; // identifies the thread
    thread: string; // the value of thread.name
    n: number;
    sum: number;
    time: ArrayLike<number>; // ns after Lanes.base, ascending
    length: ArrayLike<number>; // ns; 0: a moment
    value: ArrayLike<number>;
    state: ArrayLike<number> | null; // index of Lanes.states
    /** In steps: the values by state, then by box; null: the states are not known. */
    shares: Float64Array[] | null;
    frame: ArrayLike<number> | null; // index of Lanes.frames
}

export interface Lanes {
    base: bigint; // Unix ns
    length: number; // ns
    step: number; // ns; 0: observations, one by one
    scale: number; // ns per unit of the values; 0: they are not times
    lanes: Lane[]; // largest first
    states: string[];
    frames: string[];
    partial: boolean;
    why: string;
}

/** True if the samples have thread states. */
export const hasStates = (l: Lanes): boolean => l.states.some(Boolean);

/** What users read for the state `unscheduled`, in the views and in the bill of a span. */
export const RUNNABLE = 'runnable, waiting for a CPU';

/** The text of a group of observations. */
export const groupText = (l: Lanes, name: string): string =>
    hasStates(l) && name === 'unscheduled' ? RUNNABLE : name || '(no name)';

const stateName = (l: Lanes, state: number): string => l.states[state] || 'unknown';

/** Returns the group of an observation: the thread state if known, else the function on top; '' for a sum. */
export const groupAt = (l: Lanes, lane: Lane, i: number): string =>
    lane.state && hasStates(l) ? stateName(l, lane.state[i]) : lane.frame ? (l.frames[lane.frame[i]] ?? '') : '';

/** Returns the states of a box with their shares of it, in the order of Lanes.states; empty: not known. */
export function sharesAt(l: Lanes, lane: Lane, i: number): { name: string; value: number; share: number }[] {
    const values = (lane.shares ?? []).map((s) => Math.abs(s[i])),
        all = values.reduce((a, b) => a + b, 0);
    return values.map((value, s) => ({ name: stateName(l, s), value, share: value / all })).filter((x) => x.value > 0);
}

/** Returns the sums of the states of a lane in steps. */
export const stateSums = (l: Lanes, lane: Lane): [name: string, sum: number][] =>
    (lane.shares ?? [])
        .map((s, i): [string, number] => [stateName(l, i), s.reduce((a, b) => a + b, 0)])
        .filter(([, v]) => v !== 0);

/** Returns the groups with their sums, largest first. */
export function groupsOf(l: Lanes): { name: string; sum: number }[] {
    const sums = new Map<string, number>(),
        add = (g: string, v: number) => sums.set(g, (sums.get(g) ?? 0) + Math.abs(v));
    for (const lane of l.lanes)
        for (let i = 0; i < lane.time.length; i++)
            if (!l.step) add(groupAt(l, lane, i), lane.value[i]);
            else for (const s of sharesAt(l, lane, i)) add(s.name, s.value);
    return [...sums].map(([name, sum]) => ({ name, sum })).sort((a, b) => b.sum - a.sum);
}
