// Loads profiles: from this page (a report), from a file, or from a server.
import { fromBase64, gunzip, isGzip, isZstd } from './base/bytes';
import { Progress, paced } from './base/paced';
import { decodeSteps } from './otlp/decode';
import { Dataset } from './otlp/types';

export interface Loaded {
    profile: Dataset;
    base: Dataset | null; // the profile to compare with
}

export interface Source {
    load(progress?: Progress): Promise<Loaded | null>; // null: the page contains no profile
}

const TYPE = 'application/vnd.kiln.profile+gzip';

const silent: Progress = () => undefined;

async function open(b: Uint8Array<ArrayBuffer>, name: string, progress: Progress): Promise<Dataset> {
    let bytes = b;
    for (let layers = 0; isGzip(bytes) && layers < 4; layers++)
        bytes = await gunzip(bytes, (share) => progress('Decompressing', share));
    if (isZstd(bytes))
        throw new Error('browsers cannot decompress zstd; convert the file to .otlp or .otlp.gz with `kiln convert`');
    try {
        return await paced('Decoding', decodeSteps(bytes, name), progress);
    } catch (e) {
        throw new Error(
            `${name} is not OTLP in the current layout: ${(e as Error).message}; \`kiln flame\` makes a report from any format`,
        );
    }
}

/** Loads the profiles of a report: this page, or another report that was parsed. */
async function fromDocument(doc: Document, progress: Progress): Promise<Loaded | null> {
    const find = (role: string) => doc.querySelector(`script[type="${TYPE}"][data-role="${role}"]`);
    const get = async (e: Element) =>
        open(fromBase64(e.textContent ?? ''), (e as HTMLElement).dataset['name'] || 'profile', progress);
    const profile = find('profile'),
        base = find('base');
    return profile && { profile: await get(profile), base: base && (await get(base)) };
}

export const embedded: Source = { load: (progress = silent) => fromDocument(document, progress) };

/** Loads profiles that a server exports: a selection, and optionally another one to compare with. */
export function fromExport(
    get: () => Promise<Uint8Array<ArrayBuffer>>,
    name: string,
    base: { get: () => Promise<Uint8Array<ArrayBuffer>>; name: string } | null,
): Source {
    return {
        async load() {
            const [a, b] = await Promise.all([get(), base?.get()]);
            return {
                profile: await open(a, name, silent),
                base: base && b ? await open(b, base.name, silent) : null,
            };
        },
    };
}

/** Loads a local file: OTLP (gzip or not), or a report. */
export function fromFile(file: File): Source {
    return {
        async load(progress = silent) {
            const b = new Uint8Array(await file.arrayBuffer());
            if (b[0] !== 0x3c) return { profile: await open(b, file.name, progress), base: null };
            const doc = new DOMParser().parseFromString(new TextDecoder().decode(b), 'text/html'); // does not run scripts
            const found = await fromDocument(doc, progress);
            if (!found) throw new Error('this HTML file is not a Kiln report');
            return found;
        },
    };
}
