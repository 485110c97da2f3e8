// The neighbours, lines and binary of one frame.
import { Profile } from '../otlp/types';
import { Filter, labelTest, sampleWeight } from './filter';
import { Bound } from './frames';
import { Session } from './session';
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
function linesOf(b: Bound, p: Profile, filter: Filter, frame: number): Details['lines'] {
    const { off, locations } = b.set.dict.stacks,
        passes = labelTest(b.set, p, filter.labels);
    const out = new Map<number, { line: number; self: number; total: number }>(),
        seen = new Set<number>();
    const has = new Uint8Array(b.off.length); // by location: 1 if the frame has a line in it
    for (let i = 0; i + 1 < b.off.length; i++)
        for (let k = b.off[i]; k < b.off[i + 1]; k++) if (b.frame[k] === frame && b.line[k]) has[i] = 1;
    if (!has.includes(1)) return [];
    for (let i = 0; i < p.n; i++) {
        const s = p.stack[i];
        if (s >= b.set.dict.stacks.n || !passes(i)) continue;
        let w = 0,
            found = false;
        for (let k = off[s]; k < off[s + 1]; k++) {
            const at = locations[k];
            if (!has[at]) continue;
            if (!found) {
                found = true;
                seen.clear();
                w = sampleWeight(p, i, filter.time);
            }
            for (let q = b.off[at]; q < b.off[at + 1]; q++) {
                if (b.frame[q] !== frame || !b.line[q]) continue;
                const line = b.line[q];
                let entry = out.get(line);
                if (!entry) out.set(line, (entry = { line, self: 0, total: 0 }));
                if (k === off[s] && q === b.off[at]) entry.self += w;
                if (!seen.has(line)) entry.total += w;
                seen.add(line);
            }
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

export function detailsOf(s: Session, p: Profile, filter: Filter, t: Tree, frame: number): Details {
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
        lines: linesOf(s.main, p, filter, frame),
        buildId: buildIdOf(s.main, frame),
    };
}
