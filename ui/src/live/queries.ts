// The queries of docs/query-api.md that this page sends, and the types of their responses. Times are Unix ns as JSON numbers:
// precise to a quarter of a microsecond, which is enough for charts.
import { About, aboutFrom } from '../model/about';
import { typeRank } from '../model/default_type';
import { Counts } from '../model/series';
import { Value } from '../otlp/types';
import { getJson } from './client';
import { Span, writeTime } from './range';
import { EVERY, Selector, writeSelector } from './selector';

export interface Series {
    type: string;
    unit: string;
    first: number;
    last: number;
    samples: number;
    resource: Record<string, unknown>;
}

export interface ProfileRow {
    id: string;
    series: number;
    time: number;
    duration: number;
    received: number;
    samples: number;
    sender: string;
    recognised: string;
    losses: number;
}

export interface Label {
    text: string;
    series: number;
}

export interface Party {
    name: string;
    requests: number;
    profiles: number;
    samples: number;
    bytes: number;
    refused: number;
    rejected: number; // profiles and log records, in partial successes
    why: string; // the newest reason of a refusal or rejection; empty: none
    first: number;
    last: number;
}

export interface Status {
    version: string;
    ready: boolean;
    started: number;
    now: number;
    store_dir: string;
    source_link: string; // empty: none
    source_trim: string;
    source_server: boolean; // it fetches source files (live/source.ts)
    max_age: number | null; // ns; null: no limit
    max_bytes: number | null;
    ingest: Record<string, number>;
    http: Record<string, number>;
    store: Record<string, number>;
    recognised: Party[];
    senders: Party[];
    losses: { concept: string; count: number; example: string; carried_as: string | null }[];
}

export const where = (s: Selector, span: Span | null): Record<string, string> => ({
    query: writeSelector(s),
    ...(span ? { start: writeTime(span[0]), end: writeTime(span[1]) } : {}),
});

export const seriesOf = async (s: Selector, span: Span | null, signal?: AbortSignal): Promise<Series[]> =>
    (await getJson<{ series: Series[] }>('series', where(s, span), signal)).series;

/** `split`: one row for each pair of values of both labels. */
export const countsOf = (s: Selector, span: Span, by: string, signal?: AbortSignal, split = ''): Promise<Counts> =>
    getJson<Counts>('counts', { ...where(s, span), by, ...(split && { split }) }, signal);

export const labelKeys = async (span: Span | null, s = EVERY): Promise<string[]> =>
    (await getJson<{ keys: Label[] }>('labels', where(s, span))).keys.map((k) => k.text);

export const labelValues = async (
    key: string,
    s: Selector,
    span: Span | null,
    signal?: AbortSignal,
): Promise<string[]> =>
    (await getJson<{ values: Label[] }>(`labels/${encodeURIComponent(key)}`, where(s, span), signal)).values.map(
        (v) => v.text,
    );

export const profilesOf = (
    s: Selector,
    span: Span | null,
    limit: number,
    signal?: AbortSignal,
): Promise<{ series: Series[]; profiles: ProfileRow[] }> => getJson('profiles', { ...where(s, span), limit }, signal);

interface OneProfile {
    type: string;
    unit: string;
    attributes: Record<string, Value>;
    original: { format: string; bytes: number };
}

/** Comments and attributes of a profile. Profiles with the same id differ in type; one of them has the original
 *  file. */
export async function profileAbout(id: string, type: string, signal?: AbortSignal): Promise<About | null> {
    const { profiles } = await getJson<{ profiles: OneProfile[] }>(`profiles/${encodeURIComponent(id)}`, {}, signal),
        p = profiles.find((q) => `${q.type}/${q.unit}` === type) ?? profiles[0],
        withFile = profiles.find((q) => q.original.bytes > 0) ?? p;
    return p ? aboutFrom(Object.entries(p.attributes).map(([key, value]) => ({ key, value })), withFile.original) : null;
}

export interface StoreFile {
    name: string;
    corrupt: boolean;
    bytes: number;
    first: number;
    last: number;
    profiles: number;
    samples: number;
}

/** The data on disk. Status has the counters since the start of the server. */
export interface StoreNow {
    bytes: number;
    raw_items: number;
    raw_bytes: number;
    kept_items: number;
    series: number;
    profiles: number;
    samples: number;
    files: StoreFile[];
}

export const storeNow = (signal?: AbortSignal): Promise<StoreNow> => getJson<StoreNow>('store', {}, signal);
export const statusNow = (signal?: AbortSignal): Promise<Status> => getJson<Status>('status', {}, signal);

const YEAR_2000 = 946684800e3; // ms

