// Shares a report: the profile in the page, and commands over the file that the report was made from.
import { fileWord, labelOptions } from './command';
import { LabelFilter, TRACE_KEY } from './filter';
import { Session } from './session';
import { Shared } from './shared';

/** The options for a filter by trace; null: there are none. */
function traceOptions(traces: LabelFilter[]): string[] | null {
    if (!traces.length) return [];
    return traces.length === 1 && !traces[0].not ? ['--trace-id', traces[0].value] : null;
}

/** `own`: the profile in the page, compressed with gzip, and the page itself, which opens with the present view; null: the
 *  profile is from another file. */
export function sharedReport(
    s: Session,
    own: { otlp(): Uint8Array<ArrayBuffer>; html(): string } | null,
): Shared {
    return {
        link: () => location.href,
        file: (format) => (own && format === 'html' ? async () => new Blob([own.html()], { type: 'text/html' }) : null),
        more: own
            ? [
                  {
                      name: 'otlp-all',
                      label: 'OTLP of all',
                      ending: 'otlp.gz',
                      get: () => Promise.resolve(new Blob([own.otlp()])),
                  },
              ]
            : [],
        inputs(f, type, compared) {
            const traces = traceOptions(f.labels.filter((l) => l.key === TRACE_KEY)),
                at = (t: number) => String(s.names.timeBase + BigInt(Math.round(t)));
            if (!traces || (f.time && !s.names.dated)) return null;
            return {
                main: fileWord(s.main.set.name),
                base: compared && s.base ? fileWord(s.base.set.name) : null,
                options: [
                    ...(s.types.length > 1 ? ['-s', type] : []),
                    ...traces,
                    ...labelOptions(f.labels.filter((l) => l.key !== TRACE_KEY)),
                    ...(f.time ? ['--start', at(f.time[0]), '--end', at(f.time[1])] : []),
                ],
            };
        },
    };
}
