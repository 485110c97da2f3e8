// Transforms of stacks, as the Firefox Profiler has them: each changes the frames of every stack, or drops stacks, before
// the tree is built. They apply in the order in which they were chosen. `kiln` has the same operations as options
// (docs/query.md), in a fixed order.
//
// A frame is identified by its name, so that a link is valid in other pages, and frames of one name are treated alike,
// as in `kiln top`.
import { Frames } from './frames';

export type Kind =
    | 'function' // removes the callers of the outermost call, and stacks without one
    | 'subtree' // only stacks that begin with a path; removes the path except its end
    | 'callers' // only stacks that end with a path, as a subtree of the inverted tree
    | 'with' // only stacks with the function
    | 'search' // only stacks with a frame that matches a search
    | 'package' // only frames of a package
    | 'library' // only frames of a library
    | 'category' // only frames of a category: profile.frame.type
    | 'merge' // removes the function; its callers get its values
    | 'drop' // drops stacks with the function
    | 'collapse' // removes everything that the function calls; it gets the values
    | 'resource' // adjacent frames of a library become one
    | 'recursion' // all calls of the function become one, without the calls in between
    | 'direct'; // direct calls of the function by itself become one

export interface Transform {
    kind: Kind;
    name: string; // of a frame, a package, a library or a category, or the text of a search
    path: string; // of a subtree: the number of its frames and their hash; otherwise ''
}

/** Changes a stack of n frames, root first, in place and returns the new length; -1: the stack is dropped. `lines` is
 *  changed in the same way. */
export type Reshape = (stack: number[], n: number, lines?: number[]) => number;

// ---- in links ----

const CODES: Record<Kind, string> = {
    function: 'f',
    subtree: 's',
    callers: 'u',
    with: 'w',
    search: 'q',
    package: 'p',
    library: 'l',
    merge: 'm',
    drop: 'd',
    collapse: 'c',
    resource: 'L',
    category: 'k',
    recursion: 'R',
    direct: 'r',
};
const KINDS = new Map(Object.entries(CODES).map(([kind, code]) => [code, kind as Kind]));

const hasPath = (k: Kind): boolean => k === 'subtree' || k === 'callers';

/** "m.malloc", "s.12.1x9f2k.main" */
export const writeTransform = (t: Transform): string => [CODES[t.kind], ...(t.path ? [t.path] : []), t.name].join('.');

/** Returns null for text that is not a transform. */
export function readTransform(text: string): Transform | null {
    const kind = KINDS.get(text[0]);
    if (!kind || text[1] !== '.') return null;
    if (!hasPath(kind)) return text.length > 2 ? { kind, name: text.slice(2), path: '' } : null;
    const m = /^..(\d+\.[0-9a-z]+)\.(.+)$/s.exec(text);
    return m && { kind, name: m[2], path: m[1] };
}

// ---- paths ----

const START = 0x811c9dc5;
const step = (h: number, x: number): number => {
    h = Math.imul(h ^ x, 0x01000193);
    return h ^ (h >>> 15);
};

function labelHash(label: string): number {
    let h = START;
    for (let i = 0; i < label.length; i++) h = Math.imul(h ^ label.charCodeAt(i), 0x01000193);
    return h;
}

/** A path of a link is a hash, because the names of all frames of a deep stack would make a long address. */
const pathText = (n: number, hash: number): string => `${n}.${(hash >>> 0).toString(36)}`;

/** Focuses on the node at the end of `path`, frames from the root of the shown tree. */
export function subtreeOf(frames: Frames, path: number[], inverted: boolean): Transform {
    let h = START;
    for (const f of path) h = step(h, labelHash(frames.name[f]));
    return {
        kind: inverted ? 'callers' : 'subtree',
        name: frames.name[path[path.length - 1]],
        path: pathText(path.length, h),
    };
}

// ---- steps ----