/** Returns the time from the first observation to the end of the last, in ms. With `dated`, only observations since
 *  2000 count, unless there are none. Clocks that do not count from 1970 (since boot, since a page was loaded) would
 *  stretch the range over decades. */
export function extentOf(list: Series[], dated = true): Span | null {
    const used = list.filter((s) => s.samples > 0),
        fit = used.filter((s) => (dated ? s.last / 1e6 >= YEAR_2000 : s.first / 1e6 < YEAR_2000)),
        of = fit.length || !dated ? fit : used;
    if (!of.length) return null;
    const first = Math.max(Math.floor(Math.min(...of.map((s) => s.first)) / 1e6) - 1, 0),
        last = Math.ceil(Math.max(...of.map((s) => s.last)) / 1e6) + 1;
    return fit.length && dated ? [Math.max(first, YEAR_2000), last] : [first, dated ? last : Math.min(last, YEAR_2000)];
}

/** Finds the part of a range that has data, by repeated queries with finer steps. */
export async function narrowed(s: Selector, span: Span, signal?: AbortSignal): Promise<Span> {
    let at = span;
    for (let round = 0; round < 6; round++) {
        const c = await countsOf(s, at, '', signal),
            count = c.rows[0]?.count ?? [],
            first = count.findIndex((n) => n > 0);
        if (first < 0) return at;
        const last = count.reduce((found, n, i) => (n > 0 ? i : found), first),
            ms = (i: number) => (c.start + i * c.step) / 1e6;
        const next: Span = [Math.max(Math.floor(ms(first)), at[0]), Math.min(Math.ceil(ms(last + 1)), at[1])];
        if (next[1] - next[0] > (at[1] - at[0]) * 0.8) return next;
        at = next;
    }
    return at;
}

/** Returns the stored time ranges of a selection: since 2000, and with times of other clocks. */
export async function storedOf(
    s: Selector,
    signal?: AbortSignal,
): Promise<{ stored: Span | null; undated: Span | null }> {
    const list = await seriesOf(s, null, signal),
        all = extentOf(list),
        undated = extentOf(list, false);
    // For a series with both, the server does not report where the dated part begins.
    const stored = all?.[0] === YEAR_2000 ? await narrowed(s, all, signal) : all;
    if (!stored || !undated || stored[0] < YEAR_2000) return { stored, undated: null };
    return { stored, undated: undated[1] === YEAR_2000 ? await narrowed(s, undated, signal) : undated };
}

/** Returns the types of the series, the default type first (model/default_type.ts); equal ranks by samples, then by
 *  name. */
export function typesOf(list: Series[]): { type: string; unit: string }[] {
    const kinds = new Map<string, { type: string; unit: string; samples: number }>();
    for (const s of list) {
        const key = `${s.type}/${s.unit}`,
            k = kinds.get(key) ?? { type: s.type, unit: s.unit, samples: 0 };
        k.samples += s.samples;
        kinds.set(key, k);
    }
    const by = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
    return [...kinds.values()].sort(
        (a, b) =>
            Number(b.samples > 0) - Number(a.samples > 0) || typeRank(a.type) - typeRank(b.type) || b.samples - a.samples || by(a.type, b.type) || by(a.unit, b.unit));
}

/** The newest part of the range with at most `most` observations, or its last step if that has more; null: there is
 *  only one step. */
export function newestPart(c: Counts, most: number): Span | null {
    const n = c.rows[0]?.count.length ?? 0;
    let sum = 0,
        from = n;
    for (let i = n - 1; i >= 0; i--) {
        sum += c.rows.reduce((t, r) => t + r.count[i], 0);
        if (sum > most) break;
        from = i;
    }
    const used = (i: number) => c.rows.some((r) => r.count[i] > 0);
    while (from < n && !used(from)) from++;
    if (from === n && n > 1) {
        while (from > 0 && !used(from - 1)) from--;
        const end = from--;
        return from < 0
            ? null
            : [Math.floor((c.start + from * c.step) / 1e6), Math.ceil((c.start + end * c.step) / 1e6)];
    }
    return from === n ? null : [Math.floor((c.start + from * c.step) / 1e6), Math.ceil((c.start + n * c.step) / 1e6)];
}

const total = (rows: number[][]): number => rows.reduce((t, r) => r.reduce((a, b) => a + b, t), 0);

export const observations = (c: Counts): number => total(c.rows.map((r) => r.count));
/** Levels cannot be added up over time: the newest ones count. */
export const sumOf = (c: Counts): number => total(c.rows.map((r) => (c.levels ? r.sum.slice(-1) : r.sum)));
