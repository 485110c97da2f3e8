// Which package a function belongs to, read off its name; what colours are chosen by.

const baseName = (path: string): string => path.replace(/[\\/]+$/, '').replace(/^.*[\\/]/, '');

/** What comes before the first of `<([ {` that opens arguments: std::map<a::b> has the path std::map. */
const head = (name: string): string => {
    const at = name.search(/[<([{ ]/);
    return at > 0 ? name.slice(0, at) : name;
};

function fromPath(name: string): string {
    // Go: github.com/user/mod/pkg.(*T).Method; the package ends at the first dot behind the last slash.
    const method = /^([^\s(<]+)\.\(\*?\w/.exec(name);
    if (method) return method[1];
    const h = head(name),
        slash = h.lastIndexOf('/');
    if (slash > 0) {
        const dot = h.indexOf('.', slash);
        const type = dot > 0 ? h.slice(slash + 1, dot) : '';
        return /^[A-Z]/.test(type) ? h.slice(0, slash).replaceAll('/', '.') : dot > 0 ? h.slice(0, dot) : h;
    }
    const colons = h.indexOf('::');
    if (colons > 0) return h.slice(0, colons);
    const parts = h.split('.');
    if (parts.length >= 3) {
        // java.util.HashMap.get: up to the first part that begins with a capital
        const type = parts.findIndex((p) => /^[A-Z]/.test(p));
        return parts.slice(0, type > 0 ? type : parts.length - 1).join('.');
    }
    if (parts.length === 2 && /^\w+$/.test(parts[0]) && parts[1]) return parts[0]; // runtime.mallocgc, Busy.fib
    return '';
}

/** A directory that says something, of a source file. */
function fromFile(file: string): string {
    const clean = file.replace(/^[a-z]+:\/\/+/, '').replace(/[?#].*$/, '');
    const modules = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(clean) ?? /site-packages\/([^/]+)/.exec(clean);
    if (modules) return modules[1];
    if (/^node:/.test(file)) return 'node';
    return baseName(clean);
}

export function packageOf(name: string, file: string, library: string): string {
    const n = name.replace(/_\[[kji0]\]$/, '');
    if (/_\[k\]$/.test(name) || /^\[kernel|vmlinux/.test(library)) return 'kernel';
    return fromPath(n) || baseName(library) || (file ? fromFile(file) : '') || '(no package)';
}

export const libraryOf = (filename: string): string => filename && baseName(filename);
