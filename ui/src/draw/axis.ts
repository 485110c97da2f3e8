// Ticks of a time axis.
import { duration } from '../model/units';

const MINUTE = 60e9;
const LONG = [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1440].map((m) => m * MINUTE);

/** Round steps in common units of time. */
function stepFor(rough: number): number {
    const long = rough > 20e9 ? LONG.find((s) => s >= rough) : undefined;
    if (long) return long;
    const unit = rough > LONG.at(-1)! ? LONG.at(-1)! : 1,
        power = unit * 10 ** Math.floor(Math.log10(rough / unit || 1));
    return [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough) ?? power * 10;
}

export function ticks(from: number, to: number, width: number): { at: number; text: string }[] {
    const step = stepFor((to - from) / Math.max(width / 110, 1));
    const minutes = to >= 2 * MINUTE ? MINUTE : undefined; // not "90 s" beside "2 min"
    const out: { at: number; text: string }[] = [];
    for (let t = Math.ceil(from / step) * step; t <= to; t += step)
        out.push({ at: t, text: Math.round(t / step) ? duration(Math.round(t / step) * step, minutes) : '0' });
    return out;
}
