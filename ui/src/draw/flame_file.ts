// The shown flame graph as a file: SVG without scripts, and PNG.
import { Frames } from '../model/frames';
import { Tree, depthOf } from '../model/tree';
import { percent, withUnit } from '../model/units';
import { visibleBoxes } from './boxes';
import { Scene, contentHeight, paint, ROW } from './flame';
import { FONT, Fitter } from './label';
import { Palette } from './palette';

export interface Picture {
    tree: Tree;
    frames: Frames;
    palette: Palette;
    color: (node: number) => string;
    up: boolean;
    match: Uint8Array | null;
    zoom: number;
    unit: string;
    title: string;
}

const WIDTH = 1200,
    PNG_WIDTH = 1600,
    TITLE = 28, // height of the line above the boxes
    EDGE = 10,
    MIN_PX = 0.3,
    MOST_PIXELS = 16000; // browsers limit the height of a canvas

/** The number of levels from the root to the deepest box below the zoomed one. */
function levelsOf(t: Tree, zoom: number): number {
    const from = t.x[zoom],
        to = from + t.w[zoom];
    for (let d = depthOf(t) - 1; d > t.depth[zoom]; d--)
        for (let i = t.levelOff[d]; i < t.levelOff[d + 1]; i++)
            if (t.x[i] >= from && t.x[i] < to && t.w[i] > 0) return d + 1;
    return t.depth[zoom] + 1;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** Text for XML, which cannot represent control characters and lone surrogates. */
const xml = (s: string): string =>
    s.replace(/[&<>"]/g, (c) => ENTITIES[c]).replace(/[\u0000-\u0009\u000b-\u001f\u007f\ufffe\uffff]|\p{Surrogate}/gu, '\ufffd');

const rounded = (n: number): string => String(Math.round(n * 100) / 100);

export function svgOf(p: Picture): string {
    const { tree: t, palette } = p,
        g = document.createElement('canvas').getContext('2d')!,
        out: string[] = [];
    g.font = FONT;
    const fitter = new Fitter((s) => g.measureText(s).width),
        levels = levelsOf(t, p.zoom),
        height = TITLE + levels * ROW + EDGE,
        width = WIDTH - 2 * EDGE,
        x0 = t.x[p.zoom],
        x1 = x0 + (t.w[p.zoom] || 1),
        scale = width / (x1 - x0);
    const rect = (x: number, y: number, w: number, fill: string, more = '') =>
        `<rect x="${rounded(EDGE + x)}" y="${y}" width="${rounded(w)}" height="${ROW - 1}" fill="${fill}"${more}`;
    out.push(
        `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" ` +
            `font-family="ui-sans-serif, system-ui, sans-serif" font-size="11.5">\n<title>${xml(p.title)}</title>\n` +
            `<rect width="100%" height="100%" fill="${palette.edge}"/>\n` +
            `<text x="${EDGE}" y="18" font-weight="600" fill="${palette.text}">${xml(p.title)}</text>\n`,
    );
    for (let d = 0; d < levels; d++) {
        const y = TITLE + (p.up ? levels - 1 - d : d) * ROW;
        visibleBoxes(
            { x: t.x, w: t.w, from: t.levelOff[d], to: t.levelOff[d + 1] },
            x0,
            x1,
            scale,
            MIN_PX,
            (i, px, pw) => {
                const left = Math.max(px, 0),
                    w = Math.min(px + pw, width) - left,
                    hit = !!p.match?.[t.frame[i]],
                    name = p.frames.name[t.frame[i]],
                    text = fitter.name(name, w - 10);
                const tip = `${name}\n${withUnit(t.total[i], p.unit)}, ${percent(t.total[i], t.total[0])}`;
                out.push(
                    `<g>${rect(left, y, w > 3 ? w - 1 : w, hit ? palette.match : p.color(i), p.match && !hit ? ' opacity="0.38">' : '>')}` +
                        `<title>${xml(tip)}</title></rect>` +
                        (text
                            ? `<text x="${rounded(EDGE + left + 5)}" y="${y + 13}" fill="${palette.text}" pointer-events="none">${xml(text)}</text>`
                            : '') +
                        '</g>\n',
                );
            },
            (px, pw) => out.push(rect(px, y, Math.max(pw, 0.5), palette.haze, '/>\n')),
        );
    }
    out.push('</svg>\n');
    return out.join('');
}

export function pngOf(p: Picture): Promise<Blob> {
    const t = p.tree,
        inner = levelsOf(t, p.zoom) * ROW + 1,
        height = TITLE + inner + EDGE,
        ratio = Math.min(2, MOST_PIXELS / height),
        canvas = document.createElement('canvas');
    canvas.width = Math.round(PNG_WIDTH * ratio);
    canvas.height = Math.round(height * ratio);
    const g = canvas.getContext('2d')!;
    g.setTransform(ratio, 0, 0, ratio, EDGE * ratio, TITLE * ratio);
    const scene: Scene = {
        tree: t,
        frames: p.frames,
        palette: p.palette,
        color: p.color,
        up: p.up,
        match: p.match,
        selected: 0,
        node: -1,
        zoom: p.zoom,
        x0: t.x[p.zoom],
        x1: t.x[p.zoom] + (t.w[p.zoom] || 1),
        scroll: p.up ? contentHeight(t, 0, ROW) - inner : 0,
        width: PNG_WIDTH - 2 * EDGE,
        height: inner,
        hover: -1,
        top: 0,
        row: ROW,
    };
    paint(g, scene);
    g.font = `600 ${FONT}`;
    g.fillStyle = p.palette.text;
    g.fillText(p.title, 0, -TITLE / 2);
    g.globalCompositeOperation = 'destination-over';
    g.fillStyle = p.palette.edge;
    g.fillRect(-EDGE, -TITLE, PNG_WIDTH, height);
    return new Promise((done, failed) =>
        canvas.toBlob(
            (b) => (b ? done(b) : failed(new Error('the browser cannot draw a picture of this size'))),
            'image/png',
        ),
    );
}
