// The page: one state, one selection, several views of it.
import { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ColorBy, palettes } from '../draw/palette';
import { About, aboutOf } from '../model/about';
import { LabelFilter } from '../model/filter';
import { hasLabels, hasTime, Session } from '../model/session';
import { tableOf } from '../model/table';
import { follow, matchedTotal, pathOf } from '../model/tree';
import { leadProfile } from '../model/lead';
import { State, View, Wish, needsTimes, readFragment, writeFragment } from '../state';
import { AboutProfile } from './About';
import { Breadcrumbs } from './Breadcrumbs';
import { ChartView } from './ChartView';
import { Details } from './Details';
import { FlameCanvas } from './FlameCanvas';
import { Header } from './Header';
import { HeatView } from './HeatView';
import { Help } from './Help';
import { timed, useMedia } from './hooks';
import { useKeys } from './keys';
import { LabelsView } from './LabelsView';
import { SandwichView } from './SandwichView';
import { TableView } from './TableView';
import { Toolbar } from './Toolbar';

export type Patch = Partial<State>;

/** What surrounds the viewer when its data come from a server, which has more of them than were sent. */
export interface Around {
    about: string[]; // what was selected, for people
    said: About | null; // by the one profile that is selected; sums do not say it
    theme: State['theme'];
    onTheme(t: State['theme']): void;
    /** What the views want of the server besides sums. A part of the time that is chosen comes from there. */
    onWish(w: Wish): void;
    whole: number; // the sum of all of the time
    /** What stands where the flame chart would, until times are there. */
    instead: ComponentChildren;
    /** Views over all of the time, drawn from what the server adds up. */
    heat(p: TimeView): ComponentChildren;
    lanes(p: TimeView): ComponentChildren;
    /** What a comparison is worth. */
    verdict(labels: LabelFilter[], onFrame: (name: string) => void): ComponentChildren;
}

export interface TimeView {
    labels: LabelFilter[];
    time: [number, number] | null; // what is chosen, ns after the session's base
    theme: 'light' | 'dark';
    onTime(t: [number, number] | null): void;
    onLabels(l: LabelFilter[]): void;
    onView(v: View): void;
}

/** Only views that have something to show. */
function availableViews(s: Session, profile: number, more: boolean): View[] {
    const p = s.profiles[profile],
        out: View[] = ['flame', 'table', 'sandwich'];
    if (more) out.push('chart', 'lanes', 'heat');
    else if (hasTime(p)) out.push('chart', 'heat');
    if (hasLabels(p)) out.push('labels');
    return out;
}

function availableColors(s: Session): ColorBy[] {
    const out: ColorBy[] = ['package'];
    if (s.frames.library.some(Boolean)) out.push('library');
    if (s.frames.kind.some(Boolean)) out.push('kind');
    out.push('function');
    if (s.base) out.push('diff');
    return out;
}

