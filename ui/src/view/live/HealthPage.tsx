// The state of the server: senders, layouts, losses and rejections, the backlog, and stored data.
import { useEffect, useState } from 'preact/hooks';
import { Group, counterText } from '../../live/counters';
import { Party, Status, StoreFile, StoreNow, statusNow, storeNow } from '../../live/queries';
import { bytes, count, counted, duration, utc } from '../../model/units';
import { Failed } from './ResultFrame';
import { useQuery } from './useQuery';
import { Again } from './useResults';

const EVERY_MS = 5000;

function Parties(p: { title: string; column: string; list: Party[]; now: number; name: string; none: string }) {
    return (
        <section>
            <h2>{p.title}</h2>
            {p.list.length ? (
                <div class="wide" tabIndex={0} role="region" aria-label={p.title}>
                    <table class="rows" data-table={p.name}>
                        <thead>
                            <tr>
                                <th>{p.column}</th>
                                <th>Requests</th>
                                <th>Profiles</th>
                                <th>Samples</th>
                                <th>Bytes</th>
                                <th>Rejected</th>
                                <th>Last request</th>
                            </tr>
                        </thead>
                        <tbody>
                            {[...p.list]
                                .sort((a, b) => b.last - a.last)
                                .map((s) => (
                                    <tr key={s.name}>
                                        <td>{s.name}</td>
                                        <td>{count(s.requests)}</td>
                                        <td>{count(s.profiles)}</td>
                                        <td>{count(s.samples)}</td>
                                        <td>{bytes(s.bytes)}</td>
                                        <td class={s.refused ? 'bad' : ''}>{count(s.refused)}</td>
                                        <td>{s.last ? `${duration(Math.max(p.now - s.last, 0))} ago` : ''}</td>
                                    </tr>
                                ))}
                        </tbody>
                    </table>
                </div>
            ) : (
                <p class="dim">{p.none} since the server was started.</p>
            )}
        </section>
    );
}

// Counters that grow when a request was not served or data were lost.
const BAD = new Set(
    [
        'rejected malformed media too_large pressed unavailable unauthorized late losses closed_full closed_slow',
        'closed_broken no_descriptors gone refused_full refused_disk compaction_failed undecodable kept_items damaged quarantined',
    ].flatMap((s) => s.split(' ')),
);

function counterValue(key: string, n: number): string {
    if (/^(rejecting|retention_held)/.test(key)) return n ? 'yes' : 'no';
    return /bytes/.test(key) ? bytes(n) : /_seconds$/.test(key) && n ? duration(n * 1e9) : count(n);
}

/** The counters of a part of the server. Those that are zero are behind a click. */
function Counters(p: { title: string; group: Group; of: Record<string, number> }) {
    const row = ([key, n]: [string, number]) => (
        <div key={key} class={n && BAD.has(key) ? 'bad' : n ? '' : 'zero'} data-counter={key}>
            <dt title={`kiln_${p.group}_${key}`}>{counterText(p.group, key)}</dt>
            <dd>{counterValue(key, n)}</dd>
        </div>
    );
    const all = Object.entries(p.of),
        zero = all.filter(([, n]) => !n);
    return (
        <section class="card" data-counters={p.title}>
            <h2>{p.title}</h2>
            <dl>{all.filter(([, n]) => n).map(row)}</dl>
            {zero.length > 0 && (
                <details>
                    <summary>{counted(zero.length, 'counter')} at zero</summary>
                    <dl>{zero.map(row)}</dl>
                </details>
            )}
        </section>
    );
}

function Facts({ s, store }: { s: Status; store: StoreNow }) {
    const of = (limit: number | null) => (limit ? ` of ${bytes(limit)}` : '');
    return (
        <div class="cards facts">
            <div>
                <b class={s.ready ? 'good' : 'bad'}>{s.ready ? 'Ready' : 'Shutting down'}</b>
                <span>
                    kiln {s.version}, running for {duration(s.now - s.started)}
                </span>
            </div>
            <div data-fact="bytes">
                <b>
                    {bytes(store.bytes)}
                    {of(s.max_bytes)}
                </b>
                <span>on disk{s.max_age ? `, kept for ${age(s.max_age)}` : ''}</span>
                {s.max_bytes && (
                    <span class="extent">
                        <i style={{ left: 0, width: `${Math.min(store.bytes / s.max_bytes, 1) * 100}%` }} />
                    </span>
                )}
            </div>
            <div>
                <b data-fact="samples">{count(store.samples)}</b>
                <span>
                    samples in files, of {count(store.profiles)} profiles and {count(store.series)} series
                </span>
            </div>
            <div data-fact="waiting">
                <b>{count(store.raw_items)}</b>
                <span>items waiting for compaction ({bytes(store.raw_bytes)})</span>
            </div>
            <div data-fact="queue">
                <b>
                    {count(s.http['exchanges'])} / {count(s.http['jobs_waiting'])}
                </b>
                <span>requests in progress / waiting, in {bytes(s.http['held_bytes'])} of memory</span>
            </div>
        </div>
    );
}

