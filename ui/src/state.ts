// What a page shows, in one object; all of it that a link should carry is in the fragment of the address.
import { ColorBy } from './draw/palette';
import { Filter, LabelFilter } from './model/filter';

export type View = 'flame' | 'table' | 'sandwich' | 'chart' | 'heat' | 'labels';
export type Compare = 'off' | 'share' | 'absolute';
export const VIEWS: View[] = ['flame', 'table', 'sandwich', 'chart', 'heat', 'labels'];

export interface State {
    view: View;
    profile: number;
    icicle: boolean;
    order: 'name' | 'value';
    color: ColorBy;
    compare: Compare;
    search: string;
    selected: number; // frame; 0: none
    zoom: number[]; // frames from the root
    filter: Filter;
    window: [number, number] | null; // what the flame chart shows, ns
    sort: string; // column of the table, '-' in front: ascending
    theme: 'auto' | 'light' | 'dark';
    help: boolean;
}

export const initial = (compared: boolean): State => ({
    view: 'flame',
    profile: 0,
    icicle: false,
    order: 'name',
    color: compared ? 'diff' : 'package',
    compare: compared ? 'share' : 'off',
    search: '',
    selected: 0,
    zoom: [],
    filter: { labels: [], time: null },
    window: null,
    sort: compared ? 'change' : 'self',
    theme: 'auto',
    help: false,
});

/** A frame has no number that another page would know: its name and file stand for it. */
export interface FrameNames {
    write(frame: number): string;
    read(text: string): number;
}

const range = (t: string | null): [number, number] | null => {
    const m = /^(-?[\d.]+)-(-?[\d.]+)$/.exec(t ?? '');
    return m ? [Number(m[1]), Number(m[2])] : null;
};

export function writeFragment(s: State, compared: boolean, names: FrameNames): string {
    const d = initial(compared),
        q = new URLSearchParams();
    const put = (key: string, value: string, def: string) => value !== def && q.set(key, value);
    put('view', s.view, d.view);
    put('profile', String(s.profile), '0');
    put('icicle', s.icicle ? '1' : '', '');
    put('order', s.order, d.order);
    put('color', s.color, d.color);
    put('compare', s.compare, d.compare);
    put('q', s.search, '');
    put('sel', s.selected ? names.write(s.selected) : '', '');
    for (const f of s.zoom) q.append('zoom', names.write(f));
    for (const l of s.filter.labels) q.append(l.not ? 'not' : 'label', `${l.key}=${l.value}`);
    if (s.filter.time) q.set('time', s.filter.time.join('-'));
    if (s.window) q.set('window', s.window.join('-'));
    put('sort', s.sort, d.sort);
    return q.toString();
}

const label = (text: string, not: boolean): LabelFilter => {
    const at = text.indexOf('=');
    return { key: text.slice(0, at), value: text.slice(at + 1), not };
};

const oneOf = <T extends string>(v: string | null, all: readonly T[], or: T): T =>
    all.includes(v as T) ? (v as T) : or;

/** Does what the fragment asks for need the time of each observation? */
export const needsTime = (s: { view: View; filter: Filter }): boolean =>
    s.view === 'chart' || s.view === 'heat' || s.filter.time !== null;

export const fragmentNeedsTime = (text: string): boolean => {
    const q = new URLSearchParams(text.replace(/^#/, ''));
    return q.has('time') || ['chart', 'heat'].includes(q.get('view') ?? '');
};

/** The fragment for other data: what belonged to moments of the old one is left out. */
export function timelessFragment(text: string): string {
    const q = new URLSearchParams(text.replace(/^#/, ''));
    for (const key of ['time', 'window', 'profile']) q.delete(key);
    const rest = q.toString();
    return rest && `#${rest}`;
}

export function readFragment(text: string, compared: boolean, nProfiles: number, names: FrameNames): State {
    const q = new URLSearchParams(text.replace(/^#/, '')),
        d = initial(compared);
    const p = Number(q.get('profile') ?? 0);
    return {
        ...d,
        view: oneOf(q.get('view'), VIEWS, d.view),
        profile: Number.isInteger(p) && p >= 0 && p < nProfiles ? p : 0,
        icicle: q.get('icicle') === '1',
        order: oneOf(q.get('order'), ['name', 'value'] as const, d.order),
        color: oneOf(q.get('color'), ['package', 'library', 'kind', 'function', 'diff'] as const, d.color),
        compare: compared ? oneOf(q.get('compare'), ['off', 'share', 'absolute'] as const, d.compare) : 'off',
        search: q.get('q') ?? '',
        selected: q.get('sel') ? names.read(q.get('sel')!) : 0,
        zoom: q.getAll('zoom').map((z) => names.read(z)),
        filter: {
            labels: [...q.getAll('label').map((l) => label(l, false)), ...q.getAll('not').map((l) => label(l, true))],
            time: range(q.get('time')),
        },
        window: range(q.get('window')),
        sort: q.get('sort') ?? d.sort,
    };
}
