// Shares the selection of the live page: a link with absolute times, files that the server exports, and its address for commands.
import { base64 } from '../base/bytes';
import { Filter } from '../model/filter';
import { Format, Shared } from '../model/shared';
import { REPORT_DATA } from '../source';
import { selectedFragment } from '../state';
import { Params, getBytes } from './client';
import { Results } from './load';
import { Span, absolute, writeTime } from './range';
import { Selection, writeAddress } from './selection';
import { Selector, spelled, withLabels, writeSelector } from './selector';

/** Parameters of the endpoint export. */
const FORMATS: Record<Format, Params> = {
    pprof: { format: 'pprof' },
    otlp: { format: 'otlp', gzip: 1 },
    html: { format: 'html' },
};

const attribute = (text: string): string =>
    text.replace(/[&"<]/g, (c) => `&#${c.charCodeAt(0)};`);

/** The report of the server, with the present view, and with the base of a comparison. */
async function reportOf(html: Uint8Array<ArrayBuffer>, view: string, base: { otlp: Uint8Array; name: string } | null) {
    const text = new TextDecoder().decode(html),
        body = text.indexOf('<body>'),
        script = text.lastIndexOf('<script>');
    if (body < 0 || script < body) throw new Error('the server sent another kind of report: reload the page');
    const data = base
        ? `<script type="${REPORT_DATA}" data-role="base" data-name="${attribute(base.name)}">${await base64(base.otlp)}</script>\n`
        : '';
    return new Blob(
        [text.slice(0, body), `<body data-view="${attribute(view)}">`, text.slice(body + 6, script), data, text.slice(script)],
        { type: 'text/html' },
    );
}

/** Writes an address that people can read: only what the parameters or the fragment of an address would lose is escaped. */
const readable = (q: Record<string, string>): string =>
    Object.entries(q)
        .map(
            ([k, v]) =>
                `${k}=${v.replace(/[%&#+\u0000-\u001f\u007f]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)}`,
        )
        .join('&');

type Times = { start: string; end: string };

const timesOf = ([a, b]: Span): Times => ({ start: writeTime(a), end: writeTime(b) });

/** `origin`: the address of the server. */
export function sharedLive(sel: Selection, r: Results, origin: string, fragment: () => string): Shared {
    const base = r.session!.names.timeBase,
        ns = (t: number) => String(base + BigInt(Math.round(t)));
    const times = (f: Filter): Times => (f.time ? { start: ns(f.time[0]), end: ns(f.time[1]) } : timesOf(r.span!));
    const params = (s: Selector, f: Filter, t: Times) => {
        const query = writeSelector(withLabels(s, f.labels));
        return { ...(query && { query }), ...t };
    };
    const address = (s: Selector, f: Filter, t: Times) => `${origin}/?${readable(params(s, f, t))}`;
    return {
        link: () => `${origin}/${writeAddress({ ...sel, range: absolute(r.span!), refresh: 0 })}${fragment()}`,
        file(format, w) {
            if (format !== 'html' && (w.transformed || (format === 'pprof' && w.compared))) return null;
            return async (f) => {
                const bytes = await getBytes('export', { ...params(r.selector, f, times(f)), ...FORMATS[format] });
                if (format !== 'html') return new Blob([bytes]);
                const other = w.compared ? r.base : null,
                    of = other && params(other.selector, f, timesOf(other.span)),
                    otlp = of && (await getBytes('export', { ...of, ...FORMATS.otlp }));
                return reportOf(bytes, selectedFragment(fragment()), otlp && { otlp, name: other!.name });
            };
        },
        more: [],
        inputs: (f, _, compared) => ({
            main: address(r.selector, f, times(f)),
            base: compared && r.base ? address(r.base.selector, f, timesOf(r.base.span)) : null,
            options: spelled(r.selector.type) ? [] : ['-s', r.selector.type],
        }),
    };
}
