// Loads profiles: from this page (a report), from a file, or from a server.
import { fromBase64, gunzip, isGzip, isZstd } from './base/bytes';
import { Progress, paced } from './base/paced';
import { decodeSteps } from './otlp/decode';
import { Sources, readSources } from './model/source';
import { Dataset } from './otlp/types';

export interface Loaded {
    profile: Dataset;
    base: Dataset | null; // the profile to compare with
}

export interface Source {
    load(progress?: Progress): Promise<Loaded | null>; // null: the page contains no profile
}

/** The type of the elements that contain a profile (src/draw/report.h). */
export const REPORT_DATA = 'application/vnd.kiln.profile+gzip';

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

const find = (doc: Document, role: string) => doc.querySelector(`script[type="${REPORT_DATA}"][data-role="${role}"]`),
    bytesOf = (e: Element | null) => fromBase64(e?.textContent ?? '');

/** The source files in this page; null: there are none. */
export async function embeddedSources(): Promise<Sources | null> {
    const found = document.querySelector('script[type="application/vnd.kiln.source+gzip"]');
    return found && readSources(new TextDecoder().decode(await gunzip(bytesOf(found), () => undefined)));
}

/** The profile of this page as it is stored: OTLP, compressed with gzip. */
export const embeddedBytes = (): Uint8Array<ArrayBuffer> => bytesOf(find(document, 'profile'));

/** This page as a file, which opens with the present view, filters and transforms. */
export function pageWithView(fragment: string): string {
    const page = document.documentElement.cloneNode(true) as HTMLElement,
        comments = [...document.childNodes].filter((n): n is Comment => n.nodeType === Node.COMMENT_NODE);
    for (const key of Object.keys(page.dataset)) delete page.dataset[key];
    page.querySelector('#app')!.replaceChildren();
    page.querySelector('body')!.dataset['view'] = fragment;
    return `<!doctype html>\n${comments.map((c) => `<!--${c.data}-->\n`).join('')}${page.outerHTML}\n`;
}

/** Loads the profiles of a report: this page, or another report that was parsed. */
async function fromDocument(doc: Document, progress: Progress): Promise<Loaded | null> {
    const get = async (e: Element) => open(bytesOf(e), (e as HTMLElement).dataset['name'] || 'profile', progress);
    const profile = find(doc, 'profile'),
        base = find(doc, 'base');
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
