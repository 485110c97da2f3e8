// Chooses the profiles that are shown: a type, whose profiles are added up, and optionally a resource or one profile.
import { Session } from '../model/session';
import { count, duration, utc, withUnit } from '../model/units';
import { State } from '../state';
import { Patch } from './useViewState';

const amount = (total: bigint, unit: string) => `(${withUnit(Number(total), unit)})`;

export function Profiles({ session: s, state, patch }: { session: Session; state: State; patch(p: Patch): void }) {
    const { unit } = s.types[state.type],
        resources = s.resources(state.type),
        members = s.members(state.type, state.resource);
    const names = new Set(s.types.map((t) => t.type)),
        twice = names.size < s.types.length;
    return (
        <>
            {s.types.length > 1 && (
                <label>
                    Type{' '}
                    <select
                        value={state.type}
                        data-do="type"
                        onChange={(e) => patch({ type: Number(e.currentTarget.value), one: -1, zoom: [] })}
                    >
                        {s.types.map((t, i) => (
                            <option key={i} value={i} data-total={t.total.toString()}>
                                {t.type || 'samples'}
                                {twice && t.unit ? ` in ${t.unit}` : ''} {amount(t.total, t.unit)}
                            </option>
                        ))}
                    </select>
                </label>
            )}
            {resources.length > 0 && (
                <label>
                    Resource{' '}
                    <select
                        value={state.resource}
                        data-do="resource"
                        onChange={(e) => patch({ resource: e.currentTarget.value, one: -1, zoom: [] })}
                    >
                        <option value="">all {count(resources.length)}</option>
                        {resources.map((r) => (
                            <option key={r.name} value={r.name} data-total={r.total.toString()}>
                                {r.name} {amount(r.total, unit)}
                            </option>
                        ))}
                    </select>
                </label>
            )}
            {members.length > 1 && (
                <label>
                    Profile{' '}
                    <select
                        value={state.one}
                        data-do="one"
                        onChange={(e) => patch({ one: Number(e.currentTarget.value), zoom: [] })}
                    >
                        <option value={-1}>all {count(members.length)}</option>
                        {members.map(({ number, profile: p, name }) => (
                            <option key={number} value={number} data-total={p.total.toString()}>
                                {[
                                    utc(p.startUnixNs) || `profile ${number}`,
                                    p.durationNs ? duration(p.durationNs) : '',
                                    resources.length && !state.resource ? name : '',
                                    p.id.slice(0, 8),
                                ]
                                    .filter(Boolean)
                                    .join(' · ')}{' '}
                                {amount(p.total, unit)}
                            </option>
                        ))}
                    </select>
                </label>
            )}
        </>
    );
}
