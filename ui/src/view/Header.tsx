import { ComponentChildren, RefObject } from 'preact';
import { Choice, TreeResult, Session } from '../model/session';
import { observations } from '../model/observed';
import { count, counted, duration, partText, percent, utc, withUnit } from '../model/units';
import type { Profile } from '../otlp/types';
import { State, View } from '../state';
import { valueText } from '../model/filter';
import { SearchBox } from './SearchBox';
import { Tabs } from './Tabs';
import type { Found } from './useFound';
import { Patch } from './useViewState';

export const TITLES: Record<View, string> = {
    flame: 'Flame graph',
    table: 'Table',
    tree: 'Call tree',
    sandwich: 'Sandwich',
    chart: 'Flame chart',
    heat: 'Heat map',
    lanes: 'Threads',
    labels: 'Labels',
    source: 'Source',
};

export interface HeaderProps {
    session: Session;
    choice: Choice;
    state: State;
    theme: 'light' | 'dark';
    views: View[];
    view: View;
    result: TreeResult;
    found: Found;
    only: boolean;
    partly: boolean; // a part of the tree is not loaded
    onStep(by: number): void;
    onOnly(): void;
    search: RefObject<HTMLInputElement>;
    whole: number; // the sum without filters
    about: string[] | null; // the page around the viewer names the service; this is the rest
    share: ComponentChildren; // the menu Share
    patch(p: Patch): void;
}

const typeName = (type: string, unit: string) => type || unit || 'samples';

/** "210 observations (80 samples)", as the commands print it. */
function observedText(p: Profile, parts: Profile[]): string {
    const n = parts.reduce((sum, q) => sum + observations(q), 0),
        samples = counted(p.n, 'sample');
    return n === p.n ? samples : `${counted(n, 'observation')} (${samples})`;
}

/** The program, and time, duration and observations of the profile, or of the selected part of its time. */
function facts(s: Session, c: Choice, part: [number, number] | null, observed: number): string[] {
    const p = s.profile(c),
        parts = s.parts(c),
        r = s.main.set.resources[p.resource];
    const get = (key: string) => {
        const v = r?.attributes.find((a) => a.key === key)?.value;
        return v === undefined || v === null ? '' : valueText(v);
    };
    const who =
        get('service.name') || get('process.executable.name') || get('process.executable.path').replace(/^.*\//, '');
    if (part) return [who, partText(s.names.timeBase, part), counted(observed, 'observation')].filter(Boolean);
    return [
        who,
        utc(p.startUnixNs),
        p.durationNs ? `over ${duration(p.durationNs)}` : '',
        observedText(p, parts),
        parts.length > 1 ? `${count(parts.length)} profiles` : '',
    ].filter(Boolean);
}

export function Header(h: HeaderProps) {
    const { session: s, state, result } = h,
        p = s.profile(h.choice),
        filtered = state.filter.labels.length > 0 || state.filter.time || state.transforms.length > 0;
    return (
        <header
            class={h.about ? 'head brief' : 'head'}
            {...(h.about && { role: 'region', 'aria-label': 'Selected profile' })}
        >
            <div class="title">
                {!h.about && (
                    <h1>
                        {s.main.set.name}
                        {s.base && <span class="dim"> against {s.base.set.name}</span>}
                    </h1>
                )}
                <p>
                    {(h.about ?? facts(s, h.choice, state.filter.time, result.observed)).map((f) => (
                        <span key={f}>{f}</span>
                    ))}
                </p>
            </div>
            <div class="total" data-total={p.total.toString()} title={`${p.total} ${p.unit}`}>
                <b>{withUnit(filtered ? result.total : Number(p.total), p.unit)}</b>
                <span>
                    {typeName(p.type, p.unit)}
                    {filtered ? `, ${percent(result.total, h.whole)} of all` : ''}
                </span>
            </div>
            <Tabs views={h.views} view={h.view} titles={TITLES} onView={(view) => h.patch({ view })} />
            <SearchBox
                input={h.search}
                placeholder={h.view === 'labels' ? 'Search labels' : 'Search functions'}
                text={state.search}
                found={h.found}
                selected={state.selected}
                whole={result.total}
                only={h.only}
                partly={h.partly}
                onSearch={(text) => h.patch({ search: text })}
                onStep={h.onStep}
                onOnly={h.onOnly}
            />
            {h.share}
            {!h.about && (
                <button
                    class="icon"
                    title="Dark or light (t)"
                    aria-label="Dark or light"
                    data-do="theme"
                    onClick={() => h.patch({ theme: h.theme === 'dark' ? 'light' : 'dark' })}
                >
                    {h.theme === 'dark' ? '☀' : '☾'}
                </button>
            )}
            <button
                class="icon"
                title="Keys and help (?)"
                aria-label="Help"
                data-do="help"
                onClick={() => h.patch({ help: true })}
            >
                ?
            </button>
        </header>
    );
}
