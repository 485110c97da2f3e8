// What stands where a picture would, when there is none.
import { Answer, MOST_OBSERVATIONS } from '../../live/load';
import { newestPart } from '../../live/questions';
import { EVERYTHING, absolute, spanText } from '../../live/range';
import { Selection } from '../../live/selection';
import { count } from '../../model/units';

/** Nothing is selected: because of the labels, because of the time, or because nothing is stored. */
export function Nothing(p: { sel: Selection; answer: Answer; go(s: Partial<Selection>): void }) {
    const { stored } = p.answer;
    if (!stored)
        return (
            <div class="empty big first">
                <h2>Nothing is stored yet.</h2>
                <p>Drop a profile of any format here, or send some:</p>
                <pre>
                    {`kiln send profile.pb.gz --to ${location.origin}
kiln run --to ${location.origin} -- ./program
OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT=${location.origin}/v1development/profiles`}
                </pre>
                <p>What arrives is shown here.</p>
            </div>
        );
    return (
        <div class="empty big" data-nothing>
            <p>Nothing {p.sel.selector.matchers.length ? 'fits these labels' : ''} in this time.</p>
            <p>
                There is something from {spanText(stored).replace(' – ', ' to ')}.{' '}
                <button class="link" data-do="show-all" onClick={() => p.go({ range: EVERYTHING })}>
                    Show all of it
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

/** The views of time want every observation: not there yet, too many, or without times. */
export function NoTimes(p: { answer: Answer; busy: boolean; go(s: Partial<Selection>): void }) {
    const { answer: a } = p;
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
                ? 'These samples have no times of their own: their senders gave sums.'
                : 'Asking for the time of each observation …'}
        </p>
    );
}
