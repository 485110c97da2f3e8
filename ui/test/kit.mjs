// kit.mjs - helpers of the browser tests: kiln, Chromium, TAP, and assertions that wait for a condition.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { haveNodeModules, ui } from '../packages.mjs';

export const src = process.env.KILN_SRC ?? join(ui, '..');
export const kiln = process.env.KILN ?? join(src, 'build', 'kiln');
export const corpus = process.env.KILN_CORPUS ?? join(src, '..', 'shared', 'corpus');
const chromiumPath = process.env.KILN_CHROMIUM ?? '/usr/bin/chromium';

export function skip(why) {
    console.log(`1..0 # skip ${why.replaceAll('\n', ' ')}`);
    process.exit(0);
}
if (!existsSync(chromiumPath)) skip(`no ${chromiumPath} (set KILN_CHROMIUM to its path)`);
const problem = await haveNodeModules({ dev: true });
if (problem) skip(problem);
const { chromium } = await import('playwright-core');

export const dir = mkdtempSync(join(tmpdir(), 'kiln-browser-'));
export const run = (...args) => execFileSync(kiln, args, { maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] });
export const example = join(src, 'examples', 'checkout.otlp');

let n = 0,
    failed = 0;
export function report(name, why) {
    n++;
    failed += why ? 1 : 0;
    console.log(`${why ? 'not ok' : 'ok'} ${n} - ${name}`);
    if (why) console.log(`# ${String(why).replaceAll('\n', '\n# ')}`);
}
export const must = (ok, what) => {
    if (!ok) throw new Error(what);
};
export const same = (got, want, what) => must(got === want, `${what}: ${got}, expected ${want}`);

/** A foreign host name that resolves to this machine, as in DNS rebinding. */
export const FOREIGN = 'evil.example';
export const browser = await chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', `--host-resolver-rules=MAP ${FOREIGN} 127.0.0.1`],
});
let complaints = [];
/** `mayRequest`: addresses that the page may request; others are complaints. `mayLog`: messages that are expected. */
export async function newPage(options = {}, mayRequest = /^(file|data|about|blob):/, mayLog = null) {
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, reducedMotion: 'reduce', ...options });
    page.on(
        'console',
        (m) => (m.type() === 'error' || m.type() === 'warning') && !mayLog?.test(m.text()) && complaints.push(m.text()),
    );
    page.on('pageerror', (e) => complaints.push(e.message));
    page.on('request', (r) => !mayRequest.test(r.url()) && complaints.push(`requested ${r.url()}`));
    return page;
}
export async function check(name, f) {
    complaints = [];
    try {
        await f();
        must(!complaints.length, `console messages: ${complaints.join(' | ')}`);
        report(name);
    } catch (e) {
        report(name, e.message);
    }
}

/** Prints the plan and exits. */
export const result = () => ({ n, failed });

/** How long an assertion waits for its condition, also on a busy machine. */
export const WAIT_MS = 30_000;

// The page reacts in its next frame, so these assertions wait for their condition.
export const eventually = (page, f, arg, what) =>
    page.waitForFunction(f, arg, { timeout: WAIT_MS, polling: 20 }).catch(() => must(false, what));
export const viewIs = (page, v) =>
    eventually(page, (x) => document.querySelector('.view').dataset.view === x, v, `the view is not ${v}`);
export const inAddress = (page, text) =>
    eventually(page, (t) => decodeURIComponent(location.hash).includes(t), text, `${text} is not in the address`);
export const there = (page, selector, what) => eventually(page, (q) => document.querySelector(q), selector, what);
export const gone = (page, selector, what) => eventually(page, (q) => !document.querySelector(q), selector, what);
export const textIs = (page, selector, re, what) =>
    eventually(
        page,
        ([q, r]) => new RegExp(r).test(document.querySelector(q)?.textContent ?? ''),
        [selector, re.source],
        what,
    );
export const themeIs = (page, t) =>
    eventually(page, (x) => document.documentElement.dataset.theme === x, t, `the theme is not ${t}`);
export const canvasBox = async (page) => (await page.waitForSelector('.view canvas')).boundingBox();

/** The middle of the box of the flame graph that is `up` rows above the root. */
export async function clickRow(page, up, at = 0.5) {
    const b = await canvasBox(page),
        f = await page.$('.flame'),
        c = await f.boundingBox(),
        row = Number(await f.getAttribute('data-row'));
    await page.mouse.click(b.x + b.width * at, Math.min(b.y + b.height, c.y + c.height) - row / 2 - up * row);
}

export async function drop(page, file, name) {
    const data = readFileSync(file).toString('base64');
    const transfer = await page.evaluateHandle(
        ([d, f]) => {
            const t = new DataTransfer();
            t.items.add(new File([Uint8Array.from(atob(d), (c) => c.charCodeAt(0))], f));
            return t;
        },
        [data, name],
    );
    await page.dispatchEvent('body', 'dragover', { dataTransfer: transfer });
    await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
}
