// The page of `kiln serve`: what is selected is in the address, and what the server answers is shown by the report's own viewer.
import { useEffect, useRef, useState } from 'preact/hooks';
import { NeedsToken, Right, Uploaded, upload, uploadedText } from '../../live/client';
import { Answer, load, nameOf, whereUploaded } from '../../live/load';
import { statusNow } from '../../live/questions';
import { absolute, moves, resolve, spanText } from '../../live/range';
import { Ids, NO_IDS, Page, brokenAddress, writeAddress } from '../../live/selection';
import { writeSelector } from '../../live/selector';
import { State, Wish, timelessFragment, wishOf } from '../../state';
import { count } from '../../model/units';
import { App, Around } from '../App';
import { useMedia } from '../hooks';
import { OtherSide } from './Compare';
import { HealthPage } from './HealthPage';
import { LiveHeat } from './LiveHeat';
import { LiveLanes } from './LiveLanes';
import { LiveVerdict } from './LiveVerdict';
import { NoTimes, Nothing } from './Nothing';
import { Picker, TraceSearch } from './Picker';
import { ProfilesPage } from './ProfilesPage';
import { RangePicker } from './RangePicker';
import { SeriesChart } from './SeriesChart';
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

let skew = 0; // of the server's clock against this machine's, ms
const now = () => Date.now() + skew;

interface Asked {
    right: Right;
    again(): void;
    wrong: boolean;
}

