// The transforms that are applied, as breadcrumbs. Each can be removed, and the last one undone.
import { shortName } from '../draw/label';
import { Frames } from '../model/frames';
import { ACTIONS, Transform, optionOf } from '../model/transforms';

export interface TransformBarProps {
    frames: Frames;
    transforms: Transform[];
    inverted: boolean; // and the view shows it
    onChange(t: Transform[]): void;
    onInvert(on: boolean): void;
}

export function TransformBar({ frames, transforms: list, inverted, onChange, onInvert }: TransformBarProps) {
    if (!list.length && !inverted) return null;
    const undo = () => (list.length ? onChange(list.slice(0, -1)) : onInvert(false));
    const hint = (t: Transform) => {
        const option = optionOf(t, frames);
        return option ? `${t.name}\nkiln top ${option}` : t.name;
    };
    return (
        <nav class="transforms" aria-label="Transforms">
            <ol>
                {list.map((t, i) => (
                    <li key={i} data-kind={t.kind} title={hint(t)}>
                        <span>{ACTIONS[t.kind]}</span> <b>{shortName(t.name)}</b>
                        <button
                            aria-label={`Remove: ${ACTIONS[t.kind]} ${t.name}`}
                            title="Remove"
                            onClick={() => onChange(list.filter((_, k) => k !== i))}
                        >
                            ×
                        </button>
                    </li>
                ))}
                {inverted && (
                    <li data-kind="invert">
                        <span>Inverted</span>
                        <button aria-label="Remove: Inverted" title="Remove" onClick={() => onInvert(false)}>
                            ×
                        </button>
                    </li>
                )}
            </ol>
            <button class="link" title="Undo the last transform (u)" data-do="undo" onClick={undo}>
                Undo
            </button>
            {list.length > 1 && (
                <button class="link" data-do="undo-all" onClick={() => onChange([])}>
                    Undo all
                </button>
            )}
        </nav>
    );
}
