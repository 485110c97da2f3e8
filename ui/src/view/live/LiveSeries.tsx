// The chart above the views: the selection over time, stacked by a label. Clicks on the legend filter.
import { useState } from 'preact/hooks';
import { Results, SERVICE, chartLabel } from '../../live/load';
import { countsOf, labelKeys } from '../../live/queries';
import { Selector, withValue } from '../../live/selector';
import { SeriesChart, SeriesProps } from './SeriesChart';
import { useQuery } from './useQuery';

const USUAL = [SERVICE, 'thread.name'];

export interface LiveSeriesProps extends Pick<SeriesProps, 'theme' | 'onSpan'> {
    results: Results;
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
    const { result, error } = useQuery(
        by === usual ? '' : JSON.stringify(['series', p.again, r.selector, r.chart, by]),
        (signal) => (by === usual ? Promise.resolve(r.counts!) : countsOf(r.selector, r.chart!, by, signal)),
        p.onError,
    );
    const counts = by === usual ? r.counts! : (result ?? r.counts!);
    const offered = [...new Set([...USUAL, ...keys, ...(by ? [by] : [])])];
    return (
        <div class="series-box" data-by={by}>
            <SeriesChart
                counts={counts}
                span={r.chart!}
                type={r.selector.type.replace(/\/[^/]*$/, '')}
                unit={r.unit}
                theme={p.theme}
                sides={r.base && { this: r.span!, base: r.base.span, baseCounts: r.base.counts }}
                onSpan={p.onSpan}
                onRow={(label, not) =>
                    p.onSelector(
                        not
                            ? { ...r.selector, matchers: [...r.selector.matchers, { key: by, op: '!=', value: label }] }
                            : withValue(r.selector, by, label),
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
