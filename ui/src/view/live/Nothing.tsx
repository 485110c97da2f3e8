// Shown in place of a picture when there is none.
import { Results, MOST_OBSERVATIONS } from '../../live/load';
import { newestPart } from '../../live/queries';
import { EVERYTHING, absolute, spanText } from '../../live/range';
import { Selection } from '../../live/selection';
import { count } from '../../model/units';
import { FirstSteps } from './FirstSteps';

/** No profile matches the labels or the time range, or nothing is stored. */
export function Nothing(p: { sel: Selection; results: Results; go(s: Partial<Selection>): void }) {
    const { stored } = p.results;
    if (!stored)
        return (
            <div class="page">
                <FirstSteps />
            </div>
        );
    return (
        <div class="empty big" data-nothing>
            <p>No profile {p.sel.selector.matchers.length ? 'matches these labels' : ''} in this time range.</p>
            <p>
                There are profiles from {spanText(stored).replace(' – ', ' to ')}.{' '}
                <button class="link" data-do="show-all" onClick={() => p.go({ range: EVERYTHING })}>
                    Show all
                </button>
                {p.sel.selector.matchers.length > 0 && (
                    <>
                        {' '}
                        ·{' '}
                        <button
                            class="link"
                            onClick={() => p.go({ selector: { type: p.sel.selector.type, matchers: [] } })}
                        >
                            Remove the labels
                        </button>
                    </>
                )}
            </p>
        </div>
    );
}

/** Explains why a view over time has no observations: still loading, too many, or without timestamps. */
export function NoTimes(p: { results: Results; busy: boolean; go(s: Partial<Selection>): void }) {
    const { results: a } = p;
    if (a.observations > MOST_OBSERVATIONS) {
        const part = a.counts && newestPart(a.counts, MOST_OBSERVATIONS);
        return (
            <div class="empty big" data-too-many>
                <p>
                    {count(a.observations)} observations are more than the {count(MOST_OBSERVATIONS)} that this view
                    takes.
                </p>
                <p>
                    Drag over a part of the chart above
                    {part && (
                        <>
                            , or{' '}
                            <button class="link" data-do="newest" onClick={() => p.go({ range: absolute(part) })}>
                                look at the newest of it, {spanText(part)}
                            </button>
                        </>
                    )}
                    .
                </p>
            </div>
        );
    }
    return (
        <p class="empty big">
            {a.timed && !p.busy
                ? 'These samples have no timestamps: their senders sent sums.'
                : 'Loading the time of each observation …'}
        </p>
    );
}
