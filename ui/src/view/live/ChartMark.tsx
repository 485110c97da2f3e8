// Marks the selected part of the time on the chart, whichever view it was selected in.
import { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Span } from '../../live/range';

interface ChartMarkProps {
    span: Span; // of the chart
    part: [bigint, bigint] | null; // Unix ns
    children: ComponentChildren; // the chart
}

const ms = (ns: bigint) => Number(ns / 1000n) / 1e3;

/** The share of the chart from its start to a time, within the chart. */
const shareOf = (t: number, [a, b]: Span) => Math.min(Math.max((t - a) / (b - a), 0), 1);

export function ChartMark({ span, part, children }: ChartMarkProps) {
    const box = useRef<HTMLDivElement>(null),
        from = part && shareOf(ms(part[0]), span),
        to = part && shareOf(ms(part[1]), span);
    useLayoutEffect(() => {
        if (from === null || to === null) return;
        const mark = document.createElement('div');
        mark.className = 'mark chart-mark';
        mark.style.left = `${100 * from}%`;
        mark.style.width = `${100 * (to - from)}%`;
        // The chart replaces its plot when data or size change.
        const place = () => {
            const plot = box.current?.querySelector('.u-over');
            if (plot && mark.parentElement !== plot) plot.append(mark);
        };
        const changes = new MutationObserver(place);
        changes.observe(box.current!, { childList: true, subtree: true });
        place();
        return () => {
            changes.disconnect();
            mark.remove();
        };
    }, [from, to]);
    return (
        <div class="chart-place" ref={box}>
            {children}
        </div>
    );
}
