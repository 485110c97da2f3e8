// What the server says of itself: who sends, in which layouts, what was lost or refused, what waits, what is kept.
import { useEffect, useState } from 'preact/hooks';
import { Party, Status, statusNow } from '../../live/questions';
import { bytes, count, duration, utc } from '../../model/units';

const EVERY_MS = 5000;

function Parties(p: { title: string; list: Party[]; now: number; name: string }) {
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
                <p class="dim">Nobody yet, since the server was started.</p>
            )}
        </section>
    );
}

// Names of counters whose growth means that somebody did not get what he wanted.
const BAD = new Set([
    'rejected malformed media too_large pressed unavailable unauthorized late losses closed_full closed_slow',
    'closed_broken no_descriptors gone refused_full refused_disk compaction_failed undecodable damaged quarantined',
].flatMap((s) => s.split(' ')));

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

export function HealthPage(p: { again: number; onError(e: unknown): void }) {
    const [s, setStatus] = useState<Status | null>(null);
    useEffect(() => {
        const stop = new AbortController();
        const look = () =>
            document.hidden ||
            statusNow(stop.signal).then(setStatus, (e) => (e as Error).name !== 'AbortError' && p.onError(e));
        look();
        const timer = setInterval(look, EVERY_MS);
        return () => (stop.abort(), clearInterval(timer));
    }, [p.again]);
    if (!s) return <p class="empty big">Asking the server …</p>;
    return (
        <div class="page" data-page="health">
            <div class="cards facts">
                <div>
                    <b class={s.ready ? 'good' : 'bad'}>{s.ready ? 'Ready' : 'Ending'}</b>
                    <span>kiln {s.version}</span>
                </div>
                <div>
                    <b>{duration(s.now - s.started)}</b>
                    <span>since {utc(BigInt(Math.round(s.started / 1e6)) * 1000000n)}</span>
                </div>
                <div>
                    <b data-fact="profiles">{count(s.store['profiles'])}</b>
                    <span>profiles stored since then</span>
                </div>
                <div>
                    <b>{count(s.store['samples'])}</b>
                    <span>samples</span>
                </div>
                <div>
                    <b>
                        {count(s.http['exchanges'])} / {count(s.http['jobs_waiting'])}
                    </b>
                    <span>requests open / jobs waiting</span>
                </div>
                <div>
                    <b>{bytes(s.http['held_bytes'])}</b>
                    <span>of bodies held</span>
                </div>
            </div>
            <Parties title="Senders" name="senders" list={s.senders} now={s.now} />
            <Parties title="Layouts and formats" name="layouts" list={s.recognised} now={s.now} />
            <section>
                <h2>Losses</h2>
                {s.losses.length ? (
                    <div class="wide">
                        <table class="rows" data-table="losses">
                            <thead>
                                <tr>
                                    <th>What a format had and the model has not</th>
                                    <th>Times</th>
                                    <th class="text">For example</th>
                                    <th class="text">Kept as</th>
                                </tr>
                            </thead>
                            <tbody>
                                {s.losses.map((l) => (
                                    <tr key={l.concept}>
                                        <td>{l.concept}</td>
                                        <td>{count(l.count)}</td>
                                        <td class="text">{l.example}</td>
                                        <td class="text">{l.carried_as ?? '–'}</td>
                                    </tr>
                                ))}
                            </tbody>
                        </table>
                    </div>
                ) : (
                    <p class="dim">None: everything that arrived was kept as it was.</p>
                )}
            </section>
            <div class="cards">
                <Counters title="Receiving" of={s.ingest} />
                <Counters title="Store" of={s.store} />
                <Counters title="Connections" of={s.http} />
            </div>
            <p class="dim">
                Profiles are kept in <code>{s.store_dir}</code>. The same for Prometheus: <a href="/metrics">/metrics</a>.
            </p>
        </div>
    );
}
