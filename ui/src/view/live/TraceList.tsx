// The traces of a selection: filtered by duration, the longest, latest or largest first.
import { useEffect } from 'preact/hooks';
import { where } from '../../live/queries';
import { Span } from '../../live/range';
import { Selection } from '../../live/selection';
import { LEAST, Order, TraceRow, USUAL_TRACES, tracesOf } from '../../live/traces';
import { count, duration, utc } from '../../model/units';
import { NotRefreshed, ResultFrame } from './ResultFrame';
import { useQuery } from './useQuery';
import { Again } from './useResults';
import { Go } from './useSelection';

interface TraceListProps {
    sel: Selection;
    span: Span | null;
    again: Again;
    go: Go;
    onTook(ms: number): void;
    onError(e: unknown): void;
}

const shortId = (id: string) => `${id.slice(0, 8)}…${id.slice(-8)}`;

export function TraceList(p: TraceListProps) {
    const choice = p.sel.traces ?? USUAL_TRACES,
        { matchers } = p.sel.selector,
        subject = JSON.stringify(['traces', choice, matchers, p.sel.range]);
    const { result, error, stale, took } = useQuery(
        {
            subject,
            version: `${subject} ${p.again.timer}`,
            again: p.again.user,
            run: async (signal) => ({
                least: choice.least,
                found: await tracesOf(where({ type: '', matchers }, p.span), choice, signal),
            }),
            onError: p.onError,
        },
        false,
    );
    useEffect(() => p.onTook(took), [took]);
    const found = result?.found;
    const longest = Math.max(1, ...(found?.traces ?? []).map((t) => t.duration));
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
            <td class="text">{t.first > 0 && utc(BigInt(Math.round(t.first / 1e3)) * 1000n, true)}</td>
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
            <ResultFrame
                stale={stale && !error}
                failed=""
                wanted="the traces of the new selection"
                shown="those of the previous selection"
            >
                {error && (!found || stale) ? (
                    <p class="empty big" role="alert">
                        The traces cannot be listed: {error}.
                    </p>
                ) : !found ? (
                    <p class="empty big">Loading …</p>
                ) : !found.traces.length ? (
                    <p class="empty big" data-nothing>
                        {result.least
                            ? 'No trace in this time range is as long.'
                            : 'No sample in this time range belongs to a span. Senders link samples to spans when a tracer runs next to the profiler.'}
                    </p>
                ) : (
                    <>
                        <NotRefreshed what="The list of traces" error={error} />
                        {found.partial && (
                            <div class="notice" role="status">
                                The list is incomplete: {found.why}.
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
                                <tbody>{found.traces.map(row)}</tbody>
                            </table>
                        </div>
                        {found.all > found.traces.length && (
                            <p class="dim">
                                The first {count(found.traces.length)} of {count(found.all)} traces.
                            </p>
                        )}
                    </>
                )}
            </ResultFrame>
        </>
    );
}
