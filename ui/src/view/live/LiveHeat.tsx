// The heat map of all of the time, added up by the server.
import { Answer } from '../../live/load';
import { heatOver } from '../../live/heat';
import { withLabels } from '../../live/selector';
import { Span } from '../../live/range';
import { TimeView } from '../App';
import { HeatMap } from '../HeatView';
import { useAsked } from './useAsked';

export interface LiveTimeProps extends TimeView {
    answer: Answer;
    base: bigint; // what `time` counts from
    again: number;
    onSpan(s: Span): void;
    onError(e: unknown): void;
}

export function LiveHeat(p: LiveTimeProps) {
    const { span } = p.answer,
        selector = withLabels(p.answer.selector, p.labels);
    const { answer: h, failed } = useAsked(
        JSON.stringify(['heat', p.again, selector, span]),
        (signal) => heatOver(selector, span!, signal),
        p.onError,
    );
    if (failed) return <p class="empty big">There is no heat map: {failed}.</p>;
    if (!h) return <p class="empty big">Asking for the heat map …</p>;
    const off = Number(h.base - p.base), // of the map against the session
        time: [number, number] | null = p.time && [p.time[0] - off, p.time[1] - off];
    return (
        <>
            {h.partial && (
                <div class="notice" role="status">
                    The map is not whole: {h.why}.
                </div>
            )}
            <HeatMap
                heat={h.heat}
                base={h.base}
                unit={p.answer.unit}
                time={time}
                theme={p.theme}
                onTime={(t) => p.onTime(t && [t[0] + off, t[1] + off])}
                onView={() => p.onView('flame')}
                onCloser={() => time && p.onSpan(time.map((t) => (Number(h.base / 1000n) + t / 1e3) / 1e3) as Span)}
            />
        </>
    );
}
