// The option of `kiln top` and other commands that has the effect of a transform.
import { shellQuote } from './command';
import { Frames } from './frames';
import { Transform, isNameless, optionOf, reshapeOf } from './transforms';
import { Tree, pathOf } from './tree';

const LONGEST = 8000; // characters that a terminal takes in one line

const escaped = (s: string): string => s.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');

/** Returns a pattern that matches the marked frames and no others, by name or by binary; null: there is none. `files`: the mapped
 *  files. */
function patternFor(wanted: Uint8Array, frames: Frames, files: string[]): string | null {
    const names = new Set<string>(),
        libraries = new Set<string>();
    for (let f = 1; f < frames.n; f++) {
        if (!wanted[f]) continue;
        if (!isNameless(frames.name[f])) names.add(frames.name[f]);
        else if (frames.library[f]) libraries.add(frames.library[f]);
        else return null;
    }
    const inLibrary = (f: number) => libraries.has(frames.library[f]);
    for (let f = 1; f < frames.n; f++)
        if (!wanted[f] && (names.has(frames.name[f]) || names.has(frames.file[f]) || inLibrary(f))) return null;
    if (files.some((file) => names.has(file))) return null;
    const parts = [
        ...(libraries.size ? [`(^|/)(${[...libraries].map(escaped).join('|')})$`] : []),
        ...(names.size ? [`^(${[...names].map(escaped).join('|')})$`] : []),
    ];
    return parts.length ? parts.join('|') : null;
}

/** Text that is found ignoring case, if it occurs in no file that a pattern also matches. */
function shortSearch(text: string, frames: Frames, files: string[]): string | null {
    const q = text.trim().toLowerCase();
    if (/^\/.+\/$/.test(q) || /[^\x20-\x7e]/.test(q)) return null; // a regular expression; other cases of letters
    const inName = frames.match(text)!;
    const elsewhere = (s: string) => s.toLowerCase().includes(q);
    for (let f = 1; f < frames.n; f++)
        if ((inName[f] && isNameless(frames.name[f])) || (!inName[f] && elsewhere(frames.file[f]))) return null;
    return files.some(elsewhere) ? null : `(?i)${escaped(text.trim())}`;
}

/** The labels of a path, from the root; null: a frame has no name, and the command calls it otherwise. */
function pathLabels(t: Transform, frames: Frames, tree: Tree, noStack: number): string | null {
    const most = parseInt(t.path, 10),
        fits = reshapeOf([t], frames, noStack)!;
    for (let i = 1; i < tree.n; i++) {
        if (t.kind === 'subtree' && tree.depth[i] !== most) continue;
        const path = pathOf(tree, i).map((k) => tree.frame[k]);
        if (path.length < most || fits([...path], path.length) < 0) continue;
        const of = (t.kind === 'subtree' ? path : path.slice(-most)).map((f) => frames.name[f]);
        return of.some(isNameless) ? null : of.map((s) => s.replace(/[\\;]/g, '\\$&')).join(';');
    }
    return null;
}

/** Returns the option, quoted for a shell; '': there is none. `tree` is the tree before the transform, `files` are the mapped
 *  files. */
export function commandOption(t: Transform, frames: Frames, tree: Tree, noStack: number, files: string[]): string {
    const exact = optionOf(t, frames);
    if (exact) return exact;
    let name = '',
        value: string | null = null;
    if (t.kind === 'subtree' || t.kind === 'callers') {
        name = t.kind === 'subtree' ? 'begins-with' : 'ends-with';
        value = pathLabels(t, frames, tree, noStack);
    } else if (t.kind === 'package') {
        name = 'show';
        value = patternFor(
            Uint8Array.from(frames.package, (p, f) => Number(f > 0 && p === t.name)),
            frames,
            files,
        );
    } else if (t.kind === 'search') {
        name = 'focus';
        const wanted = frames.match(t.name);
        value = wanted && (shortSearch(t.name, frames, files) ?? patternFor(wanted, frames, files));
    }
    return value && value.length <= LONGEST ? `--${name} ${shellQuote(value)}` : '';
}
