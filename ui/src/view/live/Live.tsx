// The page of `kiln serve`: what is selected is in the address, and what the server answers is shown by the report's own viewer.
import { useEffect, useRef, useState } from 'preact/hooks';
import { NeedsToken, Right, upload } from '../../live/client';
import { Answer, SERVICE, load, nameOf } from '../../live/load';
import { extentOf, narrowed, profilesOf, seriesOf, statusNow } from '../../live/questions';
import { Span, absolute, atLeast, moves, resolve, spanText } from '../../live/range';
import { Page, Selection, readAddress, writeAddress } from '../../live/selection';
import { Selector, withValue } from '../../live/selector';
import { State, fragmentNeedsTime, timelessFragment } from '../../state';
import { count } from '../../model/units';
import { App, Around } from '../App';
import { useMedia } from '../hooks';
import { HealthPage } from './HealthPage';
import { NoTimes, Nothing } from './Nothing';
import { Picker } from './Picker';
import { ProfilesPage } from './ProfilesPage';
import { RangePicker } from './RangePicker';
import { SeriesChart } from './SeriesChart';
import { TokenPrompt } from './TokenPrompt';
import { Uploads } from './Uploads';

const EVERY: Selector = { type: '', matchers: [] };
const PAGES: [Page, string][] = [
    ['explore', 'Explore'],
    ['profiles', 'Profiles'],
    ['health', 'Health'],
];
const THEME = 'kiln.theme';

const message = (e: unknown) => (e instanceof Error ? e.message : String(e));
const aborted = (e: unknown) => (e as Error)?.name === 'AbortError';

let skew = 0; // of the server's clock against this machine's, ms
const now = () => Date.now() + skew;

/** The selection, kept in the address: a step of the person is a step of the history. */
function useSelection(): [Selection, (s: Partial<Selection>) => void] {
    const [sel, setSel] = useState(() => readAddress(location.search));
    useEffect(() => {
        const back = () => setSel((s) => (writeAddress(s) === location.search ? s : readAddress(location.search)));
        addEventListener('popstate', back);
        return () => removeEventListener('popstate', back);
    }, []);
    const go = (p: Partial<Selection>) => {
        const next = { ...sel, ...p },
            same = !('selector' in p || 'range' in p || 'against' in p);
        const address = writeAddress(next) || location.pathname,
            hash = same ? location.hash : timelessFragment(location.hash);
        if (address !== (location.search || location.pathname)) history.pushState(null, '', address + hash);
        setSel(next);
    };
    return [sel, go];
}

interface Asked {
    right: Right;
    again(): void;
    wrong: boolean;
}

