// The page: one state, one selection, several views of it.
import { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ColorBy, palettes } from '../draw/palette';
import { hasLabels, hasTime, Session } from '../model/session';
import { tableOf } from '../model/table';
import { follow, matchedTotal, pathOf } from '../model/tree';
import { State, View, needsTime, readFragment, writeFragment } from '../state';
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
    theme: State['theme'];
    onTheme(t: State['theme']): void;
    /** The view wants the time of each observation (or no longer does). */
    onNeedsTime(yes: boolean): void;
    /** What stands where a view of time would, until those are there. */
    instead: ComponentChildren;
}

/** Only views that have something to show. */
function availableViews(s: Session, profile: number, more: boolean): View[] {
    const p = s.profiles[profile],
        out: View[] = ['flame', 'table', 'sandwich'];
    if (more || hasTime(p)) out.push('chart', 'heat');
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
        n = session.profiles.length;
    const [state, setState] = useState<State>(() => ({
        ...readFragment(location.hash, compared, n, session.names),
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
    const views = useMemo(() => availableViews(session, state.profile, !!around), [session, state.profile]);
    const colors = useMemo(() => availableColors(session), [session]);
    const view = views.includes(state.view) ? state.view : 'flame';
    const search = useRef<HTMLInputElement>(null);

    // The palette and the colours of the page change in one frame.
    if (document.documentElement.dataset['theme'] !== theme) document.documentElement.dataset['theme'] = theme;
    useEffect(() => {
        const text = writeFragment(state, compared, session.names);
        if (text !== location.hash.replace(/^#/, ''))
            history.replaceState(null, '', text ? `#${text}` : location.pathname + location.search);
    }, [state]);
    useEffect(() => {
        const f = () =>
            setState((s) => ({ ...readFragment(location.hash, compared, n, session.names), theme: s.theme }));
        addEventListener('hashchange', f);
        return () => removeEventListener('hashchange', f);
    }, [session]);

    useEffect(() => around?.onNeedsTime(needsTime({ view, filter: state.filter })), [view, state.filter.time]);
    useEffect(() => {
        if (around) setState((s) => (s.theme === around.theme ? s : { ...s, theme: around.theme }));
    }, [around?.theme]);

    const answer = useMemo(
        () => timed('tree', () => session.tree(state.profile, state.filter, state.compare, state.order)),
        [session, state.profile, state.filter, state.compare, state.order],
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
    const timeProps = { session, profile: state.profile, filter: state.filter };
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
            />
            <Toolbar session={session} state={state} view={view} colors={colors} color={color} patch={patch} />
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
                    {around && !hasTime(profile) && needsTime({ view, filter: state.filter }) ? (
                        around.instead
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
                {state.selected > 0 && view !== 'labels' && view !== 'heat' && (
                    <Details
                        session={session}
                        profile={profile}
                        filter={state.filter}
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
