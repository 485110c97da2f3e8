// Finds the boxes of a row to draw. A row is sorted by x and its boxes do not overlap, so the first visible box is found
// by binary search, and boxes narrower than a pixel are skipped in runs: the work grows with the pixels, not with the
// boxes.

export interface Row {
    x: Float64Array;
    w: Float64Array;
    from: number;
    to: number;
}

/** Returns the first box in [i, to) that ends after `at`; `to` when there is none. */
export function firstEnding(r: Row, i: number, to: number, at: number): number {
    while (i < to) {
        const mid = (i + to) >>> 1;
        if (r.x[mid] + r.w[mid] > at) to = mid;
        else i = mid + 1;
    }
    return i;
}

/** Calls `box` for boxes of at least minPx and `haze` for runs of narrower ones with the first of them, from left to right, with positions in
 *  pixels. x0 .. x1 is the visible range, `scale` the pixels per unit. */
export function visibleBoxes(
    r: Row,
    x0: number,
    x1: number,
    scale: number,
    minPx: number,
    box: (i: number, px: number, pw: number) => void,
    haze: (px: number, pw: number, first: number) => void,
): void {
    let i = firstEnding(r, r.from, r.to, x0),
        hazeFrom = 0,
        first = 0,
        hazeTo = -1;
    const flush = () => {
        if (hazeTo > hazeFrom) haze(hazeFrom, hazeTo - hazeFrom, first);
        hazeTo = -1;
    };
    while (i < r.to && r.x[i] < x1) {
        const px = (r.x[i] - x0) * scale,
            pw = r.w[i] * scale;
        if (pw >= minPx) {
            flush();
            box(i++, px, pw);
            continue;
        }
        const j = Math.max(firstEnding(r, i + 1, Math.min(r.to, i + 4096), r.x[i] + 1 / scale), i + 1);
        const end = (r.x[j - 1] + r.w[j - 1] - x0) * scale;
        if (hazeTo < 0 || px > hazeTo + 1) {
            flush();
            hazeFrom = px;
            first = i;
        }
        hazeTo = Math.max(end, px);
        i = j;
    }
    flush();
}

/** Returns the box of a row at x, or -1. */
export function boxAt(r: Row, x: number): number {
    const i = firstEnding(r, r.from, r.to, x);
    return i < r.to && r.x[i] <= x ? i : -1;
}
