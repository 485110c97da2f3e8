// Names of threads: one rule for every view.

const UUID = /\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;

/** Names a thread: `clerk-1 (4711)`. The process follows if there are several: the thread is what the eye looks for, and
 *  narrow views cut names in the middle. Of a UUID, the first eight digits tell processes apart. */
export function threadTitle(name: string, id: string, process = '', without = 'all samples'): string {
    const thread = name && id && name !== id ? `${name} (${id})` : name || (id ? `thread ${id}` : without),
        of = process.replace(/^service\.instance\.id=/, '').replace(UUID, '$1');
    return of ? `${thread} · ${of}` : thread;
}
