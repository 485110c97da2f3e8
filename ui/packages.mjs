// packages.mjs - the npm packages of the viewer, installed beside it when the lock file changed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ui = dirname(fileURLToPath(import.meta.url));

/** Makes node_modules fit package-lock.json; returns why it cannot, or null. */
export function haveNodeModules() {
    const stamp = join(ui, 'node_modules', '.kiln-lock');
    const want = createHash('sha256')
        .update(readFileSync(join(ui, 'package-lock.json')))
        .digest('hex');
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === want) return null;
    const p = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], {
        cwd: ui,
        encoding: 'utf8',
        timeout: 300_000,
    });
    if (p.error) return `npm did not start: ${p.error.message}`;
    if (p.status !== 0) return `npm ci failed: ${(p.stderr || p.stdout).trim().split('\n').slice(-3).join(' ')}`;
    writeFileSync(stamp, want);
    return null;
}
