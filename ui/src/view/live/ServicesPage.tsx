// The home page: every service with its load over time, its top function, its types, and senders with trouble.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Series, seriesOf, statusNow, storedOf } from '../../live/queries';
import { Selection } from '../../live/selection';
import {
    Kind,
    Listed,
    Service,
    Sort,
    SortKey,
    groupServices,
    linkTo,
    selectionOf,
    servicesOf,
    sortServices,
    storedSizes,
    troubles,
} from '../../live/services';
import { count, duration, percent, utc } from '../../model/units';
import { Help } from '../Help';
import { FirstSteps } from './FirstSteps';
import { Failed, ResultFrame } from './ResultFrame';
import { useQuery } from './useQuery';
import { Again } from './useResults';

export interface ServicesProps {
    sel: Selection;
    again: Again;
    go(s: Partial<Selection>, fragment?: string): void;
    onAgain(): void;
    onTook(ms: number): void;
    onError(e: unknown): void;
}

const EMPTY_MS = 3000,
    STORED_MS = 10_000, // between queries for data of other times
    PAUSE = 50, // times the duration of that query
    DAY = 86400e9;
const nameOf = (service: string) => service || '(no service name)';
const typeName = (k: Kind) => k.row.type || k.row.unit || 'samples';
const when = (ns: number) => utc(BigInt(Math.round(ns / 1e6)) * 1000000n) || 'a clock without a date';
const ago = (ns: number) =>
    ns < 1e9
        ? 'now'
        : ns < 2 * DAY
          ? `${duration(Math.round(ns / 1e9) * 1e9)} ago`
          : `${Math.round(ns / DAY)} days ago`;

/** A plain click stays on the page; others open the link in a tab or window as usual. */
const isPlain = (e: MouseEvent) => e.button === 0 && !e.ctrlKey && !e.metaKey && !e.shiftKey && !e.altKey;

const WIDTH = 120,
    HEIGHT = 28;

/** The amounts over time as an area; the newest on the right. */
function Spark({ kind, n }: { kind: Kind; n: number }) {
    const { points } = kind,
        most = points.reduce((m, v) => Math.max(m, v), 0);
    if (!most || n < 1) return <span class="spark" />;
    const x = (i: number) => ((i / n) * WIDTH).toFixed(1),
        y = (v: number) => (HEIGHT - 1 - (Math.max(v, 0) / most) * (HEIGHT - 3)).toFixed(1);
    const line = points.map((v, i) => `H${x(i)}V${y(v)}H${x(i + 1)}`).join('');
    return (
        <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            <path d={`M0 ${HEIGHT}${line}V${HEIGHT}Z`} />
        </svg>
    );
}

interface LinkProps {
    kind: Kind;
    sel: Selection;
    go: ServicesProps['go'];
    class: string;
    label?: string;
    children: preact.ComponentChildren;
}

function TypeLink({ kind, sel, go, ...p }: LinkProps) {
    return (
        <a
            class={p.class}
            href={linkTo(sel, kind)}
            aria-label={p.label}
            onClick={(e) => {
                if (!isPlain(e)) return;
                e.preventDefault();
                go(selectionOf(sel, kind), '');
            }}
        >
            {p.children}
        </a>
    );
}

const COLUMNS: [SortKey | '', string, string][] = [
    ['name', 'Service', 'service'],
    ['', 'Over time', 'over'],
    ['rate', 'Rate', 'rate'],
    ['', 'Top function', 'top'],
    ['', 'Other types', 'types'],
    ['last', 'Last seen', 'last'],
];

function Head({ sort, onSort }: { sort: Sort; onSort(s: Sort): void }) {
    return (
        <thead>
            <tr>
                {COLUMNS.map(([key, title, name]) => (
                    <th
                        key={name}
                        scope="col"
                        class={name}
                        aria-sort={key !== sort.by ? undefined : sort.down ? 'descending' : 'ascending'}
                    >
                        {key ? (
                            <button
                                data-sort={key}
                                onClick={() => onSort({ by: key, down: key === sort.by ? !sort.down : key !== 'name' })}
                            >
                                {title}
                                <span aria-hidden="true">{key === sort.by ? (sort.down ? ' ↓' : ' ↑') : ''}</span>
                            </button>
                        ) : (
                            title
                        )}
                    </th>
                ))}
            </tr>
        </thead>
    );
}

