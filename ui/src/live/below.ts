// The session of a tree that the server cut, and more of the tree where the user zooms to.
import { Session } from '../model/session';
import { noFilter } from '../model/filter';
import { Choice } from '../model/session';
import { pathOf } from '../model/tree';
import { Trunk } from './load';
import { UNKNOWN, datasetOf, deeper, lacks } from './tree';

const ONLY: Choice = { type: 0, resource: '', one: -1 };

export interface Grown {
    tree: Trunk;
    session: Session | null; // null: there are no samples
}

function sessionOf(t: Trunk, name: string, timeBase: bigint): Session | null {
    const set = datasetOf(t.cut, name, timeBase);
    if (!set.profiles[0].n) return null;
    const session = new Session(set, null);
    session.names.dated = true;
    return session;
}

/** The labels of a path, as the server has them. */
function labelsTo(s: Session, zoom: string[]): string[] {
    const { tree } = s.tree(ONLY, noFilter, 'off', 'name'),
        { strings, functions, locations } = s.main.set.dict,
        label = new Map([[s.main.noStack, UNKNOWN]]);
    for (let i = 1; i < locations.n; i++)
        label.set(s.main.frame[s.main.off[i]], strings.get(functions.name[locations.lineFunction[locations.lineOff[i]]]));
    return pathOf(tree, s.refs.follow(tree, zoom)).map((i) => label.get(tree.frame[i])!);
}

/** Returns a session of the tree, with more of it below the node at the end of `zoom` if nodes are missing there. */
export async function below(
    t: Trunk,
    zoom: string[],
    name: string,
    timeBase: bigint,
    signal: AbortSignal,
): Promise<Grown> {
    const session = sessionOf(t, name, timeBase),
        grown = session && (await grow({ tree: t, session }, zoom, signal));
    return grown ?? { tree: t, session };
}

/** Returns null if nothing is missing there, or cannot be added. */
export async function grow(g: Grown, zoom: string[], signal: AbortSignal): Promise<Grown | null> {
    const s = g.session,
        labels = s && zoom.length && g.tree.cut.folded ? labelsTo(s, zoom) : [];
    if (!s || !labels.length || !lacks(g.tree.cut, labels)) return null;
    const cut = await deeper(g.tree.cut, labels, g.tree.params, signal);
    if (!cut || cut.nodes === g.tree.cut.nodes) return null;
    const tree = { ...g.tree, cut };
    return { tree, session: sessionOf(tree, s.main.set.name, s.names.timeBase) };
}
