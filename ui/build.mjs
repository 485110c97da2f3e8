// build.mjs OUT - bundles the viewer into OUT/viewer.js and OUT/viewer.css, and both into OUT/viewer_asset.c for kiln.
// Runs `npm ci` only when package-lock.json changed. Without packages (no network) it says so and leaves the asset
// empty: kiln is built all the same and its HTML writer tells people why it cannot write.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
    ).join('')}0};\n` + `const str viewer_${name} = {(const char *)${name}_bytes, sizeof ${name}_bytes - 1};\n`;

function write(js, css) {
    writeFileSync(join(out, 'viewer.js'), js);
    writeFileSync(join(out, 'viewer.css'), css);
    writeFileSync(join(out, 'viewer_asset.c'), '#include "draw/viewer.h"\n\n' + bytes('js', js) + bytes('css', css));
}

const problem = haveNodeModules();
if (problem) {
    console.error(
        `viewer: ${problem}\nviewer: kiln is built without HTML reports; ` +
            '`touch ui/package-lock.json` and building again tries once more',
    );
    write(Buffer.alloc(0), Buffer.alloc(0));
    process.exit(0);
}

const { build } = await import('esbuild');
const result = await build({
    absWorkingDir: ui,
    entryPoints: { viewer: 'src/main.tsx' },
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
write(of('.js'), of('.css'));
