// Frames: each box in a picture shows one. A page has one table of frames for all datasets, so that two profiles can be
// compared. A dataset is bound to the table by a list of frames per location.
import { Dataset, Mapping } from '../otlp/types';
import { baseName, packageAt } from './package';

export class Frames {
    name: string[] = ['all'];
    label: string[] = ['all']; // the text in a box; for an address, with its library
    file: string[] = [''];
    library: string[] = ['']; // the mapped file, without its directories
    package: string[] = [''];
    kind: string[] = [''];
    systemName: string[] = [''];
    startLine: number[] = [0];
    private lower: string[] = ['all'];
    private readonly ids = new Map<string, number>();

    get n(): number {
        return this.name.length;
    }

    /** Identifies a frame in other tables of frames, too. */
    key(f: number): string {
        return `${this.name[f]}\0${this.file[f]}\0${this.library[f]}`;
    }

    /** `startLine` is -1 when `name` is not the name of a function. */
    intern(name: string, file: string, library: string, kind: string, systemName: string, startLine: number): number {
        const key = `${name}\0${file}\0${library}`;
        let id = this.ids.get(key);
        if (id === undefined) {
            id = this.name.length;
            this.ids.set(key, id);
            this.name.push(name);
            this.label.push(library && /^\+?0x/.test(name) ? `${library}${name[0] === '+' ? '' : ' '}${name}` : name);
            this.file.push(file);
            this.library.push(library);
            this.package.push(packageAt(startLine < 0 ? '' : name, library, file));
            this.kind.push(kind);
            this.systemName.push(systemName === name ? '' : systemName);
            this.startLine.push(Math.max(startLine, 0));
            this.lower.push(name.toLowerCase());
        }
        return id;
    }

    /** Marks the frames that match a search: a flag per frame, so that a million boxes need no string comparison. `/x/`
     *  is a regular expression; other text is searched literally, ignoring case. null: there is no search. */
    match(query: string): Uint8Array | null {
        const q = query.trim();
        if (!q) return null;
        const out = new Uint8Array(this.n),
            re = regexOf(q),
            text = q.toLowerCase();
        for (let i = 1; i < this.n; i++) {
            if (re ? re.test(this.name[i]) : this.lower[i].includes(text)) out[i] = 1;
        }
        return out;
    }
}

function regexOf(q: string): RegExp | null {
    const m = /^\/(.+)\/$/.exec(q);
    try {
        return m ? new RegExp(m[1], 'i') : null;
    } catch {
        return null;
    }
}

/** The frames of every location, innermost first: inlined calls are frames of their own. */
export interface Bound {
    set: Dataset;
    off: Uint32Array; // n locations + 1
    frame: Uint32Array;
    line: Uint32Array; // source line of each
    noStack: number; // the frame of a sample without a stack
}

/** Returns the name of an address without a symbol: its offset in the file if known, because processes map the file at
 *  different addresses. */
export function placeName(address: bigint, m: Mapping | undefined, library: string): string {
    if (!address) return library || '?';
    const inside = m && library && m.start && address >= m.start && address < m.limit;
    return inside ? '+0x' + (address - m.start + m.offset).toString(16) : '0x' + address.toString(16);
}

export function bind(set: Dataset, frames: Frames): Bound {
    const { locations: l, functions: f, strings: s, mappings, attributes } = set.dict;
    const off = new Uint32Array(l.n + 1),
        total = l.line.length + l.n;
    const frame = new Uint32Array(total),
        line = new Uint32Array(total);
    const byFunction = new Map<number, number>(); // function and mapping → frame
    const kindKey = attributes.find((a) => s.get(a.key) === 'profile.frame.type')?.key ?? -1;
    let n = 0;
    const kindOf = (i: number): string => {
        for (let k = l.attributeOff[i]; k < l.attributeOff[i + 1]; k++) {
            const a = attributes[l.attributes[k]];
            if (a.key === kindKey) return String(a.value);
        }
        return '';
    };
    for (let i = 0; i < l.n; i++) {
        off[i] = n;
        const map = l.mapping[i],
            library = map ? baseName(s.get(mappings[map].filename)) : '';
        const kind = kindKey >= 0 ? kindOf(i) : '';
        for (let k = l.lineOff[i]; k < l.lineOff[i + 1]; k++) {
            const fn = l.lineFunction[k];
            if (!fn) continue;
            const known = fn * (mappings.length + 1) + map;
            let id = byFunction.get(known);
            if (id === undefined) {
                const name = s.get(f.name[fn]) || s.get(f.systemName[fn]) || '?';
                id = frames.intern(
                    name,
                    s.get(f.filename[fn]),
                    library,
                    kind,
                    s.get(f.systemName[fn]),
                    f.startLine[fn],
                );
                byFunction.set(known, id);
            }
            frame[n] = id;
            line[n++] = l.line[k];
        }
        if (n === off[i]) {
            const address = (BigInt(l.addressHi[i]) << 32n) | BigInt(l.addressLo[i]);
            frame[n++] = frames.intern(placeName(address, mappings[map], library), '', library, kind, '', -1);
        }
    }
    off[l.n] = n;
    return {
        set,
        off,
        frame: frame.slice(0, n),
        line: line.slice(0, n),
        noStack: frames.intern('?', '', '', '', '', -1),
    };
}

/** Writes the frames of a stack into `out`, root first, and returns their number. `lines` gets the source line of each. */
export function stackFrames(b: Bound, stack: number, out: number[], lines?: number[]): number {
    const { off, locations } = b.set.dict.stacks;
    let n = 0;
    if (stack < b.set.dict.stacks.n) {
        for (let i = off[stack + 1] - 1; i >= off[stack]; i--) {
            const at = locations[i];
            for (let k = b.off[at + 1] - 1; k >= b.off[at]; k--) {
                if (lines) lines[n] = b.line[k];
                out[n++] = b.frame[k];
            }
        }
    }
    if (!n) {
        if (lines) lines[n] = 0;
        out[n++] = b.noStack;
    }
    return n;
}
