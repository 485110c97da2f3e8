// The state of the viewer in one object, and how the fragment of the page address stores it.
import { ColorBy } from './draw/palette';
import { Filter, LabelFilter } from './model/filter';
import { readPath, writePath } from './model/reference';
import { Transform, ViewParam, paramOf, readTransform, writeTransform } from './model/transforms';
import { DATED } from './model/units';

export type View = 'flame' | 'table' | 'tree' | 'sandwich' | 'chart' | 'lanes' | 'heat' | 'labels' | 'source';
export type Compare = 'off' | 'share' | 'absolute';
export const VIEWS: View[] = ['flame', 'table', 'tree', 'sandwich', 'chart', 'lanes', 'heat', 'labels', 'source'];

export interface State {
    view: View;
    /** The shown profiles (model/session.ts: Choice). */
    type: number;
    resource: string;
    one: number;
    icicle: boolean;
    order: 'name' | 'value';
    color: ColorBy;
    compare: Compare;
    search: string;
    selected: number; // frame; 0: none
    zoom: string[]; // the path from the root (model/reference.ts)
    filter: Filter;
    transforms: Transform[]; // in the order of their application
    inverted: boolean; // flame graph and call tree begin with the leaves
    window: [number, number] | null; // the range that the flame chart shows, ns after Dataset.timeBase
    sort: string; // column of the table, '-' in front: ascending
    theme: 'auto' | 'light' | 'dark';
    help: boolean;
}

export const initial = (compared: boolean): State => ({
    view: 'flame',
    type: 0,
    resource: '',
    one: -1,
    icicle: false,
    order: 'name',
    color: compared ? 'diff' : 'package',
    compare: compared ? 'share' : 'off',
    search: '',
    selected: 0,
    zoom: [],
    filter: { labels: [], time: null },
    transforms: [],
    inverted: false,
    window: null,
    sort: compared ? 'change' : 'self',
    theme: 'auto',
    help: false,
});

/** Frames in an address are references (model/reference.ts), because their numbers differ from page to page. */
export interface FrameNames {
    types: string[]; // "cpu/nanoseconds"
    typeOf: number[]; // the type of each profile
    write(frame: number): string;
    read(text: string): number;
    timeBase: bigint; // Unix ns
    dated: boolean; // times in an address are Unix ns, so that they stay valid when data are added; otherwise ns after the base
}

const writeRange = (r: [number, number], n: FrameNames): string =>
    r.map((t) => String((n.dated ? n.timeBase : 0n) + BigInt(Math.round(t)))).join('-');

/** Reads a time range of an address: two numbers. */
export function partOf(text: string | null): [bigint, bigint] | null {
    const m = /^(-?\d+)(?:\.\d+)?-(-?\d+)(?:\.\d+)?$/.exec(text ?? '');
    return m ? [BigInt(m[1]), BigInt(m[2])] : null;
}

const readRange = (text: string | null, n: FrameNames): [number, number] | null => {
    const part = partOf(text),
        unix = (t: bigint) => n.dated && (t > DATED || n.timeBase < DATED); // older reports wrote small numbers, relative to the base
    return part && (part.map((t) => Number(unix(t) ? t - n.timeBase : t)) as [number, number]);
};

/** `fallback` is the type that is shown when the address does not name one. */
export function writeFragment(s: State, compared: boolean, names: FrameNames, fallback = 0): string {
    const d = initial(compared),
        q = new URLSearchParams();
    const put = (key: string, value: string, def: string) => value !== def && q.set(key, value);
    put('view', s.view, d.view);
    put('type', names.types[s.type] ?? '', names.types[fallback] ?? '');
    put('resource', s.resource, '');
    put('profile', s.one < 0 ? '' : String(s.one), '');
    put('icicle', s.icicle ? '1' : '', '');
    put('order', s.order, d.order);
    put('color', s.color, d.color);
    put('compare', s.compare, d.compare);
    put('q', s.search, '');
    put('sel', s.selected ? names.write(s.selected) : '', '');
    for (const z of writePath(s.zoom)) q.append('zoom', z);
    for (const l of s.filter.labels) q.append(l.not ? 'not' : 'label', `${l.key}=${l.value}`);
    for (const t of s.transforms) q.append('t', writeTransform(t));
    put('invert', s.inverted ? '1' : '', '');
    if (s.filter.time) q.set('time', writeRange(s.filter.time, names));
    if (s.window) q.set('window', writeRange(s.window, names));
    put('sort', s.sort, d.sort);
    return q.toString();
}

const label = (text: string, not: boolean): LabelFilter => {
    const at = text.indexOf('=');
    return { key: text.slice(0, at), value: text.slice(at + 1), not };
};

const oneOf = <T extends string>(v: string | null, all: readonly T[], or: T): T =>
    all.includes(v as T) ? (v as T) : or;

/** The data that a fragment needs from the server. */
export interface Needs {
    times: boolean; // timestamps of observations
    attributes: boolean; // attributes of samples, or lines of code: what a tree does not have
    stacks: boolean; // every stack, not only the largest ones
    view: ViewParam | null; // a transform that the server can apply
    zoom: string[]; // the path that is shown (model/reference.ts)
    part: [bigint, bigint] | null; // only a part of the time range, Unix ns
}

