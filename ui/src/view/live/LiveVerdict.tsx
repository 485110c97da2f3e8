// The changes in cost that exceed noise, in total and by function. Shown above the views of a comparison.
import { Results, timeOf } from '../../live/load';
import { withLabels } from '../../live/selector';
import { verdictOf } from '../../live/verdict';
import { LabelFilter } from '../../model/filter';
import { count, signedPercent, withUnit } from '../../model/units';
import { shortName } from '../../draw/label';
import { useQuery } from './useQuery';

const SHOWN = 6;

export interface VerdictProps {
    results: Results;
    labels: LabelFilter[];
    again: number;
    onFrame(name: string): void;
    onError(e: unknown): void;
}

export function LiveVerdict(p: VerdictProps) {
    const { span, base, unit } = p.results,
        selector = withLabels(p.results.selector, p.labels),
        against = { ...base!, selector: withLabels(base!.selector, p.labels) };
    const { result, error, stale } = useQuery({
            subject: JSON.stringify(['diff', selector, timeOf(p.results), against.selector, against.name]),
            version: JSON.stringify(['diff', selector, span, against.selector, against.span]),
            again: p.again,
            run: (signal) => verdictOf(selector, span!, against, signal),
            onError: p.onError,
        }),
        v = stale ? null : result;
    const rate = v && `${Math.round(v.fdr * 100)}% false discoveries, ${count(v.tests)} tests`;
    return (
        <div class="verdict" role="status" data-verdict={v ? v.changed.length : ''}>
            {error ? (
                `Changes were not tested: ${error}.`
            ) : !v ? (
                'Testing changes …'
            ) : v.untested ? (
                `Changes were not tested: ${v.untested}.`
            ) : !v.changed.length ? (
                <span title={rate!}>
                    {v.sentence}{v.partial ? `, incomplete: ${v.why}` : ''}.
                </span>
            ) : (
                <>
                    <span title={rate!}>{v.sentence}. By function:</span>
                    {v.changed.slice(0, SHOWN).map((c) => (
                        <button
                            key={c.name}
                            data-sign={c.moved ? '' : c.grew ? 'up' : 'down'}
                            title={`${c.name}: ${withUnit(Math.round(c.before), unit)} → ${withUnit(c.after, unit)}`}
                            onClick={() => p.onFrame(c.name)}
                        >
                            <b>{shortName(c.name)}</b>{' '}
                            {c.moved ? 'moved' : c.before ? signedPercent(c.after - c.before, c.before) : 'new'}
                        </button>
                    ))}
                    {v.changed.length > SHOWN && <span>and {count(v.changed.length - SHOWN)} more</span>}
                    {v.partial && <span>, incomplete: {v.why}</span>}
                </>
            )}
        </div>
    );
}
