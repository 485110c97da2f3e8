// The heat map of the whole time range, from sums that the server computes.
import { Results, timeOf } from '../../live/load';
import { heatOver } from '../../live/heat';
import { withLabels } from '../../live/selector';
import { Span } from '../../live/range';
import { Ids } from '../../live/selection';
import { TimeView } from '../App';
import { HeatMap } from '../HeatView';
import { ResultFrame, NotRefreshed, SELECTIONS } from './ResultFrame';
import { useQuery } from './useQuery';

export interface LiveTimeProps extends TimeView {
    results: Results;
    base: bigint; // the zero of `time`
    again: number;
    onSpan(s: Span): void;
    onIds(ids: Ids): void; // shows only the samples of this span
    onError(e: unknown): void;
}

export function LiveHeat(p: LiveTimeProps) {
    const { span } = p.results,
        selector = withLabels(p.results.selector, p.labels);
    const {
        result: h,
        error,
        stale,
    } = useQuery({
        subject: JSON.stringify(['heat', selector, timeOf(p.results)]),
        version: JSON.stringify(['heat', selector, span]),
        again: p.again,
        run: (signal) => heatOver(selector, span!, signal),
        onError: p.onError,
    });
    if (error && (!h || stale)) return <p class="empty big">The heat map cannot be shown: {error}.</p>;
    if (!h) return <p class="empty big">Loading the heat map …</p>;
    const off = Number(h.base - p.base), // offset of the map from the session
        time: [number, number] | null = p.time && [p.time[0] - off, p.time[1] - off];
    return (
        <ResultFrame stale={stale} {...SELECTIONS}>
            <NotRefreshed what="The heat map" error={error} />
            {h.partial && (
                <div class="notice" role="status">
                    The heat map is incomplete: {h.why}.
                </div>
            )}
            <HeatMap
                heat={h.heat}
                base={h.base}
                unit={p.results.unit}
                time={time}
                theme={p.theme}
                onTime={(t) => p.onTime(t && [t[0] + off, t[1] + off])}
                onView={() => p.onView('flame')}
                onCloser={() => time && p.onSpan(time.map((t) => (Number(h.base / 1000n) + t / 1e3) / 1e3) as Span)}
            />
        </ResultFrame>
    );
}
