// test/unit.mjs - bundles the *.test.ts of this folder and runs them with the test runner of node. Prints TAP.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { haveNodeModules, ui } from '../packages.mjs';

const problem = await haveNodeModules({ dev: true });
if (problem) {
    console.log(`1..0 # skip ${problem.replaceAll('\n', ' ')}`);
    process.exit(0);
}
const { build } = await import('esbuild');
const out = mkdtempSync(join(tmpdir(), 'kiln-viewer-'));
const tests = readdirSync(join(ui, 'test')).filter((f) => f.endsWith('.test.ts'));
await build({
    absWorkingDir: ui,
    entryPoints: tests.map((t) => `test/${t}`),
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
});
const p = spawnSync(
    process.execPath,
    ['--test', '--test-reporter=tap', ...tests.map((t) => join(out, t.replace(/ts$/, 'mjs')))],
    { stdio: 'inherit' },
);
rmSync(out, { recursive: true });
process.exit(p.status ?? 1);
