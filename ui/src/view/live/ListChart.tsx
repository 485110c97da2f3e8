// The chart above a list of profiles or traces: the selection over time. A selected part becomes the time range of all pages.
import { Charted, loadChart } from '../../live/load';
import { Span, absolute } from '../../live/range';
import { Selection } from '../../live/selection';
import { LiveSeries } from './LiveSeries';
import { ResultFrame, SELECTIONS } from './ResultFrame';
import { useQuery } from './useQuery';
import { Again } from './useResults';
import { Go } from './useSelection';

export interface ListChartProps {
    sel: Selection;
    span: Span | null;
    again: Again;
    theme: 'light' | 'dark';
    go: Go;
    onError(e: unknown): void;
}

export function ListChart(p: ListChartProps) {
    const { sel } = p,
        subject = JSON.stringify(['list-chart', sel.selector, sel.range]);
    const { result, error, stale } = useQuery<Charted | null>({
        subject,
        version: `${subject} ${p.again.timer}`,
        again: p.again.user,
        run: (signal) => loadChart(sel, p.span, signal),
        onError: p.onError,
    });
    if (error && (!result || stale))
        return (
            <div class="notice" role="status">
                The chart cannot be shown: {error}.
            </div>
        );
    if (!result) return null;
    return (
        <div class="chart-place list-chart">
            <ResultFrame stale={stale} {...SELECTIONS}>
                <LiveSeries
                    results={result}
                    by={sel.by}
                    again={p.again.user}
                    theme={p.theme}
                    onBy={(by) => p.go({ by })}
                    onSelector={(s) => p.go({ selector: { ...s, type: sel.selector.type } })}
                    onError={p.onError}
                    onSpan={(s) => p.go({ range: absolute(s) })}
                />
            </ResultFrame>
        </div>
    );
}
