// The chart above the views: the selection over time, stacked by a label. Clicks on the legend filter.
import { useState } from 'preact/hooks';
import { Charted, SERVICE, chartLabel, timeOf } from '../../live/load';
import { countsOf, labelKeys } from '../../live/queries';
import { Selector, withValue } from '../../live/selector';
import { SeriesChart, SeriesProps } from './SeriesChart';
import { useQuery } from './useQuery';

const USUAL = [SERVICE, 'thread.name'];

export interface LiveSeriesProps extends Pick<SeriesProps, 'theme' | 'onSpan'> {
    results: Charted;
    by: string | null; // the label in the address; null: the default
    again: number;
    onBy(by: string | null): void;
    onSelector(s: Selector): void;
    onError(e: unknown): void;
}

export function LiveSeries(p: LiveSeriesProps) {
    const { results: r } = p,
        usual = chartLabel(r.selector, !!r.base),
        by = r.base ? usual : (p.by ?? usual),
        [keys, setKeys] = useState<string[]>([]);
    // The load of the page brings the default chart; other labels are queried here.
    const of = JSON.stringify([r.selector, timeOf(r)]),
        { result, error, stale } = useQuery({
            subject: by === usual ? '' : JSON.stringify(['series', of, by]),
            version: JSON.stringify(['series', r.selector, r.chart, by]),
            again: p.again,
            run: async (signal) => ({ of, by, counts: await countsOf(r.selector, r.chart!, by, signal) }),
            onError: p.onError,
        });
    // Until the rows of a label have arrived, the chart shows others of the same selection. Clicks filter by the label shown.
    const shown = by !== usual && result?.of === of ? result : { by: usual, counts: r.counts! };
    const offered = [...new Set([...USUAL, ...keys, ...(by ? [by] : [])])];
    return (
        <div class="series-box" role="region" aria-label="Chart over time" data-by={shown.by} aria-busy={stale}>
            <SeriesChart
                counts={shown.counts}
                span={r.chart!}
                type={r.selector.type.replace(/\/[^/]*$/, '')}
                unit={r.unit}
                theme={p.theme}
                sides={r.base && { this: r.span!, base: r.base.span, baseCounts: r.base.counts }}
                onSpan={p.onSpan}
                onRow={(label, not) =>
                    p.onSelector(
                        not
                            ? {
                                  ...r.selector,
                                  matchers: [...r.selector.matchers, { key: shown.by, op: '!=', value: label }],
                              }
                            : withValue(r.selector, shown.by, label),
                    )
                }
            >
                {!r.base && (
                    <label class="series-by">
                        by{' '}
                        <select
                            class="pick"
                            aria-label="Stack the chart by"
                            data-do="by"
                            value={by}
                            onFocus={() => keys.length || labelKeys(r.span, r.selector).then(setKeys, () => {})}
                            onChange={(e) => {
                                const v = e.currentTarget.value;
                                p.onBy(v === usual ? null : v);
                            }}
                        >
                            <option value="">total</option>
                            {offered.map((k) => (
                                <option key={k} value={k}>
                                    {k}
                                </option>
                            ))}
                        </select>
                    </label>
                )}
            </SeriesChart>
            {error && (
                <div class="notice" role="status">
                    The chart by {by} cannot be shown: {error}.
                </div>
            )}
        </div>
    );
}
