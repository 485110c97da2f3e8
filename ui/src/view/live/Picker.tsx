// The rows that select profiles and the other side of a comparison.
import { useState } from 'preact/hooks';
import { Results } from '../../live/load';
import { Ids, Selection, readIds } from '../../live/selection';
import { Labels, Service } from './Choice';
import { Compare } from './Compare';

export interface PickerProps {
    sel: Selection;
    results: Results | null;
    go(s: Partial<Selection>): void;
}

/** The field for ids of traces and spans. */
export function TraceSearch(p: { onIds(ids: Ids): void }) {
    const [text, setText] = useState(''),
        ids = readIds(text);
    return (
        <form
            class="trace"
            onSubmit={(e) => {
                e.preventDefault();
                if (ids) (setText(''), p.onIds(ids));
            }}
        >
            <input
                class="pick"
                placeholder="Trace or span id"
                aria-label="Trace or span id"
                title="The samples of one trace or span: 32 or 16 hex digits, or a traceparent"
                data-do="trace"
                value={text}
                spellcheck={false}
                aria-invalid={text !== '' && !ids}
                onInput={(e) => setText(e.currentTarget.value)}
            />
        </form>
    );
}

export function Picker(p: PickerProps) {
    const { sel, results, go } = p,
        s = sel.selector,
        types = results?.types ?? [],
        type = results?.selector.type ?? s.type;
    const choice = {
        selector: s,
        services: results?.services ?? [],
        span: results?.span ?? null,
        onSelector: (selector: typeof s) => go({ selector }),
    };
    return (
        <>
            {sel.page !== 'services' && <Service {...choice} />}
            {sel.page === 'explore' && (
                <select
                    class="pick"
                    aria-label="Type"
                    data-do="type"
                    value={type}
                    onChange={(e) => go({ selector: { ...s, type: e.currentTarget.value } })}
                >
                    {!types.some((t) => `${t.type}/${t.unit}` === type) && (
                        <option value={type}>{type || 'type'}</option>
                    )}
                    {types.map((t) => (
                        <option key={`${t.type}/${t.unit}`} value={`${t.type}/${t.unit}`}>
                            {t.type || 'samples'}
                            {types.some((o) => o !== t && o.type === t.type) ? ` in ${t.unit}` : ''}
                        </option>
                    ))}
                </select>
            )}
            <Labels {...choice} />
            {sel.page === 'explore' && <Compare {...p} />}
        </>
    );
}
