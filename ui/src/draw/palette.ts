// Colours of boxes. The table (palette.json) and the rules are those of src/draw/palette.c, so that a package has the same colour
// in SVGs, in terminals and on the page. Tests of both sides read tests/support/flame_cases.txt.
import table from '../../../src/draw/palette.json';
import { libraryOf } from '../model/package';
import { Frames } from '../model/frames';
import type { Table } from '../model/table';
import { Tree } from '../model/tree';

export type ColorBy = 'package' | 'library' | 'kind' | 'function' | 'diff';
export type Theme = 'light' | 'dark';

/** Converts OKLCH to hex. All hues of one lightness look equally bright, so that text stays legible. */
export function oklch(l: number, c: number, h: number): string {
    const a = c * Math.cos((h * Math.PI) / 180),
        b = c * Math.sin((h * Math.PI) / 180);
    const l3 = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m3 = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s3 = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const rgb = [
        4.0767416621 * l3 - 3.3077115913 * m3 + 0.2309699292 * s3,
        -1.2684380046 * l3 + 2.6097574011 * m3 - 0.3413193965 * s3,
        -0.0041960863 * l3 - 0.7034186147 * m3 + 1.707614701 * s3,
    ];
    const byte = (v: number) => {
        const s = v <= 0.0031308 ? 12.92 * v : 1.055 * Math.max(v, 0) ** (1 / 2.4) - 0.055;
        return Math.round(Math.min(Math.max(s, 0), 1) * 255)
            .toString(16)
            .padStart(2, '0');
    };
    return '#' + rgb.map(byte).join('');
}

/** FNV-1a of the UTF-8 bytes, with a final mix. */
export function hash(s: string): number {
    let h = 2166136261;
    for (const byte of new TextEncoder().encode(s)) h = Math.imul(h ^ byte, 16777619);
    h = Math.imul(h ^ (h >>> 15), 0x85ebca6b);
    return (h ^ (h >>> 13)) >>> 0;
}

const HUES = table.hues.length,
    SHADES = 3,
    PALE = HUES + 1, // functions whose group is not known; the row before is grey
    LEGEND = 12; // groups that have a hue of their own
const ROWS = [...table.hues, table.grey, ...table.pale];

/** Returns the group of a frame; '' when it is not known. */
export function groupOf(f: Frames, frame: number, by: ColorBy): string {
    if (by === 'library') return libraryOf(f.library[frame]);
    if (by === 'kind') return f.kind[frame];
    if (by === 'function') return f.name[frame];
    return f.package[frame];
}

/** Returns the hues of groups. A hue is computed from the name. If two of the largest groups would share a hue, the
 *  smaller one gets the next free hue. */
export function huesOf(shares: Map<string, number>): Map<string, number> {
    const names = [...shares.keys()].filter(Boolean),
        hues = new Map(names.map((name) => [name, hash(name) % HUES])),
        taken = new Set<number>();
    names.sort((a, b) => shares.get(b)! - shares.get(a)! || (a < b ? -1 : 1));
    for (const name of names.slice(0, LEGEND)) {
        let hue = hues.get(name)!;
        while (taken.has(hue)) hue = (hue + 5) % HUES; // 5 and 12 are coprime: all hues are tried
        taken.add(hue);
        hues.set(name, hue);
    }
    return hues;
}

/** Returns row and shade of a function in the hue of its group. */
export function boxOf(hue: number | undefined, name: string): [row: number, shade: number] {
    const h = hash(name);
    return [hue ?? PALE + Math.floor((h % HUES) / SHADES), h % SHADES];
}

/** Returns a change as a step of the table, -4 .. 4: a tenth more is one step, four times as much is four steps. 0 also
 *  for a change within the noise of sampling: below three standard deviations of counts, when a sample stands for `size`
 *  or `baseSize` of the values. A size of 0: not known; the change then counts as it is. */
export function stepOf(value: number, base: number, size: number, baseSize: number): number {
    const sum = Math.abs(value) + Math.abs(base),
        d = value - base;
    if (!sum) return 0;
    if (size > 0 && baseSize > 0 && d * d <= 9 * (size * Math.abs(value) + baseSize * Math.abs(base))) return 0;
    const r = Math.abs(d) / sum,
        step = r < 0.0476 ? 0 : r < 0.143 ? 1 : r < 0.2857 ? 2 : r < 0.6 ? 3 : 4;
    return d < 0 ? -step : step;
}

