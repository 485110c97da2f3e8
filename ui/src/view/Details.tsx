// The panel with details of the selected function.
import { useEffect, useState } from 'preact/hooks';
import { stepIn } from '../draw/palette';
import { Details as Found, detailsOf } from '../model/details';
import { Session } from '../model/session';
import { Table } from '../model/table';
import { Reshape } from '../model/transforms';
import { Tree } from '../model/tree';
import { percent, signedPercent, withUnit } from '../model/units';
import { Profile } from '../otlp/types';
import { Filter } from '../model/filter';
import { View } from '../state';
import { placeOf } from './NodeTip';

export interface DetailsProps {
    session: Session;
    profile: Profile;
    filter: Filter;
    reshape: Reshape | null;
    tree: Tree;
    table: Table;
    whole: number;
    selected: number;
    view: View;
    onSelect(frame: number): void;
    onSandwich(): void;
    onSource: (() => void) | null; // shows the source; null: there is none
    urlOf: ((file: string, line: number) => string) | undefined; // '': there is no link
    onSearch(text: string): void;
    onClose(): void;
}

function Neighbours(p: {
    title: string;
    list: { frame: number; value: number }[];
    of: number;
    unit: string;
    session: Session; // that the frames of the list belong to
    onSelect(f: number): void;
}) {
    if (!p.list.length) return null;
    return (
        <section>
            <h3>{p.title}</h3>
            <ul class="neighbours">
                {p.list.map(({ frame, value }) => (
                    <li key={p.session.frames.key(frame)}>
                        <button onClick={() => p.onSelect(frame)} title={p.session.frames.name[frame]}>
                            <span
                                class="bar"
                                style={{ width: `${p.of ? Math.min(Math.abs(value / p.of), 1) * 100 : 0}%` }}
                            />
                            <span class="name">{p.session.frames.name[frame]}</span>
                            <span class="value">{withUnit(value, p.unit)}</span>
                        </button>
                    </li>
                ))}
            </ul>
        </section>
    );
}

const NOTHING: Found = { callers: [], callees: [], lines: [], buildId: '' };

export function Details(p: DetailsProps) {
    const f = p.selected,
        { frames } = p.session,
        unit = p.profile.unit;
    // Finding the neighbours walks the whole tree, so it starts after the picture is drawn. Until then, those of the previous
    // data are shown, unless they belong to another function.
    const [found, setFound] = useState({ of: '', session: p.session, d: NOTHING }),
        of = frames.key(f),
        { d, session } = found.of === of ? found : { d: NOTHING, session: p.session };
    useEffect(() => {
        const timer = setTimeout(
            () => setFound({ of, session: p.session, d: detailsOf(p.session, p.profile, p.filter, p.tree, f, p.reshape) }),
            60,
        );
        return () => clearTimeout(timer);
    }, [p.session, p.profile, p.filter, p.tree, f]);
    const select = (frame: number) => p.onSelect(p.session.refs.read(session.refs.write(frame)));
    const self = p.table.self[f] ?? 0,
        total = p.table.total[f] ?? 0,
        place = placeOf(frames, f);
    const fact = (name: string, value: string) =>
        value ? (
            <>
                <dt>{name}</dt>
                <dd>{value}</dd>
            </>
        ) : null;
    const linked = (text: string, line: number) => {
        const url = frames.file[f] ? (p.urlOf?.(frames.file[f], line) ?? '') : '';
        return url ? (
            <a href={url} target="_blank" rel="noopener noreferrer">
                {text}
            </a>
        ) : (
            text
        );
    };
    const before = (now: number, was: number | undefined) =>
        was === undefined ? null : (
            <span class={stepIn(p.tree, now, was) ? 'before' : 'before dim'}>
                {was ? signedPercent(now - was, Math.abs(was)) : now ? 'new' : ''}
            </span>
        );
    return (
        <aside class="details" aria-label="Details of the selected function" aria-busy={found.of !== of}>
            <header>
                <h2>{frames.name[f]}</h2>
                <button class="icon" onClick={p.onClose} title="Close (Esc)" aria-label="Close">
                    ×
                </button>
            </header>
            <div class="figures">
                <div>
                    <b>{withUnit(self, unit)}</b>
                    <span>self · {percent(self, p.whole)}</span>
                    {before(self, p.table.baseSelf?.[f])}
                </div>
                <div>
                    <b>{withUnit(total, unit)}</b>
                    <span>total · {percent(total, p.whole)}</span>
                    {before(total, p.table.baseTotal?.[f])}
                </div>
            </div>
            <dl>
                {place && (
                    <>
                        <dt>Source</dt>
                        <dd>{linked(place, frames.startLine[f])}</dd>
                    </>
                )}
                {fact('Package', frames.package[f])}
                {fact('Library', frames.library[f])}
                {fact('Frame type', frames.kind[f])}
                {fact('Symbol', frames.systemName[f])}
                {fact('Build id', d.buildId)}
            </dl>
            <p class="actions">
                {p.view !== 'sandwich' && <button onClick={p.onSandwich}>Callers and callees</button>}
                {p.onSource && p.view !== 'source' && frames.file[f] && (
                    <button data-do="source" onClick={p.onSource}>
                        Source
                    </button>
                )}
                <button onClick={() => p.onSearch(frames.name[f])}>Highlight</button>
            </p>
            {d.lines.length > 0 && (
                <section>
                    <h3>Lines</h3>
                    <table class="lines">
                        <tbody>
                            {d.lines.map((l) => (
                                <tr key={l.line}>
                                    <td>
                                        {linked(
                                            frames.file[f]
                                                ? `${frames.file[f].replace(/^.*[\\/]/, '')}:${l.line}`
                                                : `line ${l.line}`,
                                            l.line,
                                        )}
                                    </td>
                                    <td class="number">{withUnit(l.self, unit)}</td>
                                    <td class="number">{withUnit(l.total, unit)}</td>
                                </tr>
                            ))}
                        </tbody>
                        <thead>
                            <tr>
                                <th>Line</th>
                                <th class="number">self</th>
                                <th class="number">total</th>
                            </tr>
                        </thead>
                    </table>
                </section>
            )}
            <Neighbours
                title="Called by"
                list={d.callers}
                of={total}
                unit={unit}
                session={session}
                onSelect={select}
            />
            <Neighbours
                title="Calls"
                list={d.callees}
                of={total}
                unit={unit}
                session={session}
                onSelect={select}
            />
        </aside>
    );
}
