// test/axe.mjs - checks every view of a report and every page of a server with axe-core: light and dark, wide and narrow.
// Prints TAP. `--all` also prints findings that are less than serious.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findings, noFindings } from './axe-kit.mjs';
import { browser, check, corpus, dir, example, newPage, result, run, skip, there, WAIT_MS } from './kit.mjs';
import { sendBilled, TRACE } from './live-bill.mjs';
import { ALL, CPU, endServers, open, overstate, put, send, serve, settled } from './live-kit.mjs';
import { partsFile } from './parts.mjs';

const THEMES = ['light', 'dark'],
    WIDTHS = [
        { width: 1440, height: 900 },
        { width: 390, height: 844 },
    ],
    all = process.argv.includes('--all'),
    only = process.env.KILN_AXE, // part of the names of the views to check
    PART = '&from=2025-11-03T09:14:22.250Z&to=2025-11-03T09:14:28.750Z&against=before';

const THREADS = 16,
    BEGAN = Date.parse('2025-11-08T10:00:00Z'),
    BUSY = `?from=2025-11-08T10:00:00Z&to=2025-11-08T10:01:00Z&query=${encodeURIComponent('wall/nanoseconds{service.name="busy"}')}`;

/** Runs f with each theme and width. */
async function everywhere(mayRequest, f) {
    for (const colorScheme of THEMES)
        for (const viewport of WIDTHS) {
            const page = await newPage({ colorScheme, viewport }, mayRequest),
                name = (what) => `${what}, ${colorScheme}, ${viewport.width} px`;
            await f(page, async (what, prepare) => {
                if (only && !what.includes(only)) return;
                await check(name(what), async () => {
                    const after = await prepare();
                    await page.waitForFunction(
                        () =>
                            !document.querySelector('.details[aria-busy=true]') &&
                            document.getAnimations().every((a) => a.playState !== 'running'),
                        null,
                        { timeout: WAIT_MS },
                    );
                    try {
                        if (all) for (const line of await findings(page, null)) console.log(`# ${name(what)}: ${line}`);
                        await noFindings(page);
                    } finally {
                        await after?.();
                    }
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

const share = async (page) => {
    await page.click('[data-do=share]');
    await there(page, '.share-menu', 'no menu');
};

async function frameMenu(page) {
    await page.focus('.flame');
    for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowUp');
    await page.keyboard.press('m');
    await there(page, '.menu', 'no menu');
}

/** A zoom, and one transform of each kind that a frame of the example offers. */
async function crumbs(page) {
    for (const letter of ['d', 'r', 'g', 'm']) {
        await frameMenu(page);
        await page.keyboard.press(letter);
        await there(page, '.transforms', 'no transform');
    }
    await page.focus('.flame');
    for (const key of ['ArrowUp', 'ArrowUp', 'Enter']) await page.keyboard.press(key);
    await there(page, '.crumbs', 'no zoom');
}

/** A report that contains the source of its function. */
function sourceReport() {
    const file = join(dir, 'source.json'),
        out = join(dir, 'source.html'),
        lines = Array.from({ length: 60 }, (_, i) => `    step(${i}); /* line ${i + 1} */`);
    writeFileSync(join(dir, 'main.c'), `int parse(void)\n{\n${lines.join('\n')}\n}\n`);
    writeFileSync(
        file,
        JSON.stringify({
            dictionary: {
                stringTable: ['', 'cpu', 'nanoseconds', 'parse', '/build/shop/main.c'],
                mappingTable: [{}],
                locationTable: [{}, ...[4, 9, 30].map((line) => ({ lines: [{ functionIndex: 1, line: String(line) }] }))],
                functionTable: [{}, { nameStrindex: 3, filenameStrindex: 4, startLine: '1' }],
                linkTable: [{}],
                attributeTable: [{}],
                stackTable: [{}, ...[1, 2, 3].map((i) => ({ locationIndices: [i] }))],
            },
            resourceProfiles: [
                {
                    scopeProfiles: [
                        {
                            profiles: [
                                {
                                    sampleType: { typeStrindex: 1, unitStrindex: 2 },
                                    samples: [70e6, 20e6, 10e6].map((v, i) => ({ stackIndex: i + 1, values: [String(v)] })),
                                },
                            ],
                        },
                    ],
                },
            ],
        }),
    );
    run('flame', '--source', '--source-path', dir, '--trim-path', '/build/shop', file, '-o', out);
    return out;
}

async function reports() {
    const one = join(dir, 'one.html'),
        diff = join(dir, 'diff.html'),
        types = join(corpus, 'otlp/async45-cpu-threads.otlp'),
        several = join(dir, 'several.html'),
        source = sourceReport();
    run('flame', '--all', partsFile(), '-o', several);
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
        await audit('report: share', async () => {
            await first();
            await share(page);
        });
        await audit('report: the menu of a frame', async () => {
            await first();
            await frameMenu(page);
        });
        await audit('report: breadcrumbs of a zoom and of transforms', async () => {
            await first();
            await crumbs(page);
        });
        await audit('report: source code', async () => {
            await page.goto('about:blank');
            await page.goto(`file://${source}#view=table`);
            await page.click('.row >> nth=0');
            await page.click('[data-tab=source]');
            await there(page, '.source .hot', 'no source');
        });
        await audit('report: several profiles', async () => {
            await page.goto(`file://${several}`);
            await there(page, '[data-do=resource]', 'no resources');
        });
        await audit('report: one of several profiles', async () => {
            await page.selectOption('[data-do=resource]', 'shop');
            await page.selectOption('[data-do=one]', { index: 2 });
            await there(page, '.total[data-total="41"]', 'another profile');
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
    await sendBilled(url);
    await send(url, {
        service: 'busy',
        type: 'wall',
        from: BEGAN,
        duration: 60e3,
        samples: Array.from({ length: THREADS * 600 }, (_, i) => ({
            value: 100e6,
            time: BEGAN + Math.floor(i / THREADS) * 100,
            labels: { 'thread.name': `worker-${i % THREADS}`, 'thread.state': ['running', 'sleeping', 'unscheduled'][(i * 7) % 11 % 3] },
        })),
    });
    for (const name of ['mine', 'cpu of checkout'])
        await fetch(`${url}/api/v1/saved/${encodeURIComponent(name)}`, { method: 'PUT', body: CPU });
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
        await audit('share', async () => {
            await open(page, url, CPU);
            await share(page);
        });
        await audit('saved selections', async () => {
            await open(page, url, CPU);
            await page.click('[data-do=saved]');
            await there(page, '[data-saved]', 'no list');
        });
        await audit('a saved selection is renamed', async () => {
            await page.click('[data-do=saved-rename] >> nth=0');
            await there(page, '[data-do=saved-rename-to]', 'no field');
        });
        await audit('the menu of a frame', async () => {
            await open(page, url, CPU);
            await frameMenu(page);
        });
        await audit('breadcrumbs of a zoom and of transforms', async () => {
            await open(page, url, CPU);
            await crumbs(page);
        });
        await audit('the bill of a trace with waits', async () => {
            await open(page, url, `#trace=${TRACE}`);
            await there(page, '[data-table=bill]', 'no bill');
        });
        await audit('spans above threads that wait', async () => {
            await open(page, url, `${ALL}&query=${encodeURIComponent('off_cpu{service.name="billed"}')}#view=lanes`);
            await there(page, '[data-spans]', 'no spans');
        });
        await audit('threads with many observations', async () => {
            await open(page, url, `${BUSY}#view=lanes`);
            await there(page, `[data-lane]:nth-of-type(${THREADS})`, 'no threads');
        });
        await audit('threads with too many observations: the shares of states', async () => {
            await overstate(page);
            await open(page, url, `${BUSY}#view=lanes`);
            await there(page, '[data-lane] [data-state]', 'no shares');
            return () => page.unroute('**/api/v1/counts*');
        });
        await audit('data of the previous selection', async () => {
            await open(page, url, CPU);
            let go;
            const held = new Promise((done) => (go = done));
            await page.route('**/api/v1/series?*', (route) => held.then(() => route.continue()).catch(() => {}));
            await page.selectOption('[data-do=service]', 'billed');
            await there(page, '[data-stale] .stale span', 'no label');
            return async () => {
                go();
                await settled(page);
                await page.unroute('**/api/v1/series?*');
            };
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
