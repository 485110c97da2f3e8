// Colours of the lines of a chart. A row keeps its colour when others come and go, as long as there are enough colours.
import { hash, oklch } from '../../draw/palette';
import { Line } from '../../model/series';

const HUES = [45, 250, 150, 330, 95, 200, 290, 15];
const BASE_HUE = 1;

/** Returns the colour with an opacity of 0 .. 1. */
export type Ink = (alpha: number) => string;

function ink(hue: number, dark: boolean): Ink {
    const c = oklch(dark ? 0.74 : 0.6, 0.13, HUES[hue % HUES.length]);
    return (alpha) =>
        c +
        Math.round(alpha * 255)
            .toString(16)
            .padStart(2, '0');
}

const grey =
    (dark: boolean): Ink =>
    (alpha) =>
        oklch(dark ? 0.7 : 0.62, 0.01, 80) +
        Math.round(alpha * 255)
            .toString(16)
            .padStart(2, '0');

/** The fixed colours of a comparison: this side, and the other one. */
export const sideInks = (dark: boolean): [Ink, Ink] => [ink(0, dark), ink(BASE_HUE, dark)];

export function inksOf(lines: Line[], dark: boolean): Ink[] {
    const taken = new Set<number>();
    return lines.map((l) => {
        if (l.others) return grey(dark);
        let h = lines.length === 1 ? 0 : hash(l.label) % HUES.length;
        for (let k = 0; k < HUES.length && taken.has(h); k++) h = (h + 1) % HUES.length;
        taken.add(h);
        return ink(h, dark);
    });
}
