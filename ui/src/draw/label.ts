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

    private readonly cuts = new Map<string, Cut>();

    /** The width of a text; more than `most` when it is wider than that. */
    private widthOf(text: string, most: number): number {
        let w = 0;
        for (let i = 0; i < text.length && w <= most; i++) w += this.width(text.charCodeAt(i));
        return w;
    }

    /** Returns the longest end of a text that fits. */
    private tail(text: string, px: number): string {
        let at = text.length,
            w = 0;
        while (at > 0 && (w += this.width(text.charCodeAt(at - 1))) <= px) at--;
        if (text.charCodeAt(at) >= 0xdc00 && text.charCodeAt(at) < 0xe000) at++;
        return text.slice(at);
    }

    fits(text: string, px: number): boolean {
        return this.widthOf(text, px) <= px;
    }

    /** Returns the beginning and the end of a name whose ends tell it apart, as those of threads do. */
    ends(text: string, px: number): string {
        if (this.fits(text, px)) return text;
        const tail = this.tail(text, px / 3);
        return this.fit(text.slice(0, text.length - tail.length), px - this.widthOf(tail, px)) + tail;
    }

    /** Returns the beginning and the end of a text. `own` is where the name of the function itself begins. */
    private middle(text: string, own: number, px: number): string {
        const name = text.slice(own),
            columns = px / this.width(0x6e),
            fits = columns >= LEAST_OWN && own > 0 && this.widthOf(name, px) <= (px * 2) / 3,
            tail = fits ? name : columns >= LEAST_TAIL ? this.tail(text, px / 3) : '';
        if (!tail) return this.fit(text, px);
        return this.fit(text.slice(0, text.length - tail.length), px - this.widthOf(tail, px)) + tail;
    }

    /** Returns a name that fits. A name that is too wide loses, in this order: its package, the text of its arguments and
     *  most digits of a Rust hash, and then its middle, so that the function, `$0` of a lambda and other endings remain.
     *  src/draw/label.c has the same rules. */
    name(name: string, px: number): string {
        const fits = (text: string) => this.widthOf(text, px) <= px;
        if (fits(name)) return name;
        let c = this.cuts.get(name);
        if (!c) this.cuts.set(name, (c = cutOf(name)));
        if (fits(c.short)) return c.short;
        const marked = c.marks.find((m) => fits(c.kept + m));
        return marked ? c.kept + marked : this.middle(c.kept, c.own, px);
    }
}

/** Returns names of threads (model/threads.ts) that fit: if some do not, all lose the ids whose processes are named, then single
 *  ones their middle. */
export function threadLabels(fit: Fitter, names: string[], px: number): string[] {
    const whole = names.every((n) => fit.fits(n, px));
    return names.map((n) => fit.ends(whole ? n : n.replace(/ \(\d+\)(?= · )/, ''), px));
}

const LEAST_OWN = 8, // characters: narrower boxes show only the beginning
    LEAST_TAIL = 12, // the same for names whose own part does not fit
    HASH = /::h[0-9a-f]{16}$/,
    HASH_SHOWN = 4;

/** The parts of a name that narrower boxes keep. */
interface Cut {
    short: string;
    kept: string; // without the text of arguments and most of the hash
    own: number; // where the name of the function itself begins in `kept`
    marks: string[]; // in place of the missing part, if there is room
}

function cutOf(name: string): Cut {
    const short = shortName(name),
        hash = HASH.exec(short);
    if (hash) {
        const end = hash.index;
        return { short, kept: short.slice(0, end + 3 + HASH_SHOWN), own: ownAt(short.slice(0, end)), marks: ['…'] };
    }
    const end = argumentsAt(short),
        kept = short.slice(0, end);
    return { short, kept, own: ownAt(kept), marks: end < short.length ? ['(…)', '…'] : [] };
}

/** Returns the position of the arguments at the end of `ns::f(int) const`; the length if there are none. operator() and
 *  (anonymous namespace) are not arguments. */
function argumentsAt(name: string): number {
    const s = name.replace(/ const$/, '');
    if (!s.endsWith(')')) return name.length;
    let at = s.length - 1;
    for (let depth = 0; at >= 0; at--) {
        if (s[at] === ')') depth++;
        if (s[at] === '(' && !--depth) break;
    }
    const none = at < 1 || at + 2 >= s.length || ' .:/('.includes(s[at - 1]);
    return none ? name.length : at;
}

/** Returns the position of the last separator outside brackets: `::drop`, `.Run`; 0 if there is none. */
function ownAt(name: string): number {
    let depth = 0;
    for (let i = name.length - 1; i > 0; i--) {
        const c = name[i];
        if (')>]}'.includes(c)) depth++;
        if ('(<[{'.includes(c)) depth--;
        if (depth) continue;
        if (c === '.' || c === '/') return i;
        if (c === ':' && name[i - 1] === ':') return i - 1;
    }
    return 0;
}

/** Returns a name without its package: java.util.HashMap.get → HashMap.get, net/http.(*conn).serve → http.(*conn).serve. The
 *  slash in Foo$$Lambda/0x00007f is not part of a path. */
export function shortName(name: string): string {
    const path = name.replace(/^[^(<[{ \t"']*\/(?!0x)(?=[^(<[{ \t"'])/, '');
    if (path.length < name.length) return path;
    return name.replace(/^(?:(?![A-Z])[\w$/\u0080-\uffff]*\.)+(?=[A-Z][\w$/\u0080-\uffff]*\.)/, '');
}
