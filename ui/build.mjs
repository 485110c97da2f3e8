// build.mjs OUT - bundles the viewer: for reports into OUT/viewer.js, viewer.css and viewer_asset.c (which contains both); for the
// server into page_asset.c, compressed, under names that contain a hash of the content.
// Fetches the packages only when package-lock.json changed. Without packages (no network) it prints a warning and leaves the assets
// empty: kiln is built without them, and its HTML writer and its server report why reports and the page are missing.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { haveNodeModules, ui } from './packages.mjs';

const out = process.argv[2];
if (!out) {
    console.error('usage: node build.mjs OUT');
    process.exit(2);
}

const bytes = (name, data) =>
    `static const unsigned char ${name}_bytes[] = {\n${Array.from(
        data,
        (b, i) => b + (i % 32 == 31 ? ',\n' : ','),
    ).join('')}0};\n`;
const str = (name) => `{(const char *)${name}_bytes, sizeof ${name}_bytes - 1}`;

function writeViewer(js, css) {
    writeFileSync(join(out, 'viewer.js'), js);
    writeFileSync(join(out, 'viewer.css'), css);
    writeFileSync(
        join(out, 'viewer_asset.c'),
        '#include "draw/viewer.h"\n\n' +
            ['js', 'css'].map((n) => bytes(n, n === 'js' ? js : css) + `const str viewer_${n} = ${str(n)};\n`).join(''),
    );
}

/** `files`: name in C, path, type, content. */
function writePage(files) {
    const text = (s) => `{${JSON.stringify(s)}, ${Buffer.byteLength(s)}}`;
    const packed = files.map((f) => bytes(f.name, gzipSync(f.content, { level: 9 })));
    const rows = files.map(
        (f) => `    {${text(f.path)}, ${text(f.type)}, ${text(`"${hash(f.content)}"`)}, ${str(f.name)}},\n`,
    );
    writeFileSync(
        join(out, 'page_asset.c'),
        `#include "server/page_asset.h"\n\n${packed.join('')}` +
            `const page_asset page_assets[] = {\n${rows.join('') || '    {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}}\n'}};\n` +
            `const size_t n_page_assets = ${files.length};\n`,
    );
}

const hash = (content) => createHash('sha256').update(content).digest('hex').slice(0, 16);

const problem = await haveNodeModules();
if (problem) {
    console.error(
        `viewer: ${problem}\nviewer: kiln is built without HTML reports and without the server's page; ` +
            'to try again, run `touch ui/package-lock.json` and build',
    );
    writeViewer(Buffer.alloc(0), Buffer.alloc(0));
    writePage([]);
    process.exit(0);
}

const { build } = await import('esbuild');
async function bundle(entry) {
    const result = await build({
        absWorkingDir: ui,
        entryPoints: { [entry]: `src/${entry}.tsx` },
        outdir: out,
        bundle: true,
        minify: true,
        write: false,
        format: 'iife',
        target: ['es2022'],
        jsx: 'automatic',
        jsxImportSource: 'preact',
        charset: 'utf8',
        legalComments: 'none',
        logLevel: 'warning',
    });
    const of = (suffix) => Buffer.from(result.outputFiles.find((f) => f.path.endsWith(suffix))?.contents ?? []);
    return { js: of('.js'), css: of('.css') };
}

const report = await bundle('main');
writeViewer(report.js, report.css);

const live = await bundle('live');
const script = `/assets/live-${hash(live.js)}.js`,
    style = `/assets/live-${hash(live.css)}.css`;
const icon =
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E" +
    "%3Cg fill='%23b4450b'%3E%3Crect x='1' y='11' width='14' height='4' rx='1'/%3E" +
    "%3Crect x='1' y='6' width='9' height='4' rx='1'/%3E%3Crect x='3' y='1' width='4' height='4' rx='1'/%3E%3C/g%3E%3C/svg%3E";
const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>kiln</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${style}">
<script defer src="${script}"></script>
</head>
<body><div id="app"></div><noscript>This page requires JavaScript.</noscript></body>
</html>
`;
writePage([
    { name: 'html', path: '/', type: 'text/html; charset=utf-8', content: Buffer.from(html) },
    { name: 'js', path: script, type: 'text/javascript; charset=utf-8', content: live.js },
    { name: 'css', path: style, type: 'text/css; charset=utf-8', content: live.css },
]);
