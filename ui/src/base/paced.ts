// Long work in slices: the page draws its progress and reacts between them.

/** Work that yields the share that is done, from 0 to 1. */
export type Steps<T> = Generator<number, T, void>;
export type Progress = (what: string, share: number) => void;

const SLICE_MS = 40;

const nextTask = () => new Promise((done) => setTimeout(done));

/** Runs the work in slices and reports its progress after each. */
export async function paced<T>(what: string, work: Steps<T>, progress: Progress): Promise<T> {
    for (;;) {
        const end = performance.now() + SLICE_MS;
        let step = work.next();
        while (!step.done && performance.now() < end) step = work.next();
        if (step.done) return step.value;
        progress(what, step.value);
        await nextTask();
    }
}

/** Runs the work at once. */
export function atOnce<T>(work: Steps<T>): T {
    for (;;) {
        const step = work.next();
        if (step.done) return step.value;
    }
}
