// Source files: those of a report or of a server, and the lines of a function with their amounts.
import { Filter, stackWeights } from './filter';
import { Bound, stackFrames } from './frames';
import { Profile } from '../otlp/types';
import { Reshape } from './transforms';

export interface SourceFile {
    text: string | null;
    why: string; // why there is no text, as the end of a sentence
}

export interface Sources {
    /** The file of a function and of the binary that contains the function. */
    read(file: string, buildId: string): SourceFile | Promise<SourceFile>;
    /** What a report contains; null: the files come from a server. */
    report: { files: number; missing: { name: string; why: string }[] } | null;
}

export const noSource = (why: string): SourceFile => ({ text: null, why });

export interface LineAmount {
    line: number;
    self: number;
    total: number;
}

/** Reads the JSON of a report (src/cli/report_source.h). */
export function readSources(json: string): Sources {
    const all = JSON.parse(json) as {
        files: { name: string; text: string }[];
        missing: { name: string; why: string }[];
    };
    const texts = new Map(all.files.map((f) => [f.name, f.text])),
        why = new Map(all.missing.map((f) => [f.name, f.why]));
    return {
        read: (file) => {
            const text = texts.get(file);
            return text === undefined
                ? noSource(`is not in this report: ${why.get(file) ?? 'not found'}`)
                : { text, why: '' };
        },
        report: { files: texts.size, missing: all.missing },
    };
}

const GNU = 'process.executable.build_id.gnu';

/** The GNU build id of the binary with the frame; '': it is not known. */
export function gnuBuildIdOf(b: Bound, frame: number): string {
    const { locations, mappings, attributes, strings } = b.set.dict;
    for (let i = 0; i + 1 < b.off.length; i++)
        for (let k = b.off[i]; k < b.off[i + 1]; k++) {
            if (b.frame[k] !== frame) continue;
            for (const a of mappings[locations.mapping[i]]?.attributes ?? [])
                if (strings.get(attributes[a]?.key ?? 0) === GNU) return String(attributes[a].value);
        }
    return '';
}

/** Amounts by source line, in the order of lines: each line of the frame counts once per stack in `total`. */
export function linesOf(b: Bound, p: Profile, filter: Filter, frame: number, reshape: Reshape | null): LineAmount[] {
    const { off, locations } = b.set.dict.stacks,
        out = new Map<number, LineAmount>(),
        seen = new Set<number>(),
        path: number[] = [],
        lines: number[] = [];
    const here = new Uint8Array(Math.max(b.off.length - 1, 1)); // the locations with the frame
    for (let i = 0; i + 1 < b.off.length; i++)
        for (let k = b.off[i]; k < b.off[i + 1]; k++) if (b.frame[k] === frame && b.line[k]) here[i] = 1;
    const { value } = stackWeights(b.set, p, filter);
    for (let s = 0; s < b.set.dict.stacks.n; s++) {
        if (!value[s]) continue;
        let k = off[s];
        while (k < off[s + 1] && !here[locations[k]]) k++;
        if (k === off[s + 1]) continue;
        let n = stackFrames(b, s, path, lines);
        if (reshape) n = reshape(path, n, lines);
        seen.clear();
        for (let i = 0; i < n; i++) {
            const line = lines[i];
            if (path[i] !== frame || !line) continue;
            let entry = out.get(line);
            if (!entry) out.set(line, (entry = { line, self: 0, total: 0 }));
            if (i === n - 1) entry.self += value[s];
            if (!seen.has(line)) entry.total += value[s];
            seen.add(line);
        }
    }
    return [...out.values()].sort((a, c) => a.line - c.line);
}

/** The lines to show: those with amounts, and some around them and around the beginning of the function. */
export function shownLines(amounts: LineAmount[], startLine: number, n: number, whole: boolean): [number, number] {
    const AROUND = 8,
        numbers = amounts.map((l) => l.line).concat(startLine || []);
    if (whole || !numbers.length) return [1, n];
    const first = Math.max(Math.min(...numbers) - AROUND, 1),
        last = Math.min(Math.max(...numbers) + AROUND, n);
    return first <= last ? [first, last] : [1, n];
}

const TAB = 8;

/** Text with spaces for tabs, and marks for characters that are invisible or change the direction of the text. */
export function plainLine(text: string): string {
    let out = '';
    for (const c of text)
        if (c === '\t') out += ' '.repeat(TAB - (out.length % TAB));
        else out += /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/.test(c) ? '\ufffd' : c;
    return out;
}

// ---- links ----

/** Where a server's links to source code lead (docs/serve.md). */
export interface SourceLink {
    template: string;
    trim: string; // prefix of paths
}

/** The address of a line; '' if the template names an attribute that is not known, or is not a web address. */
export function sourceUrl(l: SourceLink, attributes: ReadonlyMap<string, string>, file: string, line: number): string {
    const path = (l.trim && file.startsWith(l.trim) ? file.slice(l.trim.length) : file).replace(/^\/+/, '');
    if (!path || /(^|\/)\.\.?(\/|$)/.test(path)) return '';
    let known = true;
    const text = l.template.replace(/\{([^{}]+)\}/g, (_, key: string) => {
        if (key === 'file') return path.split('/').map(encodeURIComponent).join('/');
        if (key === 'line') return String(line || 1);
        const value = attributes.get(key);
        if (!value || /^\.+$/.test(value)) known = false;
        return encodeURIComponent(value ?? '');
    });
    try {
        const url = new URL(text);
        return known && /^https?:$/.test(url.protocol) ? url.href : '';
    } catch {
        return '';
    }
}
