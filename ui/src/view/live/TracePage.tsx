// A trace or a span: the services and times of its samples, and links to their flame graph.
import { useEffect } from 'preact/hooks';
import { where } from '../../live/queries';
import { SpanRow, SpansAnswer, spanExtent, spansOf } from '../../live/spans';
import { EVERYTHING, Span, absolute, atLeast } from '../../live/range';
import { Ids, Selection } from '../../live/selection';
import { Matcher } from '../../live/selector';
import { count, duration, utc, withUnit } from '../../model/units';
import { ResultFrame, NotRefreshed } from './ResultFrame';
import { TraceSearch } from './Picker';
import { useQuery } from './useQuery';
import { Again } from './useResults';
import { Go } from './useSelection';

export interface TraceProps {
    sel: Selection;
    span: Span | null;
    again: Again;
    go: Go;
    onTook(ms: number): void;
    onError(e: unknown): void;
}

const is = (key: string, value: string): Matcher => ({ key, op: '=', value });
const shortId = (id: string) => `${id.slice(0, 8)}…${id.slice(-8)}`;

/** The position of a row within the time of all rows. */
function Bar({ row, of }: { row: SpanRow; of: [number, number] | null }) {
    if (!of || !row.first) return null;
    const whole = (of[1] - of[0]) * 1e6,
        left = (row.first - of[0] * 1e6) / whole,
        width = (row.last - row.first) / whole;
    return (
        <span class="extent">
            <i style={{ left: `${Math.min(left, 0.99) * 100}%`, width: `${Math.max(width, 0.01) * 100}%` }} />
        </span>
    );
}