/** The same for a value of a tree, such as the total or the self value of a node or function. */
export const stepIn = (t: Tree, value: number, base: number): number => stepOf(value, base, t.sampleSize, t.baseSampleSize);

/** Returns the colour of a cell of a heat map. */
export function heatColor(value: number, most: number, theme: Theme): string {
    const ramp = table.heat[theme === 'dark' ? 1 : 0],
        level = value > 0 ? Math.floor((value / most) * (ramp.length - 1) + 0.9999) : 0;
    return ramp[Math.min(level, ramp.length - 1)];
}

export class Palette {
    private cache: { frames: Frames; by: ColorBy; color: string[] } | null = null;
    readonly text: string;
    readonly haze: string;
    readonly root: string;
    readonly match: string;
    readonly edge: string;
    readonly selected: string;

    /** `self` is the amount of each frame in the whole profile: the largest groups get hues of their own. */
    constructor(
        readonly theme: Theme,
        private readonly self: ArrayLike<number> = [],
    ) {
        const dark = theme === 'dark';
        this.text = dark ? '#f4f0ea' : '#1f1b16';
        this.haze = dark ? '#7a7268' : '#bdb4a8';
        this.root = dark ? '#3a3632' : '#e5dfd6';
        this.match = dark ? '#b8338a' : '#f58ad0';
        this.edge = dark ? '#171514' : '#fffdfa';
        this.selected = dark ? '#ffd9a8' : '#7c2d12';
    }

    /** Returns the sum of all amounts. */
    amount(): number {
        let sum = 0;
        for (let i = 0; i < this.self.length; i++) sum += this.self[i];
        return sum;
    }

    /** Returns the largest groups with their colours and amounts, largest first. A group without a name is that of frames
     *  whose group is not known, and its colour is that of the largest of them. */
    groups(f: Frames, by: ColorBy): { name: string; color: string; self: number }[] {
        const color = this.colors(f, by),
            found = new Map<string, { name: string; color: string; self: number; most: number }>();
        for (let i = 1; i < f.n; i++) {
            const name = groupOf(f, i, by),
                self = this.self[i] ?? 0,
                g = found.get(name) ?? { name, color: color[i], self: 0, most: 0 };
            if (self > g.most) ((g.most = self), (g.color = color[i]));
            g.self += self;
            found.set(name, g);
        }
        return [...found.values()].sort((a, b) => b.self - a.self || (a.name < b.name ? -1 : 1)).slice(0, LEGEND);
    }

    /** Returns the colours of all frames. */
    private colors(f: Frames, by: ColorBy): string[] {
        const c = this.cache;
        if (c && c.frames === f && c.by === by && c.color.length === f.n) return c.color;
        const shares = new Map<string, number>(),
            color = [this.root],
            dark = this.theme === 'dark' ? 1 : 0;
        for (let i = 1; i < f.n; i++) {
            const g = groupOf(f, i, by);
            shares.set(g, (shares.get(g) ?? 0) + (this.self[i] ?? 0));
        }
        const hues = huesOf(shares);
        for (let i = 1; i < f.n; i++) {
            const [row, shade] = boxOf(hues.get(groupOf(f, i, by)), f.name[i]);
            color.push(ROWS[row][dark][shade]);
        }
        this.cache = { frames: f, by, color };
        return color;
    }

    /** Returns a function from frame to colour, for a whole picture. */
    byFrame(f: Frames, by: ColorBy): (frame: number) => string {
        const color = this.colors(f, by);
        return (frame) => color[frame];
    }

    /** Returns a function from frame to the colour of the change of its total. */
    byChange(t: Tree, of: Table): (frame: number) => string {
        return (f) => this.change(stepIn(t, of.total[f], of.baseTotal?.[f] ?? of.total[f]));
    }

    /** The colour of a step, -4 .. 4. */
    change(step: number): string {
        return table.diff[this.theme === 'dark' ? 1 : 0][4 + step];
    }

    byNode(t: Tree, f: Frames, by: ColorBy): (node: number) => string {
        if (by === 'diff' && t.baseTotal)
            return (i) => (i === 0 ? this.root : this.change(stepIn(t, t.total[i], t.baseTotal![i])));
        const color = this.byFrame(f, by === 'diff' ? 'package' : by);
        return (i) => color(t.frame[i]);
    }
}
