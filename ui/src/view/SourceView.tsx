// The source of the selected function, with the amounts of its lines.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Filter } from '../model/filter';
import { Session } from '../model/session';
import { SourceFile, Sources, gnuBuildIdOf, linesOf, noSource, plainLine, shownLines } from '../model/source';
import { Reshape } from '../model/transforms';
import { count, percent, withUnit } from '../model/units';
import { Profile } from '../otlp/types';

export interface SourceProps {
    session: Session;
    profile: Profile;
    filter: Filter;
    reshape: Reshape | null;
    sources: Sources;
    urlOf: ((file: string, line: number) => string) | undefined; // '': there is no link
    selected: number; // frame; 0: none
    whole: number;
}

const MOST_LINES = 20_000;

/** The strength of a colour: small shares stay visible. */
const heat = (share: number): string => `${Math.round(Math.sqrt(Math.min(Math.abs(share), 1)) * 100)}%`;

/** The file, at once or when it was fetched; null: it is being fetched. */
function useFile(sources: Sources, file: string, buildId: string): SourceFile | null {
    const asked = useMemo(() => (file ? sources.read(file, buildId) : noSource('')), [sources, file, buildId]),
        [late, setLate] = useState<{ of: unknown; is: SourceFile } | null>(null);
    useEffect(() => {
        if (!(asked instanceof Promise)) return;
        let left = false;
        void asked.then((is) => left || setLate({ of: asked, is }));
        return () => {
            left = true;
        };
    }, [asked]);
    if (!(asked instanceof Promise)) return asked;
    return late?.of === asked ? late.is : null;
}

/** Without a selected function: what to do, and what a report contains. */
function Nothing({ report }: { report: Sources['report'] }) {
    return (
        <div class="empty big" data-source-files={report?.files}>
            <p>
                Select a function in another view to see its source here.
                {report && ` This report contains ${count(report.files)} source files.`}
            </p>
            {report && report.missing.length > 0 && (
                <details>
                    <summary>{count(report.missing.length)} files are missing</summary>
                    <ul>
                        {report.missing.map((m) => (
                            <li key={m.name}>
                                {plainLine(m.name)}: {m.why}
                            </li>
                        ))}
                    </ul>
                </details>
            )}
        </div>
    );
}

export function SourceView(p: SourceProps) {
    const { frames } = p.session,
        f = p.selected,
        file = frames.file[f] ?? '',
        box = useRef<HTMLDivElement>(null),
        [all, setAll] = useState(false);
    const buildId = useMemo(() => (f ? gnuBuildIdOf(p.session.main, f) : ''), [p.session, f]),
        found = useFile(p.sources, file, buildId),
        text = found?.text ?? null,
        code = useMemo(() => (text === null ? [] : text.split(/\r?\n/)), [text]),
        amounts = useMemo(
            () => (f ? linesOf(p.session.main, p.profile, p.filter, f, p.reshape) : []),
            [p.session, p.profile, p.filter, p.reshape, f],
        );
    const of = new Map(amounts.map((l) => [l.line, l])),
        most = amounts.reduce((m, l) => Math.max(m, Math.abs(l.total)), 0),
        [first, last] = shownLines(amounts, frames.startLine[f] ?? 0, Math.min(code.length, MOST_LINES), all),
        unit = p.profile.unit;
    useEffect(() => {
        box.current?.querySelector('[data-hottest]')?.scrollIntoView({ block: 'center' });
    }, [f, all, text]);
    if (!f) return <Nothing report={p.sources.report} />;
    if (!found)
        return (
            <p class="empty big" role="status">
                Loading {plainLine(file)} …
            </p>
        );
    if (text === null) {
        const url = file && p.urlOf?.(file, frames.startLine[f]);
        return (
            <p class="empty big" data-no-source>
                {file
                    ? `The source of ${frames.name[f]}, ${file}, ${found.why}.`
                    : `The profile does not name the source file of ${frames.name[f]}.`}{' '}
                {url && (
                    <a href={url} target="_blank" rel="noopener noreferrer">
                        Open it at {new URL(url).host}
                    </a>
                )}
            </p>
        );
    }
    const rows = [];
    for (let n = first; n <= last; n++) {
        const l = of.get(n);
        rows.push(
            <tr
                key={n}
                data-line={n}
                data-hottest={l && Math.abs(l.total) === most ? '' : undefined}
                style={l ? { '--heat': heat(l.total / most) } : undefined}
                class={l ? 'hot' : ''}
            >
                <td class="number" title={l?.self ? String(l.self) : undefined}>
                    {l?.self ? withUnit(l.self, unit) : ''}
                </td>
                <td class="number" title={l?.total ? String(l.total) : undefined}>
                    {l?.total ? withUnit(l.total, unit) : ''}
                </td>
                <td class="number dim">{n}</td>
                <td>
                    <code>{plainLine(code[n - 1])}</code>
                </td>
            </tr>,
        );
    }
    const sum = amounts.reduce((s, l) => s + l.self, 0);
    return (
        <div class="source">
            <p>
                <b>{frames.name[f]}</b> <span class="dim">{file}</span> · self {withUnit(sum, unit)},{' '}
                {percent(sum, p.whole)}
                {!amounts.length && ' · no sample names a line of this function'}{' '}
                {(first > 1 || last < code.length || all) && code.length <= MOST_LINES && (
                    <button class="link" data-do="whole-file" onClick={() => setAll(!all)}>
                        {all ? 'Show the function only' : `Show all ${count(code.length)} lines`}
                    </button>
                )}
            </p>
            <div class="code" ref={box} tabIndex={0} role="region" aria-label={`Source of ${frames.name[f]}`}>
                <table>
                    <thead>
                        <tr>
                            <th class="number">self</th>
                            <th class="number">total</th>
                            <th class="number">line</th>
                            <th>code</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </div>
    );
}