/** Moves a frame of the stack to the front. */
function move(stack: number[], lines: number[] | undefined, to: number, from: number): void {
    stack[to] = stack[from];
    if (lines) lines[to] = lines[from];
}

/** Keeps the frames from `at`. */
function cutFront(stack: number[], n: number, at: number, lines?: number[]): number {
    if (at) for (let i = at; i < n; i++) move(stack, lines, i - at, i);
    return n - at;
}

/** Keeps the marked frames, or with `kept` = 0 the others. A stack without remaining frames is dropped. */
const keep =
    (mark: Uint8Array, kept: number): Reshape =>
    (stack, n, lines) => {
        let m = 0;
        for (let i = 0; i < n; i++) if (mark[stack[i]] === kept) move(stack, lines, m++, i);
        return m || -1;
    };

/** The position of the outermost marked frame; -1: none. */
function outermostOf(mark: Uint8Array, stack: number[], n: number): number {
    for (let i = 0; i < n; i++) if (mark[stack[i]]) return i;
    return -1;
}

function onPath(frames: Frames, t: Transform): Reshape {
    const [depth, hash] = t.path.split('.'),
        most = Number(depth),
        wanted = parseInt(hash, 36) | 0,
        of = Int32Array.from(frames.name, labelHash),
        fromLeaf = t.kind === 'callers';
    return (stack, n, lines) => {
        if (n < most || !most) return -1;
        let h = START;
        for (let i = 0; i < most; i++) h = step(h, of[stack[fromLeaf ? n - 1 - i : i]]);
        if ((h | 0) !== wanted) return -1;
        return fromLeaf ? n - most + 1 : cutFront(stack, n, most - 1, lines);
    };
}

/** Replaces adjacent frames of a library by one frame, which is named like the library. */
const intoLibrary =
    (of: Uint8Array, one: number): Reshape =>
    (stack, n, lines) => {
        let m = 0;
        for (let i = 0; i < n; i++) {
            const f = of[stack[i]] ? one : stack[i];
            if (f === one && m && stack[m - 1] === one) continue;
            move(stack, lines, m, i);
            if (f === one && lines) lines[m] = 0;
            stack[m++] = f;
        }
        return m;
    };

/** Of the calls of a marked frame, the outermost stays, with the callees of the innermost. */
const withoutLoops =
    (mark: Uint8Array): Reshape =>
    (stack, n, lines) => {
        let m = 0,
            first = -1;
        for (let i = 0; i < n; i++) {
            const again = mark[stack[i]] && first >= 0;
            if (mark[stack[i]] && !again) first = m;
            if (again) m = first + 1;
            else move(stack, lines, m++, i);
        }
        return m;
    };

const withoutRecursion =
    (mark: Uint8Array): Reshape =>
    (stack, n, lines) => {
        let m = 0;
        for (let i = 0; i < n; i++) if (!m || !mark[stack[i]] || !mark[stack[m - 1]]) move(stack, lines, m++, i);
        return m;
    };

/** The frame of a collapsed library, with the label that `kiln` prints. */
const libraryFrame = (frames: Frames, library: string): number =>
    frames.intern(library[0] === '[' ? library : `[${library}]`, '', library, '', '', -1);

