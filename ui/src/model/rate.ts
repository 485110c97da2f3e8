// What the vertical axis of a chart over time shows: a rate, or a level. A rate does not depend on the length of the steps, so the
// axis keeps its meaning when the range or the step changes.
//
//   unit of the values    type              axis              example
//   time                  cpu               cores             2.5 cores: 2.5 s of CPU time per second
//   time                  any other         threads           12 threads: 12 s of waiting per second
//   bytes                 any               bytes per second  3.2 MiB/s
//   anything else         any               per second        40/s
//   any                   levels (inuse_*)  as measured       512 MiB
import { byteScale, bytes, roundSteps, three, timeScale, withUnit } from './units';

/** Levels are amounts at one time, such as live heap: profile_is_level of src/model/model.h. */
export const isLevel = (type: string): boolean => type.startsWith('inuse_');

export interface Rate {
    level: boolean;
    axis: string; // 'cores', 'threads', 'per second', 'bytes per second'; a level: ''
    /** Converts the sum of a time of `ns` nanoseconds. */
    of(sum: number, ns: number): number;
    text(v: number): string; // with its unit
    incrs: number[] | null; // steps of an axis that are round in this unit; null: any decimal step
}

const per = (scale: number) => (sum: number, ns: number) => (ns > 0 ? ((sum * scale) / ns) * 1e9 : 0);

/** Three significant digits of a number of any size. */
const digits = (v: number): string => (Math.abs(v) >= 1 || v === 0 ? three(v) : String(Number(v.toPrecision(3))));

/** Formats large numbers as 1.2 k, 3.4 M. */
function short(v: number): string {
    const names = ['', ' k', ' M', ' G', ' T'];
    let i = 0;
    while (Math.abs(v) >= 999.5 && i < names.length - 1) ((v /= 1000), i++);
    return digits(v) + names[i];
}

const signed = (text: (v: number) => string) => (v: number) => (v < 0 ? `−${text(-v)}` : text(v));

export function rateOf(type: string, unit: string): Rate {
    const time = timeScale(unit),
        size = byteScale(unit);
    if (isLevel(type))
        return { level: true, axis: '', of: (sum) => sum, text: (v) => withUnit(v, unit), incrs: roundSteps(unit) };
    if (time) {
        const axis = type === 'cpu' ? 'cores' : 'threads';
        const text = signed((v) => (v ? `${short(v)} ${digits(v) === '1' ? axis.slice(0, -1) : axis}` : '0'));
        return { level: false, axis, of: per(time / 1e9), text, incrs: null };
    }
    if (size)
        return {
            level: false,
            axis: 'bytes per second',
            of: per(size),
            text: signed((v) => (v ? `${bytes(v)}/s` : '0')),
            incrs: roundSteps('bytes'),
        };
    return {
        level: false,
        axis: 'per second',
        of: per(1),
        text: signed((v) => (v ? `${short(v)}/s` : '0')),
        incrs: null,
    };
}
