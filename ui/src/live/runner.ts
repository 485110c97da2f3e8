// Runs the queries of one view, one at a time. A query for newer data of the same subject starts when the previous one has ended,
// after a pause of the same length: a slow server is busy at most half of the time, and each of its responses is shown. A query
// of another subject aborts the one in flight.

export interface Query<T> {
    subject: string; // identifies the selection that is queried; empty: no query
    version: string; // identifies the result: another version of the same subject is newer data
    again: number; // counts the refreshes by the user, which do not wait for the pause
    run(signal: AbortSignal): Promise<T>;
    onError?(e: unknown): void;
}

export interface Queried<T> {
    result: T | null; // of this subject, or of the previous one while this one is loading
    stale: boolean; // the result belongs to the previous subject
    busy: boolean;
    error: string; // of the latest query
    took: number; // ms until the latest response
}

interface Done<T> {
    subject: string;
    version: string;
    again: number;
    result: T;
}

const FIRST_RETRY_MS = 1000,
    LAST_RETRY_MS = 60_000,
    CACHED = 8;

const fits = <T>(a: Omit<Done<T>, 'result'> | null, w: Query<T>) =>
    a !== null && a.version === w.version && a.again === w.again;

/** The latest results by subject: a view that is opened again shows its previous picture at once. */
export class Cache {
    private readonly list = new Map<string, Done<unknown>>();

    get<T>(subject: string): Done<T> | null {
        return (this.list.get(subject) as Done<T> | undefined) ?? null;
    }

    put(d: Done<unknown>): void {
        this.list.delete(d.subject);
        this.list.set(d.subject, d);
        if (this.list.size > CACHED) this.list.delete(this.list.keys().next().value!);
    }
}

export class Runner<T> {
    private wanted: Query<T> | null = null;
    private tried: Query<T> | null = null; // the latest query, running or ended
    private done: Done<T> | null = null; // the latest result
    private stop: AbortController | null = null; // of the query in flight
    private timer: ReturnType<typeof setTimeout> | undefined;
    private due = 0; // when newer data may be queried
    private failures = 0;
    private error = '';
    private took = 0;

    /** `changed` is called when the state changes. `ready` delays a result, for example until a drag ends. */
    constructor(
        private readonly changed: () => void,
        private readonly cache: Cache | null = null,
        private readonly ready: () => Promise<void> = async () => {},
    ) {}

    /** Sets the query. Calls without a change have no effect. */
    want(w: Query<T>): void {
        this.wanted = w;
        if (this.stop && this.tried!.subject !== w.subject) this.close();
        this.next();
    }

    /** Aborts the query in flight. */
    close(): void {
        clearTimeout(this.timer);
        this.stop?.abort();
        if (this.stop) this.tried = null;
        this.stop = null;
    }

    state(w: Query<T>): Queried<T> {
        const done = this.done ?? this.cache?.get<T>(w.subject) ?? null,
            current = done !== null && (done.subject === w.subject || fits(done, w));
        return {
            result: done?.result ?? null,
            stale: done !== null && w.subject !== '' && !current,
            busy: this.stop !== null,
            error: this.tried?.subject === w.subject ? this.error : '',
            took: this.took,
        };
    }

    private next(): void {
        clearTimeout(this.timer);
        const w = this.wanted!;
        if (this.stop || !w.subject) return;
        const cached = this.done?.subject === w.subject ? null : this.cache?.get<T>(w.subject);
        if (cached && !fits(this.done, w)) {
            this.done = cached;
            this.changed();
        }
        if (fits(this.done, w) || (this.tried?.subject === w.subject && fits(this.tried, w))) return;
        const newer = this.tried?.subject === w.subject && this.tried.again === w.again,
            pause = newer ? this.due - performance.now() : 0;
        if (pause > 0) this.timer = setTimeout(() => this.next(), pause);
        else void this.start(w);
    }

    private async start(w: Query<T>): Promise<void> {
        const stop = new AbortController(),
            from = performance.now();
        if (this.tried?.subject !== w.subject) {
            this.failures = 0;
            this.error = '';
        }
        this.tried = w;
        this.stop = stop;
        this.changed();
        let result: T | null = null,
            failed: unknown = null;
        try {
            result = await w.run(stop.signal);
        } catch (e) {
            failed = e;
        }
        const took = performance.now() - from;
        if (!stop.signal.aborted) await this.ready();
        if (stop.signal.aborted) return;
        this.stop = null;
        this.took = took;
        if (failed === null) {
            this.failures = 0;
            this.error = '';
            this.done = { subject: w.subject, version: w.version, again: w.again, result: result as T };
            this.cache?.put(this.done);
        } else {
            this.error = failed instanceof Error ? failed.message : String(failed);
            this.wanted!.onError?.(failed);
        }
        const retry = failed === null ? 0 : Math.min(FIRST_RETRY_MS * 2 ** this.failures++, LAST_RETRY_MS);
        this.due = performance.now() + Math.max(took, retry);
        this.changed();
        this.next();
    }
}
