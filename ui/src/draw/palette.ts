// Colours of boxes. Hues come from a name by a fixed hash, so that a package has one colour in every report.
import { Frames } from '../model/frames';
import { Tree } from '../model/tree';

export type ColorBy = 'package' | 'library' | 'kind' | 'function' | 'diff';
export type Theme = 'light' | 'dark';

/** OKLCH to the hex form that a canvas takes: equal lightness for every hue, so that text stays legible. */
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

export function hash(s: string): number {
    let h = 2166136261;
    for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
    h = Math.imul(h ^ (h >>> 15), 0x85ebca6b);
    return (h ^ (h >>> 13)) >>> 0;
}

// Hues that look well beside each other, the warm ones first; steps of about 17 degrees.
const HUES = [38, 62, 84, 108, 132, 152, 172, 192, 212, 232, 252, 272, 292, 312, 334, 352, 18];
const SHADES = 3;

/** What a frame is grouped by. */
export function groupOf(f: Frames, frame: number, by: ColorBy): string {
    if (by === 'library') return f.library[frame] || '(no library)';
    if (by === 'kind') return f.kind[frame] || '(no kind)';
    if (by === 'function') return f.name[frame];
    return f.package[frame];
}

export class Palette {
    private readonly tones: string[] = [];
    private readonly muted: string[] = []; // what belongs to no group: by function, and paler
    private readonly grew: string[] = [];
    private readonly shrank: string[] = [];
    private cache: { frames: Frames; by: ColorBy; index: Int16Array } | null = null;
    readonly text: string;
    readonly haze: string;
    readonly root: string;
    readonly match: string;
    readonly edge: string;
    readonly selected: string;

    constructor(readonly theme: Theme) {
        const dark = theme === 'dark';
        for (const h of HUES)
            for (let s = 0; s < SHADES; s++)
                this.tones.push(
                    oklch((dark ? 0.46 : 0.855) + (s - 1) * (dark ? 0.025 : 0.022), dark ? 0.075 : 0.078, h),
                );
        for (const h of HUES) this.muted.push(oklch(dark ? 0.42 : 0.865, 0.028, h));
        for (let s = 0; s <= 8; s++) {
            const k = s / 8;
            this.grew.push(
                dark ? oklch(0.4 + 0.13 * k, 0.012 + 0.14 * k, 32) : oklch(0.9 - 0.17 * k, 0.01 + 0.15 * k, 32),
            );
            this.shrank.push(
                dark ? oklch(0.4 + 0.12 * k, 0.012 + 0.11 * k, 240) : oklch(0.9 - 0.16 * k, 0.01 + 0.11 * k, 240),
            );
        }
        this.text = dark ? '#f4f0ea' : '#1f1b16';
        this.haze = dark ? '#4a453f' : '#d5cec3';
        this.root = dark ? '#3a3632' : '#e5dfd6';
        this.match = dark ? '#b8338a' : '#f58ad0';
        this.edge = dark ? '#171514' : '#fffdfa';
        this.selected = dark ? '#ffd9a8' : '#7c2d12';
    }

    private index(f: Frames, by: ColorBy): Int16Array {
        const c = this.cache;
        if (c && c.frames === f && c.by === by && c.index.length === f.n) return c.index;
        const index = new Int16Array(f.n),
            groups = new Map<string, number>();
        for (let i = 1; i < f.n; i++) {
            const g = groupOf(f, i, by),
                none = g.startsWith('(no '),
                name = hash(f.name[i]);
            let hue = groups.get(g);
            if (hue === undefined) groups.set(g, (hue = hash(g) % HUES.length));
            index[i] = none ? -1 - (name % this.muted.length) : hue * SHADES + (name % SHADES);
        }
        this.cache = { frames: f, by, index };
        return index;
    }

    /** A function from frame to colour, for a whole picture. */
    byFrame(f: Frames, by: ColorBy): (frame: number) => string {
        const index = this.index(f, by);
        return (frame) => {
            const i = index[frame];
            return frame === 0 ? this.root : i < 0 ? this.muted[-1 - i] : this.tones[i];
        };
    }

    change(value: number, base: number): string {
        const most = Math.max(Math.abs(value), Math.abs(base));
        const k = most ? Math.min(Math.abs(value - base) / most, 1) : 0;
        const step = k < 0.01 ? 0 : Math.max(1, Math.round(Math.sqrt(k) * 8));
        return (value >= base ? this.grew : this.shrank)[step];
    }

    byNode(t: Tree, f: Frames, by: ColorBy): (node: number) => string {
        if (by === 'diff' && t.baseTotal)
            return (i) => (i === 0 ? this.root : this.change(t.total[i], t.baseTotal![i]));
        const color = this.byFrame(f, by === 'diff' ? 'package' : by);
        return (i) => color(t.frame[i]);
    }
}

export const palettes = { light: new Palette('light'), dark: new Palette('dark') };
