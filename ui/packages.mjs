// packages.mjs - fetches the npm packages of a folder (default: the viewer's) into its node_modules when the lock file changed.
// It does not need npm, which depends on 335 packages in Debian: a download, a checksum and tar are enough.
//   node packages.mjs [--dev] [FOLDER]
// --dev: also packages that only tests use.  The registry is that of npm (npm_config_registry, ~/.npmrc).  If it cannot be reached
// directly (a proxy, a login), npm is used, if installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ui = dirname(fileURLToPath(import.meta.url));
const AT_ONCE = 6;
const TIMEOUT_MS = 60_000;

function registry() {
    if (process.env.npm_config_registry) return process.env.npm_config_registry;
    const file = join(homedir(), '.npmrc');
    const line = existsSync(file) && /^\s*registry\s*=\s*(\S+)/m.exec(readFileSync(file, 'utf8'));
    return line ? line[1] : 'https://registry.npmjs.org';
}

/** Lock files name systems as npm does: ["linux"], or ["!win32"] for all but one. */
const fits = (list, own) => !list || (list.some((x) => x[0] !== '!') ? list.includes(own) : !list.includes('!' + own));

/** [path below the folder, entry of the lock file] of each package that this machine needs. */
function wanted(lock, dev) {
    return Object.entries(lock.packages).filter(
        ([place, p]) =>
            place && !p.link && (dev || !p.dev) && fits(p.os, process.platform) && fits(p.cpu, process.arch) && fits(p.libc, 'glibc'),
    );
}

const nameOf = (place) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);

async function download(from, place, { version, integrity }) {
    const name = nameOf(place);
    const url = `${from.replace(/\/$/, '')}/${name}/-/${basename(name)}-${version}.tgz`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!answer.ok) throw new Error(`${url}: status ${answer.status}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    const [kind, digest] = [integrity.split('-', 1)[0], integrity.slice(integrity.indexOf('-') + 1)];
    if (createHash(kind).update(bytes).digest('base64') !== digest) throw new Error(`${url}: the checksum differs from that in package-lock.json`);
    return bytes;
}

function unpack(bytes, to) {
    mkdirSync(to, { recursive: true });
    const p = spawnSync('tar', ['-xz', '--strip-components=1', '--no-same-owner', '-C', to], { input: bytes, encoding: 'utf8' });
    if (p.status !== 0) throw new Error(`tar into ${to}: ${p.error?.message ?? p.stderr}`);
}

/** Fetches into a new folder, which then replaces node_modules in one step. */
async function fetchAll(folder, lock, dev) {
    const from = registry();
    const fresh = join(folder, `node_modules.${process.pid}`);
    const list = wanted(lock, dev);
    rmSync(fresh, { recursive: true, force: true });
    const next = list[Symbol.iterator]();
    const worker = async () => {
        for (const [place, p] of next) unpack(await download(from, place, p), join(fresh, place.slice('node_modules/'.length)));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
    renameSync(fresh, join(folder, 'node_modules'));
}

/** Returns null, or why npm failed. */
function byNpm(folder, dev) {
    const only = dev ? [] : ['--omit=dev'];
    const p = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts', ...only], { cwd: folder, encoding: 'utf8', timeout: 300_000 });
    if (p.error) return `npm did not start: ${p.error.message}`;
    return p.status === 0 ? null : `npm ci failed: ${(p.stderr || p.stdout).trim().split('\n').slice(-3).join(' ')}`;
}

/** Makes node_modules match package-lock.json. Returns null, or why that failed. */
export async function haveNodeModules({ folder = ui, dev = false } = {}) {
    const text = readFileSync(join(folder, 'package-lock.json'), 'utf8');
    const stamp = join(folder, 'node_modules', '.kiln-lock');
    const hash = createHash('sha256').update(text).digest('hex');
    const have = existsSync(stamp) ? readFileSync(stamp, 'utf8') : '';
    if (have === `${hash} dev` || (have === hash && !dev)) return null;
    try {
        await fetchAll(folder, JSON.parse(text), dev);
    } catch (e) {
        const npm = byNpm(folder, dev);
        if (npm) return `packages cannot be fetched: ${e.message}${e.cause ? ` (${e.cause.message})` : ''}; ${npm}`;
    }
    writeFileSync(stamp, dev ? `${hash} dev` : hash);
    return null;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const words = process.argv.slice(2);
    const dev = words[0] === '--dev';
    const why = await haveNodeModules({ folder: words[dev ? 1 : 0], dev });
    if (why) console.error(why);
    process.exitCode = why ? 1 : 0;
}
