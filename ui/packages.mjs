// packages.mjs - the npm packages of a folder (the viewer's, unless another is named), installed in it when its lock file changed.
//   node packages.mjs FOLDER
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ui = dirname(fileURLToPath(import.meta.url));

/** Makes node_modules fit package-lock.json; returns why it cannot, or null. */
export function haveNodeModules(folder = ui) {
    const stamp = join(folder, 'node_modules', '.kiln-lock');
    const want = createHash('sha256')
        .update(readFileSync(join(folder, 'package-lock.json')))
        .digest('hex');
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === want) return null;
    const p = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], {
        cwd: folder,
        encoding: 'utf8',
        timeout: 300_000,
    });
    if (p.error) return `npm did not start: ${p.error.message}`;
    if (p.status !== 0) return `npm ci failed: ${(p.stderr || p.stdout).trim().split('\n').slice(-3).join(' ')}`;
    writeFileSync(stamp, want);
    return null;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const why = haveNodeModules(process.argv[2]);
    if (why) console.error(why);
    process.exitCode = why ? 1 : 0;
}
