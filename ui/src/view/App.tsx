// The page: one state, one selection, several views of it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { palettes } from '../draw/palette';
import { Session } from '../model/session';
import { tableOf } from '../model/table';
import { follow, matchedTotal, pathOf } from '../model/tree';
import { State, View, readFragment, writeFragment } from '../state';
import { Breadcrumbs } from './Breadcrumbs';
import { Details } from './Details';
import { FlameCanvas } from './FlameCanvas';
import { Header } from './Header';
import { timed, useMedia } from './hooks';
import { TableView } from './TableView';
import { Toolbar } from './Toolbar';

export interface AppProps {
    session: Session;
}

export type Patch = Partial<State>;

export function availableViews(s: Session, profile: number): View[] {
    const p = s.profiles[profile], out: View[] = ['flame', 'table'];
    void p;
    return out;
}

export function App({ session }: AppProps) {
    const compared = session.base !== null;
    const [state, setState] = useState<State>(() => readFragment(location.hash, compared, session.profiles.length, session.names));
    const patch = (p: Patch) => setState((s) => ({ ...s, ...p }));
    const dark = useMedia('(prefers-color-scheme: dark)'), printing = useMedia('print');
    const theme = printing ? 'light' : state.theme === 'auto' ? dark ? 'dark' : 'light' : state.theme;
    const palette = palettes[theme];
    const profile = session.profiles[state.profile];
    const views = availableViews(session, state.profile);
    const view = views.includes(state.view) ? state.view : 'flame';

    useEffect(() => void (document.documentElement.dataset['theme'] = theme), [theme]);
    useEffect(() => {
        const text = writeFragment(state, compared, session.names);
        if (text !== location.hash.replace(/^#/, '')) history.replaceState(null, '', text ? `#${text}` : location.pathname + location.search);
    }, [state]);
    useEffect(() => {
        const f = () => setState((s) => ({ ...readFragment(location.hash, compared, session.profiles.length, session.names), theme: s.theme }));
        addEventListener('hashchange', f);
        return () => removeEventListener('hashchange', f);
    }, [session]);

    const answer = useMemo(() => timed('tree', () => session.tree(state.profile, state.filter, state.compare, state.order)),
        [session, state.profile, state.filter, state.compare, state.order]);
    const table = useMemo(() => timed('table', () => tableOf(answer.tree, session.frames.n)), [answer]);
    const found = useMemo(() => timed('search', () => {
        const match = session.frames.match(state.search);
        return { match, ...(match ? matchedTotal(answer.tree, match) : { total: 0, nodes: 0 }) };
    }), [answer, state.search]);
    const zoom = useMemo(() => follow(answer.tree, state.zoom), [answer, state.zoom]);
    const color = state.color === 'diff' && !answer.tree.baseTotal ? 'package' : state.color;
    const search = useRef<HTMLInputElement>(null);

    useEffect(() => {
        document.documentElement.dataset['ready'] = '1';
    }, []);
    const framesTo = (node: number) => pathOf(answer.tree, node).map((i) => answer.tree.frame[i]);
    const select = (frame: number) => patch({ selected: frame });
    const common = { frames: session.frames, palette, unit: profile.unit, match: found.match, selected: state.selected };

    return (
        <>
            <Header session={session} state={state} theme={theme} views={views} view={view} answer={answer} patch={patch} search={search} found={found} />
            <Toolbar session={session} state={state} view={view} patch={patch} />
            {view === 'flame' && state.zoom.length > 0 && <Breadcrumbs tree={answer.tree} frames={session.frames} node={zoom}
                onZoom={(n) => patch({ zoom: framesTo(n) })} />}
            <main>
                <div class="view" data-view={view}>
                    {view === 'flame' && <FlameCanvas {...common} tree={answer.tree} color={color} baseTotal={answer.total} up={!state.icicle} zoom={zoom}
                        label="Flame graph" onSelect={select} onZoom={(n) => patch({ zoom: framesTo(n) })} />}
                    {view === 'table' && <TableView {...common} table={table} color={palette.byFrame(session.frames, color === 'diff' ? 'package' : color)}
                        whole={answer.total} sort={state.sort} onSort={(sort) => patch({ sort })} onSelect={select}
                        onOpen={(f) => patch({ selected: f, view: 'sandwich' })} />}
                </div>
                {state.selected > 0 && <Details session={session} profile={profile} filter={state.filter} tree={answer.tree} table={table}
                    whole={answer.total} selected={state.selected} onSelect={select} onSandwich={() => patch({ view: 'sandwich' })}
                    onSearch={(text) => patch({ search: text })} onClose={() => patch({ selected: 0 })} />}
            </main>
        </>
    );
}
