// Folded stacks of a flame tree: a line `outermost;...;innermost value` per stack.
import { Frames } from './frames';
import { Tree } from './tree';

/** A frame as `kiln convert` writes it: a line cannot contain ; and line ends. */
const word = (name: string): string => name.replaceAll(';', ':').replace(/[\n\r\0]/g, '_');

export function foldedOf(t: Tree, f: Frames): string {
    const path: string[] = [],
        lines: string[] = [];
    const walk = (i: number) => {
        if (i) path[t.depth[i] - 1] = word(f.name[t.frame[i]]);
        if (t.self[i]) {
            const stack = path.slice(0, t.depth[i]).join(';') || '[unknown]';
            lines.push(`${stack.replace(/^#/, '_')} ${BigInt(Math.round(t.self[i]))}\n`);
        }
    };
    // Depth first without recursion: stacks may be deeper than the stack of the browser.
    const open = [0];
    while (open.length) {
        const i = open.pop()!;
        walk(i);
        for (let k = t.first[i] + t.count[i] - 1; k >= t.first[i]; k--) open.push(k);
    }
    return lines.join('');
}

/** The stack of a node as text, innermost function first, one per line. */
export function stackText(t: Tree, f: Frames, node: number): string {
    const lines: string[] = [];
    for (let i = node; i > 0; i = t.parent[i]) lines.push(f.name[t.frame[i]]);
    return lines.join('\n');
}