export function App({ session, around }: { session: Session; around?: Around }) {
    const compared = session.base !== null,
        n = session.profiles.length,
        lead = leadProfile(session.main.set);
    const [state, setState] = useState<State>(() => ({
        ...readFragment(location.hash, compared, n, session.names, lead),
        ...(around && { theme: around.theme }),
    }));
    const patch = (p: Patch) => {
        if (p.theme) around?.onTheme(p.theme);
        setState((s) => ({ ...s, ...p }));
    };
    const dark = useMedia('(prefers-color-scheme: dark)'),
        printing = useMedia('print');
    const theme = printing ? 'light' : state.theme === 'auto' ? (dark ? 'dark' : 'light') : state.theme,
        palette = palettes[theme];
    const profile = session.profiles[state.profile];
    const said = useMemo(() => around?.said ?? aboutOf(session.main.set, profile), [session, profile, around?.said]);
    const views = useMemo(() => availableViews(session, state.profile, !!around), [session, state.profile]);
    const colors = useMemo(() => availableColors(session), [session]);
    const view = views.includes(state.view) ? state.view : 'flame';
    const search = useRef<HTMLInputElement>(null);

    // The palette and the colours of the page change in one frame.
    if (document.documentElement.dataset['theme'] !== theme) document.documentElement.dataset['theme'] = theme;
    useEffect(() => {
        const text = writeFragment(state, compared, session.names, lead);
        if (text !== location.hash.replace(/^#/, ''))
            history.replaceState(null, '', text ? `#${text}` : location.pathname + location.search);
    }, [state]);
    useEffect(() => {
        const f = () =>
            setState((s) => ({ ...readFragment(location.hash, compared, n, session.names, lead), theme: s.theme }));
        addEventListener('hashchange', f);
        return () => removeEventListener('hashchange', f);
    }, [session]);

    useEffect(() => {
        const { time } = state.filter,
            unix = (t: number) => session.names.timeBase + BigInt(Math.round(t));
        around?.onWish({ times: needsTimes(view), part: time && [unix(time[0]), unix(time[1])] });
    }, [view, state.filter.time]);
    useEffect(() => {
        if (around) setState((s) => (s.theme === around.theme ? s : { ...s, theme: around.theme }));
    }, [around?.theme]);

    // A server has already left out what is outside of the chosen time.
    const filter = useMemo(() => (around ? { ...state.filter, time: null } : state.filter), [state.filter]);
    const answer = useMemo(
        () => timed('tree', () => session.tree(state.profile, filter, state.compare, state.order)),
        [session, state.profile, filter, state.compare, state.order],
    );
    const { tree } = answer;
    const table = useMemo(() => timed('table', () => tableOf(tree, session.frames.n)), [tree]);
    const found = useMemo(
        () =>
            timed('search', () => {
                const match = view === 'labels' ? null : session.frames.match(state.search);
                return { match, ...(match ? matchedTotal(tree, match) : { total: 0, nodes: 0 }) };
            }),
        [tree, state.search, view === 'labels'],
    );
    const zoom = useMemo(() => follow(tree, state.zoom), [tree, state.zoom]);
    const color =
        (state.color === 'diff' && !tree.baseTotal) || !colors.includes(state.color) ? 'package' : state.color;

    const framesTo = (node: number) => pathOf(tree, node).map((i) => tree.frame[i]);
    const select = (frame: number) => patch({ selected: frame });
    const time = (t: [number, number] | null) => patch({ filter: { ...state.filter, time: t } });
    const nextMatch = (step: number) => {
        if (!found.match) return;
        const list = Array.from(table.frame)
            .filter((f) => found.match![f])
            .sort((a, b) => table.total[b] - table.total[a]);
        if (list.length) select(list[(list.indexOf(state.selected) + step + list.length) % list.length]);
    };
    useKeys({ state, views, theme, colors, compared, patch, nextMatch, focusSearch: () => search.current?.select() });

    const common = {
        frames: session.frames,
        palette,
        color,
        unit: profile.unit,
        match: found.match,
        selected: state.selected,
    };
    const timeProps = { session, profile: state.profile, filter };
    const live: TimeView = {
        labels: state.filter.labels,
        time: state.filter.time,
        theme,
        onTime: time,
        onLabels: (labels) => patch({ filter: { ...state.filter, labels } }),
        onView: (v) => patch({ view: v }),
    };
    return (
        <>
            <Header
                session={session}
                state={state}
                theme={theme}
                views={views}
                view={view}
                answer={answer}
                patch={patch}
                search={search}
                found={found}
                about={around?.about ?? null}
                whole={around ? around.whole : Number(profile.total)}
            />
            <AboutProfile about={said} />
            <Toolbar session={session} state={state} view={view} colors={colors} color={color} patch={patch} />
            {around &&
                compared &&
                state.compare !== 'off' &&
                around.verdict(state.filter.labels, (name) => select(session.names.read(name)))}
            {view === 'flame' && zoom > 0 && (
                <Breadcrumbs
                    tree={tree}
                    frames={session.frames}
                    node={zoom}
                    onZoom={(i) => patch({ zoom: framesTo(i) })}
                />
            )}
            <main>
                <div class="view" data-view={view}>
                    {around && !hasTime(profile) && needsTimes(view) ? (
                        around.instead
                    ) : around && view === 'heat' ? (
                        around.heat(live)
                    ) : around && view === 'lanes' ? (
                        around.lanes(live)
                    ) : tree.n < 2 && view !== 'heat' && view !== 'labels' ? (
                        <p class="empty big">
                            {state.filter.time || state.filter.labels.length ? (
                                <>
                                    No sample passes the filters.{' '}
                                    <button class="link" onClick={() => patch({ filter: { labels: [], time: null } })}>
                                        Remove them
                                    </button>
                                </>
                            ) : (
                                'This profile has no samples.'
                            )}
                        </p>
                    ) : view === 'flame' ? (
                        <FlameCanvas
                            {...common}
                            tree={tree}
                            baseTotal={answer.total}
                            up={!state.icicle}
                            zoom={zoom}
                            label="Flame graph"
                            onSelect={select}
                            onZoom={(i) => patch({ zoom: framesTo(i) })}
                            onOpen={(f) => patch({ selected: f, view: 'sandwich' })}
                        />
                    ) : view === 'table' ? (
                        <TableView
                            {...common}
                            table={table}
                            color={palette.byFrame(session.frames, color === 'diff' ? 'package' : color)}
                            whole={answer.total}
                            sort={state.sort}
                            onSort={(sort) => patch({ sort })}
                            onSelect={select}
                            onOpen={(f) => patch({ selected: f, view: 'sandwich' })}
                        />
                    ) : view === 'sandwich' ? (
                        <SandwichView
                            {...common}
                            tree={tree}
                            table={table}
                            rank={state.order === 'name' ? session.rank() : null}
                            whole={answer.total}
                            onSelect={select}
                        />
                    ) : view === 'chart' ? (
                        <ChartView
                            {...timeProps}
                            {...common}
                            window={state.window}
                            onWindow={(window) => patch({ window })}
                            onTime={time}
                            onSelect={select}
                        />
                    ) : view === 'heat' ? (
                        <HeatView {...timeProps} theme={theme} onTime={time} onView={() => patch({ view: 'flame' })} />
                    ) : (
                        <LabelsView
                            {...timeProps}
                            search={state.search}
                            onFilter={(labels) => patch({ filter: { ...state.filter, labels } })}
                        />
                    )}
                </div>
                {state.selected > 0 && view !== 'labels' && view !== 'heat' && view !== 'lanes' && (
                    <Details
                        session={session}
                        profile={profile}
                        filter={filter}
                        tree={tree}
                        table={table}
                        whole={answer.total}
                        selected={state.selected}
                        view={view}
                        onSelect={select}
                        onSandwich={() => patch({ view: 'sandwich' })}
                        onSearch={(text) => patch({ search: text })}
                        onClose={() => patch({ selected: 0 })}
                    />
                )}
            </main>
            {state.help && <Help live={!!around} onClose={() => patch({ help: false })} />}
        </>
    );
}
