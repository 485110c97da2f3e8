// The flame tree of a selection that is too large to be loaded whole: the server sends its largest nodes within a budget of
// bytes, and the page queries more below the node that the user zooms to. The result is a dataset like that of a file. What is
// not loaded is a frame of its own, so that sums stay exact.
import { Dataset, Profile, Strings } from '../otlp/types';
import { Params, getColumns } from './client';
import { Column } from './columns';

/** A selection with more samples is queried as a tree. Others are exported whole: at most a few MB. */
export const MOST_SAMPLES = 50_000;
/** Bytes of a response before its compression: 20 000 to 50 000 boxes, more than a screen has room for. */
export const TREE_BYTES = 1 << 20;
/** The frame that stands for the nodes of a subtree that are not loaded. */
export const NOT_LOADED = '(not loaded)';

interface Answer {
    type: string;
    unit: string;
    frames: { label: string[]; file: string[]; mapping: string[] };
    nodes: { parent: Column; frame: Column; self: Column; total: Column };
    partial: boolean;
    why?: string;
}

interface Node {
    label: string;
    file: string;
    mapping: string;
    self: number;
    total: number;
    children: Node[];
}

export interface CutTree {
    type: string;
    unit: string;
    root: Node;
    nodes: number;
    folded: number; // the sum that is not loaded
    damage: string; // why the response is incomplete for another reason than its budget
}

function nodesOf(a: Answer): Node {
    const { parent, frame, self, total } = a.nodes,
        { label, file, mapping } = a.frames,
        all: Node[] = [];
    for (let i = 0; i < parent.length; i++) {
        const f = frame[i],
            known = f >= 0; // the root has none
        all.push({
            label: known ? label[f] : '',
            file: known ? file[f] : '',
            mapping: known ? mapping[f] : '',
            self: self[i],
            total: total[i],
            children: [],
        });
        if (i) all[parent[i]].children.push(all[i]);
    }
    return all[0];
}

/** Calls `visit` with every node and its path, parents first. */
function walk(root: Node, visit: (n: Node, path: Node[]) => void): void {
    const path: Node[] = [],
        open: [Node, number][] = [[root, 0]];
    while (open.length) {
        const [n, depth] = open.pop()!;
        path.length = depth;
        path.push(n);
        visit(n, path);
        for (let k = n.children.length - 1; k >= 0; k--) open.push([n.children[k], depth + 1]);
    }
}

/** What a node has that neither itself nor its loaded children show. */
const missing = (n: Node): number => n.total - n.self - n.children.reduce((sum, c) => sum + c.total, 0);

function measure(t: CutTree): CutTree {
    t.nodes = t.folded = 0;
    walk(t.root, (n) => ((t.nodes += 1), (t.folded += Math.abs(missing(n)))));
    return t;
}

const escaped = (label: string): string => label.replace(/[\\;]/g, '\\$&');

const query = (where: Params, signal: AbortSignal): Promise<Answer> =>
    getColumns<Answer>('tree', { ...where, max_bytes: TREE_BYTES }, signal);

/** `where`: the selection and the transforms. */
export async function cutTree(where: Params, signal: AbortSignal): Promise<CutTree> {
    const a = await query(where, signal),
        damage = a.partial && !a.why?.startsWith('max_bytes:') ? (a.why ?? '') : '';
    return measure({ type: a.type, unit: a.unit, root: nodesOf(a), nodes: 0, folded: 0, damage });
}

const named = (n: Node, label: string): Node[] => n.children.filter((c) => c.label === label);

/** Whether nodes are missing below a path of labels. */
export function lacks(t: CutTree, labels: string[]): boolean {
    let at = [t.root];
    for (const label of labels) at = at.flatMap((n) => named(n, label));
    let found = false;
    for (const n of at) walk(n, (m) => (found ||= missing(m) !== 0));
    return found;
}

const same = (a: Node, b: Node): boolean => a.label === b.label && a.file === b.file && a.mapping === b.mapping;

/** Replaces the nodes below a path of labels. Nodes of other paths stay as they are. */
function replaceBelow(old: Node, more: Node, labels: string[], depth: number): Node {
    if (depth === labels.length) return more;
    const children = old.children.filter((c) => c.label !== labels[depth]);
    for (const m of named(more, labels[depth])) {
        const before = old.children.find((c) => same(c, m));
        children.push(before ? replaceBelow(before, m, labels, depth + 1) : m);
    }
    return { ...old, children };
}

/** Queries the nodes below a path of labels, and returns the tree with it. null: the data have changed meanwhile. */
export async function deeper(
    t: CutTree,
    labels: string[],
    where: Params,
    signal: AbortSignal,
): Promise<CutTree | null> {
    const a = await query({ ...where, below: labels.map(escaped).join(';') }, signal),
        more = nodesOf(a);
    if (more.total !== t.root.total) return null;
    return measure({ ...t, root: replaceBelow(t.root, more, labels, 0) });
}

