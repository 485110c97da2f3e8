// The traces of a selection: filtered by duration, the longest, latest or largest first.
import { where } from '../../live/queries';
import { Span } from '../../live/range';
import { Selection } from '../../live/selection';
import { LEAST, Order, TraceRow, USUAL_TRACES, tracesOf } from '../../live/traces';
import { count, duration, utc } from '../../model/units';
import { useQuery } from './useQuery';
import { Go } from './useSelection';

interface TraceListProps {
    sel: Selection;
    span: Span | null;
    again: number;
    go: Go;
    onError(e: unknown): void;
}

const shortId = (id: string) => `${id.slice(0, 8)}…${id.slice(-8)}`;

export function TraceList(p: TraceListProps) {
    const choice = p.sel.traces ?? USUAL_TRACES,
        { matchers } = p.sel.selector;
    const { result, error } = useQuery(
        JSON.stringify(['traces', choice, p.again, matchers, p.sel.range, p.span?.map((t) => Math.floor(t / 60e3))]),
        (signal) => tracesOf(where({ type: '', matchers }, p.span), choice, signal),
        p.onError,
    );
    const longest = Math.max(1, ...(result?.traces ?? []).map((t) => t.duration));
    const sorted = (order: Order, name: string, what: string) => (
        <th class={order === 'time' ? 'text' : ''} aria-sort={choice.order === order ? 'descending' : 'none'}>
            <button class="link" data-order={order} title={what} onClick={() => p.go({ traces: { ...choice, order } })}>
                {name}
                {choice.order === order ? ' ↓' : ''}
            </button>
        </th>
    );
    const row = (t: TraceRow) => (
        <tr key={t.trace_id} data-trace={t.trace_id} data-duration={t.duration}>
            <td>
                <button
                    class="link mono"
                    title={t.trace_id}
                    onClick={() => p.go({ page: 'trace', ids: { trace: t.trace_id, span: '' } })}
                >
                    {shortId(t.trace_id)}
                </button>
            </td>
            <td class="text">{t.services.map((s) => s || '(no name)').join(', ')}</td>
            <td class="number">{count(t.spans)}</td>
            <td class="number">{count(t.samples)}</td>
            <td class="number">{t.duration ? duration(t.duration) : ''}</td>
            <td class="text">
                <span class="extent">
                    <i style={{ width: `${Math.max((100 * t.duration) / longest, 1)}%` }} />
                </span>
            </td>
            <td class="text">{t.first > 0 && utc(BigInt(Math.floor(t.first)), true)}</td>
        </tr>
    );
    return (
        <>
            <p>
                <label class="dim">
                    Traces of{' '}
                    <select
                        class="pick"
                        data-do="least"
                        value={choice.least}
                        onChange={(e) => p.go({ traces: { ...choice, least: e.currentTarget.value } })}
                    >
                        {LEAST.map(([v, name]) => (
                            <option key={v} value={v}>
                                {name}
                            </option>
                        ))}
                    </select>
                </label>
            </p>
            {error ? (
                <p class="empty big" role="alert">
                    The traces cannot be listed: {error}.
                </p>
            ) : !result ? (
                <p class="empty big">Loading …</p>
            ) : !result.traces.length ? (
                <p class="empty big" data-nothing>
                    {choice.least
                        ? 'No trace in this time range is as long.'
                        : 'No sample in this time range belongs to a span. Senders link samples to spans when a tracer runs next to the profiler.'}
                </p>
            ) : (
                <>
                    {result.partial && (
                        <div class="notice" role="status">
                            The list is incomplete: {result.why}.
                        </div>
                    )}
                    <div class="wide">
                        <table class="rows" data-table="traces">
                            <thead>
                                <tr>
                                    <th>Trace</th>
                                    <th class="text">Services</th>
                                    <th>Spans</th>
                                    {sorted('samples', 'Samples', 'Most samples first')}
                                    {sorted('duration', 'Duration', 'Longest first')}
                                    <th class="text">
                                        <span class="unseen">Duration as a bar</span>
                                    </th>
                                    {sorted('time', 'Start', 'Latest first')}
                                </tr>
                            </thead>
                            <tbody>{result.traces.map(row)}</tbody>
                        </table>
                    </div>
                    {result.all > result.traces.length && (
                        <p class="dim">
                            The first {count(result.traces.length)} of {count(result.all)} traces.
                        </p>
                    )}
                </>
            )}
        </>
    );
}
