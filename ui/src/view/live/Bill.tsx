// The bill of a trace or span: a bar of the parts of its time, a table with the same numbers, and the bill of each span.
import { BilledSpan, Bill as Billed, Part, billExtent, billOf, nameOf, samplesOf, totalOf } from '../../live/bill';
import { absolute, atLeast } from '../../live/range';
import { Ids, idsText } from '../../live/selection';
import { count, duration, percent } from '../../model/units';
import { NotRefreshed, ResultFrame } from './ResultFrame';
import { useQuery } from './useQuery';
import { Again } from './useResults';
import { Go } from './useSelection';

interface BillProps {
    ids: Ids;
    again: Again;
    go: Go;
    onError(e: unknown): void;
}

const MOST_ROWS = 200;
const sumOf = (parts: Part[]) => parts.reduce((n, p) => n + p.sum, 0);
const text = (parts: Part[], whole: number) =>
    parts.map((p) => `${nameOf(p.reason)} ${percent(p.sum, whole)}`).join(', ');

/** Reasons to wait are shades of one colour. */
const shade = (parts: Part[], i: number) => parts.slice(0, i).filter((p) => p.reason.kind === 'blocked').length % 4;

function Bar({ parts, whole }: { parts: Part[]; whole: number }) {
    return (
        <span class="bill-bar" role="img" aria-label={text(parts, whole)}>
            {parts.map((p, i) => (
                <i
                    key={i}
                    data-kind={p.reason.kind}
                    data-shade={shade(parts, i)}
                    title={`${nameOf(p.reason)}: ${duration(p.sum)}, ${percent(p.sum, whole)}`}
                    style={{ width: `${(100 * p.sum) / (whole || 1)}%` }}
                />
            ))}
        </span>
    );
}

/** The bar of a span, at its place in the time of all spans. */
function Placed({ span, of }: { span: BilledSpan; of: [number, number] }) {
    const from = of[0] * 1e6,
        whole = of[1] * 1e6 - from,
        left = Math.min(Math.max((span.first - from) / whole, 0), 0.99);
    return (
        <span class="bill-place">
            <span style={{ left: `${100 * left}%`, width: `${Math.max((100 * span.wall) / whole, 0.7)}%` }}>
                <Bar parts={span.parts} whole={span.wall} />
            </span>
        </span>
    );
}

function Parts({ bill, ids, go }: { bill: Billed; ids: Ids; go: Go }) {
    const parts = totalOf(bill.spans),
        whole = sumOf(parts),
        extent = billExtent(bill.spans);
    const show = (p: Part) => {
        const selector = samplesOf(p.reason, ids);
        if (selector && extent)
            go({ page: 'explore', against: null, range: absolute(atLeast(extent, 20)), selector }, '');
    };
    return (
        <>
            <Bar parts={parts} whole={whole} />
            <div class="wide">
                <table class="rows" data-table="bill">
                    <caption class="unseen">Parts of the time of these spans</caption>
                    <thead>
                        <tr>
                            <th>Part</th>
                            <th>Time</th>
                            <th>Share</th>
                            <th>Observations</th>
                            <th class="text">Samples</th>
                        </tr>
                    </thead>
                    <tbody>
                        {parts.map((p, i) => (
                            <tr key={i} data-part={p.reason.kind} data-sum={p.sum} data-syscall={p.reason.syscall}>
                                <td>
                                    <i class="swatch" data-kind={p.reason.kind} data-shade={shade(parts, i)} />
                                    {nameOf(p.reason)}
                                </td>
                                <td class="number">{duration(p.sum)}</td>
                                <td class="number">{percent(p.sum, whole)}</td>
                                <td class="number">{p.observations ? count(p.observations) : ''}</td>
                                <td class="text">
                                    {samplesOf(p.reason, ids) && (
                                        <button
                                            class="link"
                                            aria-label={`Flame graph of ${nameOf(p.reason)}`}
                                            onClick={() => show(p)}
                                        >
                                            flame graph
                                        </button>
                                    )}
                                </td>
                            </tr>
                        ))}
                    </tbody>
                    <tfoot>
                        <tr data-whole={whole}>
                            <td>whole</td>
                            <td class="number">{duration(whole)}</td>
                            <td class="number">{percent(whole, whole)}</td>
                            <td />
                            <td />
                        </tr>
                    </tfoot>
                </table>
            </div>
        </>
    );
}

