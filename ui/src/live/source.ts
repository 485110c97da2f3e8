// Source files that the server fetches from a debuginfod server. Files that were shown stay in memory.
import { SourceFile, Sources, noSource } from '../model/source';
import { getText } from './client';

const MOST_FILES = 32; // of at most 4 MiB

async function fetched(path: string, build_id: string): Promise<SourceFile> {
    try {
        const text = await getText('source', { build_id, path });
        return text.includes('\0') ? noSource('is not text') : { text, why: '' };
    } catch (e) {
        return noSource(`cannot be shown: ${(e as Error).message}`);
    }
}

export function serverSources(): Sources {
    const files = new Map<string, Promise<SourceFile>>(); // in the order of use
    return {
        read(path, id) {
            if (!id) return noSource('cannot be shown: the profile does not have the GNU build id of the binary');
            if (!path.startsWith('/')) return noSource('cannot be shown: its path is not absolute');
            const key = `${id} ${path}`,
                file = files.get(key) ?? fetched(path, id);
            files.delete(key);
            files.set(key, file);
            if (files.size > MOST_FILES) files.delete(files.keys().next().value!);
            void file.then((f) => f.text === null && files.delete(key)); // the next selection tries again
            return file;
        },
        report: null,
    };
}
