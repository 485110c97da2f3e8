// test/axe.mjs - checks every view of a report and every page of a server with axe-core: light and dark, wide and narrow.
// Prints TAP. `--all` also prints findings that are less than serious.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findings, noFindings } from './axe-kit.mjs';
import { browser, check, corpus, dir, example, newPage, result, run, skip, there, WAIT_MS } from './kit.mjs';
import { ALL, CPU, endServers, open, put, serve, settled } from './live-kit.mjs';

const THEMES = ['light', 'dark'],
    WIDTHS = [
        { width: 1440, height: 900 },
        { width: 390, height: 844 },
    ],
    all = process.argv.includes('--all'),
    PART = '&from=2025-11-03T09:14:22.250Z&to=2025-11-03T09:14:28.750Z&against=before';

/** Runs f with each theme and width. */
async function everywhere(mayRequest, f) {
    for (const colorScheme of THEMES)
        for (const viewport of WIDTHS) {
            const page = await newPage({ colorScheme, viewport }, mayRequest),
                name = (what) => `${what}, ${colorScheme}, ${viewport.width} px`;
            await f(page, async (what, prepare) => {
                await check(name(what), async () => {
                    await prepare();
                    await page.waitForFunction(
                        () => !document.querySelector('.details[aria-busy=true]') && !document.getAnimations().length,
                        null,
                        { timeout: WAIT_MS },
                    );
                    if (all) for (const line of await findings(page, null)) console.log(`# ${name(what)}: ${line}`);
                    await noFindings(page);
                });
            });
            await page.close();
        }
}

const tabs = (page) => page.$$eval('[data-tab]', (list) => list.map((e) => e.dataset.tab));
const toTab = async (page, tab) => {
    await page.click(`[data-tab=${tab}]`);
    await there(page, `.view[data-view=${tab}]`, `no view ${tab}`);
    await settled(page);
    await page.waitForFunction(() => !/Loading/.test(document.querySelector('.view').textContent), null, {
        timeout: WAIT_MS,
    });
};

async function reports() {
    const one = join(dir, 'one.html'),
        diff = join(dir, 'diff.html'),
        types = join(corpus, 'otlp/async45-cpu-threads.otlp');
    run('flame', example, '-o', one);
    run('flame', example, '--diff', existsSync(types) ? types : example, '-o', diff);
    await everywhere(undefined, async (page, audit) => {
        for (const [name, file] of [
            ['report', one],
            ['comparison', diff],
        ]) {
            const show = async (fragment) => {
                await page.goto('about:blank');
                await page.goto(`file://${file}#${fragment}`);
                await there(page, '.total', 'no report');
            };
            await show('');
            for (const tab of await tabs(page)) await audit(`${name}: ${tab}`, () => show(`view=${tab}`));
        }
        const first = async () => {
            await page.goto('about:blank');
            await page.goto(`file://${one}`);
            await there(page, '.total', 'no report');
        };
        await audit('report: a selected function', async () => {
            await first();
            await page.focus('.flame');
            for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowUp');
            await page.keyboard.press('Enter');
            await there(page, '.details', 'no details');
        });
        await audit('report: callers and callees', async () => {
            await page.keyboard.press('s');
            await there(page, '.sandwich', 'no sandwich');
        });
        await audit('report: search', async () => {
            await first();
            await page.fill('.search input', 'scor');
        });
        await audit('report: help', async () => {
            await first();
            await page.keyboard.press('?');
            await there(page, '[role=dialog]', 'no help');
        });
    });
}

async function pages() {
    const url = await serve('axe'),
        mine = new RegExp(`^(${url}/|data:|about:|blob:)`);
    await everywhere(mine, async (page, audit) => {
        await audit('empty store', () => open(page, url));
    });
    for (const f of [example, join(corpus, 'otlp/async45-cpu-threads.otlp'), join(corpus, 'pprof/cppbench.cpu')])
        if (existsSync(f)) await put(url, f);
    await fetch(`${url}/upload`, { method: 'POST', body: 'no profile' }); // Health shows a refused request
    await everywhere(mine, async (page, audit) => {
        await open(page, url, CPU);
        for (const tab of await tabs(page)) await audit(`explore: ${tab}`, () => toTab(page, tab));
        await open(page, url, CPU + PART);
        for (const tab of await tabs(page)) await audit(`comparison: ${tab}`, () => toTab(page, tab));
        for (const goto of await page.$$eval('[data-goto]', (list) => list.map((e) => e.dataset.goto)))
            await audit(`page: ${goto}`, async () => {
                await open(page, url, ALL);
                await page.click(`[data-goto=${goto}]`);
                await settled(page);
                await page.waitForFunction(() => !/Loading/.test(document.body.textContent), null, { timeout: WAIT_MS });
            });
        await audit('a profile with its comments', async () => {
            await open(page, url, `${ALL}&page=profiles`);
            await page.click('[data-do=about]');
            await there(page, '[data-details] .about, [data-details] td', 'no details');
        });
        await audit('a trace', async () => {
            await open(page, url, `${ALL}&page=trace`);
            const trace = page.locator('[data-table] button.link, [data-trace]').first();
            if (await trace.count()) await trace.click();
            await settled(page);
        });
        for (const menu of ['label', 'range', 'compare-with'])
            await audit(`menu: ${menu}`, async () => {
                await open(page, url, CPU);
                await page.click(`[data-do=${menu}]`);
                await there(page, '.pop', 'no menu');
            });
        await audit('an empty time range', async () => {
            await open(page, url, '?from=2001-01-01&to=2001-01-02');
        });
    });
}

async function guarded() {
    const read = join(dir, 'read');
    writeFileSync(read, 'reading-token-0001 people\n', { mode: 0o600 });
    const url = await serve('guarded', '--read-tokens', read);
    await everywhere(/./, async (page, audit) => {
        page.removeAllListeners('console'); // the browser logs the status 401
        await audit('the prompt for a token', async () => {
            await page.goto(url);
            await there(page, '[data-do=token]', 'no prompt');
        });
    });
}

try {
    const url = await serve('probe');
    if ((await fetch(url)).status === 501) skip('this kiln was built without the page of the server');
    await reports();
    await pages();
    await guarded();
    console.log(`1..${result().n}`);
} finally {
    await browser.close();
    await endServers();
    rmSync(dir, { recursive: true, force: true });
}
process.exit(result().failed ? 1 : 0);