// ---- as a dataset ----

class Table<T> {
    readonly list: T[] = [];
    private readonly ids = new Map<string, number>();

    constructor(zero: T) {
        this.add('', () => zero);
    }

    add(key: string, make: () => T): number {
        let i = this.ids.get(key);
        if (i === undefined) {
            this.ids.set(key, (i = this.list.length));
            this.list.push(make());
        }
        return i;
    }
}

function stringsOf(list: string[]): Strings {
    const encoder = new TextEncoder(),
        parts = list.map((s) => encoder.encode(s)),
        at = new Uint32Array(list.length),
        len = Uint32Array.from(parts, (b) => b.length),
        bytes = new Uint8Array(len.reduce((n, l) => n + l, 0));
    let n = 0;
    parts.forEach((b, i) => {
        bytes.set(b, n);
        at[i] = n;
        n += b.length;
    });
    return new Strings(bytes, at, len);
}

export const UNKNOWN = '<unknown>'; // the label of a sample without a stack

/** A dataset with one sample for each node that has an amount of its own. */
export function datasetOf(t: CutTree, name: string, timeBase: bigint): Dataset {
    const strings = new Table(''),
        text = (s: string) => strings.add(s, () => s),
        files = new Table(''),
        places = new Table({ label: '', file: '', mapping: 0 });
    const location = (label: string, file: string, mapping: string) => {
        const m = files.add(mapping, () => mapping);
        return places.add(`${label}\0${file}\0${mapping}`, () => ({ label, file, mapping: m }));
    };
    const value: number[] = [],
        off = [0, 0],
        locations: number[] = [],
        known = new Map<Node, number>();
    const of = (n: Node): number => {
        let i = known.get(n);
        if (i === undefined) known.set(n, (i = location(n.label, n.file, n.mapping)));
        return i;
    };
    const add = (amount: number, path: Node[], leaf: number) => {
        if (leaf) locations.push(leaf);
        for (let k = path.length - 1; k > 0; k--)
            if (path[k].label !== UNKNOWN || path.length > 2) locations.push(of(path[k]));
        off.push(locations.length);
        value.push(amount);
    };
    walk(t.root, (n, path) => {
        if (n.self) add(n.self, path, 0);
        const rest = missing(n);
        if (rest) add(rest, path, location(NOT_LOADED, '', ''));
    });
    const { list } = places,
        n = list.length,
        count = value.length,
        zeros = (k: number) => new Uint32Array(k),
        column = (of: (p: (typeof list)[0], i: number) => number) => Uint32Array.from(list, of);
    const profile: Profile = {
        type: t.type,
        unit: t.unit,
        periodType: '',
        periodUnit: '',
        period: 0,
        startUnixNs: timeBase,
        durationNs: 0,
        id: '',
        resource: 0,
        scope: '',
        attributes: [],
        original: { format: '', bytes: 0 },
        pieces: [],
        n: count,
        stack: Uint32Array.from(value, (_, i) => i + 1),
        link: zeros(count),
        value: Float64Array.from(value),
        attributeOff: zeros(count + 1),
        attribute: zeros(0),
        timeOff: zeros(count + 1),
        time: new Float64Array(0),
        timeValue: new Float64Array(0),
        total: BigInt(Math.round(t.root.total)),
    };
    const names = column((p) => text(p.label)),
        filenames = column((p) => text(p.file));
    return {
        name,
        dict: {
            mappings: files.list.map((f) => ({ start: 0n, limit: 0n, offset: 0n, filename: text(f), attributes: [] })),
            functions: { n, name: names, systemName: zeros(n), filename: filenames, startLine: zeros(n) },
            locations: {
                n,
                mapping: column((p) => p.mapping),
                addressLo: zeros(n),
                addressHi: zeros(n),
                lineOff: Uint32Array.from({ length: n + 1 }, (_, i) => Math.max(i - 1, 0)), // location 0 has none
                lineFunction: column((_, i) => i).slice(1),
                line: zeros(Math.max(n - 1, 0)),
                column: zeros(Math.max(n - 1, 0)),
                attributeOff: zeros(n + 1),
                attributes: zeros(0),
            },
            stacks: { n: count + 1, off: Uint32Array.from(off), locations: Uint32Array.from(locations) },
            attributes: [{ key: 0, unit: 0, value: null }],
            links: [{ trace: '', span: '' }],
            strings: stringsOf(strings.list),
        },
        resources: [{ attributes: [] }],
        profiles: [profile],
        timeBase,
        ownDefault: true,
    };
}
