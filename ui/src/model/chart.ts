// The flame chart: time from left to right, one lane per thread; neighbouring samples share the boxes of common frames.
import { GrowF64, GrowU32 } from '../base/grow';
import { Profile } from '../otlp/types';
import { Filter, labelTest } from './filter';
import { Bound, stackFrames } from './frames';
import { isInterval } from './intervals';
import { Threads } from './labels';
import { Reshape } from './transforms';
import { timeScale } from './units';

/** The boxes of one depth of a lane, in ascending order, without overlap. */
export interface Layer {
    x: Float64Array; // ns after the base
    w: Float64Array;
    frame: Uint32Array;
    from: number;
    to: number;
}

export interface Lane {
    name: string;
    n: number; // observations
    value: number;
    time: Float64Array; // sorted
    stack: Uint32Array;
    end: Float64Array;
    layers: Layer[] | null; // built when the lane is opened
}

export interface Chart {
    lanes: Lane[];
    from: number;
    to: number; // ns after the base
}

/** Returns the duration of a sample that no other follows soon: the usual gap between two samples of its thread, but at
 *  least the period. */
function usualGap(times: Float64Array, period: number): number {
    const gaps: number[] = [];
    const step = Math.max(1, Math.floor(times.length / 2000));
    for (let i = 1; i < times.length; i += step) if (times[i] > times[i - 1]) gaps.push(times[i] - times[i - 1]);
    gaps.sort((a, b) => a - b);
    return Math.max(period, gaps.length ? gaps[gaps.length >> 1] : 0) || 1e6;
}

/** Returns the period of samples of CPU time in ns; 0: another type, or not known. The distance of such samples does not tell how
 *  long one lasts: a thread that uses little CPU time has few of them. src/query/chart.c has the same rule. */
const cpuPeriod = (p: Profile, period: number): number => (p.type === 'cpu' && timeScale(p.unit) ? period : 0);

const CPU_PERIODS = 2; // a busy thread has a sample every period, and a late one now and then
const ROOM = 16; // initial capacity of a level, small because stacks may be very deep
const LONGEST = 100; // a sample that no other follows covers at most 1 / LONGEST of its lane
const GAP = 2.5; // a sample extends to the next one if that is at most this many usual gaps away

export function chartOf(b: Bound, p: Profile, threads: Threads, filter: Filter): Chart {
    const passes = labelTest(b.set, p, filter.labels),
        interval = isInterval(b.set, p),
        scale = timeScale(p.unit) || 1;
    const period = Math.max(p.period, 0) * timeScale(p.periodUnit);
    const of: { time: number; stack: number; value: number }[][] = threads.name.map(() => []);
    for (let i = 0; i < p.n; i++) {
        if (!passes(i)) continue;
        const lane = of[threads.of[i]];
        for (let k = p.timeOff[i]; k < p.timeOff[i + 1]; k++)
            lane.push({ time: p.time[k], stack: p.stack[i], value: p.timeValue[k] });
    }
    const lanes: Lane[] = [];
    let from = Infinity,
        to = -Infinity;
    of.forEach((list, t) => {
        if (!list.length) return;
        list.sort((a, c) => a.time - c.time);
        const n = list.length,
            time = new Float64Array(n),
            stack = new Uint32Array(n),
            end = new Float64Array(n);
        list.forEach((o, i) => ((time[i] = o.time), (stack[i] = o.stack)));
        const cpu = cpuPeriod(p, period),
            gap = usualGap(time, period),
            most = cpu ? cpu * CPU_PERIODS : gap * GAP,
            alone = cpu || Math.min(gap, Math.max(period, (time[n - 1] - time[0]) / LONGEST));
        let value = 0;
        for (let i = 0; i < n; i++) {
            const next = i + 1 < n ? time[i + 1] : Infinity;
            end[i] = interval ? time[i] + list[i].value * scale : next - time[i] <= most ? next : time[i] + alone;
            value += list[i].value;
            to = Math.max(to, end[i]);
        }
        from = Math.min(from, time[0]);
        lanes.push({ name: threads.name[t], n, value, time, stack, end, layers: null });
    });
    lanes.sort((a, c) => c.n - a.n || (a.name < c.name ? -1 : 1));
    return { lanes, from: lanes.length ? from : 0, to: lanes.length ? to : 1 };
}

/** Computes the boxes of a lane. A frame that stays at its depth from one sample to the next is one box. Intervals nest
 *  as in a trace: each is drawn at its own depth. Where two overlap at a depth, the later one truncates the earlier
 *  one. */
export function layersOf(b: Bound, lane: Lane, reshape: Reshape | null = null): Layer[] {
    if (lane.layers) return lane.layers;
    const xs: GrowF64[] = [],
        ws: GrowF64[] = [],
        frames: GrowU32[] = [],
        path: number[] = [],
        last: number[] = [];
    let lastDepth = 0,
        lastEnd = -Infinity;
    for (let i = 0; i < lane.n; i++) {
        const whole = stackFrames(b, lane.stack[i], path),
            n = reshape ? Math.max(reshape(path, whole), 0) : whole, // a dropped stack leaves a gap
            start = lane.time[i],
            end = lane.end[i];
        let same = start <= lastEnd;
        for (let d = 0; d < n; d++) {
            if (!xs[d]) ((xs[d] = new GrowF64(ROOM)), (ws[d] = new GrowF64(ROOM)), (frames[d] = new GrowU32(ROOM)));
            const k = xs[d].n - 1;
            same &&= d < lastDepth && last[d] === path[d];
            const behind = k >= 0 ? xs[d].a[k] + ws[d].a[k] : -Infinity;
            if (same && k >= 0) {
                ws[d].a[k] = Math.max(end, behind) - xs[d].a[k];
            } else {
                if (behind > start) ws[d].a[k] = Math.max(start - xs[d].a[k], 0);
                xs[d].push(start);
                ws[d].push(end - start);
                frames[d].push(path[d]);
            }
            last[d] = path[d];
        }
        lastDepth = n;
        lastEnd = Math.max(end, start);
    }
    return (lane.layers = xs.map((x, d) => ({
        x: x.done(),
        w: ws[d].done(),
        frame: frames[d].done(),
        from: 0,
        to: x.n,
    })));
}

/** Returns the longest box of a frame in the first lane that has one. */
export function longestBox(
    c: Chart,
    frame: number,
    layers: (l: Lane) => Layer[],
): { lane: number; depth: number; x: number; w: number } | null {
    for (const [lane, l] of c.lanes.entries()) {
        let best: { lane: number; depth: number; x: number; w: number } | null = null;
        for (const [depth, { x, w, frame: of }] of layers(l).entries())
            for (let i = 0; i < of.length; i++)
                if (of[i] === frame && (!best || w[i] > best.w)) best = { lane, depth, x: x[i], w: w[i] };
        if (best) return best;
    }
    return null;
}