function PerSpan({ bill, go }: { bill: Billed; go: Go }) {
    const extent = billExtent(bill.spans);
    if (!extent) return null;
    const rows = [...bill.spans].sort((a, b) => a.first - b.first).slice(0, MOST_ROWS);
    return (
        <div class="wide">
            <table class="rows" data-table="billed">
                <caption class="unseen">The bill of each span and thread</caption>
                <thead>
                    <tr>
                        <th>Span</th>
                        <th class="text">Service</th>
                        <th class="text">Thread</th>
                        <th>Duration</th>
                        <th>On-CPU</th>
                        <th class="text when">When</th>
                    </tr>
                </thead>
                <tbody>
                    {rows.map((s, i) => (
                        <tr key={i} data-billed={s.span} data-wall={s.wall}>
                            <td>
                                <button
                                    class="link mono"
                                    title="The bill of this span"
                                    onClick={() => go({ page: 'trace', ids: { trace: s.trace, span: s.span } })}
                                >
                                    {s.span}
                                </button>
                            </td>
                            <td class="text">{s.service}</td>
                            <td class="text">{s.thread}</td>
                            <td class="number">{duration(s.wall)}</td>
                            <td class="number">
                                {percent(sumOf(s.parts.filter((p) => p.reason.kind === 'on_cpu')), s.wall)}
                            </td>
                            <td class="text when">
                                <Placed span={s} of={extent} />
                            </td>
                        </tr>
                    ))}
                </tbody>
            </table>
            {bill.all > rows.length && (
                <p class="dim">
                    {count(rows.length)} of {count(bill.all)} spans.
                </p>
            )}
        </div>
    );
}

function Sections({ bill, ids, go }: { bill: Billed; ids: Ids; go: Go }) {
    const lasted = Math.max(...bill.spans.map((s) => s.last)) - Math.min(...bill.spans.map((s) => s.first)),
        billed = bill.spans.reduce((n, s) => n + s.wall, 0);
    const spans = new Set(bill.spans.map((s) => s.span)).size;
    return (
        <>
            <h2>
                Time of {spans === 1 ? 'the span' : `${count(spans)} spans`}
                {bill.spans.length > spans
                    ? ` on ${count(new Set(bill.spans.map((s) => `${s.service} ${s.thread} ${s.threadId}`)).size)} threads`
                    : ''}
            </h2>
            {bill.partial && (
                <p class="notice" role="status">
                    The bill is incomplete: {bill.why}.
                </p>
            )}
            {!bill.offCpu && (
                <p class="dim" data-no-waits>
                    No waits are stored for these threads: record them with <code>kiln record --off-cpu</code>.
                </p>
            )}
            <Parts bill={bill} ids={ids} go={go} />
            <p class="dim">
                {bill.spans.length > 1 &&
                    `The whole adds up the spans of all threads${billed > lasted ? ', so it is longer than the trace' : ''}. `}
                Spans are known from their observations
                {bill.period > 0 && <>: each end to about {duration(bill.period)} of CPU time</>}.
            </p>
            {bill.spans.length > 1 && <PerSpan bill={bill} go={go} />}
        </>
    );
}

export function Bill(p: BillProps) {
    const { ids } = p,
        subject = JSON.stringify(['bill', ids]);
    const { result, error, stale } = useQuery(
        {
            subject,
            version: `${subject} ${p.again.timer}`,
            again: p.again.user,
            run: async (signal) => ({ ids, bill: await billOf(ids, signal) }),
            onError: p.onError,
        },
        false,
    );
    if (error && (!result || stale))
        return (
            <p class="notice" role="alert">
                The bill cannot be shown: {error}.
            </p>
        );
    if (!result) return <p class="dim">Loading the bill …</p>;
    if (!result.bill.spans.length && !stale) return null;
    return (
        <section class="bill">
            <ResultFrame
                stale={stale}
                failed=""
                wanted={`the bill of ${idsText(ids)}`}
                shown={`that of ${idsText(result.ids)}`}
            >
                <NotRefreshed what="The bill" error={error} />
                {result.bill.spans.length > 0 && <Sections bill={result.bill} ids={result.ids} go={p.go} />}
            </ResultFrame>
        </section>
    );
}
