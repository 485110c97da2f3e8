// The colours of a comparison, as in the SVG of `kiln flame --diff`.
import { Palette } from '../draw/palette';
import { Tree } from '../model/tree';

const STEPS = [-4, -3, -2, -1, 0, 1, 2, 3, 4];

export function DiffLegend(p: { palette: Palette; tree: Tree; shares: boolean }) {
    const tested = p.tree.sampleSize > 0 && p.tree.baseSampleSize > 0;
    return (
        <p class="diff-legend dim" data-legend="diff">
            shrank{' '}
            {STEPS.map((s) => (
                <i key={s} class="swatch" data-step={s} style={{ background: p.palette.change(s) }} />
            ))}{' '}
            grew{p.shares ? ', as shares of their profiles' : ''};{' '}
            {tested ? 'grey: within the noise of sampling' : 'grey: changed by less than a tenth'}
        </p>
    );
}