export function Live() {
    const [sel, go] = useSelection(),
        [answer, setAnswer] = useState<Answer | null>(null),
        [loads, setLoads] = useState(0),
        [busy, setBusy] = useState(false),
        [error, setError] = useState(''),
        [notice, setNotice] = useState(''),
        [asked, setAsked] = useState<Asked | null>(null),
        [again, setAgain] = useState(0),
        [withTime, setWithTime] = useState(() => fragmentNeedsTime(location.hash)),
        [choice, setChoice] = useState<State['theme']>(
            () => (localStorage.getItem(THEME) as State['theme'] | null) ?? 'auto',
        );
    const dark = useMedia('(prefers-color-scheme: dark)'),
        theme = choice === 'auto' ? (dark ? 'dark' : 'light') : choice;
    const have = useRef({ key: '', timed: false }),
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
    const key = JSON.stringify([writeAddress({ ...sel, page: 'explore', refresh: 0 }), again]);
    useEffect(() => {
        if (sel.page !== 'explore') return;
        if (have.current.key === key && (have.current.timed || !withTime)) return;
        const stop = new AbortController();
        setBusy(true);
        (async () => {
            if (!skew) skew = Math.round((await statusNow(stop.signal)).now / 1e6 - Date.now()) || 1;
            const start = performance.now(),
                a = await load(sel, withTime, now(), stop.signal);
            performance.measure('kiln:load', { start, end: performance.now() });
            have.current = { key, timed: withTime };
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
    }, [key, withTime, sel.page]);

    // By itself, while somebody looks, and unless moments of what is shown were chosen.
    useEffect(() => {
        if (!sel.refresh || !moves(sel.range)) return;
        const held = () => document.hidden || /[#&](time|window)=/.test(location.hash);
        const timer = setInterval(() => held() || reload(), sel.refresh * 1e3);
        return () => clearInterval(timer);
    }, [sel.refresh, sel.range.from, sel.range.to]);

    const findTrace = async (id: string) => {
        setBusy(true);
        try {
            const selector = withValue(EVERY, 'trace_id', id),
                stored = extentOf(await seriesOf(EVERY, null)),
                span = stored && (await narrowed(selector, stored));
            if (span) go({ page: 'explore', selector, range: absolute(atLeast(span, 1000)), against: null });
            else setNotice(`No sample of trace ${id} is stored.`);
        } catch (e) {
            fail(e, () => void findTrace(id));
        }
        setBusy(false);
    };

    /** Shows what came last: that is what was just sent. */
    const showNewest = async (n: number) => {
        const { profiles, series } = await profilesOf(EVERY, null, Math.max(n, 1));
        if (!profiles.length) return;
        const service = series[profiles[0].series].resource[SERVICE],
            ms = (ns: number) => ns / 1e6,
            time = (r: (typeof profiles)[0]) => r.time || r.received;
        const around: Span = [
            Math.floor(Math.min(...profiles.map((r) => ms(time(r))))) - 1,
            Math.ceil(Math.max(...profiles.map((r) => ms(time(r) + r.duration)))) + 1,
        ];
        go({
            page: 'explore',
            against: null,
            range: absolute(atLeast(around, 1000)),
            selector: typeof service === 'string' ? withValue(EVERY, SERVICE, service) : EVERY,
        });
    };
    const send = async (files: File[]) => {
        const told: string[] = [];
        let n = 0;
        setBusy(true);
        setNotice('');
        for (const [i, f] of files.entries())
            try {
                const r = await upload(f);
                n += r.profiles;
                told.push(`${f.name}: ${r.profiles} ${r.profiles === 1 ? 'profile' : 'profiles'} (${r.recognised})`);
            } catch (e) {
                if (e instanceof NeedsToken) {
                    fail(e, () => void send(files.slice(i)));
                    break;
                }
                told.push(`${f.name}: ${message(e)}`);
            }
        setNotice(told.join(' · '));
        setBusy(false);
        if (n) await showNewest(n).then(reload, (e) => fail(e, reload));
    };

    const changeTheme = (t: State['theme']) => {
        localStorage.setItem(THEME, t);
        setChoice(t);
    };
    const around: Around = {
        about: answer?.span
            ? [
                  nameOf(answer.selector),
                  `${spanText(answer.span)} UTC`,
                  `${count(answer.observations)} observations`,
              ]
            : [],
        theme: choice,
        onTheme: changeTheme,
        onNeedsTime: setWithTime,
        instead: answer && <NoTimes answer={answer} busy={busy} go={go} />,
    };
    const explore = sel.page === 'explore';
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
                {sel.page !== 'health' && (
                    <div class="live-picks">
                        <Picker sel={sel} answer={answer} go={go} onTrace={(id) => void findTrace(id)} />
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
                <HealthPage again={again} onError={(e) => fail(e, reload)} />
            ) : sel.page === 'profiles' ? (
                <ProfilesPage
                    sel={sel}
                    span={resolve(sel.range, Math.ceil(now() / 1e3) * 1e3, null)}
                    again={again}
                    go={go}
                    onError={(e) => fail(e, reload)}
                />
            ) : !answer ? (
                !error && <p class="empty big">Asking the server …</p>
            ) : (
                <>
                    {answer.counts && answer.span && (
                        <SeriesChart
                            counts={answer.counts}
                            span={answer.span}
                            unit={answer.unit}
                            theme={theme}
                            onSpan={(s) => go({ range: absolute(s) })}
                        />
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
