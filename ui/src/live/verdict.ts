// Queries whether two selections differ in cost by more than noise. The server decides by the rules of kiln diff.
import { getColumns } from './client';
import { Column } from './columns';
import { Base } from './load';
import { where } from './queries';
import { Span, writeTime } from './range';
import { Selector, writeSelector } from './selector';

export interface Change {
    name: string;
    before: number; // scaled to the sum of the other side
    after: number;
    grew: boolean;
    moved: boolean; // grew by the amount that another function shrank: inlined or renamed
    q: number; // the false discovery rate at which the change is significant
}

export interface Verdict {
    sentence: string; // the comparison, its unit, the change, and the confidence
    changed: Change[]; // by self or total, the most significant first
    tests: number;
    fdr: number;
    untested: string; // why nothing was tested; '': it was tested
    partial: boolean;
    why: string;
}

interface Raw {
    sentence: string;
    scale: number;
    fdr: number;
    tests: number;
    untested: string;
    frames: { label: string[] };
    rows: Record<
        'frame' | 'flat_before' | 'flat_after' | 'cum_before' | 'cum_after' | 'flat_q' | 'cum_q' | 'flat' | 'cum' | 'moved',
        Column
    >;
    changed: number;
    verdicts: string[];
    partial: boolean;
    why?: string;
}

export async function verdictOf(s: Selector, span: Span, base: Base, signal?: AbortSignal): Promise<Verdict> {
    const a = await getColumns<Raw>(
        'diff',
        {
            ...where(s, span),
            base_query: writeSelector(base.selector),
            base_start: writeTime(base.span[0]),
            base_end: writeTime(base.span[1]),
        },
        signal,
    );
    const { rows: r } = a,
        word = (c: Column, i: number) => a.verdicts[c[i]];
    const changed = Array.from({ length: a.changed }, (_, i): Change => {
        const own = ['grew', 'shrank'].includes(word(r.flat, i));
        return {
            name: a.frames.label[r.frame[i]],
            before: (own ? r.flat_before[i] : r.cum_before[i]) * a.scale,
            after: own ? r.flat_after[i] : r.cum_after[i],
            grew: word(own ? r.flat : r.cum, i) === 'grew',
            moved: !!r.moved[i],
            q: own ? r.flat_q[i] : r.cum_q[i],
        };
    });
    const sentence = a.sentence.replace(/-(?=\d)/g, '−').replace(/ %/g, '%'), // written as the page writes shares
        { tests, fdr, untested, partial } = a;
    return { sentence, changed, tests, fdr, untested, partial, why: a.why ?? '' };
}
