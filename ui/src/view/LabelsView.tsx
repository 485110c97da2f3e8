// The labels of samples with their amounts. A click filters by a label.
import { useMemo, useState } from 'preact/hooks';
import { Filter, LabelFilter, valueText } from '../model/filter';
import { LabelKey, labelsOf } from '../model/labels';
import { Session } from '../model/session';
import { count, percent, withUnit } from '../model/units';
import type { Profile } from '../otlp/types';

export interface LabelsProps {
    session: Session;
    profile: Profile;
    filter: Filter;
    search: string;
    onFilter(labels: LabelFilter[]): void;
}

const SHOWN = 8,
    MORE = 200;

/** Shortens ids in the middle. */
const shown = (v: string) => (v === '' ? '(empty)' : /^[0-9a-f]{32}$/.test(v) ? `${v.slice(0, 8)}…${v.slice(-8)}` : v);

function Values(p: {
    k: LabelKey;
    whole: number;
    unit: string;
    filter: LabelFilter[];
    onFilter(l: LabelFilter[]): void;
}) {
    const [all, setAll] = useState(false),
        list = p.k.values.slice(0, all ? MORE : SHOWN);
    const toggle = (value: string, not: boolean) => {
        const rest = p.filter.filter((l) => l.key !== p.k.key || l.value !== value);
        const was = p.filter.find((l) => l.key === p.k.key && l.value === value);
        p.onFilter(was && was.not === not ? rest : [...rest, { key: p.k.key, value, not }]);
    };
    return (
        <section class="label-key">
            <h3>
                {p.k.key}
                {p.k.unit && <span class="dim"> in {p.k.unit}</span>}{' '}
                <span class="dim">
                    {count(p.k.values.length)} {p.k.values.length === 1 ? 'value' : 'values'}
                </span>
            </h3>
            <ul>
                {list.map((v) => {
                    const state = p.filter.find((l) => l.key === p.k.key && l.value === v.value);
                    return (
                        <li key={v.value} class={state ? (state.not ? 'not' : 'on') : ''}>
                            <button
                                class="value"
                                title="Show only this"
                                data-label={`${p.k.key}=${v.value}`}
                                onClick={(e) => toggle(v.value, e.altKey)}
                            >
                                <span
                                    class="bar"
                                    style={{
                                        width: `${p.whole ? Math.min(Math.abs(v.total / p.whole), 1) * 100 : 0}%`,
                                    }}
                                />
                                <span class="name" title={v.value}>
                                    {shown(v.value)}
                                </span>
                                <span class="number">{withUnit(v.total, p.unit)}</span>
                                <span class="share">{percent(v.total, p.whole)}</span>
                            </button>
                            <button
                                class="hide"
                                title="Hide this"
                                aria-label={`Hide ${v.value}`}
                                onClick={() => toggle(v.value, true)}
                            >
                                ≠
                            </button>
                        </li>
                    );
                })}
            </ul>
            {p.k.values.length > list.length && (
                <button class="link" onClick={() => setAll(true)}>
                    {count(p.k.values.length - list.length)} more
                </button>
            )}
        </section>
    );
}

export function LabelsView(p: LabelsProps) {
    const { set } = p.session.main,
        { profile } = p,
        q = p.search.trim().toLowerCase();
    const keys = useMemo(() => labelsOf(set, profile, p.filter), [set, profile, p.filter]);
    const found = !q
        ? keys
        : keys
              .map((k) =>
                  k.key.toLowerCase().includes(q)
                      ? k
                      : { ...k, values: k.values.filter((v) => v.value.toLowerCase().includes(q)) },
              )
              .filter((k) => k.values.length);
    const resource = set.resources[profile.resource]?.attributes ?? [];
    return (
        <div class="labels">
            <div class="grid">
                {found.map((k) => (
                    <Values
                        key={k.key}
                        k={k}
                        whole={Number(profile.total)}
                        unit={profile.unit}
                        filter={p.filter.labels}
                        onFilter={p.onFilter}
                    />
                ))}
            </div>
            {!found.length && <p class="empty">No label matches the search.</p>}
            {resource.length > 0 && (
                <section class="resource">
                    <h3>Resource attributes</h3>
                    <dl>
                        {resource.map((a) => (
                            <>
                                <dt>{a.key}</dt>
                                <dd>{valueText(a.value)}</dd>
                            </>
                        ))}
                    </dl>
                </section>
            )}
        </div>
    );
}
