// The page: one state, one selection, several views of it.
import { ComponentChildren } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { gzip } from '../base/bytes';
import { ColorBy, Palette } from '../draw/palette';
import { About, aboutOf } from '../model/about';
import { commandOption } from '../model/command_option';
import { LabelFilter } from '../model/filter';
import { invertOf } from '../model/invert';
import { reshaped } from '../model/reshape';
import { Choice, hasLabels, hasTime, Session } from '../model/session';
import { Shared } from '../model/shared';
import { tableOf } from '../model/table';
import { Sources } from '../model/source';
import { Transform, reshapeOf, writeTransform } from '../model/transforms';
import { largestOf, pathOf, zoomFor } from '../model/tree';
import { withUnit } from '../model/units';
import { Part, otlpOf, pprofOf } from '../model/written';
import type { Profile } from '../otlp/types';
import { State, View, needsTimes } from '../state';
import { AboutProfile } from './About';
import { Breadcrumbs } from './Breadcrumbs';
import { CallTreeView } from './CallTreeView';
import { DiffLegend } from './DiffLegend';
import { ChartView } from './ChartView';
import { Details } from './Details';
import { FlameCanvas } from './FlameCanvas';
import { FrameMenu, MenuAt } from './FrameMenu';
import { Header, TITLES } from './Header';
import { HeatView } from './HeatView';
import { Help } from './Help';
import { timed, useMedia } from './hooks';
import { useKeys } from './keys';
import { LabelsView } from './LabelsView';
import { Legend } from './Legend';
import { SandwichView } from './SandwichView';
import { Share } from './Share';
import { SourceView } from './SourceView';
import { TableView } from './TableView';
import { VIEW_ID } from './Tabs';
import { Toolbar } from './Toolbar';
import { TransformBar } from './TransformBar';
import { useFound } from './useFound';
import { ViewOptions, useViewState } from './useViewState';

/** The page around the viewer when the data come from a server, which has more data than it sent. */
export interface Around extends ViewOptions {
    facts: string[]; // describes the selection
    about: About | null; // comments and attributes of the selected profile; null for sums
    theme: State['theme'];
    whole: number; // the sum over the whole time range
    tree: boolean; // the data are a tree: samples have no labels until these are needed
    partly: boolean; // a part of the tree is not loaded
    applied: string; // the transform that the server has applied
    /** Shown in place of the flame chart until timestamps are loaded. */
    instead: ComponentChildren;
    /** Views over the whole time range, drawn from sums that the server computes. */
    heat(p: TimeView): ComponentChildren;
    lanes(p: TimeView): ComponentChildren;
    sources: Sources | null; // files that the server fetches
    /**
     * The time range of the flame chart, ns after the session's base.  null: from the first to the last observation, as for a trace,
     * whose extent ends where its last observation is drawn.
     */
    range?: [number, number] | null;
    /** The address of a line of a source file; '': there is none. */
    sourceUrl(file: string, line: number): string;
    /** The statistical verdict on a comparison. */
    verdict(labels: LabelFilter[], onFrame: (name: string) => void): ComponentChildren;
}

export interface TimeView {
    labels: LabelFilter[];
    time: [number, number] | null; // the selected range, ns after the session's base
    theme: 'light' | 'dark';
    onTime(t: [number, number] | null): void;
    onLabels(l: LabelFilter[]): void;
    onView(v: View): void;
}

/** The views whose colours stand for functions. */
const COLORED = new Set<View>(['flame', 'sandwich', 'chart', 'table', 'tree']);

/** The views whose boxes are coloured by the selected colours. */
const DRAWN = new Set<View>(['flame', 'sandwich']);

