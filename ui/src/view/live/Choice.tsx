// Selects samples by service and labels.
import { useEffect, useState } from 'preact/hooks';
import { SERVICE } from '../../live/load';
import { labelKeys, labelValues } from '../../live/queries';
import { Span } from '../../live/range';
import { Matcher, OPS, Op, Selector, valueOf, withValue } from '../../live/selector';
import { Popover } from '../Popover';

export interface ChoiceProps {
    selector: Selector;
    services: string[];
    span: Span | null; // labels of this time are offered
    prefix?: string; // of data-do, when the page has two of these
    onSelector(s: Selector): void;
}

const ANY = '\u0000';

function AddLabel(p: ChoiceProps & { close(): void }) {
    const [keys, setKeys] = useState<string[]>([]),
        [key, setKey] = useState(''),
        [op, setOp] = useState<Op>('='),
        [value, setValue] = useState(''),
        [values, setValues] = useState<string[]>([]);
    const { span, selector } = p;
    useEffect(() => {
        labelKeys(span).then(setKeys, () => {});
    }, []);
    useEffect(() => {
        setValues([]);
        if (key) labelValues(key, selector, span).then(setValues, () => {});
    }, [key]);
    const add = (e: Event) => {
        e.preventDefault();
        if (!key) return;
        p.close();
        p.onSelector({ ...selector, matchers: [...selector.matchers, { key, op, value }] });
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
                    aria-label="Operator"
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
                    placeholder={op.endsWith('~') ? 'pattern' : 'value'}
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

const shortValue = (m: Matcher) =>
    /_id$/.test(m.key) && m.value.length > 16 ? `${m.value.slice(0, 8)}…` : m.value || '(none)';

export function Service(p: ChoiceProps) {
    const service = valueOf(p.selector, SERVICE),
        services = [...new Set([...p.services, ...(service !== null ? [service] : [])])].sort();
    return (
        <select
            class="pick service"
            aria-label="Service"
            data-do={`${p.prefix ?? ''}service`}
            value={service ?? ANY}
            onChange={(e) => {
                const v = e.currentTarget.value;
                p.onSelector(withValue(p.selector, SERVICE, v === ANY ? null : v));
            }}
        >
            <option value={ANY}>all services</option>
            {services.map((v) => (
                <option key={v} value={v}>
                    {v || '(no name)'}
                </option>
            ))}
        </select>
    );
}

export function Labels(p: ChoiceProps) {
    const s = p.selector;
    return (
        <>
            {s.matchers
                .filter((m) => !(m.key === SERVICE && m.op === '='))
                .map((m, i) => (
                    <span class="chip" key={i} title={`${m.key} ${m.op} ${m.value}`} data-chip={m.key}>
                        <span>
                            {m.key} {m.op} <b>{shortValue(m)}</b>
                        </span>
                        <button
                            aria-label={`Remove the label ${m.key}`}
                            onClick={() => p.onSelector({ ...s, matchers: s.matchers.filter((o) => o !== m) })}
                        >
                            ×
                        </button>
                    </span>
                ))}
            <Popover label="+ label" title="Add a label" name={`${p.prefix ?? ''}label`}>
                {(close) => <AddLabel {...p} close={close} />}
            </Popover>
        </>
    );
}
