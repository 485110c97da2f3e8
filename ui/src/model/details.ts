// The neighbours, lines and binary of one frame.
import { Profile } from '../otlp/types';
import { Filter, stackWeights } from './filter';
import { Bound, stackFrames } from './frames';
import { Session } from './session';
import { Reshape } from './transforms';
import { Tree } from './tree';

export interface Details {
    callers: { frame: number; value: number }[];
    callees: { frame: number; value: number }[];
    lines: { line: number; self: number; total: number }[];
    buildId: string;
}

const LONGEST = 8;

const largest = (m: Map<number, number>) =>
    [...m]
        .map(([frame, value]) => ({ frame, value }))
        .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
        .slice(0, LONGEST);

/** Values by source line: each line of the frame counts once per stack in `total`. */
function linesOf(b: Bound, p: Profile, filter: Filter, frame: number, reshape: Reshape | null): Details['lines'] {
    const { off, locations } = b.set.dict.stacks,
        out = new Map<number, { line: number; self: number; total: number }>(),
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
    return [...out.values()]
        .sort((a, b2) => b2.total - a.total)
        .slice(0, LONGEST)
        .sort((a, b2) => a.line - b2.line);
}

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
        lines: linesOf(s.main, p, filter, frame, reshape),
        buildId: buildIdOf(s.main, frame),
    };
}