/** The views for which there are data. */
function availableViews(p: Profile, more: boolean, labels: boolean, source: boolean): View[] {
    const out: View[] = ['flame', 'table', 'tree', 'sandwich'];
    if (more) out.push('chart', 'lanes', 'heat');
    else if (hasTime(p)) out.push('chart', 'heat');
    if (labels) out.push('labels');
    if (source) out.push('source');
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

const SEEN = 1 / 40; // a box is zoomed to this part of the width when the search goes to it

/** The viewer. `session` may be replaced by newer or other data at any time: what the user chose stays, by name. */
export function App({
    session,
    shared,
    around,
    sources: own = null,
}: {
    session: Session;
    shared: Shared;
    around?: Around;
    sources?: Sources | null;
}) {
    const compared = session.base !== null,
        sources = own ?? around?.sources ?? null,
        [state, patch] = useViewState(session, around ?? null);
    const dark = useMedia('(prefers-color-scheme: dark)'),
        printing = useMedia('print');
    const theme = printing ? 'light' : state.theme === 'auto' ? (dark ? 'dark' : 'light') : state.theme,
        choice = useMemo(
            (): Choice => ({ type: state.type, resource: state.resource, one: state.one }),
            [session, state.type, state.resource, state.one],
        ),
        profile = session.profile(choice),
        palette = useMemo(() => new Palette(theme, session.selfOf(profile)), [theme, profile]);
    const about = useMemo(() => around?.about ?? aboutOf(session.main.set, profile), [session, profile, around?.about]);
    const views = useMemo(() => availableViews(profile, !!around, !!around?.tree || hasLabels(profile), !!sources), [profile, sources]);
    const colors = useMemo(() => availableColors(session), [session]);
    const view = views.includes(state.view) ? state.view : 'flame';
    const search = useRef<HTMLInputElement>(null);

    // The palette and the colours of the page change in one frame.
    if (document.documentElement.dataset['theme'] !== theme) document.documentElement.dataset['theme'] = theme;

    // The server has already applied the selected time range.
    const filter = useMemo(() => (around ? { ...state.filter, time: null } : state.filter), [state.filter]);
    const reshape = useMemo(
        () =>
            reshapeOf(
                state.transforms.filter((t) => !around?.applied || writeTransform(t) !== around.applied),
                session.frames,
                session.main.noStack,
            ),
        [session, state.transforms, around?.applied],
    );
    const plain = useMemo(
        () => timed('tree', () => session.tree(choice, filter, state.compare, state.order)),
        [choice, filter, state.compare, state.order],
    );
    const result = useMemo(() => {
        if (!reshape) return plain;
        const [byValue, share] = [state.order === 'value', state.compare === 'share'];
        return timed('transform', () => reshaped(plain, reshape, session.rank(), byValue, share));
    }, [plain, reshape]);
    const { tree } = result;
    const inverted = state.inverted && (view === 'flame' || view === 'tree'),
        shown = useMemo(
            () =>
                inverted
                    ? timed('invert', () => invertOf(tree, session.frames.n, session.rank(), state.order === 'value'))
                    : tree,
            [tree, inverted, inverted && state.order],
        );
    const table = useMemo(() => timed('table', () => tableOf(tree, session.frames.n)), [tree]);
    const found = useFound(session.frames, tree, table, view === 'labels' ? '' : state.search);
    const zoom = useMemo(() => session.refs.follow(shown, state.zoom), [shown, state.zoom]);
    const color =
        (state.color === 'diff' && !tree.baseTotal) || !colors.includes(state.color) ? 'package' : state.color;

    const framesTo = (node: number) => pathOf(shown, node).map((i) => shown.frame[i]),
        pathTo = (node: number) => framesTo(node).map((f) => session.refs.step(f));
    const select = (frame: number) => patch({ selected: frame });
    const time = (t: [number, number] | null) => patch({ filter: { ...state.filter, time: t } });
    const nextMatch = (step: number) => {
        const { list } = found,
            at = list.indexOf(state.selected);
        if (!list.length) return;
        const frame = list[((at < 0 && step < 0 ? 0 : at) + step + list.length) % list.length];
        if (view !== 'flame') return select(frame);
        const to = largestOf(shown, frame, zoom),
            inside = shown.x[to] >= shown.x[zoom] && shown.x[to] + shown.w[to] <= shown.x[zoom] + shown.w[zoom],
            seen = inside && shown.depth[to] >= shown.depth[zoom] && shown.w[to] >= SEEN * shown.w[zoom];
        patch({ selected: frame, ...(seen ? {} : { zoom: pathTo(zoomFor(shown, to, SEEN)) }) });
    };
    const [menu, setMenu] = useState<MenuAt | null>(null);
    /** Opens the menu of a frame; `node` is its node in the shown tree, if the view shows paths. */
    const openMenu = (frame: number, x: number, y: number, node = 0) =>
        frame > 0 && setMenu({ frame, path: node ? framesTo(node) : null, inverted, x, y });
    // A path from the root means nothing in a tree that begins elsewhere.
    const transform = (transforms: Transform[]) => patch({ transforms, zoom: [] });
    const invert = (on: boolean) => patch({ inverted: on, zoom: [] });
    /** The options of a command for the transforms; null: a command cannot do the same, or in the same order. */
    const option = useMemo(() => {
            if (state.transforms.length !== 1) return '';
            const { strings, mappings } = session.main.set.dict,
                files = mappings.map((m) => strings.get(m.filename));
            return commandOption(state.transforms[0], session.frames, plain.tree, session.main.noStack, files);
        }, [plain, state.transforms]),
        options = !state.resource && state.one < 0 && (option || !state.transforms.length) ? option : null;
    /** The shown samples, and for pprof those of the other side, with negative values. */
    const written = (format: 'pprof' | 'otlp'): Promise<Blob> => {
        const main: Part = { bound: session.main, profile, filter, reshape, sign: 1 },
            twin = compared && state.compare !== 'off' ? session.twin(choice) : null,
            base: Part[] = twin
                ? [{ ...main, bound: session.base!, profile: twin, filter: { ...filter, time: null }, sign: -1 }]
                : [];
        return gzip(format === 'pprof' ? pprofOf(session.frames, [main, ...base]) : otlpOf(session.frames, main));
    };
    const searched = state.transforms.findIndex((t) => t.kind === 'search' && t.name === state.search);
    const onlyMatches = () =>
        searched >= 0
            ? transform(state.transforms.filter((_, i) => i !== searched))
            : found.list.length && transform([...state.transforms, { kind: 'search', name: state.search, path: '' }]);
    useKeys({
        state,
        views,
        theme,
        colors,
        compared,
        patch,
        nextMatch,
        onlyMatches,
        transform,
        invert,
        focusSearch: () => search.current?.select(),
    });

    const common = {
        frames: session.frames,
        refs: session.refs,
        palette,
        color,
        unit: profile.unit,
        match: found.match,
        selected: state.selected,
    };
    const timeProps = { session, profile, filter };
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
                choice={choice}
                state={state}
                theme={theme}
                views={views}
                view={view}
                result={result}
                patch={patch}
                search={search}
                found={found}
                only={searched >= 0}
                partly={around?.partly ?? false}
                onStep={nextMatch}
                onOnly={onlyMatches}
                about={around?.facts ?? null}
                share={
                    <Share
                        shared={shared}
                        picture={{
                            tree: shown,
                            frames: session.frames,
                            palette,
                            color: palette.byNode(shown, session.frames, color),
                            up: !state.icicle,
                            match: found.match,
                            zoom,
                            unit: profile.unit,
                            title: [
                                session.main.set.name,
                                profile.type || 'samples',
                                withUnit(result.total, profile.unit),
                            ].join(', '),
                        }}
                        tree={tree}
                        filter={state.filter}
                        transforms={options}
                        transformed={state.transforms.length > 0}
                        partly={around?.partly ?? false}
                        written={written}
                        type={`${profile.type}/${profile.unit}`}
                        view={view}
                        inverted={inverted}
                        icicle={state.icicle}
                        compared={compared && state.compare !== 'off'}
                        selected={state.selected}
                        name={session.main.set.name}
                    />
                }
                whole={around ? around.whole : Number(profile.total)}
            />
            <AboutProfile about={about} />
            <Toolbar
                session={session}
                choosing={!around}
                state={state}
                view={view}
                colors={colors}
                color={color}
                patch={patch}
            />
            {around &&
                compared &&
                state.compare !== 'off' &&
                around.verdict(state.filter.labels, (name) => select(session.names.read(name)))}
            {menu && (
                <FrameMenu
                    frames={session.frames}
                    at={menu}
                    onTransform={(t) => transform([...state.transforms, t])}
                    onClose={() => setMenu(null)}
                />
            )}
            {view !== 'heat' && view !== 'lanes' && view !== 'labels' && (
                <TransformBar
                    frames={session.frames}
                    transforms={state.transforms}
                    inverted={inverted}
                    onChange={transform}
                    onInvert={invert}
                />
            )}
            {view === 'flame' && zoom > 0 && (
                <Breadcrumbs
                    tree={shown}
                    frames={session.frames}
                    node={zoom}
                    onZoom={(i) => patch({ zoom: pathTo(i) })}
                />
            )}
            {tree.baseTotal && (view === 'table' || view === 'tree' || (color === 'diff' && DRAWN.has(view))) && (
                <DiffLegend palette={palette} tree={tree} shares={state.compare === 'share'} />
            )}
            <main>
                <div class="view" data-view={view} id={VIEW_ID} role="tabpanel" aria-label={TITLES[view]}>
                    {around && !hasTime(profile) && needsTimes(view) ? (
                        around.instead
                    ) : around && view === 'heat' ? (
                        around.heat(live)
                    ) : around && view === 'lanes' ? (
                        around.lanes(live)
                    ) : tree.n < 2 && view !== 'heat' && view !== 'labels' ? (
                        <p class="empty big">
                            {state.transforms.length ? (
                                <>
                                    No stack is left after the transforms.{' '}
                                    <button class="link" onClick={() => transform(state.transforms.slice(0, -1))}>
                                        Undo the last one
                                    </button>
                                </>
                            ) : state.filter.time || state.filter.labels.length ? (
                                <>
                                    No sample matches the filters.{' '}
                                    <button class="link" onClick={() => patch({ filter: { labels: [], time: null } })}>
                                        Remove the filters
                                    </button>
                                </>
                            ) : (
                                'This profile has no samples.'
                            )}
                        </p>
                    ) : view === 'flame' ? (
                        <FlameCanvas
                            {...common}
                            tree={shown}
                            baseTotal={result.total}
                            up={!state.icicle}
                            zoom={zoom}
                            label="Flame graph"
                            onSelect={select}
                            onZoom={(i) => patch({ zoom: pathTo(i) })}
                            onOpen={(f) => patch({ selected: f, view: 'sandwich' })}
                            onMenu={(i, x, y) => openMenu(shown.frame[i], x, y, i)}
                        />
                    ) : view === 'tree' ? (
                        <CallTreeView
                            {...common}
                            tree={shown}
                            rank={session.rank()}
                            color={palette.byNode(shown, session.frames, color)}
                            whole={result.total}
                            inverted={inverted}
                            onSelect={select}
                            onOpen={(f) => patch({ selected: f, view: 'sandwich' })}
                            onMenu={(i, x, y) => openMenu(shown.frame[i], x, y, i)}
                        />
                    ) : view === 'table' ? (
                        <TableView
                            {...common}
                            tree={tree}
                            table={table}
                            color={
                                color === 'diff' ? palette.byChange(tree, table) : palette.byFrame(session.frames, color)
                            }
                            whole={result.total}
                            sort={state.sort}
                            search={state.search}
                            onSort={(sort) => patch({ sort })}
                            onSelect={select}
                            onMenu={openMenu}
                            onOpen={(f) => patch({ selected: f, view: 'sandwich' })}
                        />
                    ) : view === 'sandwich' ? (
                        <SandwichView
                            {...common}
                            tree={tree}
                            table={table}
                            rank={state.order === 'name' ? session.rank() : null}
                            whole={result.total}
                            onSelect={select}
                            onMenu={openMenu}
                        />
                    ) : view === 'source' && around?.tree ? (
                        <p class="empty big" role="status">
                            Loading the lines …
                        </p>
                    ) : view === 'source' ? (
                        <SourceView
                            session={session}
                            profile={profile}
                            filter={filter}
                            reshape={reshape}
                            sources={sources!}
                            urlOf={around?.sourceUrl}
                            selected={state.selected}
                            whole={result.total}
                        />
                    ) : view === 'chart' ? (
                        <ChartView
                            {...timeProps}
                            {...common}
                            reshape={reshape}
                            range={around?.range ?? null}
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
                        reshape={reshape}
                        tree={tree}
                        table={table}
                        whole={result.total}
                        selected={state.selected}
                        view={view}
                        onSelect={select}
                        urlOf={around?.sourceUrl}
                        onSource={sources && (() => patch({ view: 'source' }))}
                        onSandwich={() => patch({ view: 'sandwich' })}
                        onSearch={(text) => patch({ search: text })}
                        onClose={() => patch({ selected: 0 })}
                    />
                )}
            </main>
            {color !== 'diff' && COLORED.has(view) && (
                <Legend frames={session.frames} palette={palette} color={color} />
            )}
            {state.help && <Help live={!!around} onClose={() => patch({ help: false })} />}
        </>
    );
}
