// The frame of every result of the server. It dims and labels the result of the previous selection while the next one is loading.
import { ComponentChildren } from 'preact';

export interface ResultProps {
    stale: boolean;
    failed: string; // why the present selection could not be loaded
    wanted: string; // names the present selection
    shown: string; // names the selection that the data belong to
    children: ComponentChildren;
}

export function ResultFrame(p: ResultProps) {
    return (
        <div class="result" data-stale={p.stale ? '' : undefined}>
            <p class="stale" role="status">
                {p.stale && (
                    <span>
                        {p.failed ? `${p.wanted} could not be loaded.` : `Loading ${p.wanted} …`} Still shown: {p.shown}.
                    </span>
                )}
            </p>
            <div class="data" aria-busy={p.stale}>
                {p.children}
            </div>
        </div>
    );
}

/** A query failed. The previous result stays on the page. */
export function Failed(p: { error: string; onAgain(): void }) {
    return p.error ? (
        <div class="notice" role="alert">
            <b>Error:</b> {p.error}.{' '}
            <button class="link" onClick={p.onAgain}>
                Try again
            </button>
        </div>
    ) : null;
}

/** The names of selections in a view inside another result. */
export const SELECTIONS = { failed: '', wanted: 'the new selection', shown: 'the previous selection' };

/** Newer data could not be loaded; the view shows those that it had. */
export function NotRefreshed(p: { what: string; error: string }) {
    return p.error ? (
        <div class="notice" role="status">
            {p.what} could not be refreshed: {p.error}.
        </div>
    ) : null;
}
