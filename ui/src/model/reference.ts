// Short references to frames, for addresses. A reference contains hashes instead of names, so that a link stays short whatever
// the length of the names. It is valid wherever the same names occur: in another tab, after a refresh, in another report.
//
//   frame   .NNNNNNNPPP          N: 42 bits of a hash of the name, P: 18 bits of a hash of file and library
//   path    .NNNNPNNNNP...       for each frame from the root: 24 bits of the name, 6 bits of file and library
//
// The name decides. File and library distinguish frames of equal name, and may differ otherwise (another build directory).
// Older addresses contain whole names, with the file after a tab. They are read, too.

import { Frames } from './frames';
import { Tree } from './tree';

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
    NAME = 7,
    PLACE = 3,
    STEP_NAME = 4,
    STEP = STEP_NAME + 1,
    OLD = ' '; // in front of a step that is a name
const FRAME = new RegExp(`^\\.[\\w-]{${NAME + PLACE}}$`),
    PATH = new RegExp(`^\\.(?:[\\w-]{${STEP}})+$`);

/** Writes a 53 bit hash of the text (cyrb53) as 8 digits. Addresses depend on it: it must not change. */
function digest(text: string): string {
    let a = 0xdeadbeef,
        b = 0x41c6ce57;
    for (let i = 0; i < text.length; i++) {
        const c = text.charCodeAt(i);
        a = Math.imul(a ^ c, 2654435761);
        b = Math.imul(b ^ c, 1597334677);
    }
    a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
    b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
    let n = 4294967296 * (2097151 & b) + (a >>> 0),
        out = '';
    for (let i = 0; i < 8; i++, n = Math.floor(n / 64)) out += DIGITS[n % 64];
    return out;
}

/** The references of a table of frames, which may grow. Hashes are computed on demand. */
export class References {
    private readonly names: string[] = [];
    private readonly places: string[] = [];
    private readonly written = new Map<string, number>(); // so that the page's own references need no index
    private readonly byName = new Map<string, number[]>();
    private indexed = 1;

    constructor(private readonly frames: Frames) {}

    private name(f: number): string {
        return (this.names[f] ??= digest(this.frames.name[f]));
    }

    private place(f: number): string {
        return (this.places[f] ??= digest(`${this.frames.file[f]}\0${this.frames.library[f]}`));
    }

    write(f: number): string {
        const text = `.${this.name(f).slice(0, NAME)}${this.place(f).slice(0, PLACE)}`;
        this.written.set(text, f);
        return text;
    }

    /** Returns the frame of a reference, or of a name with or without its file; 0: there is none. */
    read(text: string): number {
        return this.written.get(text) || (FRAME.test(text) && this.find(text)) || this.named(text);
    }

    private find(text: string): number {
        for (; this.indexed < this.frames.n; this.indexed++) {
            const key = this.name(this.indexed).slice(0, NAME),
                list = this.byName.get(key);
            if (list) list.push(this.indexed);
            else this.byName.set(key, [this.indexed]);
        }
        const found = this.byName.get(text.slice(1, 1 + NAME)) ?? [];
        return found.find((f) => this.place(f).startsWith(text.slice(1 + NAME))) ?? found[0] ?? 0;
    }

    private named(text: string): number {
        const [name, file] = text.split('\t'),
            { frames: t } = this;
        for (let f = 1; f < t.n; f++) if (t.name[f] === name && (!file || t.file[f] === file)) return f;
        return 0;
    }

    /** One step of a path. */
    step(f: number): string {
        return this.name(f).slice(0, STEP_NAME) + this.place(f)[0];
    }

    /** Returns how well a step fits a frame: 2 exactly, 1 by name, 0 not. */
    private fits(f: number, step: string): number {
        if (step[0] === OLD) {
            const [name, file] = step.slice(1).split('\t');
            return this.frames.name[f] !== name ? 0 : file === undefined || this.frames.file[f] === file ? 2 : 1;
        }
        const own = this.step(f);
        return own === step ? 2 : own.slice(0, STEP_NAME) === step.slice(0, STEP_NAME) ? 1 : 0;
    }

    /** Returns the node at the end of a path, or the last one that the tree contains. */
    follow(t: Tree, path: readonly string[]): number {
        let node = 0;
        for (const step of path) {
            let next = -1,
                best = 0;
            for (let k = t.first[node]; k < t.first[node] + t.count[node] && best < 2; k++) {
                const fit = this.fits(t.frame[k], step);
                if (fit > best) ((best = fit), (next = k));
            }
            if (next < 0) break;
            node = next;
        }
        return node;
    }
}

/** The steps of a path in an address. */
export const readPath = (list: string[]): string[] =>
    list.length === 1 && PATH.test(list[0])
        ? (list[0].slice(1).match(new RegExp(`.{${STEP}}`, 'g')) ?? [])
        : list.map((name) => OLD + name);

/** The inverse of readPath: one value of the address, or several names. */
export const writePath = (path: readonly string[]): string[] =>
    !path.length ? [] : path[0][0] === OLD ? path.map((s) => s.slice(1)) : [`.${path.join('')}`];
