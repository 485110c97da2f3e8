// The meaning of the colours of flame graphs, flame charts and tables, below them. Closed until somebody opens it; the browser tab
// remembers that.
import { useMemo, useState } from 'preact/hooks';
import { ColorBy, Palette } from '../draw/palette';
import { Frames } from '../model/frames';
import { percent } from '../model/units';

const OPEN = 'kiln.legend';

const MEANING: Record<Exclude<ColorBy, 'diff'>, string> = {
    package: 'The colour is the package or module of the function. Functions of one package differ in brightness.',
    library: 'The colour is the program or library that contains the function.',
    kind: 'The colour is the kind of code: native, kernel, or the language of an interpreter.',
    function: 'Each function has its own colour, which is the same in every view and every profile.',
};

export interface LegendProps {
    frames: Frames;
    palette: Palette;
    color: Exclude<ColorBy, 'diff'>; // DiffLegend has the colours of comparisons
}

function Swatch({ color }: { color: string }) {
    return <i class="swatch" style={{ background: color }} aria-hidden="true" />;
}

function Groups({ frames, palette, color }: LegendProps) {
    const list = useMemo(() => palette.groups(frames, color), [frames, palette, color]),
        whole = useMemo(() => palette.amount(), [palette]);
    return (
        <ul>
            {list
                .filter((g) => g.self > 0)
                .map((g) => (
                    <li key={g.name}>
                        <Swatch color={g.color} />
                        {g.name || 'unknown (pale colours)'} <span class="dim">{percent(g.self, whole)}</span>
                    </li>
                ))}
        </ul>
    );
}

export function Legend(p: LegendProps) {
    const [open, setOpen] = useState(() => sessionStorage.getItem(OPEN) === '1');
    return (
        <details
            class="color-legend"
            data-legend={p.color}
            open={open}
            onToggle={(e) => {
                const now = e.currentTarget.open;
                sessionStorage.setItem(OPEN, now ? '1' : '');
                setOpen(now);
            }}
        >
            <summary>Colours</summary>
            {open && (
                <>
                    <p>{MEANING[p.color]} Boxes that match a search are pink, and the others fade.</p>
                    {p.color !== 'function' && <Groups {...p} />}
                </>
            )}
        </details>
    );
}
