// Selectors: cpu/nanoseconds{service.name="checkout", thread.name=~"worker.*"}, with the grammar of docs/query-api.md.

export type Op = '=' | '!=' | '=~' | '!~';
export const OPS: Op[] = ['=', '!=', '=~', '!~'];

export interface Matcher {
    key: string;
    op: Op;
    value: string;
}

export interface Selector {
    type: string; // "cpu/nanoseconds"; empty: any
    matchers: Matcher[];
}

export const EVERY: Selector = { type: '', matchers: [] };

const quote = (s: string): string => `"${s.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"`;
const plainKey = /^[^\s=!~,{}"]+$/;

/** Writes a selector as text. A type that the grammar cannot express is omitted; the page then picks it from the
 *  response. */
export const spelled = (type: string): string => (/[\s{]/.test(type) || type.startsWith('/') ? '' : type);

export function writeSelector(s: Selector): string {
    const list = s.matchers.map((m) => `${plainKey.test(m.key) ? m.key : quote(m.key)}${m.op}${quote(m.value)}`);
    return spelled(s.type) + (list.length ? `{${list.join(', ')}}` : '');
}

/** Parses a selector; null: not a selector. */
export function readSelector(text: string): Selector | null {
    const type = /^\s*([^\s{]*)\s*/.exec(text)!,
        out: Selector = { type: type[1], matchers: [] };
    let at = type[0].length;
    const take = (r: RegExp): string | null => {
        const m = new RegExp(r.source, 'y');
        m.lastIndex = at;
        const found = m.exec(text);
        if (!found) return null;
        at = m.lastIndex;
        return found[1] ?? found[0];
    };
    const unquote = (s: string) => s.replace(/\\([\\"n])/g, (_, c: string) => (c === 'n' ? '\n' : c));
    const quoted = (): string | null => {
        const s = take(/"((?:[^"\\]|\\.)*)"/);
        return s === null ? null : unquote(s);
    };
    if (at === text.length) return out;
    if (take(/\{\s*/) === null) return null;
    while (take(/\}\s*/) === null) {
        const key = quoted() ?? take(/[^\s=!~,{}"]+/);
        take(/\s*/);
        const op = take(/=~|!~|!=|=/);
        take(/\s*/);
        const value = quoted() ?? take(/[^\s,}"]+/);
        if (key === null || op === null || value === null) return null;
        out.matchers.push({ key, op: op as Op, value });
        if (take(/\s*,\s*/) === null && !/^\s*\}/.test(text.slice(at))) return null;
        take(/\s*/);
    }
    return at === text.length ? out : null;
}

/** Adds the label filters of the viewer: values of one key are alternatives. */
export function withLabels(s: Selector, labels: { key: string; value: string; not: boolean }[]): Selector {
    const keys = [...new Set(labels.filter((l) => !l.not).map((l) => l.key))],
        plain = (v: string) => v.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    const wanted = keys.map((key): Matcher => {
        const values = labels.filter((l) => l.key === key && !l.not).map((l) => l.value);
        return values.length === 1
            ? { key, op: '=', value: values[0] }
            : { key, op: '=~', value: values.map(plain).join('|') };
    });
    const refused = labels.filter((l) => l.not).map((l): Matcher => ({ key: l.key, op: '!=', value: l.value }));
    return { ...s, matchers: [...s.matchers, ...wanted, ...refused] };
}

/** Returns the value that the selector requires for a key; null: any. */
export const valueOf = (s: Selector, key: string): string | null =>
    s.matchers.find((m) => m.key === key && m.op === '=')?.value ?? null;

/** Requires this value for the key; null: removes the requirement. */
export const withValue = (s: Selector, key: string, value: string | null): Selector => ({
    ...s,
    matchers: [
        ...(value === null ? [] : [{ key, op: '=' as Op, value }]),
        ...s.matchers.filter((m) => m.key !== key || m.op !== '='),
    ],
});

/** Requires this trace and span. */
export const withIds = (s: Selector, ids: { trace: string; span: string }): Selector =>
    withValue(withValue(s, 'span_id', ids.span), 'trace_id', ids.trace);

/** Whether it selects a trace or a span. */
export const hasIds = (s: Selector): boolean => !!(valueOf(s, 'trace_id') || valueOf(s, 'span_id'));
