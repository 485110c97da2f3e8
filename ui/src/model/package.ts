// Finds the package of a function. Functions of a package share a colour. src/draw/package.c has the same rules in C;
// tests of both read tests/support/flame_cases.txt.

/** Returns the part of a path after its last slash. */
export const baseName = (path: string): string => path.replace(/^.*[\\/]/s, '');

const isWord = (c: string): boolean => /[\w$]/.test(c) || c >= '\u0080';
const isUpper = (c: string): boolean => c >= 'A' && c <= 'Z';

/** Returns the part of a name before arguments, receivers and templates, which contains the path or namespace. */
function headOf(name: string): string {
    const at = name.search(/[\0(<[{ \t"']/);
    return at < 0 ? name : name.slice(0, at);
}

/** Removes the return type of `int ns::f(int)`. A return type with brackets stays. */
function withoutReturnType(name: string): string {
    const at = name.search(/[(<:]/);
    return at < 0 ? name : name.slice(name.slice(0, at).lastIndexOf(' ') + 1);
}

function namespaceOf(name: string): string {
    const m = /^<?&?([\w$\u0080-\uffff]*)::/.exec(withoutReturnType(name)); // <crate::Type as Trait>::method
    return m ? m[1] : '';
}

/** Packages of dotted names end before the first part that begins with a capital letter (the class), or else at the
 *  last dot (module.function). */
function dotted(head: string): string {
    let begin = 0,
        dots = 0;
    for (let i = 0; i < head.length; i++) {
        if (i === begin && dots && isUpper(head[i])) return head.slice(0, begin - 1);
        if (head[i] === '.') {
            begin = i + 1;
            dots++;
        } else if (!isWord(head[i]) && head[i] !== '-') return '';
    }
    return dots ? head.slice(0, begin - 1) : '';
}

/** Returns the package in a name; '' when there is none. */
export function packageOf(name: string): string {
    const space = namespaceOf(name);
    if (space) return space;
    const head = headOf(name),
        slash = head.lastIndexOf('/') + 1;
    if (slash > 1) {
        const dot = head.indexOf('.', slash);
        if (dot < 0) return '';
        return isUpper(head[slash]) ? head.slice(0, slash - 1) : head.slice(0, dot); // java/util/HashMap.put
    }
    const dot = head.indexOf('.');
    if (dot < 0) return '';
    if (head.length < name.length && head.endsWith('.')) return head.slice(0, -1); // main.(*T).Run
    if (/\.func[0-9]/.test(head)) return head.slice(0, dot); // main.run.func1: Go's functions inside functions
    return dotted(head);
}

/** Returns the library of a mapped file: libc for /usr/lib/libc.so.6. */
export function libraryOf(mapping: string): string {
    const base = baseName(mapping);
    if (/^\[kernel|^\[guest\.kernel|^vmlinux|\.ko$/.test(base)) return 'kernel';
    return /^(lib.*?)\.so/.exec(base)?.[1] ?? base;
}

/** Returns the package of a source file: the one below node_modules or site-packages, or else the file itself. */
function packageOfFile(file: string): string {
    if (file.startsWith('node:')) return 'node';
    const clean = file.replace(/[?#].*$/s, '');
    const below = /node_modules\/(@[^/]*\/[^/]*|[^/]+)/.exec(clean) ?? /site-packages\/(@[^/]*\/[^/]*|[^/]+)/.exec(clean);
    return below ? below[1] : baseName(clean);
}

/** Returns the package of a function by name, mapped file and source file; '' when it is not known. */
export function packageAt(name: string, mapping: string, file: string): string {
    const library = libraryOf(mapping);
    if (name.endsWith('_[k]') || library === 'kernel') return 'kernel';
    return packageOf(name) || library || packageOfFile(file);
}
