// Checks of the sources: types, and that meson.build lists all files.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ui = join(process.env['KILN_SRC'] ?? '..', 'ui');

function sources(dir: string): string[] {
    return readdirSync(join(ui, dir), { withFileTypes: true }).flatMap((e) =>
        e.isDirectory() ? sources(`${dir}/${e.name}`) : [`${dir}/${e.name}`],
    );
}

test('every source is in meson.build', () => {
    const listed = [...readFileSync(join(ui, 'meson.build'), 'utf8').matchAll(/'(src\/[^']+)'/g)].map((m) => m[1]);
    assert.deepEqual(listed, sources('src').sort());
});

test('types', () => {
    const p = spawnSync(process.execPath, [join(ui, 'node_modules/typescript/bin/tsc'), '-p', ui], {
        encoding: 'utf8',
    });
    assert.equal(p.stdout + p.stderr, '');
});