function stepOf(frames: Frames, t: Transform, noStack: number): Reshape {
    const mark = (column: string[]) => Uint8Array.from(column, (x, f) => Number(f > 0 && x === t.name));
    /** Frames that stay when others are removed: a sample without a stack has no frame to remove. */
    const orNoStack = (m: Uint8Array, value: number) => ((m[noStack] = value), m);
    switch (t.kind) {
        case 'subtree':
        case 'callers':
            return onPath(frames, t);
        case 'package':
            return keep(orNoStack(mark(frames.package), 1), 1);
        case 'library':
            return keep(orNoStack(mark(frames.library), 1), 1);
        case 'merge':
            return keep(orNoStack(mark(frames.name), 0), 0);
        case 'resource':
            return intoLibrary(mark(frames.library), libraryFrame(frames, t.name));
        case 'category':
            return keep(orNoStack(mark(frames.kind), 1), 1);
        case 'recursion':
            return withoutLoops(mark(frames.name));
        case 'direct':
            return withoutRecursion(mark(frames.name));
    }
    const of = t.kind === 'search' ? frames.match(t.name) : mark(frames.name);
    if (!of) return (_, n) => n; // an empty search
    switch (t.kind) {
        case 'function':
            return (stack, n, lines) => {
                const at = outermostOf(of, stack, n);
                return at < 0 ? -1 : cutFront(stack, n, at, lines);
            };
        case 'drop':
            return (stack, n) => (outermostOf(of, stack, n) < 0 ? n : -1);
        case 'collapse':
            return (stack, n) => {
                const at = outermostOf(of, stack, n);
                return at < 0 ? n : at + 1;
            };
        default:
            return (stack, n) => (outermostOf(of, stack, n) < 0 ? -1 : n);
    }
}

/** Combines transforms. `noStack` is the frame of a sample without a stack. null: there are none. */
export function reshapeOf(list: Transform[], frames: Frames, noStack: number): Reshape | null {
    if (!list.length) return null;
    for (const t of list) if (t.kind === 'resource') libraryFrame(frames, t.name); // before marks by frame are made
    const steps = list.map((t) => stepOf(frames, t, noStack));
    return (stack, n, lines) => {
        for (const s of steps) if ((n = s(stack, n, lines)) < 0) return -1;
        return n;
    };
}

// ---- for people ----

/** The text of a breadcrumb: the action and its object. */
export const ACTIONS: Record<Kind, string> = {
    function: 'Focus on',
    subtree: 'Only subtree of',
    callers: 'Only callers of',
    with: 'Only stacks with',
    search: 'Only stacks that match',
    package: 'Only package',
    library: 'Only library',
    merge: 'Merged',
    drop: 'Dropped',
    collapse: 'Collapsed',
    resource: 'Collapsed library',
    category: 'Only category',
    recursion: 'Collapsed recursion of',
    direct: 'Collapsed direct recursion of',
};

const OPTIONS: Partial<Record<Kind, string>> = {
    function: 'show-from',
    with: 'focus',
    library: 'show',
    merge: 'hide',
    drop: 'ignore',
    collapse: 'collapse',
    resource: 'collapse-library',
    category: 'focus-category',
    recursion: 'collapse-recursion',
    direct: 'collapse-direct-recursion',
};

const escaped = (s: string): string => s.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');

/** The option of `kiln top` and other commands with the same effect, or '' if there is none: paths, packages, searches and
 *  addresses without names have none by themselves (model/command_option.ts). */
export function optionOf(t: Transform, frames: Frames): string {
    const option = OPTIONS[t.kind];
    const known = ofFile(t) || t.kind === 'category' || (!isNameless(t.name) && frames.name.includes(t.name));
    if (!option || !known) return '';
    return `--${option} '${patternOf(t).replaceAll("'", `'\\''`)}'`;
}

const ofFile = (t: Transform): boolean => t.kind === 'library' || t.kind === 'resource',
    patternOf = (t: Transform): string => (ofFile(t) ? `(^|/)${escaped(t.name)}$` : `^${escaped(t.name)}$`);

const NAMELESS = /^\[|^<unknown>$|^\?$|(^|[ +])0x[0-9a-f]+$/;

/** Whether a name is made up because there is no function. */
export const isNameless = (name: string): boolean => NAMELESS.test(name);

/** A parameter of the query API with the same effect. */
export interface ViewParam {
    transform: string; // as in an address
    key: string;
    pattern: string;
}

/** Returns null if there is none. */
export function paramOf(t: Transform): ViewParam | null {
    const option = OPTIONS[t.kind];
    if (!option || (!ofFile(t) && isNameless(t.name))) return null;
    return { transform: writeTransform(t), key: option.replaceAll('-', '_'), pattern: patternOf(t) };
}