function Files({ list }: { list: StoreFile[] }) {
    return (
        <section>
            <h2>Files</h2>
            <div class="wide" tabIndex={0} role="region" aria-label="Files">
                <table class="rows" data-table="files">
                    <thead>
                        <tr>
                            <th>File</th>
                            <th>Profiles</th>
                            <th>Samples</th>
                            <th>Bytes</th>
                            <th>Bytes per sample</th>
                            <th>From</th>
                            <th>To</th>
                        </tr>
                    </thead>
                    <tbody>
                        {[...list].reverse().map((f) => (
                            <tr key={f.name}>
                                <td class={f.corrupt ? 'bad' : ''}>
                                    {f.name}
                                    {f.corrupt ? ': damaged, quarantined' : ''}
                                </td>
                                <td>{count(f.profiles)}</td>
                                <td>{count(f.samples)}</td>
                                <td>{bytes(f.bytes)}</td>
                                <td>{f.samples ? (f.bytes / f.samples).toFixed(1) : ''}</td>
                                <td>{when(f.first) || '–'}</td>
                                <td>{when(f.last) || '–'}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
            {!list.length && (
                <p class="dim">No files yet. The server compacts received profiles into files after some time.</p>
            )}
        </section>
    );
}

const DAY = 86400e9;
const age = (ns: number) => (ns >= 2 * DAY ? `${Math.round(ns / DAY)} days` : duration(ns));
const when = (ns: number) => utc(BigInt(Math.round(ns / 1e6)) * 1000000n);

export interface HealthProps {
    again: Again;
    onAgain(): void;
    onError(e: unknown): void;
}

export function HealthPage(p: HealthProps) {
    const [ticks, setTicks] = useState(0);
    useEffect(() => {
        const timer = setInterval(() => document.hidden || setTicks((n) => n + 1), EVERY_MS);
        return () => clearInterval(timer);
    }, []);
    const { result: found, error } = useQuery(
            {
                subject: 'health',
                version: `health ${ticks}`,
                again: p.again.user,
                run: async (signal) => {
                    const [s, store] = await Promise.all([statusNow(signal), storeNow(signal)]);
                    return { s, store };
                },
                onError: p.onError,
            },
            false,
        ),
        problem = <Failed error={error} onAgain={p.onAgain} />;
    if (!found) return error ? problem : <p class="empty big">Loading …</p>;
    const { s, store } = found,
        losses = [...s.losses].sort((a, b) => b.count - a.count);
    return (
        <div class="page" role="main" data-page="health">
            {problem}
            <Facts s={s} store={store} />
            <Parties title="Senders" column="Sender" name="senders" none="No requests" list={s.senders} now={s.now} />
            <Parties
                title="Layouts and formats"
                column="Layout or format"
                name="layouts"
                none="No requests"
                list={s.recognised}
                now={s.now}
            />
            <section>
                <h2>Losses</h2>
                {losses.length ? (
                    <div class="wide" tabIndex={0} role="region" aria-label="Losses">
                        <table class="rows" data-table="losses">
                            <thead>
                                <tr>
                                    <th>Lost or stored differently</th>
                                    <th>Count</th>
                                    <th class="text">Example</th>
                                    <th class="text">Stored as</th>
                                </tr>
                            </thead>
                            <tbody>
                                {losses.map((l) => (
                                    <tr key={`${l.concept} ${l.carried_as}`}>
                                        <td>{l.concept.replaceAll('_', ' ')}</td>
                                        <td>{count(l.count)}</td>
                                        <td class="text">{l.example}</td>
                                        <td class="text">{l.carried_as ?? '–'}</td>
                                    </tr>
                                ))}
                            </tbody>
                        </table>
                    </div>
                ) : (
                    <p class="dim">No losses: all data were stored as received.</p>
                )}
            </section>
            <Files list={store.files} />
            <div class="cards">
                <Counters title="Receiving" group="ingest" of={s.ingest} />
                <Counters title="Store" group="store" of={s.store} />
                <Counters title="Connections" group="http" of={s.http} />
            </div>
            <p class="dim">
                Profiles are stored in <code>{s.store_dir}</code>. Metrics for Prometheus:{' '}
                <a href="/metrics">/metrics</a>.
            </p>
        </div>
    );
}
