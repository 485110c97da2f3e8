// The time range: the last minutes or hours, everything, or typed.
import { useState } from 'preact/hooks';
import {
    EVERYTHING,
    QUICK,
    Range,
    Span,
    lastOf,
    rangeText,
    readTime,
    shifted,
    absolute,
    writeTime,
} from '../../live/range';
import { REFRESH } from '../../live/selection';
import { Popover } from '../Popover';

export interface RangeProps {
    range: Range;
    span: Span | null;
    refresh: number;
    moving: boolean; // the range ends now, so that more data may arrive
    now(): number;
    onRange(r: Range): void;
    onRefresh(s: number): void;
    onAgain(): void;
}

export function Typed(p: { range: Range; span: Span | null; now(): number; onRange(r: Range): void }) {
    const [from, setFrom] = useState(p.range.from || (p.span ? writeTime(p.span[0]) : '')),
        [to, setTo] = useState(p.range.to || (p.span ? writeTime(p.span[1]) : 'now')),
        [wrong, setWrong] = useState('');
    const apply = (e: Event) => {
        e.preventDefault();
        const a = readTime(from, p.now()),
            b = readTime(to, p.now());
        if (a === null || b === null) setWrong(`“${a === null ? from : to}” is not a time`);
        else if (a >= b) setWrong('The range ends before it starts');
        else p.onRange({ from: from.trim(), to: to.trim() });
    };
    return (
        <form onSubmit={apply}>
            <label>
                From{' '}
                <input value={from} data-do="from" spellcheck={false} onInput={(e) => setFrom(e.currentTarget.value)} />
            </label>
            <label>
                To <input value={to} data-do="to" spellcheck={false} onInput={(e) => setTo(e.currentTarget.value)} />
            </label>
            <p class="dim">now, now-90m, 2025-11-03 09:14:05, in UTC; or Unix seconds</p>
            {wrong && (
                <p class="wrong" role="alert">
                    {wrong}
                </p>
            )}
            <button class="strong" data-do="apply-range">
                Show
            </button>
        </form>
    );
}

export function RangePicker(p: RangeProps) {
    const move = (by: number) =>
        p.span && p.onRange(absolute(shifted(p.span, Math.round(by * (p.span[1] - p.span[0])))));
    return (
        <div class="group">
            <button class="pick" title="Earlier" aria-label="Earlier" onClick={() => move(-0.5)}>
                ‹
            </button>
            <Popover label={rangeText(p.range, p.span)} title="Time" name="range" class="right">
                {(close) => (
                    <>
                        <div class="quick">
                            {QUICK.map(([q, name]) => (
                                <button
                                    key={q}
                                    data-range={q}
                                    aria-pressed={p.range.from === `now-${q}` && p.range.to === 'now'}
                                    onClick={() => (close(), p.onRange(lastOf(q)))}
                                >
                                    {name}
                                </button>
                            ))}
                            <button
                                class="all"
                                data-range="all"
                                aria-pressed={!p.range.from && !p.range.to}
                                onClick={() => (close(), p.onRange(EVERYTHING))}
                            >
                                All stored profiles
                            </button>
                        </div>
                        <Typed range={p.range} span={p.span} now={p.now} onRange={(r) => (close(), p.onRange(r))} />
                    </>
                )}
            </Popover>
            <button class="pick" title="Later" aria-label="Later" onClick={() => move(0.5)}>
                ›
            </button>
            <button class="pick" title="Refresh" aria-label="Refresh" data-do="again" onClick={p.onAgain}>
                ↻
            </button>
            {p.moving && (
                <select
                    class="pick"
                    aria-label="Refresh"
                    title="Automatic refresh"
                    data-do="refresh"
                    value={p.refresh}
                    onChange={(e) => p.onRefresh(Number(e.currentTarget.value))}
                >
                    {REFRESH.map((s) => (
                        <option key={s} value={s}>
                            {s === 0 ? 'manually' : s < 60 ? `every ${s} s` : 'every min'}
                        </option>
                    ))}
                </select>
            )}
        </div>
    );
}
