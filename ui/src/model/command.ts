// The `kiln ...` command that gives the answer which the page shows.
import { View } from '../state';
import { LabelFilter } from './filter';

/** The profiles that a command reads: files, or addresses of a server (docs/sources.md). */
export interface Inputs {
    main: string;
    base: string | null; // to compare with
    options: string[]; // what selects the shown samples, one word each
}

const PLAIN = /^[A-Za-z0-9_.,:/@%+=-]+$/;

/** Quotes a word for a POSIX shell. */
export const shellQuote = (word: string): string => (PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** A name of a file that commands do not read as an option. */
export const fileWord = (name: string): string => (name.startsWith('-') ? `./${name}` : name);

/** A pattern (PCRE) that matches this text only. Commas separate patterns, and = separates a key from a pattern. */
const literal = (text: string): string =>
    text
        .replace(/[\\^$.|?*+()[\]{}]/g, '\\$&')
        .replace(/[,=\n]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** The options that select samples as the label filters of the viewer do. */
export function labelOptions(labels: LabelFilter[]): string[] {
    const wanted = labels.filter((l) => !l.not),
        refused = labels.filter((l) => l.not),
        keys = [...new Set(wanted.map((l) => l.key))];
    const of = (key: string) => wanted.filter((l) => l.key === key).map((l) => literal(l.value));
    return [
        ...(keys.length ? ['--tagfocus', keys.map((k) => `^${literal(k)}:(${of(k).join('|')})$`).join(',')] : []),
        ...(refused.length
            ? ['--tagignore', refused.map((l) => `^${literal(l.key)}:${literal(l.value)}$`).join('|')]
            : []),
    ];
}

/** The arguments of `kiln`. `frame` is the name of the selected function, or empty. */
function words(view: View, i: Inputs, frame: string): string[] {
    if (view === 'heat') return ['series', '--heat', i.main, ...i.options];
    if (view === 'sandwich' && frame) return ['peek', `^${literal(frame)}$`, i.main, ...i.options];
    if (view === 'flame') return ['flame', i.main, ...(i.base === null ? [] : ['--diff', i.base]), ...i.options];
    return i.base === null ? ['top', i.main, ...i.options] : ['diff', '--per', 'second', i.base, i.main, ...i.options];
}

/** The command as a line for a shell. */
export const commandOf = (view: View, i: Inputs, frame: string): string =>
    ['kiln', ...words(view, i, frame)].map(shellQuote).join(' ');
