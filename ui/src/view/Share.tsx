// The menu "Share": copies a link, names and a command, and downloads the shown selection as a file.
import { useRef, useState } from 'preact/hooks';
import { Picture, pngOf, svgOf } from '../draw/flame_file';
import { commandOf } from '../model/command';
import { Filter } from '../model/filter';
import { foldedOf, stackText } from '../model/folded';
import { Format, Shared, SharedFile } from '../model/shared';
import { Tree, largestOf } from '../model/tree';
import { View } from '../state';
import { Popover } from './Popover';

export interface ShareProps {
    shared: Shared;
    picture: Picture; // the flame graph of the selection
    tree: Tree; // the same, not inverted
    transforms: string | null; // options of a command, quoted; null: no command does the same
    transformed: boolean;
    partly: boolean; // a part of the tree is not loaded
    /** Files of the shown samples that the viewer makes itself. */
    written(format: 'pprof' | 'otlp'): Promise<Blob>;
    filter: Filter;
    type: string; // "cpu/nanoseconds"
    view: View;
    inverted: boolean;
    icicle: boolean;
    compared: boolean;
    selected: number; // frame; 0: none
    name: string; // of downloaded files, without ending
}

const FREE_MS = 60_000; // until the memory of a downloaded file is freed

/** Writes to the clipboard. False: the browser forbids it, as it does over plain http. */
async function toClipboard(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text); // undefined over plain http
        return true;
    } catch {
        return false;
    }
}

function save(blob: Blob, name: string): void {
    const a = document.createElement('a'),
        url = URL.createObjectURL(blob);
    a.href = url;
    a.download = name;
    a.click();
    setTimeout(() => URL.revokeObjectURL(url), FREE_MS);
}

const fileName = (name: string): string =>
    name.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[.-]+|-+$/g, '') || 'profile';

function Menu(p: ShareProps) {
    const [note, setNote] = useState(''),
        [manual, setManual] = useState<string | null>(null), // shown to be copied by hand
        running = useRef(0);
    const { tree } = p,
        { frames, zoom } = p.picture;

    const copy = async (what: string, text: string) => {
        const done = await toClipboard(text);
        setManual(done ? null : text);
        setNote(done ? `Copied the ${what}.` : `This page may not use the clipboard. Copy the ${what} from here:`);
    };
    const download = async (f: SharedFile) => {
        const mine = ++running.current;
        setManual(null);
        setNote(`Making the file …`);
        try {
            const blob = await f.get(p.filter),
                name = `${fileName(p.name)}.${f.ending}`;
            save(blob, name);
            if (mine === running.current) setNote(`Downloaded ${name}.`);
        } catch (e) {
            if (mine === running.current) setNote(`The file could not be made: ${(e as Error).message}.`);
        }
    };
    const drawn = (name: string, label: string, type: string, get: () => string | Promise<Blob>): SharedFile => ({
        name,
        label,
        ending: name,
        get: async () => {
            const made = await get();
            return typeof made === 'string' ? new Blob([made], { type }) : made;
        },
    });
    const side = p.compared ? ' of this side' : '';
    /** Makes a file of all stacks, which the page does not have when the server sent a part of the tree. */
    const whole = <T,>(make: () => T): T => {
        if (p.partly) throw new Error('a part of the stacks is not loaded; close this menu and choose "load everything"');
        return make();
    };
    const file = (format: Format, label: string, ending: string): SharedFile[] => {
        const made = p.shared.file(format, { transformed: p.transformed, compared: p.compared }),
            get = made ?? (format === 'html' ? null : async () => whole(() => p.written(format)));
        return get ? [{ name: format, label, ending, get }] : [];
    };
    const files = [
        ...file('pprof', p.compared ? 'pprof of both sides' : 'pprof', 'pb.gz'),
        ...file('otlp', `OTLP${side}`, 'otlp.gz'),
        ...file('html', 'HTML report', 'html'),
        ...p.shared.more,
        drawn('folded', `folded${side}`, 'text/plain', () => whole(() => foldedOf(tree, frames))),
        drawn('svg', 'SVG', 'image/svg+xml', () => svgOf(p.picture)),
        drawn('png', 'PNG', 'image/png', () => pngOf(p.picture)),
    ];
    const inputs = p.shared.inputs(p.filter, p.type, p.compared),
        command =
            inputs &&
            p.transforms !== null &&
            commandOf({ ...p, frame: p.selected ? frames.name[p.selected] : '' }, inputs),
        line = command && `${command.line} ${p.transforms}`.trim();
    const item = (what: string, label: string, text: () => string) => (
        <button data-copy={what.replaceAll(' ', '-')} onClick={() => void copy(what, text())}>
            {label}
        </button>
    );
    return (
        <div class="share-menu">
            <section>
                <h3>Copy</h3>
                {item('link', 'Link to exactly this data', p.shared.link)}
                {p.selected > 0 && item('name', 'Name of the selected function', () => frames.name[p.selected])}
                {p.selected > 0 &&
                    item('stack', 'Its largest stack', () =>
                        stackText(tree, frames, largestOf(tree, p.selected, tree === p.picture.tree ? zoom : 0)),
                    )}
                {command && item('command', `Command with ${command.gives}`, () => line as string)}
                {command ? (
                    <code data-command>{line}</code>
                ) : (
                    <p class="dim" data-command-none>
                        No single command gives this result.
                    </p>
                )}
            </section>
            <section>
                <h3>Download</h3>
                <div class="share-files">
                    {files.map((f) => (
                        <button key={f.name} data-download={f.name} onClick={() => void download(f)}>
                            {f.label}
                        </button>
                    ))}
                </div>
            </section>
            <p role="status">{note}</p>
            {manual !== null && (
                <textarea
                    key={manual}
                    readOnly
                    rows={3}
                    aria-label="Text to copy"
                    data-manual
                    ref={(e) => (e?.focus(), e?.select())}
                >
                    {manual}
                </textarea>
            )}
        </div>
    );
}

export function Share(p: ShareProps) {
    return (
        <Popover class="right share" label="Share" title="Copy or download this selection" name="share">
            {() => <Menu {...p} />}
        </Popover>
    );
}
