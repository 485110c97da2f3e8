// Selects the other side of a comparison: another time or another selection.
import { Results, Base } from '../../live/load';
import { absolute, spanText } from '../../live/range';
import { Against, SHIFTS, Selection, halves } from '../../live/selection';
import { Selector, writeSelector } from '../../live/selector';
import { Labels, Service } from './Choice';
import { Popover } from '../Popover';
import { Typed } from './RangePicker';

export interface CompareProps {
    sel: Selection;
    results: Results | null;
    go(s: Partial<Selection>): void;
}

const keep = (s: Selector, range: Selection['range']): Against => ({ query: writeSelector({ ...s, type: '' }), range });

/** The menu that starts a comparison. */
export function Compare({ sel, results, go }: CompareProps) {
    const span = results?.span;
    if (sel.against || !span) return null;
    const two = halves(span);
    return (
        <Popover label="Compare" title="Compare with another time or another selection" name="compare-with">
            {(close) => {
                const choice = (name: string, key: string, p: Partial<Selection>) => (
                    <button key={key} data-against={key} onClick={() => (close(), go(p))}>
                        {name}
                    </button>
                );
                return (
                    <div class="choices">
                        {SHIFTS.map(([k, name]) => choice(`With ${name}`, k, { against: { shift: k as 'before' } }))}
                        {choice('The two halves of this time range', 'halves', {
                            range: two.range,
                            against: keep(sel.selector, two.against),
                        })}
                        {choice('This selection with another one', 'keep', { against: keep(sel.selector, absolute(span)) })}
                    </div>
                );
            }}
        </Popover>
    );
}

/** The row of the other side of the comparison. */
export function OtherSide({ sel, results, go, now }: CompareProps & { now(): number }) {
    const base: Base | null = results?.base ?? null;
    if (!sel.against || !results?.span || !base) return null;
    const span = results.span,
        choice = {
            selector: { ...base.selector, type: '' },
            services: results.services,
            span: base.span,
            prefix: 'base-',
            onSelector: (s: Selector) => go({ against: keep(s, absolute(base.span)) }),
        };
    const swap = () =>
        go({
            selector: { ...base.selector, type: sel.selector.type },
            range: absolute(base.span),
            against: keep(sel.selector, absolute(span)),
        });
    return (
        <div class="live-picks against" data-base>
            <span class="side">
                <i class="swatch base" /> against
            </span>
            <Service {...choice} />
            <Labels {...choice} />
            <Popover
                label={'shift' in sel.against ? `${base.name}: ${spanText(base.span)}` : spanText(base.span)}
                title="Time of the other side"
                name="base-range"
            >
                {(close) => (
                    <Typed
                        range={absolute(base.span)}
                        span={base.span}
                        now={now}
                        onRange={(range) => (close(), go({ against: keep(base.selector, range) }))}
                    />
                )}
            </Popover>
            <button class="pick" title="Swap sides" aria-label="Swap sides" data-do="swap" onClick={swap}>
                ⇄
            </button>
            <button
                class="pick"
                title="End the comparison"
                aria-label="End the comparison"
                data-do="alone"
                onClick={() => go({ against: null })}
            >
                ×
            </button>
        </div>
    );
}
