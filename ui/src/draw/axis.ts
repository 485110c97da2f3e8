// Ticks of an axis of time.
import { duration } from '../model/units';

export function ticks(from: number, to: number, width: number): { at: number; text: string }[] {
    const rough = (to - from) / Math.max(width / 110, 1),
        power = 10 ** Math.floor(Math.log10(rough || 1));
    const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough) ?? power * 10;
    const out: { at: number; text: string }[] = [];
    for (let t = Math.ceil(from / step) * step; t <= to; t += step)
        out.push({ at: t, text: Math.round(t / step) ? duration(Math.round(t / step) * step) : '0' });
    return out;
}