export function Live() {
    const [wish, setWish] = useState<Wish>(() => wishOf(location.hash)),
        wished = (w: Wish) =>
            setWish((old) => (old.times === w.times && String(old.part) === String(w.part) ? old : w)),
        [sel, go, pin] = useSelection((fragment) => wished(wishOf(fragment)));
    const [answer, setAnswer] = useState<Answer | null>(null),
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

    // One load at a time: a newer question ends the older one. A session with times answers every view.
    const part = wish.part?.join('-') ?? '',
        key = JSON.stringify([writeAddress({ ...sel, page: 'explore', refresh: 0, ids: NO_IDS }), again, part]);
    useEffect(() => {
        if (sel.page !== 'explore') return;
        if (have.current.key === key && (have.current.times || !wish.times)) return;
        const stop = new AbortController();
        setBusy(true);
        (async () => {
            if (!skew) skew = Math.round((await statusNow(stop.signal)).now / 1e6 - Date.now()) || 1;
            const start = performance.now(),
                a = await load(sel, wish, now(), stop.signal);
            performance.measure('kiln:load', { start, end: performance.now() });
            have.current = { key, times: wish.times };
            setAnswer(a);
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
    }, [key, wish.times, sel.page]);

    // By itself, while somebody looks, and unless moments of what is shown were chosen.
    useEffect(() => {
        if (!sel.refresh || !moves(sel.range)) return;
        const held = () => document.hidden || /[#&](time|window)=/.test(location.hash);
        const timer = setInterval(() => held() || reload(), sel.refresh * 1e3);
        return () => clearInterval(timer);
    }, [sel.refresh, sel.range.from, sel.range.to]);

    // Who is told how to send looks here for what arrives.
    const waiting = sel.page === 'explore' && !!answer && !answer.session && !answer.stored;
    useEffect(() => {
        if (!waiting) return;
        const timer = setInterval(() => document.hidden || reload(), EMPTY_MS);
        return () => clearInterval(timer);
    }, [waiting]);

    const wishedHere = (w: Wish) => {
        wished(w);
        if (w.part && moves(sel.range) && answer?.span) pin(absolute(answer.span)); // a link means the same tomorrow
    };
    const showIds = (ids: Ids) => go({ page: 'trace', ids });

    const send = async (files: File[]) => {
        const told: string[] = [],
            taken: Uploaded[] = [];
        setBusy(true);
        setNotice('');
        for (const [i, f] of files.entries())
            try {
                const r = await upload(f);
                if (r.profiles) taken.push(r);
                told.push(uploadedText(f.name, r));
            } catch (e) {
                if (e instanceof NeedsToken) {
                    fail(e, () => void send(files.slice(i)));
                    break;
                }
                told.push(`${f.name}: ${message(e)}`);
            }
        setNotice(told.join(' · '));
        setBusy(false);
        if (taken.length) go({ page: 'explore', against: null, ...whereUploaded(taken, now()) }, '');
        reload();
    };

    const changeTheme = (t: State['theme']) => {
        localStorage.setItem(THEME, t);
        setChoice(t);
    };
    const over = answer?.session && {
        answer,
        base: answer.session.names.timeBase,
        again,
        onSpan: (s: [number, number]) => go({ range: absolute(s) }),
        onError: (e: unknown) => e instanceof NeedsToken && fail(e, reload),
    };
    const around: Around = {
        about: answer?.span ? [`${spanText(answer.span)} UTC`, `${count(answer.observations)} observations`] : [],
        said: answer?.said ?? null,
        theme: choice,
        onTheme: changeTheme,
        onWish: wishedHere,
        whole: answer?.sum ?? 0,
        instead: answer && <NoTimes answer={answer} busy={busy} go={go} />,
        heat: (t) => <LiveHeat {...t} {...over!} />,
        lanes: (t) => <LiveLanes {...t} {...over!} />,
        verdict: (labels, onFrame) => <LiveVerdict labels={labels} onFrame={onFrame} {...over!} />,
    };
    const explore = sel.page === 'explore';
    /** Compares with a part of the chart. In a comparison the other selection stays; one that begins is about the same samples. */
    const against = (s: [number, number]) => ({
        against: {
            query: writeSelector({ ...(answer?.base?.selector ?? sel.selector), type: '' }),
            range: absolute(s),
        },
        ...(moves(sel.range) && answer?.span ? { range: absolute(answer.span) } : {}),
    });
    const wholeTime = () => {
        history.replaceState(null, '', location.pathname + location.search + timelessFragment(location.hash));
        setWish((w) => ({ ...w, part: null }));
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
                        <Picker sel={sel} answer={answer} go={go} />
                        <span class="gap" />
                        <RangePicker
                            range={sel.range}
                            span={answer?.span ?? null}
                            refresh={sel.refresh}
                            moving={moves(sel.range)}
                            now={now}
                            onRange={(range) => go({ range })}
                            onRefresh={(refresh) => go({ refresh })}
                            onAgain={reload}
                        />
                    </div>
                )}
                {explore && <OtherSide sel={sel} answer={answer} go={go} now={now} />}
                <i class="progress" />
            </div>
            {error && (
                <div class="notice" role="alert">
                    <b>This cannot be shown:</b> {error}.{' '}
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
            {explore && answer?.withoutBase && answer.session && (
                <div class="notice" role="status" data-no-base>
                    There is nothing to compare with in that time.
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
            ) : !answer ? (
                !error && <p class="empty big">Asking the server …</p>
            ) : (
                <>
                    {answer.counts && answer.chart && (
                        <SeriesChart
                            counts={answer.counts}
                            span={answer.chart}
                            unit={answer.unit}
                            theme={theme}
                            sides={
                                answer.base && {
                                    this: answer.span!,
                                    base: answer.base.span,
                                    baseCounts: answer.base.counts,
                                }
                            }
                            onSpan={(s, side) => go(side === 'this' ? { range: absolute(s) } : against(s))}
                        />
                    )}
                    {answer.undated && (
                        <div class="notice" role="status" data-undated>
                            Some samples were timed by a clock that does not tell the date, and are not shown here.{' '}
                            <button class="link" onClick={() => go({ range: absolute(answer.undated!) })}>
                                Look at them
                            </button>
                        </div>
                    )}
                    {answer.counts?.partial && (
                        <div class="notice" role="status">
                            The chart is not whole: {answer.counts.why}.
                        </div>
                    )}
                    {answer.failed ? (
                        <div class="empty big" role="alert">
                            <p>This cannot be shown: {answer.failed}.</p>
                            <p>
                                Drag over a part of the chart to look at less, or{' '}
                                <button class="link" onClick={reload}>
                                    try again
                                </button>
                                .
                            </p>
                        </div>
                    ) : answer.session ? (
                        <App key={loads} session={answer.session} around={around} />
                    ) : wish.part ? (
                        <p class="empty big">
                            Nothing was measured in the part that is chosen.{' '}
                            <button class="link" onClick={wholeTime}>
                                All of the time
                            </button>
                        </p>
                    ) : (
                        <Nothing sel={sel} answer={answer} go={go} />
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
