// A trace or a span: the services and times of its samples, its bill, and links to flame graphs. Without an id, the list of
// traces.
import { useEffect } from 'preact/hooks';
import { SpanRow, SpansAnswer, aroundExtent, spanExtent, spansOf } from '../../live/spans';
import { EVERYTHING, Span, absolute, atLeast } from '../../live/range';
import { Ids, NO_IDS, Selection, idsText } from '../../live/selection';
import { Matcher } from '../../live/selector';
import { count, counted, duration, utc, withUnit } from '../../model/units';
import { Bill } from './Bill';
import { NotRefreshed, ResultFrame } from './ResultFrame';
import { TraceSearch } from './Picker';
import { TraceList } from './TraceList';
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

/** The position of a row within the time of all rows. */
function Bar({ row, of }: { row: SpanRow; of: [bigint, bigint] | null }) {
    if (!of || !row.start) return null;
    const whole = Number(of[1] - of[0]) || 1,
        left = Number(row.start - of[0]) / whole,
        width = Number(row.end - row.start) / whole;
    return (
        <span class="extent">
            <i style={{ left: `${Math.min(left, 0.99) * 100}%`, width: `${Math.max(width, 0.01) * 100}%` }} />
        </span>
    );
}

interface SpansProps extends Pick<TraceProps, 'again' | 'go' | 'onError'> {
    found: SpansAnswer;
    ids: Ids;
}

function Spans({ found, ids, again, go, onError }: SpansProps) {
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
                range: at ? absolute(atLeast(aroundExtent(at), 20)) : EVERYTHING,
                selector: { type, matchers },
            },
            fragment,
        );
    };
    const asked = [...(ids.trace ? [is('trace_id', ids.trace)] : []), ...(ids.span ? [is('span_id', ids.span)] : [])];
    return (
        <>
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
                                {t.type || 'samples'},{' '}
                                {counted(
                                    of.reduce((n, r) => n + r.samples, 0),
                                    'sample',
                                )}
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
                                </button>{' '}
                                ·{' '}
                                <button
                                    class="link"
                                    data-show="lanes"
                                    onClick={() => show(asked, type, of, 'view=lanes')}
                                >
                                    threads
                                </button>
                            </p>
                        </div>
                    );
                })}
                {extent && (
                    <div>
                        <b data-fact="duration">{duration(Number(extent[1] - extent[0]))}</b>
                        <span>from {utc(extent[0], true)}</span>
                    </div>
                )}
                <div>
                    <b>{services.map((s) => s || '(no name)').join(', ')}</b>
                    <span>{services.length === 1 ? 'service' : 'services'}</span>
                </div>
            </div>
            <Bill ids={ids} again={again} go={go} onError={onError} />
            <div class="wide">
                <table class="rows" data-table="spans">
                    <thead>
                        <tr>
                            <th>Span</th>
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
                                <td>
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
                                <td class="number">{r.start ? duration(Number(r.end - r.start)) : ''}</td>
                                <td class="text when">
                                    <Bar row={r} of={extent} />
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

function Head({ ids, go }: Pick<SpansProps, 'ids' | 'go'>) {
    return (
        <div class="trace-head">
            {ids.trace && (
                <span>
                    trace{' '}
                    {ids.span ? (
                        <button
                            class="link mono"
                            data-id="trace"
                            title="The whole trace"
                            onClick={() => go({ ids: { trace: ids.trace, span: '' } })}
                        >
                            {ids.trace}
                        </button>
                    ) : (
                        <code data-id="trace">{ids.trace}</code>
                    )}
                </span>
            )}
            {ids.span && (
                <span>
                    span <code data-id="span">{ids.span}</code>
                </span>
            )}
            <button class="link" data-do="all-traces" onClick={() => go({ ids: NO_IDS })}>
                all traces
            </button>
        </div>
    );
}

/** The samples of one trace or span. */
function OneTrace(p: TraceProps) {
    const { ids } = p.sel,
        subject = JSON.stringify(['spans', ids]);
    const { result, error, stale, took } = useQuery(
        {
            subject,
            version: `${subject} ${p.again.timer}`,
            again: p.again.user,
            run: async (signal) => ({ ids, found: await spansOf(ids, signal) }),
            onError: p.onError,
        },
        false,
    );
    useEffect(() => p.onTook(took), [took]);
    const of = error && stale ? ids : (result?.ids ?? ids), // the ids of what is shown
        what = of.trace && of.span ? 'span of this trace' : of.span ? 'span' : 'trace',
        found = result?.found;
    return (
        <ResultFrame stale={stale && !error} failed="" wanted={idsText(ids)} shown={idsText(of)}>
            <Head ids={of} go={p.go} />
            {error && (!found || stale) ? (
                <p class="empty big" role="alert">
                    The trace cannot be shown: {error}.
                </p>
            ) : !found ? (
                <p class="empty big">Loading …</p>
            ) : !found.rows.length ? (
                <p class="empty big" data-nothing>
                    No sample of this {what} is stored.
                </p>
            ) : (
                <>
                    <NotRefreshed what="This page" error={error} />
                    {found.partial && (
                        <div class="notice" role="status">
                            The list is incomplete: {found.why}.
                        </div>
                    )}
                    <Spans found={found} ids={of} again={p.again} go={p.go} onError={p.onError} />
                </>
            )}
        </ResultFrame>
    );
}

export function TracePage(p: TraceProps) {
    const { ids } = p.sel;
    return (
        <div class="page" role="main" data-page="trace">
            <div class="trace-head">
                <TraceSearch onIds={(next) => p.go({ ids: next })} />
            </div>
            {ids.trace || ids.span ? <OneTrace {...p} /> : <TraceList {...p} />}
        </div>
    );
}
