// The page of `kiln serve`. The address holds the selection; the viewer of reports shows the results of the server.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { NeedsToken, Right, Uploaded, upload, uploadedText } from '../../live/client';
import { nameOf, whereUploaded } from '../../live/load';
import { absolute, after, moves, rangeText, resolve, spanText } from '../../live/range';
import { sharedLive } from '../../live/share';
import { Ids, Page, brokenAddress, writeAddress } from '../../live/selection';
import { Selector, hasIds, withIds, writeSelector } from '../../live/selector';
import { State, timelessFragment, needsOf } from '../../state';
import { sourceUrl } from '../../model/source';
import { counted, partText } from '../../model/units';
import { App, Around } from '../App';
import { address, changeAddress } from '../address';
import { useMedia } from '../hooks';
import { ChartMark } from './ChartMark';
import { ResultFrame, Failed } from './ResultFrame';
import { OtherSide } from './Compare';
import { HealthPage } from './HealthPage';
import { ListChart } from './ListChart';
import { LiveHeat } from './LiveHeat';
import { LiveLanes } from './LiveLanes';
import { LiveSeries } from './LiveSeries';
import { LiveVerdict } from './LiveVerdict';
import { NotLoaded } from './NotLoaded';
import { NoTimes, Nothing } from './Nothing';
import { Pace } from './Pace';
import { Picker, TraceSearch } from './Picker';
import { ProfilesPage } from './ProfilesPage';
import { RangePicker } from './RangePicker';
import { ServicesPage } from './ServicesPage';
import { Saved } from './Saved';
import { TokenPrompt } from './TokenPrompt';
import { TracePage } from './TracePage';
import { Uploads } from './Uploads';
import { Again, liveSources, now, sourceLink, useResults } from './useResults';
import { useDeeper } from './useDeeper';
import { useSelection } from './useSelection';

const PAGES: [Page, string][] = [
    ['services', 'Services'],
    ['explore', 'Explore'],
    ['profiles', 'Profiles'],
    ['trace', 'Traces'],
    ['health', 'Health'],
];
const THEME = 'kiln.theme',
    EMPTY_MS = 3000;

const partLength = ([a, b]: [bigint, bigint]): [number, number] => [0, Number(b - a)];
/** A short name for a selection: "shop cpu". */
const proposalOf = (s: Selector) => `${nameOf(s)} ${s.type.replace(/\/[^/]*$/, '')}`.trim();
const message = (e: unknown) => (e instanceof Error ? e.message : String(e));

interface Asked {
    right: Right;
    again(): void;
    wrong: boolean;
}

