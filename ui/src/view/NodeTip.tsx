import { Frames } from '../model/frames';
import { Tree } from '../model/tree';
import { percent, signedPercent, withUnit } from '../model/units';
import { Tip } from './Tip';

export const placeOf = (f: Frames, frame: number): string =>
    f.file[frame] ? f.file[frame] + (f.startLine[frame] ? `:${f.startLine[frame]}` : '') : '';

/** The same for screen readers. */
export function nodeText(t: Tree, i: number, f: Frames, unit: string, whole: number): string {
    const was = t.baseTotal?.[i] ?? 0,
        change = !t.baseTotal ? '' : was ? `, changed by ${signedPercent(t.total[i] - was, Math.abs(was))}` : ', new';
    return `${f.name[t.frame[i]]}: total ${withUnit(t.total[i], unit)}, ${percent(t.total[i], whole)}; self ${withUnit(t.self[i], unit)}${change}; level ${t.depth[i]}`;
}

export function NodeTip(p: {
    x: number;
    y: number;
    tree: Tree;
    node: number;
    frames: Frames;
    unit: string;
    whole: number;
}) {
    const { tree: t, node: i } = p,
        f = t.frame[i];
    const place = [placeOf(p.frames, f), p.frames.library[f]].filter(Boolean).join(' · ');
    return (
        <Tip x={p.x} y={p.y}>
            <b>{p.frames.name[f]}</b>
            {place && <div class="dim">{place}</div>}
            <div class="numbers">
                <span>total</span>
                <span>{withUnit(t.total[i], p.unit)}</span>
                <span>{percent(t.total[i], p.whole)}</span>
                <span>self</span>
                <span>{withUnit(t.self[i], p.unit)}</span>
                <span>{percent(t.self[i], p.whole)}</span>
                {t.baseTotal && (
                    <>
                        <span>before</span>
                        <span>{withUnit(t.baseTotal[i], p.unit)}</span>
                        <span>
                            {t.baseTotal[i]
                                ? signedPercent(t.total[i] - t.baseTotal[i], Math.abs(t.baseTotal[i]))
                                : t.total[i]
                                  ? 'new'
                                  : ''}
                        </span>
                    </>
                )}
            </div>
        </Tip>
    );
}
