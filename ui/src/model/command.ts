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

/** What the page shows. */
export interface Shown {
    view: View;
    frame: string; // name of the selected function, or empty
    inverted: boolean; // flame graph and call tree
    icicle: boolean;
}

export interface Command {
    line: string; // for a shell
    gives: string; // "this result", or what comes closest
}

type Words = [gives: string, ...words: string[]];

const RESULT = 'this result',
    SAMPLES = 'these samples, one by one';

/** The arguments of `kiln` for one side. */
function wordsOf({ view, frame, inverted, icicle }: Shown, main: string): Words {
    const one = frame && `^${literal(frame)}$`;
    switch (view) {
        case 'flame':
        case 'tree': // the terminal shows the root first
            return [RESULT, 'flame', main, ...(inverted ? ['--inverted'] : []), ...(icicle && view === 'flame' ? ['--icicle'] : [])];
        case 'table':
            return [RESULT, 'top', main];
        case 'heat':
            return [RESULT, 'series', '--heat', main];
        case 'chart':
            return [SAMPLES, 'traces', main];
        case 'labels':
            return [`${SAMPLES}, with their labels`, 'traces', main];
        case 'lanes':
            return ['the total of each thread', 'flame', main, '--tagroot', 'thread.name,thread.id'];
        case 'sandwich':
            if (one) return [RESULT, 'peek', one, main];
            break;
        case 'source':
            if (one) return [RESULT, 'list', one, main];
    }
    return ['the totals as a table', 'top', main];
}

/** The command that gives the shown result, or the nearest to it. */
export function commandOf(shown: Shown, i: Inputs): Command {
    let [gives, ...words] = wordsOf(shown, i.main);
    if (i.base !== null) {
        if (shown.view === 'flame' || shown.view === 'tree') words.push('--diff', i.base);
        else if (words[0] === 'top') [gives, words] = [RESULT, ['diff', '--per', 'second', i.base, i.main]];
        else gives += ' of this side';
    }
    return { line: ['kiln', ...words, ...i.options].map(shellQuote).join(' '), gives };
}