export const needsTimes = (v: View): boolean => v === 'chart';

export function needsOf(fragment: string): Needs {
    const q = new URLSearchParams(fragment.replace(/^#/, '')),
        transforms = q.getAll('t').flatMap((t) => readTransform(t) ?? []),
        view = transforms.length === 1 ? paramOf(transforms[0]) : null;
    return {
        times: needsTimes(q.get('view') as View),
        attributes: ['labels', 'source'].includes(q.get('view') ?? '') || q.has('label') || q.has('not'),
        stacks: q.get('invert') === '1' || (transforms.length > 0 && !view),
        view,
        zoom: readPath(q.getAll('zoom')),
        part: partOf(q.get('time')),
    };
}

/** The fragment for a file of the samples that the labels and the time select. */
export function selectedFragment(text: string): string {
    const q = new URLSearchParams(timelessFragment(text).replace(/^#/, ''));
    for (const key of ['label', 'not']) q.delete(key);
    const rest = q.toString();
    return rest && `#${rest}`;
}

/** The fragment for other data, without the times of the old data. */
export function timelessFragment(text: string): string {
    const q = new URLSearchParams(text.replace(/^#/, ''));
    for (const key of ['time', 'window', 'type', 'resource', 'profile']) q.delete(key);
    const rest = q.toString();
    return rest && `#${rest}`;
}

export function readFragment(text: string, compared: boolean, names: FrameNames, fallback = 0): State {
    const q = new URLSearchParams(text.replace(/^#/, '')),
        d = initial(compared);
    const number = Number(q.get('profile') ?? -1),
        one = number in names.typeOf ? number : -1,
        type = one < 0 ? names.types.indexOf(q.get('type') ?? '') : names.typeOf[one];
    return {
        ...d,
        view: oneOf(q.get('view'), VIEWS, d.view),
        type: type < 0 ? fallback : type,
        resource: q.get('resource') ?? '',
        one,
        icicle: q.get('icicle') === '1',
        order: oneOf(q.get('order'), ['name', 'value'] as const, d.order),
        color: oneOf(q.get('color'), ['package', 'library', 'kind', 'function', 'diff'] as const, d.color),
        compare: compared ? oneOf(q.get('compare'), ['off', 'share', 'absolute'] as const, d.compare) : 'off',
        search: q.get('q') ?? '',
        selected: q.get('sel') ? names.read(q.get('sel')!) : 0,
        zoom: readPath(q.getAll('zoom')),
        filter: {
            labels: [...q.getAll('label').map((l) => label(l, false)), ...q.getAll('not').map((l) => label(l, true))],
            time: readRange(q.get('time'), names),
        },
        transforms: q.getAll('t').flatMap((t) => readTransform(t) ?? []),
        inverted: q.get('invert') === '1',
        window: readRange(q.get('window'), names),
        sort: q.get('sort') ?? d.sort,
    };
}

/** Applies a change of the state to a fragment: `before` and `after` are the fragments of the state, as `writeFragment` writes
 *  them for the data that are shown. Keys that did not change keep their value, which may refer to frames that the shown data
 *  do not contain: they are there again when the data are. */
export function changedFragment(text: string, before: string, after: string): string {
    const q = new URLSearchParams(text.replace(/^#/, '')),
        a = new URLSearchParams(before),
        b = new URLSearchParams(after);
    for (const key of new Set([...a.keys(), ...b.keys()])) {
        const now = b.getAll(key);
        if (JSON.stringify(a.getAll(key)) === JSON.stringify(now)) continue;
        q.delete(key);
        for (const value of now) q.append(key, value);
    }
    return q.toString();
}

/** Reuses the parts of the previous state that are equal, because views compare them by identity. */
export function sameParts(previous: State, next: State): State {
    const out = { ...next };
    for (const key of Object.keys(next) as (keyof State)[])
        if (JSON.stringify(previous[key]) === JSON.stringify(next[key])) Object.assign(out, { [key]: previous[key] });
    return out;
}

/** How a change of the fragment is recorded in the history of the browser. */
export interface Step {
    entry: boolean; // the back button undoes the change
    of: string; // the change continues an entry of the same name: typing, dragging
}

const SETTINGS = new Set(['sort', 'color', 'order', 'icicle']), // no entries
    CONTINUED = new Set(['q', 'window', 'sel']); // one entry for successive changes

export function stepOf(old: string, next: string): Step {
    const a = new URLSearchParams(old.replace(/^#/, '')),
        b = new URLSearchParams(next.replace(/^#/, '')),
        differs = (key: string) => JSON.stringify(a.getAll(key)) !== JSON.stringify(b.getAll(key)),
        keys = [...new Set([...a.keys(), ...b.keys()])].filter((key) => differs(key) && !SETTINGS.has(key));
    const one = keys.length === 1 && CONTINUED.has(keys[0]) && b.has(keys[0]);
    return { entry: keys.length > 0, of: one ? keys[0] : '' };
}
