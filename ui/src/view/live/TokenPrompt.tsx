// Asked when the server says 401. The token goes to this tab's own storage and to the server, nowhere else.
import { useState } from 'preact/hooks';
import { Right, setToken } from '../../live/client';

export function TokenPrompt(p: { right: Right; wrong: boolean; onDone(): void; onClose(): void }) {
    const [token, setText] = useState('');
    return (
        <div class="overlay">
            <form
                class="help token"
                role="dialog"
                aria-label="Token"
                onSubmit={(e) => {
                    e.preventDefault();
                    setToken(p.right, token.trim());
                    p.onDone();
                }}
            >
                <h2>{p.right === 'read' ? 'Who looks needs a token' : 'Who sends needs a token'}</h2>
                {p.wrong && (
                    <p class="wrong" role="alert">
                        The server does not know this one.
                    </p>
                )}
                <input
                    type="password"
                    autocomplete="off"
                    aria-label="Token"
                    data-do="token"
                    value={token}
                    ref={(e) => e?.focus()}
                    onInput={(e) => setText(e.currentTarget.value)}
                />
                <p class="actions">
                    <button class="strong" disabled={!token.trim()}>
                        Go on
                    </button>
                    <button type="button" onClick={p.onClose}>
                        Not now
                    </button>
                </p>
                <p class="dim">
                    One of the lines of the file that <code>kiln serve --{p.right}-tokens FILE</code> was given. This
                    tab remembers it until it is closed.
                </p>
            </form>
        </div>
    );
}
