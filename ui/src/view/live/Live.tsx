// The page of `kiln serve`. The address holds the selection; the viewer of reports shows the results of the server.
import { useEffect, useRef, useState } from 'preact/hooks';
import { NeedsToken, Right, Uploaded, upload, uploadedText } from '../../live/client';
import { Results, load, nameOf, whereUploaded } from '../../live/load';
import { statusNow } from '../../live/queries';
import { absolute, moves, resolve, spanText } from '../../live/range';
import { Ids, NO_IDS, Page, brokenAddress, writeAddress } from '../../live/selection';
import { withIds, writeSelector } from '../../live/selector';
import { State, Needs, timelessFragment, needsOf } from '../../state';
import { count } from '../../model/units';
import { App, Around } from '../App';
import { useMedia } from '../hooks';
import { ChartMark } from './ChartMark';
import { OtherSide } from './Compare';
import { HealthPage } from './HealthPage';
import { LiveHeat } from './LiveHeat';
import { LiveLanes } from './LiveLanes';
import { LiveSeries } from './LiveSeries';
import { LiveVerdict } from './LiveVerdict';
import { NoTimes, Nothing } from './Nothing';
import { Picker, TraceSearch } from './Picker';
import { ProfilesPage } from './ProfilesPage';
import { RangePicker } from './RangePicker';
import { TokenPrompt } from './TokenPrompt';
import { TracePage } from './TracePage';
import { Uploads } from './Uploads';
import { useSelection } from './useSelection';

const PAGES: [Page, string][] = [
    ['explore', 'Explore'],
    ['profiles', 'Profiles'],
    ['trace', 'Traces'],
    ['health', 'Health'],
];
const THEME = 'kiln.theme',
    EMPTY_MS = 3000;

const message = (e: unknown) => (e instanceof Error ? e.message : String(e));
const aborted = (e: unknown) => (e as Error)?.name === 'AbortError';

let skew = 0; // offset of the server's clock from this machine's, ms
const now = () => Date.now() + skew;

interface Asked {
    right: Right;
    again(): void;
    wrong: boolean;
}