export function Live() {
    const [sel, go, here] = useSelection(),
        [everything, setEverything] = useState(''), // the address whose data are loaded whole
        needs = useMemo(() => {
            const n = needsOf(here.hash);
            return { ...n, stacks: n.stacks || everything === here.search };
        }, [here, everything]);
    const [uploading, setUploading] = useState(false),
        [notice, setNotice] = useState(() => brokenAddress(location.search, location.hash)),
        [asked, setAsked] = useState<Asked | null>(null),
        [again, setAgain] = useState<Again>({ timer: 0, user: 0 }),
        [choice, setChoice] = useState<State['theme']>(
            () => (localStorage.getItem(THEME) as State['theme'] | null) ?? 'auto',
        );
    const dark = useMedia('(prefers-color-scheme: dark)'),
        theme = choice === 'auto' ? (dark ? 'dark' : 'light') : choice;
    if (document.documentElement.dataset['theme'] !== theme) document.documentElement.dataset['theme'] = theme;

    const prompt = (e: NeedsToken, retry: () => void) => {
        setAsked((open) => open ?? { right: e.right, again: retry, wrong: e.rejected });
    };
    const reload = () => setAgain((a) => ({ ...a, user: a.user + 1 })),
        tick = () => document.hidden || setAgain((a) => ({ ...a, timer: a.timer + 1 })),
        onError = (e: unknown) => e instanceof NeedsToken && prompt(e, reload);
    const found = useResults(sel, needs, again, onError),
        { stale } = found,
        { results, busy: growing } = useDeeper(found.result, needs.zoom, onError),
        busy = found.busy || growing || uploading || (stale && !found.error);
    const [took, setTook] = useState(0); // of the other pages' queries
    useEffect(() => setTook(found.took), [found.took, sel.page]);

    // Refreshes by itself while the page is visible and no part of the shown time is selected.
    useEffect(() => {
        if (!sel.refresh || !moves(sel.range)) return;
        const held = () => /[#&](time|window)=/.test(address().hash);
        const timer = setInterval(() => held() || tick(), sel.refresh * 1e3);
        return () => clearInterval(timer);
    }, [sel.refresh, sel.range.from, sel.range.to]);

    // While the page explains how to send profiles, it polls for the first ones.
    const waiting = sel.page === 'explore' && !!results && !results.session && !results.stored;
    useEffect(() => {
        if (!waiting) return;
        const timer = setInterval(tick, EMPTY_MS);
        return () => clearInterval(timer);
    }, [waiting]);

    /** A selected part of a range that moves fixes the range, so that a link shows the same data later. */
    const searchFor = (fragment: string) =>
        needsOf(fragment).part && moves(sel.range) && results?.span
            ? writeAddress({ ...sel, range: absolute(results.span) })
            : address().search;
    const showIds = (ids: Ids) => go({ page: 'trace', ids });

    const send = async (files: File[]) => {
        const messages: string[] = [],
            stored: Uploaded[] = [];
        setUploading(true);
        setNotice('');
        for (const [i, f] of files.entries())
            try {
                const r = await upload(f);
                if (r.profiles) stored.push(r);
                messages.push(uploadedText(f.name, r));
            } catch (e) {
                if (e instanceof NeedsToken) {
                    prompt(e, () => void send(files.slice(i)));
                    break;
                }
                messages.push(`${f.name}: ${message(e)}`);
            }
        setNotice(messages.join(' · '));
        setUploading(false);
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
        again: again.user,
        onSpan: (s: [number, number]) => go({ range: absolute(s) }),
        onIds: (ids: Ids) => go({ selector: withIds(sel.selector, ids) }),
        onError,
    };
    const around: Around = {
        facts: results?.span
            ? results.part
                ? [partText(results.part.time[0], partLength(results.part.time)), counted(results.part.observations, 'observation')]
                : [`${spanText(results.span)} UTC`, counted(results.observations, 'observation')]
            : [],
        about: results?.about ?? null,
        theme: choice,
        onTheme: changeTheme,
        searchFor,
        whole: results?.sum ?? 0,
        tree: !!results?.tree,
        partly: !!results?.tree?.cut.folded,
        applied: results?.tree?.transform ?? '',
        sources: liveSources(),
        range: results?.session && results.span && !hasIds(results.selector) ? after(results.span, results.session.names.timeBase) : null,
        sourceUrl: (file, line) => {
            const link = sourceLink();
            return link && results ? sourceUrl(link, results.attributes, file, line) : '';
        },
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
    const wholeTime = () => changeAddress({ hash: timelessFragment(here.hash) });
    const shown = results && {
        stale,
        failed: found.error,
        wanted: `${nameOf(sel.selector)}, ${rangeText(sel.range, null)}`,
        shown: `${nameOf(results.selector)}${results.span ? `, ${spanText(results.span)}` : ''}`,
    };
    const lists = {
        sel,
        span: resolve(sel.range, Math.ceil(now() / 1e3) * 1e3, null),
        again,
        go,
        onAgain: reload,
        onTook: setTook,
        onError,
    };
    const listed = sel.page === 'profiles' || (sel.page === 'trace' && !sel.ids.trace && !sel.ids.span);
    return (
        <>
            <div role="banner" class={busy ? 'live busy' : 'live'} data-loads={found.loads}>
                <div class="live-top">
                    <h1 class="brand">
                        kiln<span class="unseen"> {PAGES.find(([p]) => p === sel.page)?.[1]}</span>
                    </h1>
                    <nav class="tabs pages" aria-label="Pages">
                        {PAGES.map(([p, name]) => (
                            <button
                                key={p}
                                aria-current={p === sel.page ? 'page' : undefined}
                                data-goto={p}
                                onClick={() => go({ page: p })}
                            >
                                {name}
                            </button>
                        ))}
                    </nav>
                    <span class="gap" />
                    {sel.page !== 'trace' && <TraceSearch onIds={showIds} />}
                    <Saved
                        link={() => (address().search || '?') + address().hash}
                        proposal={proposalOf(results?.selector ?? sel.selector)}
                        onOpen={(link) => {
                            const url = new URL(link, location.origin);
                            changeAddress({ search: url.search, hash: url.hash });
                        }}
                        onToken={prompt}
                    />
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
                {(explore || sel.page === 'services' || listed) && (
                    <div class="live-picks">
                        <Picker sel={sel} results={results} go={go} />
                        <span class="gap" />
                        <RangePicker
                            range={sel.range}
                            span={
                                explore
                                    ? (results?.span ?? null)
                                    : resolve(sel.range, Math.ceil(now() / 1e3) * 1e3, null)
                            }
                            refresh={sel.refresh}
                            moving={moves(sel.range)}
                            now={now}
                            onRange={(range) => go({ range })}
                            onRefresh={(refresh) => go({ refresh })}
                            onAgain={reload}
                        />
                        {moves(sel.range) && <Pace refresh={sel.refresh} took={took} />}
                    </div>
                )}
                {explore && <OtherSide sel={sel} results={results} go={go} now={now} />}
                <i class="progress" />
            </div>
            {explore && <Failed error={asked ? '' : found.error} onAgain={reload} />}
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
            {listed && <ListChart {...lists} theme={theme} />}
            {sel.page === 'services' ? (
                <ServicesPage {...lists} />
            ) : sel.page === 'health' ? (
                <HealthPage again={again} onAgain={reload} onError={onError} />
            ) : sel.page === 'trace' ? (
                <TracePage {...lists} />
            ) : sel.page === 'profiles' ? (
                <ProfilesPage {...lists} />
            ) : !results ? (
                !found.error && <p class="empty big">Loading …</p>
            ) : (
                <ResultFrame {...shown!}>
                    {results.counts && results.chart && (
                        <ChartMark span={results.chart} part={needs.part}>
                            <LiveSeries
                                results={results}
                                by={sel.by}
                                again={again.user}
                                theme={theme}
                                onBy={(by) => go({ by })}
                                onSelector={(selector) => go({ selector })}
                                onError={onError}
                                onSpan={(s, side) => go(side === 'this' ? { range: absolute(s) } : against(s))}
                            />
                        </ChartMark>
                    )}
                    {results.undated && (
                        <div class="notice" role="status" data-undated>
                            Some samples have timestamps from a clock without a date. They are not shown here.{' '}
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
                                Select a part of the chart to query less data, or{' '}
                                <button class="link" onClick={reload}>
                                    try again
                                </button>
                                .
                            </p>
                        </div>
                    ) : results.session ? (
                        <>
                            <NotLoaded results={results} busy={growing} onAll={() => setEverything(here.search)} />
                            <App
                                session={results.session}
                                shared={sharedLive(sel, results, location.origin, () => address().hash)}
                                around={around}
                            />
                        </>
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
                </ResultFrame>
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
