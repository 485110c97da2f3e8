// The result of the query of a view (live/runner.ts), kept up to date while the view is shown.
import { useLayoutEffect, useState } from 'preact/hooks';
import { Cache, Queried, Runner, Query } from '../../live/runner';

const cache = new Cache();

let pressed = false;
addEventListener('pointerdown', () => (pressed = true), true);
for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => (pressed = false), true);
addEventListener('blur', () => (pressed = false));

/** New data must not move what the user is dragging over: they wait until no button is pressed. */
async function released(): Promise<void> {
    while (pressed) await new Promise((done) => setTimeout(done, 50));
}

/** Queries again when the subject or the version changes. `cached`: a view that is opened again shows its previous result, and
 *  queries only if the version differs. */
export function useQuery<T>(w: Query<T>, cached = true): Queried<T> {
    const [, redraw] = useState(0),
        [runner] = useState(() => new Runner<T>(() => redraw((n) => n + 1), cached ? cache : null, released));
    useLayoutEffect(() => runner.want(w));
    useLayoutEffect(() => () => runner.close(), []);
    return runner.state(w);
}