export function Live() {
    const [needs, setNeeds] = useState<Needs>(() => needsOf(location.hash)),
        changeNeeds = (w: Needs) =>
            setNeeds((old) => (old.times === w.times && String(old.part) === String(w.part) ? old : w)),
        [sel, go, pin] = useSelection((fragment) => changeNeeds(needsOf(fragment)));
    const [results, setResults] = useState<Results | null>(null),
        [loads, setLoads] = useState(0),
        [busy, setBusy] = useState(false),
        [error, setError] = useState(''),
        [notice, setNotice] = useState(() => brokenAddress(location.search, location.hash)),
        [asked, setAsked] = useState<Asked | null>(null),
        [again, setAgain] = useState(0),
        [choice, setChoice] = useState<State['theme']>(
            () => (localStorage.getItem(THEME) as State['theme'] | null) ?? 'auto',
        );
    const dark = useMedia('(prefers-color-scheme: dark)'),
        theme = choice === 'auto' ? (dark ? 'dark' : 'light') : choice;
    const have = useRef({ key: '', times: false }),
        prompted = useRef<Set<Right>>(new Set());
    if (document.documentElement.dataset['theme'] !== theme) document.documentElement.dataset['theme'] = theme;

    const fail = (e: unknown, retry: () => void) => {
        if (aborted(e)) return;
        if (e instanceof NeedsToken) {
            setAsked({ right: e.right, again: retry, wrong: prompted.current.has(e.right) });
            prompted.current.add(e.right);
        } else setError(message(e));
    };
    const reload = () => setAgain((n) => n + 1);

    // One load at a time: a newer query aborts the older one. A session with timestamps serves every view.
    const part = needs.part?.join('-') ?? '',
        key = JSON.stringify([writeAddress({ ...sel, page: 'explore', refresh: 0, ids: NO_IDS, by: null }), again, part]);
    useEffect(() => {
        if (sel.page !== 'explore') return;
        if (have.current.key === key && (have.current.times || !needs.times)) return;
        const stop = new AbortController();
        setBusy(true);
        (async () => {
            if (!skew) skew = Math.round((await statusNow(stop.signal)).now / 1e6 - Date.now()) || 1;
            const start = performance.now(),
                a = await load(sel, needs, now(), stop.signal);
            performance.measure('kiln:load', { start, end: performance.now() });
            have.current = { key, times: needs.times };
            setResults(a);
            setLoads((n) => n + 1);
            setError('');
            document.title = `${nameOf(sel.selector)} - kiln`;
        })()
            .catch((e) => fail(e, reload))
            .finally(() => {
                if (stop.signal.aborted) return;
                setBusy(false);
                document.documentElement.dataset['ready'] = String(
                    Number(document.documentElement.dataset['ready'] ?? 0) + 1,
                );
            });
        return () => stop.abort();
    }, [key, needs.times, sel.page]);

    // Refreshes by itself while the page is visible and no part of the shown time is selected.
    useEffect(() => {
        if (!sel.refresh || !moves(sel.range)) return;
        const held = () => document.hidden || /[#&](time|window)=/.test(location.hash);
        const timer = setInterval(() => held() || reload(), sel.refresh * 1e3);
        return () => clearInterval(timer);
    }, [sel.refresh, sel.range.from, sel.range.to]);

    // While the page explains how to send profiles, it polls for the first ones.
    const waiting = sel.page === 'explore' && !!results && !results.session && !results.stored;
    useEffect(() => {
        if (!waiting) return;
        const timer = setInterval(() => document.hidden || reload(), EMPTY_MS);
        return () => clearInterval(timer);
    }, [waiting]);

    const pinNeeds = (w: Needs) => {
        changeNeeds(w);
        if (w.part && moves(sel.range) && results?.span) pin(absolute(results.span)); // so that a link shows the same data later
    };
    const showIds = (ids: Ids) => go({ page: 'trace', ids });

    const send = async (files: File[]) => {
        const messages: string[] = [],
            stored: Uploaded[] = [];
        setBusy(true);
        setNotice('');
        for (const [i, f] of files.entries())
            try {
                const r = await upload(f);
                if (r.profiles) stored.push(r);
                messages.push(uploadedText(f.name, r));
            } catch (e) {
                if (e instanceof NeedsToken) {
                    fail(e, () => void send(files.slice(i)));
                    break;
                }
                messages.push(`${f.name}: ${message(e)}`);
            }
        setNotice(messages.join(' · '));
        setBusy(false);
        if (stored.length) go({ page: 'explore', against: null, ...whereUploaded(stored, now()) }, '');
        reload();
    };

    const changeTheme = (t: State['theme']) => {
        localStorage.setItem(THEME, t);
        setChoice(t);
    };
    const over = results?.session && {
        results,
        base: results.session.names.timeBase,
        again,
        onSpan: (s: [number, number]) => go({ range: absolute(s) }),
        onIds: (ids: Ids) => go({ selector: withIds(sel.selector, ids) }),
        onError: (e: unknown) => e instanceof NeedsToken && fail(e, reload),
    };
    const around: Around = {
        facts: results?.span ? [`${spanText(results.span)} UTC`, `${count(results.observations)} observations`] : [],
        about: results?.about ?? null,
        theme: choice,
        onTheme: changeTheme,
        onNeeds: pinNeeds,
        whole: results?.sum ?? 0,
        instead: results && <NoTimes results={results} busy={busy} go={go} />,
        heat: (t) => <LiveHeat {...t} {...over!} />,
        lanes: (t) => <LiveLanes {...t} {...over!} />,
        verdict: (labels, onFrame) => <LiveVerdict labels={labels} onFrame={onFrame} {...over!} />,
    };
    const explore = sel.page === 'explore';
    /** Compares with a part of the chart. A running comparison keeps its other selection; a new one compares the same
     *  selection. */
    const against = (s: [number, number]) => ({
        against: {
            query: writeSelector({ ...(results?.base?.selector ?? sel.selector), type: '' }),
            range: absolute(s),
        },
        ...(moves(sel.range) && results?.span ? { range: absolute(results.span) } : {}),
    });
    const wholeTime = () => {
        history.replaceState(null, '', location.pathname + location.search + timelessFragment(location.hash));
        setNeeds((w) => ({ ...w, part: null }));
    };
    return (
        <>
            <div class={busy ? 'live busy' : 'live'} data-loads={loads}>
                <div class="live-top">
                    <b class="brand">kiln</b>
                    <nav class="tabs pages">
                        {PAGES.map(([p, name]) => (
                            <button
                                key={p}
                                aria-selected={p === sel.page}
                                role="tab"
                                data-goto={p}
                                onClick={() => go({ page: p })}
                            >
                                {name}
                            </button>
                        ))}
                    </nav>
                    <span class="gap" />
                    {sel.page !== 'trace' && <TraceSearch onIds={showIds} />}
                    <Uploads onFiles={(f) => void send(f)} />
                    <button
                        class="icon"
                        title="Dark or light (t)"
                        aria-label="Dark or light"
                        data-do="theme"
                        onClick={() => changeTheme(theme === 'dark' ? 'light' : 'dark')}
                    >
                        {theme === 'dark' ? '☀' : '☾'}
                    </button>
                </div>
                {(explore || sel.page === 'profiles' || (sel.page === 'trace' && !sel.ids.trace && !sel.ids.span)) && (
                    <div class="live-picks">
                        <Picker sel={sel} results={results} go={go} />
                        <span class="gap" />
                        <RangePicker
                            range={sel.range}
                            span={results?.span ?? null}
                            refresh={sel.refresh}
                            moving={moves(sel.range)}
                            now={now}
                            onRange={(range) => go({ range })}
                            onRefresh={(refresh) => go({ refresh })}
                            onAgain={reload}
                        />
                    </div>
                )}
                {explore && <OtherSide sel={sel} results={results} go={go} now={now} />}
                <i class="progress" />
            </div>
            {error && (
                <div class="notice" role="alert">
                    <b>Error:</b> {error}.{' '}
                    <button class="link" onClick={() => (setError(''), reload())}>
                        Try again
                    </button>
                </div>
            )}
            {notice && (
                <div class="notice" role="status" data-notice>
                    {notice}{' '}
                    <button class="link" onClick={() => setNotice('')}>
                        Close
                    </button>
                </div>
            )}
            {explore && results?.withoutBase && results.session && (
                <div class="notice" role="status" data-no-base>
                    There is no data to compare with in that time range.
                </div>
            )}
            {sel.page === 'health' ? (
                <HealthPage
                    again={again}
                    failed={!!error}
                    onFound={() => setError('')}
                    onError={(e) => fail(e, reload)}
                />
            ) : sel.page === 'trace' ? (
                <TracePage
                    sel={sel}
                    span={resolve(sel.range, Math.ceil(now() / 1e3) * 1e3, null)}
                    again={again}
                    go={go}
                    onError={(e) => e instanceof NeedsToken && fail(e, reload)}
                />
            ) : sel.page === 'profiles' ? (
                <ProfilesPage
                    sel={sel}
                    span={resolve(sel.range, Math.ceil(now() / 1e3) * 1e3, null)}
                    again={again}
                    failed={!!error}
                    go={go}
                    onFound={() => setError('')}
                    onError={(e) => fail(e, reload)}
                />
            ) : !results ? (
                !error && <p class="empty big">Loading …</p>
            ) : (
                <>
                    {results.counts && results.chart && (
                        <ChartMark span={results.chart} part={needs.part}>
                            <LiveSeries
                                results={results}
                                by={sel.by}
                                again={loads}
                                theme={theme}
                                onBy={(by) => go({ by })}
                                onSelector={(selector) => go({ selector })}
                                onError={(e) => e instanceof NeedsToken && fail(e, reload)}
                                onSpan={(s, side) => go(side === 'this' ? { range: absolute(s) } : against(s))}
                            />
                        </ChartMark>
                    )}
                    {results.undated && (
                        <div class="notice" role="status" data-undated>
                            Some samples have timestamps of a clock without a date. They are not shown here.{' '}
                            <button class="link" onClick={() => go({ range: absolute(results.undated!) })}>
                                Show them
                            </button>
                        </div>
                    )}
                    {results.counts?.partial && (
                        <div class="notice" role="status">
                            The chart is incomplete: {results.counts.why}.
                        </div>
                    )}
                    {results.failed ? (
                        <div class="empty big" role="alert">
                            <p>The profile cannot be shown: {results.failed}.</p>
                            <p>
                                Drag over a part of the chart to select less data, or{' '}
                                <button class="link" onClick={reload}>
                                    try again
                                </button>
                                .
                            </p>
                        </div>
                    ) : results.session ? (
                        <App key={loads} session={results.session} around={around} />
                    ) : needs.part ? (
                        <p class="empty big">
                            There are no samples in the selected part.{' '}
                            <button class="link" onClick={wholeTime}>
                                Show the whole time range
                            </button>
                        </p>
                    ) : (
                        <Nothing sel={sel} results={results} go={go} />
                    )}
                </>
            )}
            {asked && (
                <TokenPrompt
                    right={asked.right}
                    wrong={asked.wrong}
                    onClose={() => setAsked(null)}
                    onDone={() => (setAsked(null), asked.again())}
                />
            )}
        </>
    );
}
