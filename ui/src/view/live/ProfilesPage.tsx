// The received profiles, newest first.
import { Fragment } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { PROFILE_ID, SERVICE } from '../../live/load';
import { ProfileRow, Series, profilesOf, profileAbout } from '../../live/queries';
import { EVERYTHING, Span, absolute, atLeast } from '../../live/range';
import { Selection } from '../../live/selection';
import { About, isEmpty } from '../../model/about';
import { count, duration, utc } from '../../model/units';
import { AboutProfile } from '../About';
import { ResultFrame, Failed } from './ResultFrame';
import { useQuery } from './useQuery';
import { Again } from './useResults';
import { Go } from './useSelection';

const MOST = 200;

export interface ProfilesProps {
    sel: Selection;
    span: Span | null;
    again: Again;
    go: Go;
    onAgain(): void;
    onTook(ms: number): void;
    onError(e: unknown): void;
}

const when = (ns: number) => utc(BigInt(Math.round(ns / 1e6)) * 1000000n);

/** Comments, attributes and the original file of one profile, loaded on demand. */
function SaidRow({ id, type, columns }: { id: string; type: string; columns: number }) {
    const [about, setAbout] = useState<About | null>(null),
        [failed, setFailed] = useState('');
    useEffect(() => {
        const stop = new AbortController();
        profileAbout(id, type, stop.signal).then(setAbout, (e) => !stop.signal.aborted && setFailed((e as Error).message));
        return () => stop.abort();
    }, [id, type]);
    return (
        <tr data-details={id}>
            <td class="text" colSpan={columns}>
                {failed ? (
                    `The details cannot be shown: ${failed}.`
                ) : !about ? (
                    'Loading …'
                ) : isEmpty(about) ? (
                    'No comments, no attributes, no original file.'
                ) : (
                    <AboutProfile about={about} />
                )}
            </td>
        </tr>
    );
}

const COLUMNS = 9;

export function ProfilesPage(p: ProfilesProps) {
    const [opened, setOpened] = useState('');
    const { matchers } = p.sel.selector,
        subject = JSON.stringify(['profiles', matchers, p.sel.range]);
    const {
        result: found,
        error,
        stale,
        took,
    } = useQuery(
        {
            subject,
            version: `${subject} ${p.again.timer}`,
            again: p.again.user,
            run: (signal) => profilesOf({ type: '', matchers }, p.span, MOST, signal),
            onError: p.onError,
        },
        false,
    );
    useEffect(() => p.onTook(took), [took]);
    const show = (r: ProfileRow, s: Series) => {
        const at = r.time || r.received,
            from = Math.floor(at / 1e6) - 1,
            to = Math.ceil((at + r.duration) / 1e6) + 1;
        p.go({
            page: 'explore',
            against: null,
            range: r.time ? absolute(atLeast([from, to], 1000)) : EVERYTHING, // its own clock, or the time of arrival
            selector: { type: `${s.type}/${s.unit}`, matchers: [{ key: PROFILE_ID, op: '=', value: r.id }] },
        });
    };
    const problem = <Failed error={error} onAgain={p.onAgain} />,
        shown = { stale, failed: error, wanted: 'the new selection', shown: 'the previous selection' };
    if (!found) return error ? problem : <p class="empty big">Loading …</p>;
    if (!found.profiles.length)
        return (
            <ResultFrame {...shown}>
                {problem}
                <p class="empty big">
                    No profile {matchers.length ? 'matches' : 'in this time range'}.{' '}
                    <button class="link" onClick={() => p.go({ range: { from: '', to: '' } })}>
                        Show all stored profiles
                    </button>
                </p>
            </ResultFrame>
        );
    return (
        <div class="page" data-page="profiles">
            <ResultFrame {...shown}>
                {problem}
                <div class="wide">
                    <table class="rows list">
                        <thead>
                            <tr>
                                <th>Time</th>
                                <th>Over</th>
                                <th class="text">Service</th>
                                <th class="text">Type</th>
                                <th>Samples</th>
                                <th class="text">Format</th>
                                <th class="text">From</th>
                                <th>Losses</th>
                                <th class="text">About</th>
                            </tr>
                        </thead>
                        <tbody>
                            {found.profiles.map((r) => {
                                const s = found.series[r.series];
                                const key = `${r.id} ${s.type}/${s.unit}`; // r.series may differ in a newer list
                                return (
                                    <Fragment key={key}>
                                        <tr data-profile={r.id}>
                                            <td>
                                                <button class="link" onClick={() => show(r, s)}>
                                                    {when(r.time) || when(r.received)}
                                                </button>
                                            </td>
                                            <td class="number">{r.duration ? duration(r.duration) : ''}</td>
                                            <td class="text">{String(s.resource[SERVICE] ?? '')}</td>
                                            <td class="text">{s.type || s.unit}</td>
                                            <td class="number">{count(r.samples)}</td>
                                            <td class="text">{r.recognised}</td>
                                            <td class="text">{r.sender}</td>
                                            <td class={r.losses ? 'number bad' : 'number'}>{r.losses || ''}</td>
                                            <td class="text">
                                                <button
                                                    class="link"
                                                    data-do="about"
                                                    aria-expanded={opened === key}
                                                    onClick={() => setOpened(opened === key ? '' : key)}
                                                >
                                                    {opened === key ? 'less' : 'more'}
                                                </button>
                                            </td>
                                        </tr>
                                        {opened === key && (
                                            <SaidRow id={r.id} type={`${s.type}/${s.unit}`} columns={COLUMNS} />
                                        )}
                                    </Fragment>
                                );
                            })}
                        </tbody>
                    </table>
                </div>
                {found.profiles.length === MOST && <p class="dim">The newest {MOST} profiles. Select a shorter time range to see others.</p>}
            </ResultFrame>
        </div>
    );
}
