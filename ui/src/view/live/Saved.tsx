// The menu "Saved": selections that the server stores under names.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { NeedsToken, hasToken } from '../../live/client';
import { MOST_NAME, SavedList, deleteSaved, listSaved, renameSaved, saveAs } from '../../live/saved';
import { Popover } from '../Popover';

export interface SavedProps {
    /** Query and fragment of the shown selection. */
    link(): string;
    /** The name that is proposed for it. */
    proposal: string;
    onOpen(link: string): void;
    /** The server requires a token; `again` repeats what was rejected. */
    onToken(e: NeedsToken, again: () => void): void;
}

function Menu(p: SavedProps & { close(): void }) {
    const [found, setFound] = useState<SavedList | null>(null),
        box = useRef<HTMLDivElement>(null),
        [, setEntered] = useState(0), // tokens
        [name, setName] = useState(p.proposal),
        [edited, setEdited] = useState<{ of: string; to: string } | null>(null),
        [note, setNote] = useState('');
    const run = async (act: () => Promise<void>, done: string) => {
        try {
            await act();
            setNote(done);
            setFound(await listSaved());
            return true;
        } catch (e) {
            if (e instanceof NeedsToken) p.onToken(e, () => void run(act, done));
            else setNote(`${(e as Error).message}.`);
            return false;
        }
    };
    useEffect(() => void run(async () => {}, ''), []);
    // The name has the focus and is selected, so that typing replaces it; or the first entry if the list cannot be changed.
    useLayoutEffect(() => {
        const first = box.current!.querySelector<HTMLElement>('input, button');
        first?.focus();
        if (first instanceof HTMLInputElement) first.select();
    }, [found?.changes]);
    const list = found?.saved,
        changes = found?.changes,
        allowed = changes === 'open' || (changes === 'token' && hasToken('write'));
    const given = name.trim(),
        taken = !!list?.some((s) => s.name === given);
    const rename = async () => {
        const { of, to } = edited!;
        if (to.trim() === of || (await run(() => renameSaved(of, to.trim()), `Renamed ${of}.`))) setEdited(null);
    };
    return (
        <div class="share-menu saved-menu" ref={box}>
            {allowed && (
                <form
                    onSubmit={(e) => {
                        e.preventDefault();
                        if (given) void run(() => saveAs(given, p.link(), taken), `Saved ${given}.`);
                    }}
                >
                    <input
                        aria-label="Name of the selection"
                        data-do="saved-name"
                        value={name}
                        maxLength={MOST_NAME}
                        spellcheck={false}
                        onInput={(e) => setName(e.currentTarget.value)}
                    />
                    <button data-do="save" disabled={!given}>
                        {taken ? 'Replace the saved selection' : 'Save this selection'}
                    </button>
                </form>
            )}
            {changes === 'none' && (
                <p class="dim" data-read-only>
                    This server is read-only: selections cannot be saved or deleted.
                </p>
            )}
            {changes === 'token' && !allowed && (
                <p data-needs-token>
                    Saving and deleting require a write token.{' '}
                    <button
                        data-do="saved-token"
                        onClick={() => p.onToken(new NeedsToken('write'), () => setEntered((n) => n + 1))}
                    >
                        Enter a token
                    </button>
                </p>
            )}
            <p role="status">{note}</p>
            {list?.length === 0 && <p class="dim">No selection is saved yet.</p>}
            {!!list?.length && (
                <ul>
                    {list.map((s) => (
                        <li key={s.name} data-saved={s.name}>
                            {edited?.of === s.name ? (
                                <form
                                    onSubmit={(e) => {
                                        e.preventDefault();
                                        void rename();
                                    }}
                                >
                                    <input
                                        aria-label={`New name of ${s.name}`}
                                        data-do="saved-rename-to"
                                        value={edited.to}
                                        maxLength={MOST_NAME}
                                        ref={(e) => e?.focus()}
                                        onInput={(e) => setEdited({ of: s.name, to: e.currentTarget.value })}
                                    />
                                </form>
                            ) : (
                                <>
                                    <button
                                        class="name"
                                        data-do="saved-open"
                                        onClick={() => (p.close(), p.onOpen(s.link))}
                                    >
                                        {s.name}
                                    </button>
                                    {allowed && (
                                        <>
                                            <button
                                                aria-label={`Rename ${s.name}`}
                                                title="Rename"
                                                data-do="saved-rename"
                                                onClick={() => setEdited({ of: s.name, to: s.name })}
                                            >
                                                ✎
                                            </button>
                                            <button
                                                aria-label={`Delete ${s.name}`}
                                                title="Delete"
                                                data-do="saved-delete"
                                                onClick={() => void run(() => deleteSaved(s.name), `Deleted ${s.name}.`)}
                                            >
                                                ×
                                            </button>
                                        </>
                                    )}
                                </>
                            )}
                        </li>
                    ))}
                </ul>
            )}
        </div>
    );
}

export function Saved(p: SavedProps) {
    return (
        <Popover class="right" label="Saved" title="Saved selections" name="saved">
            {(close) => <Menu {...p} close={close} />}
        </Popover>
    );
}
