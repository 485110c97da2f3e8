// Shares the selection of the live page: a link with absolute times, files that the server exports, and its address for commands.
import { Filter } from '../model/filter';
import { Shared, SharedFile } from '../model/shared';
import { Params, getBytes } from './client';
import { Results } from './load';
import { Span, absolute, writeTime } from './range';
import { Selection, writeAddress } from './selection';
import { Selector, spelled, withLabels, writeSelector } from './selector';

/** Formats of the endpoint export, with the endings of their files. */
const FORMATS: [name: string, label: string, ending: string, params: Params][] = [
    ['pprof', 'pprof', 'pb.gz', { format: 'pprof' }],
    ['otlp', 'OTLP', 'otlp.gz', { format: 'otlp', gzip: 1 }],
    ['html', 'HTML report', 'html', { format: 'html' }],
];

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
        files: FORMATS.map(([name, label, ending, format]): SharedFile => ({
            name,
            label,
            ending,
            get: async (f) => new Blob([await getBytes('export', { ...params(r.selector, f, times(f)), ...format })]),
        })),
        inputs: (f, _, compared) => ({
            main: address(r.selector, f, times(f)),
            base: compared && r.base ? address(r.base.selector, f, timesOf(r.base.span)) : null,
            options: spelled(r.selector.type) ? [] : ['-s', r.selector.type],
        }),
    };
}
