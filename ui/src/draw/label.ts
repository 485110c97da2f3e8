// Fits text into boxes without measuring every string on the canvas.

export const FONT =
    '11.5px ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

export class Fitter {
    private readonly widths = new Map<number, number>();
    constructor(private readonly measure: (s: string) => number) {}

    private width(code: number): number {
        let w = this.widths.get(code);
        if (w === undefined) this.widths.set(code, (w = this.measure(String.fromCharCode(code))));
        return w;
    }

    /** Returns as much of `text` as fits into px, with … where it is truncated; '' when fewer than two characters
     *  fit. */
    fit(text: string, px: number): string {
        let at = 0,
            w = 0;
        const dots = this.width(0x2026);
        let cut = 0;
        while (at < text.length && w <= px) {
            w += this.width(text.charCodeAt(at++));
            if (w + dots <= px) cut = at;
        }
        if (w <= px) return text;
        if (cut && text.charCodeAt(cut - 1) >= 0xd800 && text.charCodeAt(cut - 1) < 0xdc00) cut--;
        return cut >= 2 ? text.slice(0, cut) + '…' : '';
    }

    /** Returns the whole name if it fits, else its short form, else the beginning of the short form. */
    name(name: string, px: number): string {
        const whole = this.fit(name, px);
        if (whole === name) return whole;
        const s = shortName(name);
        return s === name ? whole : this.fit(s, px);
    }
}

/** Returns a name without package and arguments: java.util.HashMap.get → HashMap.get, a::b<c>::d(e) → b<c>::d. */
export function shortName(name: string): string {
    const go = /\/([^/]+)$/.exec(name.replace(/\(\*?[^)]*\)/, (m) => m.replaceAll('/', '\u0001')));
    let s = go ? go[1].replaceAll('\u0001', '/') : name;
    const parts = s.split('.');
    const type = parts.findIndex((p) => /^[A-Z]/.test(p));
    if (!go && parts.length >= 3 && type > 0 && !s.includes('(')) s = parts.slice(type).join('.');
    if (s.includes('::')) s = s.replace(/\(.*$/, '');
    return s || name;
}
