// Whose samples, which, and against what.
import { useEffect, useState } from 'preact/hooks';
import { Answer, SERVICE } from '../../live/load';
import { labelKeys, labelValues } from '../../live/questions';
import { Against, SHIFTS, Selection } from '../../live/selection';
import { Matcher, OPS, Op, valueOf, withValue, writeSelector } from '../../live/selector';
import { Popover } from './Popover';

export interface PickerProps {
    sel: Selection;
    answer: Answer | null;
    go(s: Partial<Selection>): void;
    onTrace(id: string): void;
}

const EVERY = '\u0000';

function AddLabel(p: PickerProps & { close(): void }) {
    const [keys, setKeys] = useState<string[]>([]),
        [key, setKey] = useState(''),
        [op, setOp] = useState<Op>('='),
        [value, setValue] = useState(''),
        [values, setValues] = useState<string[]>([]);
    const span = p.answer?.span ?? null;
    useEffect(() => {
        labelKeys(span).then(setKeys, () => {});
    }, []);
    useEffect(() => {
        setValues([]);
        if (key) labelValues(key, p.sel.selector, span).then(setValues, () => {});
    }, [key]);
    const add = (e: Event) => {
        e.preventDefault();
        if (!key) return;
        p.close();
        p.go({ selector: { ...p.sel.selector, matchers: [...p.sel.selector.matchers, { key, op, value }] } });
    };
    return (
        <form onSubmit={add}>
            <label>
                Label{' '}
                <select value={key} data-do="label-key" onChange={(e) => setKey(e.currentTarget.value)}>
                    <option value="">choose one</option>
                    {keys.map((k) => (
                        <option key={k}>{k}</option>
                    ))}
                </select>
            </label>
            <label>
                <select
                    value={op}
                    aria-label="How"
                    data-do="label-op"
                    onChange={(e) => setOp(e.currentTarget.value as Op)}
                >
                    {OPS.map((o) => (
                        <option key={o}>{o}</option>
                    ))}
                </select>
                <input
                    value={value}
                    list="label-values"
                    aria-label="Value"
                    data-do="label-value"
                    placeholder={op.endsWith('~') ? 'a pattern' : 'a value'}
                    spellcheck={false}
                    onInput={(e) => setValue(e.currentTarget.value)}
                />
                <datalist id="label-values">
                    {values.slice(0, 500).map((v) => (
                        <option key={v} value={v} />
                    ))}
                </datalist>
            </label>
            {values.length > 0 && values.length <= 12 && (
                <div class="values">
                    {values.map((v) => (
                        <button type="button" key={v} aria-pressed={v === value} onClick={() => setValue(v)}>
                            {v || '(none)'}
                        </button>
                    ))}
                </div>
            )}
            <button class="strong" disabled={!key} data-do="label-add">
                Add
            </button>
        </form>
    );
}

function Trace(p: { onTrace(id: string): void }) {
    const [id, setId] = useState('');
    const found = id.trim().toLowerCase().replace(/-/g, ''),
        right = /^[0-9a-f]{32}$/.test(found);
    return (
        <form
            class="trace"
            onSubmit={(e) => {
                e.preventDefault();
                if (right) (setId(''), p.onTrace(found));
            }}
        >
            <input
                class="pick"
                placeholder="Trace id"
                aria-label="Trace id"
                title="The samples of one trace: 32 hex digits"
                data-do="trace"
                value={id}
                spellcheck={false}
                aria-invalid={id !== '' && !right}
                onInput={(e) => setId(e.currentTarget.value)}
            />
        </form>
    );
}

function Compare({ sel, answer, go }: PickerProps) {
    const a = sel.against,
        value = !a ? '' : 'shift' in a ? a.shift : 'kept';
    const keep = (): Against => ({
        query: writeSelector({ ...sel.selector, type: '' }),
        range: answer?.span
            ? { from: new Date(answer.span[0]).toISOString(), to: new Date(answer.span[1]).toISOString() }
            : sel.range,
    });
    const choose = (v: string) =>
        go({ against: v === '' ? null : v === 'keep' ? keep() : v === 'kept' ? a : { shift: v as 'before' } });
    return (
        <select
            class={a ? 'pick on' : 'pick'}
            value={value}
            data-do="against"
            aria-label="Compare"
            title="Compare with another time, or keep this selection and then choose another"
            onChange={(e) => choose(e.currentTarget.value)}
        >
            <option value="">{a ? 'no comparison' : 'Compare …'}</option>
            {SHIFTS.map(([k, name]) => (
                <option key={k} value={k}>
                    against {name}
                </option>
            ))}
            {a && 'query' in a && <option value="kept">against what was kept</option>}
            <option value="keep">keep this, choose another</option>
        </select>
    );
}

const shortValue = (m: Matcher) => (/_id$/.test(m.key) && m.value.length > 16 ? `${m.value.slice(0, 8)}…` : m.value || '(none)');

export function Picker(p: PickerProps) {
    const { sel, answer, go } = p,
        s = sel.selector,
        service = valueOf(s, SERVICE);
    const services = [...new Set([...(answer?.services ?? []), ...(service !== null ? [service] : [])])].sort();
    const types = answer?.types ?? [],
        type = answer?.selector.type ?? s.type;
    const rest = s.matchers.filter((m) => !(m.key === SERVICE && m.op === '='));
    return (
        <>
            <select
                class="pick service"
                aria-label="Service"
                data-do="service"
                value={service ?? EVERY}
                onChange={(e) =>
                    go({
                        selector: {
                            ...withValue(s, SERVICE, e.currentTarget.value === EVERY ? null : e.currentTarget.value),
                            type: s.type,
                        },
                    })
                }
            >
                <option value={EVERY}>all services</option>
                {services.map((v) => (
                    <option key={v} value={v}>
                        {v || '(no name)'}
                    </option>
                ))}
            </select>
            {sel.page === 'explore' && (
                <select
                    class="pick"
                    aria-label="Type"
                    data-do="type"
                    value={type}
                    onChange={(e) => go({ selector: { ...s, type: e.currentTarget.value } })}
                >
                    {!types.some((t) => `${t.type}/${t.unit}` === type) && <option value={type}>{type || 'type'}</option>}
                    {types.map((t) => (
                        <option key={`${t.type}/${t.unit}`} value={`${t.type}/${t.unit}`}>
                            {t.type || 'samples'}
                            {types.some((o) => o !== t && o.type === t.type) ? ` in ${t.unit}` : ''}
                        </option>
                    ))}
                </select>
            )}
            {rest.map((m, i) => (
                <span class="chip" key={i} title={`${m.key} ${m.op} ${m.value}`} data-chip={m.key}>
                    <span>
                        {m.key} {m.op} <b>{shortValue(m)}</b>
                    </span>
                    <button
                        aria-label={`Without ${m.key}`}
                        onClick={() => go({ selector: { ...s, matchers: s.matchers.filter((o) => o !== m) } })}
                    >
                        ×
                    </button>
                </span>
            ))}
            <Popover label="+ label" title="Add a label" name="label">
                {(close) => <AddLabel {...p} close={close} />}
            </Popover>
            <Trace onTrace={p.onTrace} />
            {sel.page === 'explore' && <Compare {...p} />}
        </>
    );
}
