// Controls that all views share: sample type, filters, colours, comparison.
import { Session } from '../model/session';
import { duration, partText } from '../model/units';
import { Compare, State, View } from '../state';
import { ColorBy } from '../draw/palette';
import { Profiles } from './Profiles';
import { Patch } from './useViewState';

export interface ToolbarProps {
    session: Session;
    choosing: boolean; // the page around the viewer does not choose the profiles
    state: State;
    view: View;
    colors: ColorBy[];
    color: ColorBy;
    patch(p: Patch): void;
}

const COLORS: Record<ColorBy, string> = {
    package: 'by package',
    library: 'by library',
    kind: 'by frame type',
    function: 'by function',
    diff: 'by change',
};

export function Toolbar({ session: s, choosing, state, view, colors, color, patch }: ToolbarProps) {
    const several = choosing && s.main.set.profiles.length > 1,
        { filter } = state;
    const drawn = view === 'flame' || view === 'sandwich';
    const painted = view !== 'heat' && view !== 'labels' && view !== 'lanes' && view !== 'source';
    if (!several && !s.base && !painted && !filter.time && !filter.labels.length) return null;
    return (
        <div class="bar-tools" role="region" aria-label="Options of the view">
            {several && <Profiles session={s} state={state} patch={patch} />}
            {s.base && (
                <label>
                    Compare{' '}
                    <select
                        value={state.compare}
                        data-do="compare"
                        onChange={(e) => patch({ compare: e.currentTarget.value as Compare })}
                    >
                        <option value="share">by share of the total</option>
                        <option value="absolute">as measured</option>
                        <option value="off">off</option>
                    </select>
                </label>
            )}
            {painted && (
                <label>
                    Colour{' '}
                    <select
                        value={color}
                        data-do="color"
                        onChange={(e) => patch({ color: e.currentTarget.value as ColorBy })}
                    >
                        {colors.map((c) => (
                            <option key={c} value={c}>
                                {COLORS[c]}
                            </option>
                        ))}
                    </select>
                </label>
            )}
            {drawn && (
                <label>
                    Order{' '}
                    <select
                        value={state.order}
                        data-do="order"
                        onChange={(e) => patch({ order: e.currentTarget.value as 'name' | 'value' })}
                    >
                        <option value="name">by name</option>
                        <option value="value">largest first</option>
                    </select>
                </label>
            )}
            {(view === 'flame' || view === 'tree') && (
                <label class="check">
                    <input
                        type="checkbox"
                        checked={state.inverted}
                        data-do="invert"
                        onChange={(e) => patch({ inverted: e.currentTarget.checked, zoom: [] })}
                    />{' '}
                    Inverted
                </label>
            )}
            {view === 'flame' && (
                <label class="check">
                    <input
                        type="checkbox"
                        checked={state.icicle}
                        data-do="icicle"
                        onChange={(e) => patch({ icicle: e.currentTarget.checked })}
                    />{' '}
                    Icicle
                </label>
            )}
            <ul class="chips">
                {filter.time && (
                    <li class="part" data-part>
                        {partText(s.names.timeBase, filter.time)} · {duration(filter.time[1] - filter.time[0])}{' '}
                        <button
                            aria-label="Remove the time filter"
                            onClick={() => patch({ filter: { ...filter, time: null } })}
                        >
                            ×
                        </button>
                    </li>
                )}
                {filter.labels.map((l) => (
                    <li key={`${l.key}=${l.value}`}>
                        {l.key} {l.not ? '≠' : '='} {l.value}{' '}
                        <button
                            aria-label={`Remove the filter ${l.key}`}
                            onClick={() =>
                                patch({ filter: { ...filter, labels: filter.labels.filter((m) => m !== l) } })
                            }
                        >
                            ×
                        </button>
                    </li>
                ))}
            </ul>
        </div>
    );
}
