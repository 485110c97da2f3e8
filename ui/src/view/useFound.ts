// The frames that match the search, and their share. In a very large tree the share follows a moment later, so that
// typing and drawing do not wait for it.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Frames } from '../model/frames';
import { Table } from '../model/table';
import { Tree, matchedTotal } from '../model/tree';
import { timed } from './hooks';

export interface Found {
    match: Uint8Array | null; // by frame; null: there is no search
    list: number[]; // the functions of the tree that match, the largest total first
    total: number | null; // null: not computed yet
    nodes: number;
}

const LARGE = 2_000_000, // boxes
    LATER_MS = 80;

export function useFound(frames: Frames, tree: Tree, table: Table, search: string): Found {
    const match = useMemo(() => timed('search', () => frames.match(search)), [frames, frames.n, search]),
        list = useMemo(() => {
            if (!match) return [];
            const out = Array.from(table.frame).filter((f) => match[f]);
            return out.sort((a, b) => Math.abs(table.total[b]) - Math.abs(table.total[a]) || a - b);
        }, [match, table]),
        later = match !== null && tree.n > LARGE;
    const atOnce = useMemo(
        (): Found =>
            later || !match
                ? { match, list, total: match ? null : 0, nodes: 0 }
                : { match, list, ...timed('search', () => matchedTotal(tree, match)) },
        [match, tree],
    );
    const [counted, setCounted] = useState<{ tree: Tree; found: Found } | null>(null);
    useEffect(() => {
        if (!later) return;
        const timer = setTimeout(
            () => setCounted({ tree, found: { match, list, ...matchedTotal(tree, match) } }),
            LATER_MS,
        );
        return () => clearTimeout(timer);
    }, [match, tree]);
    return later && counted?.tree === tree && counted.found.match === match ? counted.found : atOnce;
}
