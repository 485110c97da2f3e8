// Shown when the server responds 401. The token is stored for this tab only and is sent to the server only.
import { useState } from 'preact/hooks';
import { Right, setToken } from '../../live/client';
import { useDialog } from '../useDialog';

export function TokenPrompt(p: { right: Right; wrong: boolean; onDone(): void; onClose(): void }) {
    const [token, setText] = useState(''),
        box = useDialog<HTMLFormElement>();
    return (
        <div class="overlay">
            <form
                class="help token"
                role="dialog"
                aria-modal="true"
                ref={box}
                aria-label="Token"
                onSubmit={(e) => {
                    e.preventDefault();
                    setToken(p.right, token.trim());
                    p.onDone();
                }}
            >
                <h2>{p.right === 'read' ? 'Viewing requires a token' : 'Changes require a token'}</h2>
                {p.wrong && (
                    <p class="wrong" role="alert">
                        The server rejected this token.
                    </p>
                )}
                <input
                    type="password"
                    autocomplete="off"
                    aria-label="Token"
                    data-do="token"
                    value={token}
                    onInput={(e) => setText(e.currentTarget.value)}
                />
                <p class="actions">
                    <button class="strong" disabled={!token.trim()}>
                        Continue
                    </button>
                    <button type="button" onClick={p.onClose}>
                        Not now
                    </button>
                </p>
                <p class="dim">
                    Enter a token from the file that was passed to <code>kiln serve --{p.right}-tokens FILE</code>. This
                    tab stores the token until it is closed.
                </p>
            </form>
        </div>
    );
}