function ServiceRow({
    s,
    n,
    now,
    sel,
    go,
}: { s: Service; n: number; now: number } & Pick<ServicesProps, 'sel' | 'go'>) {
    const [main, ...others] = s.kinds,
        { row } = main;
    return (
        <tr data-service={s.name} class={s.inRange ? '' : 'past'}>
            <th scope="row" class="service">
                <TypeLink
                    kind={main}
                    sel={sel}
                    go={go}
                    class="name"
                    label={`${nameOf(s.name)}: flame graph of ${typeName(main)}`}
                >
                    {nameOf(s.name)}
                </TypeLink>
            </th>
            <td class="over">
                <Spark kind={main} n={n} />
            </td>
            <td class="rate">
                {s.inRange ? (
                    <>
                        <b>{main.text}</b> <span class="dim">{typeName(main)}</span>
                    </>
                ) : (
                    <span class="dim">not in this range</span>
                )}
            </td>
            <td class="top" title={row.function}>
                {row.function && (
                    <>
                        <span class="function">{row.function}</span>{' '}
                        <span class="dim">{percent(row.flat, row.sum)}</span>
                    </>
                )}
            </td>
            <td class="types">
                {others.map((k) => (
                    <TypeLink
                        key={`${k.row.type}/${k.row.unit}`}
                        kind={k}
                        sel={sel}
                        go={go}
                        class={k.inRange ? 'type' : 'type past'}
                    >
                        {typeName(k)}
                        {k.inRange && <b>{k.text}</b>}
                    </TypeLink>
                ))}
            </td>
            <td class="last" title={when(s.last)}>
                {s.last / 1e6 < 631152e6 ? 'no date' : ago(Math.max(now - s.last, 0))}
            </td>
        </tr>
    );
}

/** The newest service outside the shown range, if there is no other data or it has grown since the page was opened. */
function useArrived(list: Service[], stored: Series[] | null, labels: string): Service | null {
    const before = useRef<{ labels: string; sizes: Map<string, number> } | null>(null),
        [found, setFound] = useState<string | null>(null);
    useEffect(() => {
        if (!stored) return;
        const old = before.current?.labels === labels ? before.current.sizes : null,
            sizes = storedSizes(stored),
            outside = list.filter((s) => !s.inRange).sort((a, b) => b.last - a.last),
            grown = outside.find((s) => old && (old.get(s.name) ?? 0) < (sizes.get(s.name) ?? 0));
        before.current = { labels, sizes };
        if (grown) setFound(grown.name);
        else if (!list.some((s) => s.inRange)) setFound((f) => f ?? outside[0]?.name ?? null);
    }, [stored]);
    return list.find((s) => s.name === found && !s.inRange) ?? null;
}

/** The stored series of all times. The query reads the row of every block, so its interval grows with its duration. */
function useStored(sel: Selection, wanted: boolean): Series[] | null {
    const [tick, setTick] = useState(0),
        { matchers } = sel.selector,
        subject = wanted ? JSON.stringify(['stored', matchers]) : '';
    const { result, stale, took } = useQuery<Series[]>({
        subject,
        version: `${subject} ${tick}`,
        again: 0,
        run: (signal) => seriesOf({ type: '', matchers }, null, signal),
    });
    useEffect(() => {
        if (!result) return;
        const timer = setTimeout(() => setTick((n) => n + 1), Math.max(STORED_MS, took * PAUSE));
        return () => clearTimeout(timer);
    }, [result]);
    return stale ? null : result;
}

/** The filter has a key, and arrow keys move between the rows. */
function useRowKeys(filter: preact.RefObject<HTMLInputElement>, onHelp: () => void, onEscape: () => void): void {
    // A layout effect: the next key may come before the next frame and must see the new rows.
    useLayoutEffect(() => {
        const down = (e: KeyboardEvent) => {
            const at = e.target as HTMLElement,
                typing = at instanceof HTMLSelectElement || (at instanceof HTMLInputElement && at !== filter.current);
            if (e.ctrlKey || e.metaKey || e.altKey || typing) return;
            const inFilter = at === filter.current,
                links = [...document.querySelectorAll<HTMLElement>('.services tbody a.name')],
                row = links.findIndex((a) => a.closest('tr')!.contains(at));
            const step = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0;
            if (step && links.length) {
                if (step < 0 && row <= 0) filter.current?.focus();
                else links[Math.min(row + step, links.length - 1)].focus();
            } else if (e.key === 'Enter' && inFilter) links[0]?.click();
            else if (e.key === 'Escape') onEscape();
            else if (inFilter) return;
            else if (e.key === '/') filter.current?.select();
            else if (e.key === '?') onHelp();
            else return;
            e.preventDefault();
        };
        addEventListener('keydown', down);
        return () => removeEventListener('keydown', down);
    });
}

function Senders({ again }: { again: Again }) {
    const { result } = useQuery({
            subject: 'senders',
            version: `senders ${again.timer}`,
            again: again.user,
            run: statusNow,
        }),
        list = result ? troubles(result.senders, result.now, duration, count) : [];
    if (!list.length) return null;
    return (
        <section data-troubles>
            <h2>Senders with trouble</h2>
            <ul class="troubles">
                {list.map((t) => (
                    <li key={t.sender}>
                        <b>{t.sender}</b>: {t.texts.join('; ')}
                        {t.why && <span class="dim">: {t.why}</span>}
                    </li>
                ))}
            </ul>
            <p class="dim">
                Since the server was started. <a href="/?page=health">All senders</a>
            </p>
        </section>
    );
}

