// The root of a report: loads the profile of the page, and files that are dropped on it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Progress, paced } from '../base/paced';
import { Session } from '../model/session';
import { Sources } from '../model/source';
import { sharedReport } from '../model/shared_report';
import { Dataset } from '../otlp/types';
import { Loaded, Source, embedded, embeddedBytes, embeddedSources, fromFile, pageWithView } from '../source';
import { App } from './App';
import { address, replaceAddress } from './address';
import { timed } from './hooks';

const message = (e: unknown) => (e instanceof Error ? e.message : String(e));
const fresh = () => replaceAddress({ hash: '' }); // the old address belongs to the old file

export function Root() {
    const [session, setSession] = useState<Session | null>(null),
        [error, setError] = useState('');
    const [offer, setOffer] = useState<Loaded | null>(null),
        [over, setOver] = useState(false),
        [looked, setLooked] = useState(false),
        [step, setStep] = useState<{ what: string; share: number } | null>(null),
        own = useRef<Session | null>(null), // of the profile of this page
        [sources, setSources] = useState<Sources | null>(null), // of this page
        shared = useMemo(
            () => session && sharedReport(
                    session,
                    session === own.current ? { otlp: embeddedBytes, html: () => pageWithView(address().hash) } : null,
                ),
            [session],
        );
    const progress: Progress = (what, share) => setStep({ what, share });

    const use = async (profile: Dataset, base: Dataset | null, first = false) => {
        const fresh = timed('bind', () => new Session(profile, base));
        await paced('Sorting stacks', fresh.prepare(), progress);
        if (first) own.current = fresh;
        setError('');
        setOffer(null);
        setStep(null);
        setSession(fresh);
        document.title = `${profile.name} - kiln`;
    };
    const open = async (s: Source, first: boolean) => {
        try {
            const start = performance.now(),
                found = await s.load(progress);
            performance.measure('kiln:load', { start, end: performance.now() });
            if (found && !first && session && !found.base) setOffer(found);
            else if (found) await use(found.profile, found.base, first);
            else setError('');
        } catch (e) {
            setError(message(e));
        }
        setStep(null);
        setLooked(true);
        document.documentElement.dataset['ready'] = '1';
    };
    useEffect(() => {
        void open(embedded, true);
        embeddedSources().then(setSources, (e: unknown) => setError(message(e)));
    }, []);
    useEffect(() => {
        const stop = (e: DragEvent) => (e.preventDefault(), setOver(e.type === 'dragover'));
        const drop = (e: DragEvent) => {
            stop(e);
            const file = e.dataTransfer?.files[0];
            if (!file) return;
            if (!session) fresh();
            void open(fromFile(file), false);
        };
        addEventListener('dragover', stop);
        addEventListener('dragleave', stop);
        addEventListener('drop', drop);
        return () => {
            removeEventListener('dragover', stop);
            removeEventListener('dragleave', stop);
            removeEventListener('drop', drop);
        };
    });
    return (
        <>
            {session?.types.length === 0 ? (
                <p class="empty big" data-empty>
                    {session.main.set.name} contains no profile.
                </p>
            ) : session ? (
                <App session={session} shared={shared!} sources={session === own.current ? sources : null} />
            ) : (
                !error &&
                !step && (
                    <p class="empty big">{looked ? 'Drop a report or an .otlp file here.' : 'Reading the profile …'}</p>
                )
            )}
            {step && (
                <p class="loading" role="status">
                    {step.what}
                    <progress aria-label={step.what} value={step.share} max={1} />
                </p>
            )}
            {error && (
                <div class="notice" role="alert">
                    <b>The file cannot be shown:</b> {error}.{' '}
                    <button class="link" onClick={() => setError('')}>
                        Close
                    </button>
                </div>
            )}
            {offer && session && (
                <div class="overlay">
                    <div class="help" role="dialog" aria-label="Open or compare">
                        <h2>{offer.profile.name}</h2>
                        <p class="actions">
                            <button
                                data-do="compare-with"
                                onClick={() => (fresh(), void use(session.main.set, offer.profile))}
                            >
                                Compare with {session.main.set.name}
                            </button>
                            <button data-do="open" onClick={() => (fresh(), void use(offer.profile, null))}>
                                Open this file
                            </button>
                            <button onClick={() => setOffer(null)}>Cancel</button>
                        </p>
                        <p class="dim">The file stays on this machine: this page makes no network requests.</p>
                    </div>
                </div>
            )}
            {over && (
                <div class="overlay drop">
                    <b>Drop to open</b>
                </div>
            )}
        </>
    );
}
