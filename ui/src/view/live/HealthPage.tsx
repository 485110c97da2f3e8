// The state of the server: senders, layouts, losses and rejections, the backlog, and stored data.
import { useEffect, useState } from 'preact/hooks';
import { Party, Status, StoreFile, StoreNow, statusNow, storeNow } from '../../live/queries';
import { bytes, count, duration, utc } from '../../model/units';
import { Failed } from './ResultFrame';
import { useQuery } from './useQuery';
import { Again } from './useResults';

const EVERY_MS = 5000;

function Parties(p: { title: string; list: Party[]; now: number; name: string; none: string }) {
    return (
        <section>
            <h2>{p.title}</h2>
            {p.list.length ? (
                <div class="wide">
                    <table class="rows" data-table={p.name}>
                        <thead>
                            <tr>
                                <th />
                                <th>Requests</th>
                                <th>Profiles</th>
                                <th>Samples</th>
                                <th>Bytes</th>
                                <th>Refused</th>
                                <th>Last</th>
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
                <p class="dim">{p.none}, since the server was started.</p>
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

function Counters(p: { title: string; of: Record<string, number> }) {
    const text = (key: string, n: number) => (/bytes/.test(key) ? bytes(n) : count(n));
    return (
        <section class="card" data-counters={p.title}>
            <h2>{p.title}</h2>
            <dl>
                {Object.entries(p.of).map(([key, n]) => (
                    <div key={key} class={n && BAD.has(key) ? 'bad' : n ? '' : 'zero'}>
                        <dt>{key.replaceAll('_', ' ')}</dt>
                        <dd>{text(key, n)}</dd>
                    </div>
                ))}
            </dl>
        </section>
    );
}

function Facts({ s, store }: { s: Status; store: StoreNow }) {
    const of = (limit: number | null) => (limit ? ` of ${bytes(limit)}` : '');
    return (
        <div class="cards facts">
            <div>
                <b class={s.ready ? 'good' : 'bad'}>{s.ready ? 'Ready' : 'Ending'}</b>
                <span>
                    kiln {s.version}, for {duration(s.now - s.started)}
                </span>
            </div>
            <div data-fact="bytes">
                <b>
                    {bytes(store.bytes)}
                    {of(s.max_bytes)}
                </b>
                <span>on disk{s.max_age ? `, stored for ${age(s.max_age)}` : ''}</span>
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
                <span>requests open / waiting, {bytes(s.http['held_bytes'])} held</span>
            </div>
        </div>
    );
}

function Files({ list }: { list: StoreFile[] }) {
    return (
        <section>
            <h2>Files</h2>
            <div class="wide">
                <table class="rows" data-table="files">
                    <thead>
                        <tr>
                            <th />
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
            {!list.length && <p class="dim">None yet. Received profiles are compacted into files after some time.</p>}
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
        <div class="page" data-page="health">
            {problem}
            <Facts s={s} store={store} />
            <Parties title="Senders" name="senders" none="None yet" list={s.senders} now={s.now} />
            <Parties title="Layouts and formats" name="layouts" none="None yet" list={s.recognised} now={s.now} />
            <section>
                <h2>Losses</h2>
                {losses.length ? (
                    <div class="wide">
                        <table class="rows" data-table="losses">
                            <thead>
                                <tr>
                                    <th>Lost or stored differently</th>
                                    <th>Times</th>
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
                    <p class="dim">None. All data were stored as received.</p>
                )}
            </section>
            <Files list={store.files} />
            <div class="cards">
                <Counters title="Receiving" of={s.ingest} />
                <Counters title="Store" of={s.store} />
                <Counters title="Connections" of={s.http} />
            </div>
            <p class="dim">
                Profiles are stored in <code>{s.store_dir}</code>. Metrics for Prometheus:{' '}
                <a href="/metrics">/metrics</a>.
            </p>
        </div>
    );
}
