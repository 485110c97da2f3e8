// The neighbours, lines and binary of one frame.
import { Profile } from '../otlp/types';
import { Filter } from './filter';
import { Bound } from './frames';
import { Session } from './session';
import { LineAmount, linesOf } from './source';
import { Reshape } from './transforms';
import { Tree } from './tree';

export interface Details {
    callers: { frame: number; value: number }[];
    callees: { frame: number; value: number }[];
    lines: LineAmount[];
    buildId: string;
}

const LONGEST = 8;

const largest = (m: Map<number, number>) =>
    [...m]
        .map(([frame, value]) => ({ frame, value }))
        .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
        .slice(0, LONGEST);

function buildIdOf(b: Bound, frame: number): string {
    const { locations, mappings, attributes, strings } = b.set.dict;
    for (let i = 0; i + 1 < b.off.length; i++)
        for (let k = b.off[i]; k < b.off[i + 1]; k++) {
            if (b.frame[k] !== frame) continue;
            const m = mappings[locations.mapping[i]];
            for (const a of m?.attributes ?? [])
                if (strings.get(attributes[a]?.key ?? 0).includes('build_id')) return String(attributes[a].value);
            return '';
        }
    return '';
}

export function detailsOf(
    s: Session,
    p: Profile,
    filter: Filter,
    t: Tree,
    frame: number,
    reshape: Reshape | null = null,
): Details {
    const callers = new Map<number, number>(),
        callees = new Map<number, number>();
    for (let i = 1; i < t.n; i++) {
        const up = t.parent[i];
        if (t.frame[i] === frame && up > 0) callers.set(t.frame[up], (callers.get(t.frame[up]) ?? 0) + t.total[i]);
        if (up > 0 && t.frame[up] === frame) callees.set(t.frame[i], (callees.get(t.frame[i]) ?? 0) + t.total[i]);
    }
    callers.delete(frame);
    callees.delete(frame);
    return {
        callers: largest(callers),
        callees: largest(callees),
        lines: linesOf(s.main, p, filter, frame, reshape)
            .sort((a, b) => b.total - a.total)
            .slice(0, LONGEST)
            .sort((a, b) => a.line - b.line),
        buildId: buildIdOf(s.main, frame),
    };
}