export function ServicesPage(p: ServicesProps) {
    const { sel, again, go } = p,
        { matchers } = sel.selector,
        filter = useRef<HTMLInputElement>(null),
        [text, setText] = useState(''),
        [sort, setSort] = useState<Sort>({ by: 'rate', down: true }),
        [help, setHelp] = useState(false);
    const all = !sel.range.from && !sel.range.to,
        subject = JSON.stringify(['services', matchers, sel.range]);
    const {
        result: l,
        stale,
        error,
        took,
    } = useQuery<Listed>({
        subject,
        version: `${subject} ${again.timer}`,
        again: again.user,
        run: async (signal) => {
            const start = performance.now(),
                stored = all ? (await storedOf(sel.selector, signal)).stored : null,
                found = await servicesOf(sel.selector, sel.range, stored, signal);
            performance.measure('kiln:services', { start, end: performance.now() });
            return found;
        },
        onError: p.onError,
    });
    useEffect(() => p.onTook(took), [took]);
    const stored = useStored(sel, !!l),
        list = useMemo(() => (l ? groupServices(l, stored ?? []) : []), [l, stored]),
        arrived = useArrived(list, stored, JSON.stringify(matchers));
    const shown = useMemo(() => {
        const t = text.trim().toLowerCase();
        return sortServices(
            list.filter((s) => nameOf(s.name).toLowerCase().includes(t)),
            sort,
        );
    }, [list, text, sort]);
    useRowKeys(
        filter,
        () => setHelp((h) => !h),
        () => (help ? setHelp(false) : setText('')),
    );
    useEffect(() => {
        document.title = 'Services - kiln';
    }, []);

    // Polls while there is nothing to show, so that the first profiles appear by themselves.
    const nothing = !!l && !list.some((s) => s.inRange);
    useEffect(() => {
        if (!nothing) return;
        const timer = setInterval(() => document.hidden || p.onAgain(), EMPTY_MS);
        return () => clearInterval(timer);
    }, [nothing]);

    const problem = <Failed error={error} onAgain={p.onAgain} />;
    if (!l) return error ? problem : <p class="empty big">Loading …</p>;
    const n = l.step ? Math.ceil((l.end - l.start) / l.step) : 0;
    return (
        <div class="page home" role="main" data-page="services" data-services={shown.length}>
            <ResultFrame stale={stale} failed={error} wanted="the new selection" shown="the previous selection">
                {problem}
                {!list.length && !stored ? (
                    <p class="empty big">Loading …</p>
                ) : !list.length && !matchers.length && !l.partial ? (
                    <FirstSteps />
                ) : (
                    <>
                        <header>
                            <h1>Services</h1>
                            <input
                                ref={filter}
                                class="pick"
                                type="search"
                                placeholder="Filter ( / )"
                                aria-label="Filter services by name"
                                data-do="filter"
                                value={text}
                                spellcheck={false}
                                onInput={(e) => setText(e.currentTarget.value)}
                            />
                            <span class="dim" role="status">
                                {shown.length === list.length
                                    ? `${count(list.length)} ${list.length === 1 ? 'service' : 'services'}`
                                    : `${count(shown.length)} of ${count(list.length)} services`}
                            </span>
                        </header>
                        {arrived && (
                            <p class="notice" role="status" data-arrived>
                                A profile of {nameOf(arrived.name)} from {when(arrived.last)} has arrived. It is not in the
                                shown time range.{' '}
                                <TypeLink kind={arrived.kinds[0]} sel={sel} go={go} class="link">
                                    Show it
                                </TypeLink>
                            </p>
                        )}
                        {l.partial && (
                            <p class="notice" role="status">
                                The table is incomplete: {l.why}.
                            </p>
                        )}
                        {shown.length ? (
                            <table class="rows services">
                                <Head sort={sort} onSort={setSort} />
                                <tbody>
                                    {shown.map((s) => (
                                        <ServiceRow
                                            key={s.name}
                                            s={s}
                                            n={n}
                                            now={Math.max(l.end, Date.now() * 1e6)}
                                            sel={sel}
                                            go={go}
                                        />
                                    ))}
                                </tbody>
                            </table>
                        ) : (
                            <p class="empty">No service matches{text ? ` “${text}”` : ' these labels'}.</p>
                        )}
                        <p class="dim keys">
                            <kbd>↑</kbd> <kbd>↓</kbd> move between services, <kbd>Enter</kbd> opens the flame graph,{' '}
                            <kbd>/</kbd> filters, <kbd>?</kbd> explains.
                        </p>
                    </>
                )}
            </ResultFrame>
            <Senders again={again} />
            {help && <Help live onClose={() => setHelp(false)} />}
        </div>
    );
}