function Spans({ found, ids, go }: { found: SpansAnswer; ids: Ids; go: TraceProps['go'] }) {
    const { rows } = found,
        extent = spanExtent(rows),
        types = [...new Map(rows.map((r) => [`${r.type}/${r.unit}`, r])).values()],
        services = [...new Set(rows.map((r) => r.service))];
    const show = (matchers: Matcher[], type: string, of: SpanRow[], fragment = '') => {
        const at = spanExtent(of);
        go(
            {
                page: 'explore',
                against: null,
                range: at ? absolute(atLeast(at, 20)) : EVERYTHING,
                selector: { type, matchers },
            },
            fragment,
        );
    };
    const asked = [...(ids.trace ? [is('trace_id', ids.trace)] : []), ...(ids.span ? [is('span_id', ids.span)] : [])];
    const any = !ids.trace && !ids.span;
    return (
        <>
            {!any && (
                <div class="cards facts">
                    {types.map((t) => {
                        const of = rows.filter((r) => r.type === t.type && r.unit === t.unit),
                            type = `${t.type}/${t.unit}`;
                        return (
                            <div key={type} data-type={type}>
                                <b>
                                    {withUnit(
                                        of.reduce((n, r) => n + r.sum, 0),
                                        t.unit,
                                    )}
                                </b>
                                <span>
                                    {t.type || 'samples'}, {count(of.reduce((n, r) => n + r.samples, 0))} samples
                                </span>
                                <p>
                                    <button class="link" data-show="flame" onClick={() => show(asked, type, of)}>
                                        flame graph
                                    </button>{' '}
                                    ·{' '}
                                    <button
                                        class="link"
                                        data-show="chart"
                                        onClick={() => show(asked, type, of, 'view=chart')}
                                    >
                                        flame chart
                                    </button>
                                </p>
                            </div>
                        );
                    })}
                    {extent && (
                        <div>
                            <b>{duration((extent[1] - extent[0]) * 1e6)}</b>
                            <span>from {utc(BigInt(extent[0]) * 1000000n, true)}</span>
                        </div>
                    )}
                    <div>
                        <b>{services.map((s) => s || '(no name)').join(', ')}</b>
                        <span>{services.length === 1 ? 'service' : 'services'}</span>
                    </div>
                </div>
            )}
            <div class="wide">
                <table class="rows" data-table="spans">
                    <thead>
                        <tr>
                            {!ids.trace && <th>Trace</th>}
                            <th class="text">Span</th>
                            <th class="text">Service</th>
                            <th class="text">Thread</th>
                            <th class="text">Type</th>
                            <th>Value</th>
                            <th>Samples</th>
                            <th>Over</th>
                            <th class="text when">When</th>
                        </tr>
                    </thead>
                    <tbody>
                        {rows.map((r, i) => (
                            <tr key={i} data-span={r.span}>
                                {!ids.trace && (
                                    <td>
                                        <button
                                            class="link mono"
                                            title={r.trace}
                                            onClick={() => go({ page: 'trace', ids: { trace: r.trace, span: '' } })}
                                        >
                                            {shortId(r.trace)}
                                        </button>
                                    </td>
                                )}
                                <td class="text">
                                    <button
                                        class="link mono"
                                        onClick={() =>
                                            show(
                                                [is('trace_id', r.trace), is('span_id', r.span)],
                                                `${r.type}/${r.unit}`,
                                                [r],
                                            )
                                        }
                                    >
                                        {r.span}
                                    </button>
                                </td>
                                <td class="text">{r.service}</td>
                                <td class="text">{r.thread}</td>
                                <td class="text">{r.type || r.unit}</td>
                                <td class="number">{withUnit(r.sum, r.unit)}</td>
                                <td class="number">{count(r.samples)}</td>
                                <td class="number">{r.first && r.last > r.first ? duration(r.last - r.first) : ''}</td>
                                <td class="text when">
                                    {any ? (
                                        r.first > 0 && utc(BigInt(Math.floor(r.first)), true)
                                    ) : (
                                        <Bar row={r} of={extent} />
                                    )}
                                </td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
            {found.all > rows.length && (
                <p class="dim">
                    The {count(rows.length)} with most samples, of {count(found.all)}.
                </p>
            )}
        </>
    );
}

const named = (i: Ids) =>
    [i.trace && `trace ${i.trace}`, i.span && `span ${i.span}`].filter(Boolean).join(', ') || 'the list of spans';

export function TracePage(p: TraceProps) {
    const { ids } = p.sel,
        { matchers } = p.sel.selector,
        any = !ids.trace && !ids.span,
        subject = JSON.stringify(['spans', ids, any && [matchers, p.sel.range]]);
    const { result, error, stale, took } = useQuery(
        {
            subject,
            version: `${subject} ${p.again.timer}`,
            again: p.again.user,
            run: async (signal) => ({
                ids,
                found: await spansOf(ids, any ? where({ type: '', matchers }, p.span) : {}, signal),
            }),
            onError: p.onError,
        },
        false,
    );
    useEffect(() => p.onTook(took), [took]);
    const of = error && stale ? ids : (result?.ids ?? ids), // the ids of what is shown
        what = of.trace && of.span ? 'span of this trace' : of.span ? 'span' : 'trace',
        found = result?.found;
    return (
        <div class="page" role="main" data-page="trace">
            <div class="trace-head">
                <TraceSearch onIds={(next) => p.go({ ids: next })} />
            </div>
            <ResultFrame
                stale={stale && !error}
                failed=""
                wanted={any ? 'the spans of the new selection' : named(ids)}
                shown={any && !of.trace && !of.span ? 'those of the previous selection' : named(of)}
            >
                <div class="trace-head">
                    {of.trace && (
                        <span>
                            trace <code data-id="trace">{of.trace}</code>
                        </span>
                    )}
                    {of.span && (
                        <span>
                            span <code data-id="span">{of.span}</code>
                        </span>
                    )}
                    {!of.trace && !of.span && (
                        <span class="dim">The spans with the most samples in this time range.</span>
                    )}
                </div>
                {error && (!found || stale) ? (
                    <p class="empty big" role="alert">
                        The trace cannot be shown: {error}.
                    </p>
                ) : !found ? (
                    <p class="empty big">Loading …</p>
                ) : !found.rows.length ? (
                    <p class="empty big" data-nothing>
                        {of.trace || of.span
                            ? `No sample of this ${what} is stored.`
                            : 'No sample in this time range belongs to a span. Senders link samples to spans when a tracer runs next to the profiler.'}
                    </p>
                ) : (
                    <>
                        <NotRefreshed what="This page" error={error} />
                        {found.partial && (
                            <div class="notice" role="status">
                                The list is incomplete: {found.why}.
                            </div>
                        )}
                        <Spans found={found} ids={of} go={p.go} />
                    </>
                )}
            </ResultFrame>
        </div>
    );
}
