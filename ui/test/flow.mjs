// flow.mjs - uses the page of a slow server: it shows data and refreshes, data flow into what the user is doing, old data are
// labelled, the back button undoes steps, and links are short. Prints TAP. KILN_SHOTS=DIR stores screenshots.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
    browser,
    check,
    clickRow,
    dir,
    eventually,
    example,
    gone,
    inAddress,
    must,
    newPage,
    result,
    run,
    same,
    skip,
    textIs,
    there,
    viewIs,
} from './kit.mjs';
import { CPU, endServers, inQuery, observed, open, put, sendLoop, serve, settled, shot, sum, top, totalIs } from './live-kit.mjs';
import { drag } from './live-views.mjs';
import { slowProxy } from './slow.mjs';

const EVERY = process.env.KILN_EVERY_FILE; // also the tests that take long (`make test-page`)
const WAIT_MS = 60_000;
const until = (page, f, arg, what, timeout = WAIT_MS) =>
    page.waitForFunction(f, arg, { timeout, polling: 20 }).catch(() => must(false, what));
const loads = (page) => page.$eval('.live', (e) => Number(e.dataset.loads));
const loadsAre = (page, n, what) =>
    until(page, (m) => Number(document.querySelector('.live').dataset.loads) >= m, n, what);
const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));
const entries = (page) => page.evaluate(() => history.length);

/** Each test starts with a fast server and without pages of a failed one. */
const test = (proxy, name, f) =>
    check(name, async () => {
        proxy.delay = 0;
        for (const c of browser.contexts()) await c.close();
        await f();
    });

/** The address that `make run` prints (tools/run). */
const RUN = '?from=now-5m&to=now&refresh=5';

/** One sender with two functions of different depth, so that each refresh has other frames. */
let sent = 0;
const sendMore = async (url, names = ['tick']) => {
    for (const name of names) await sendLoop(url, 'ticker', name, 20, Date.now() - 20e3 + sent++ * 13);
};

async function refreshes(url, proxy, mine) {
    await test(proxy, 'a response takes 3 s, the page refreshes every 5 s: data appear and refresh', async () => {
        const page = await newPage({}, mine);
        await sendMore(url);
        proxy.delay = 3000;
        proxy.log.length = 0;
        await page.goto(proxy.url + '/' + RUN);
        await until(page, () => document.querySelector('.total'), null, 'no data within a minute');
        const first = await page.getAttribute('.total', 'data-total'),
            n = await loads(page);
        await shot(page, 'flow-slow');
        await sendMore(url);
        await loadsAre(page, n + 1, 'no refresh within a minute');
        await until(page, (t) => document.querySelector('.total').dataset.total !== t, first, 'the total stays');
        await textIs(page, '.pace', /every \d+ s: the last response took \d/, 'the pause is not explained');
        const paths = new Set(proxy.log.map((r) => r.path));
        for (const path of paths) {
            const most = Math.max(...proxy.log.filter((r) => r.path === path).map((r) => r.open));
            same(most, 1, `queries of ${path} at the same time`);
        }
        same(proxy.log.filter((r) => r.aborted).length, 0, 'aborted queries');
        await shot(page, 'flow-pace');
        await page.close();
    });
    if (EVERY)
        await test(proxy, 'traces, profiles, threads, heat map: a slow query ends before the next one, its result stays', async () => {
            await sendMore(url);
            const took = 7000, // longer than the interval of refreshes
                views = { traces: '&page=trace', profiles: '&page=profiles', lanes: '#view=lanes', heat: '#view=heat' };
            proxy.log.length = 0;
            proxy.delay = (path) => (path.replace('/api/v1/', '') in views ? took : 0);
            const watch = async ([name, rest]) => {
                const page = await newPage({}, mine),
                    shown = '[data-nothing], [data-trace], [data-profile], .view canvas',
                    log = () => proxy.log.filter((r) => r.path === `/api/v1/${name}`);
                await page.goto(`${proxy.url}/${RUN}${rest}`);
                await until(page, (s) => document.querySelector(s), shown, `${name}: nothing is shown`);
                const before = log().length;
                await page.evaluate((s) => (document.querySelector(s).dataset.mark = 'same'), shown);
                await page.waitForTimeout(took + 6000);
                same(Math.max(...log().map((r) => r.open)), 1, `queries of ${name} at the same time`);
                same(log().filter((r) => r.aborted).length, 0, `aborted queries of ${name}`);
                must(log().length <= before + 1, `${log().length - before} queries of ${name} in ${took + 6000} ms`);
                await there(page, '[data-mark=same]', `${name}: the view was replaced`);
            };
            const found = await Promise.allSettled(Object.entries(views).map(watch)),
                wrong = found.filter((r) => r.status === 'rejected').map((r) => r.reason.message);
            must(!wrong.length, wrong.join('; '));
        });
}

async function flows(url, proxy, mine) {
    await test(proxy, 'refresh: a search, its focus, the selection, the panel and the scroll position stay', async () => {
        const page = await newPage({}, mine),
            names = Array.from({ length: 60 }, (_, i) => `tick${String(i).padStart(2, '0')}`);
        await sendMore(url, names);
        await open(page, proxy.url, `${RUN}&query=%7Bservice.name%3D%22ticker%22%7D#view=table`);
        await page.click('.row:has-text("tick05")');
        await there(page, '.details', 'no details');
        await page.$eval('.table', (e) => (e.scrollTop = 500));
        await page.keyboard.press('?');
        await there(page, '.help', 'no help');
        proxy.delay = 300;
        const refreshed = async () => {
            const n = await loads(page);
            await sendMore(url, ['before everything', ...names.slice(0, 3)]); // moves the numbers of the frames
            await loadsAre(page, n + 1, 'no refresh');
        };
        await refreshed();
        must(await page.$('.help'), 'the help is closed');
        same(await page.$eval('.table', (e) => e.scrollTop), 500, 'scroll position');
        same(await page.innerText('.details h2'), 'tick05', 'selected function');
        await page.keyboard.press('Escape');
        await page.keyboard.press('/');
        await page.keyboard.type('tic');
        await refreshed();
        await page.keyboard.type('k1');
        same(await page.inputValue('.search input'), 'tick1', 'typed text');
        await viewIs(page, 'table');
        must(await page.evaluate(() => document.activeElement.type === 'search'), 'the search has lost the focus');
        await until(page, () => document.querySelectorAll('.row').length === 10, null, 'the search does not filter');
        await page.click('th >> nth=1 >> button');
        await there(page, 'th:nth-child(2)[aria-sort=descending]', 'not sorted by total');
        await refreshed();
        await there(page, 'th:nth-child(2)[aria-sort=descending]', 'not sorted by total after a refresh');
        await page.close();
    });
    await test(proxy, 'refresh: the zoom, the box under the keyboard and a menu stay', async () => {
        const page = await newPage({}, mine);
        await open(page, proxy.url, `${RUN}&query=%7Bservice.name%3D%22ticker%22%7D`);
        await page.focus('.flame');
        await page.keyboard.press('ArrowUp');
        const name = await page.innerText('.details h2');
        let n = await loads(page);
        await sendMore(url, ['a first function']);
        await loadsAre(page, n + 1, 'no refresh');
        await page.keyboard.press('Enter');
        await textIs(page, '.crumbs b', new RegExp(name), 'the keyboard does not continue where it was');
        n = await loads(page);
        await page.click('[data-do=range]');
        await there(page, '.pop [data-do=from]', 'no menu');
        await page.fill('.pop [data-do=from]', '2025');
        await sendMore(url, ['another first function']);
        await loadsAre(page, n + 1, 'no refresh');
        same(await page.inputValue('.pop [data-do=from]'), '2025', 'the text in the menu');
        await page.keyboard.press('Escape');
        same(await page.innerText('.crumbs b'), name, 'zoom');
        same(await page.innerText('.details h2'), name, 'selection');
        await page.close();
    });
    await test(proxy, 'a frame that the newest data do not contain is selected again when they do', async () => {
        const page = await newPage({}, mine),
            all = '?range=all&query=%7Bservice.name%3D%22checkout%22%7D';
        await sendMore(url);
        await open(page, proxy.url, all);
        await page.keyboard.press('2');
        await page.click('.row >> nth=0');
        const name = await page.innerText('.details h2');
        await page.selectOption('[data-do=service]', 'ticker');
        await gone(page, '.details', 'the function is still selected');
        await page.keyboard.press('/');
        await page.keyboard.type('t');
        await page.keyboard.press('Escape');
        await page.selectOption('[data-do=service]', 'checkout');
        await textIs(page, '.details h2', new RegExp(`^${name.replace(/[^\w]/g, '.')}$`), 'it is not selected again');
        await page.close();
    });
}

async function labelled(url, proxy, mine) {
    const ids = [...new Set(observed.map((o) => o.trace_id))];
    await test(proxy, 'a trace: the numbers below an id belong to it; the old ones are labelled', async () => {
        const page = await newPage({}, mine);
        await open(page, proxy.url, `#trace=${ids[0]}`);
        await there(page, '[data-span]', 'no spans');
        const numbers = () => page.innerText('[data-table=spans]');
        const before = await numbers();
        proxy.delay = 1500;
        await page.fill('[data-do=trace]', ids[1]);
        await page.keyboard.press('Enter');
        await textIs(page, '.stale', new RegExp(`Loading trace ${ids[1]}.*Still shown: trace ${ids[0]}`), 'no label');
        same(await page.innerText('[data-id=trace]'), ids[0], 'the id above the old numbers');
        same(await numbers(), before, 'the old numbers');
        same(await page.getAttribute('.page .data', 'aria-busy'), 'true', 'aria-busy');
        await shot(page, 'flow-trace');
        await until(page, (id) => document.querySelector('[data-id=trace]').textContent === id, ids[1], 'no new id');
        must((await numbers()) !== before, 'the numbers are old');
        await gone(page, '[data-stale]', 'still labelled');
        await page.close();
    });
    await test(proxy, 'a selection: header, chart and views change together', async () => {
        const page = await newPage({}, mine);
        await sendMore(url);
        await open(page, proxy.url, CPU);
        const all = async () => ({
            facts: await page.innerText('.title'),
            total: await page.getAttribute('.total', 'data-total'),
        });
        const before = await all();
        proxy.delay = 1000;
        await page.selectOption('[data-do=service]', 'ticker');
        await textIs(page, '.stale', /Loading ticker, All stored profiles.*Still shown: checkout, 2025/, 'no label');
        for (const picture of ['.plot canvas', '.flame canvas'])
            await until(page, (q) => Number(getComputedStyle(document.querySelector(q)).opacity) < 0.6, picture, `${picture} is not dimmed`);
        must(JSON.stringify(await all()) === JSON.stringify(before), 'the header is of other data');
        await shot(page, 'flow-stale');
        await gone(page, '[data-stale]', 'still labelled');
        const after = await all();
        must(after.total !== before.total && after.facts !== before.facts, 'the data are old');
        await page.goBack();
        await textIs(page, '.stale', /Loading checkout.*Still shown: ticker/, 'no label after the back button');
        await totalIs(page, sum(observed), 'back');
        await page.click('[data-tab=lanes]');
        await there(page, '[data-lane]', 'no threads');
        const b = await (await page.$('.lanes canvas')).boundingBox();
        await page.mouse.click(b.x + 20, b.y + 35); // the name of a thread
        await textIs(page, '.view .stale', /Loading the new selection/, 'old threads are not labelled');
        await until(page, () => document.querySelectorAll('[data-lane]').length === 1, null, 'no threads of the label');
        await page.close();
    });
    await test(proxy, 'a query fails: the old data stay, with the reason', async () => {
        const page = await newPage({}, mine);
        page.removeAllListeners('console'); // the browser logs the status 503
        await sendMore(url);
        await open(page, proxy.url, CPU);
        const reject = (route) => route.fulfill({ status: 503, json: { error: 'too many queries' } });
        await page.route('**/api/v1/series?*', reject);
        await page.selectOption('[data-do=service]', 'ticker');
        await textIs(page, '.notice', /too many queries/, 'no reason');
        await textIs(page, '.stale', /ticker.*could not be loaded.*Still shown: checkout/, 'no label');
        await page.unroute('**/api/v1/series?*', reject);
        await page.click('.notice button');
        await gone(page, '[data-stale]', 'not repeated');
        await gone(page, '.notice', 'the error stays');
        await page.close();
    });
}

async function history(url, proxy, mine) {
    await test(proxy, 'back undoes a view, a zoom, a selection, a filter; forward repeats them', async () => {
        const page = await newPage({}, mine);
        await open(page, url, CPU);
        const start = await entries(page);
        await page.keyboard.press('2');
        await viewIs(page, 'table');
        await page.click('.row >> nth=2');
        await there(page, '.details', 'no details');
        await page.click('[data-tab=labels]');
        await page.click('[data-label] >> nth=0');
        await there(page, '.chips li', 'no filter');
        same((await entries(page)) - start, 4, 'entries of four steps');
        await page.goBack();
        await gone(page, '.chips li', 'the filter is not undone');
        await page.goBack();
        await viewIs(page, 'table');
        await page.goBack();
        await gone(page, '.details', 'the selection is not undone');
        await page.goBack();
        await viewIs(page, 'flame');
        for (let i = 0; i < 4; i++) await page.goForward();
        await there(page, '.chips li', 'forward does not repeat the filter');
        await page.close();
    });
    await test(proxy, 'back undoes a zoom in one step; settings and typing make no more entries', async () => {
        const page = await newPage({}, mine);
        await open(page, url, CPU);
        await clickRow(page, 3);
        await there(page, '.crumbs', 'no zoom');
        const zoomed = await page.innerText('.crumbs b');
        await page.waitForTimeout(1100); // selections within a second are one entry
        await clickRow(page, 5);
        await until(page, (z) => document.querySelector('.crumbs b').innerText !== z, zoomed, 'no second zoom');
        await page.goBack();
        await textIs(page, '.crumbs b', new RegExp(`^${zoomed.replace(/[^\w]/g, '.')}`), 'the second zoom is not undone');
        await page.goBack();
        await gone(page, '.crumbs', 'the zoom is not undone');
        await gone(page, '.details', 'the selection of the same click is not undone');
        const n = await entries(page);
        await page.keyboard.press('/');
        await page.keyboard.type('scoring', { delay: 30 });
        await inAddress(page, 'q=scoring');
        await page.selectOption('[data-do=color]', 'function');
        await page.click('[data-do=icicle]');
        await inAddress(page, 'icicle=1');
        must((await entries(page)) <= n - 1, 'each letter or setting is an entry'); // one step in place of two that were undone
        await page.goBack();
        await until(page, () => !document.querySelector('.search input').value, null, 'the search is not undone');
        await page.close();
    });
    await test(proxy, 'dragging in the flame chart is one entry; the address follows', async () => {
        const page = await newPage({}, mine);
        await open(page, url, `${CPU}#view=chart`);
        await there(page, '.chart canvas', 'no flame chart');
        await page.focus('.chart');
        await page.keyboard.press('+');
        await inAddress(page, 'window=');
        const n = await entries(page);
        const before = await page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get('window'));
        const b = await (await page.$('.chart canvas')).boundingBox();
        await page.mouse.move(b.x + 900, b.y + 60);
        await page.mouse.down();
        await page.mouse.move(b.x + 600, b.y + 60, { steps: 300 });
        await page.mouse.up();
        // The address is written at most every 250 ms: wait for that of the last step.
        await until(
            page,
            ([window, moved]) => {
                const [a, z] = window.split('-').map(BigInt),
                    [now] = new URLSearchParams(location.hash.slice(1)).get('window').split('-').map(BigInt);
                return Math.abs(Number(now - a) / Number(z - a) - moved) < 0.002;
            },
            [before, 300 / b.width],
            'the address does not follow',
        );
        same(await entries(page), n, 'entries');
        const box = () => page.evaluate(() => document.querySelector('.chart canvas').toDataURL()),
            drawn = await box();
        await page.reload();
        await there(page, '.chart canvas', 'no flame chart');
        await settled(page);
        await page.mouse.move(5, 5);
        same((await box()) === drawn, true, 'the link shows the same');
        await page.close();
    });
    await test(proxy, 'a part of a range that moves: back returns to the range', async () => {
        const page = await newPage({}, mine);
        await sendMore(url);
        await open(page, url, '?from=now-15m&to=now&query=%7Bservice.name%3D%22ticker%22%7D#view=heat');
        await there(page, '.heat canvas', 'no heat map');
        await drag(page, '.heat canvas', 0.5, 0.99);
        await inAddress(page, 'time=');
        await inQuery(page, 'from=20');
        await settled(page);
        await page.goBack();
        await inQuery(page, 'from=now-15m');
        must(!(await hash(page)).includes('time='), 'the part stays');
        await there(page, '.heat canvas', 'no heat map');
        await page.close();
    });
}

const LONG = 'com.example.'.padEnd(300, 'shop.checkout.') + 'Handler$$Lambda';

async function links(url, proxy, mine) {
    const folded = join(dir, 'deep.folded'),
        frames = Array.from({ length: 40 }, (_, i) => `${LONG}${i}.run`),
        html = join(dir, 'deep.html');
    writeFileSync(folded, `${frames.join(';')} 5\n${frames.slice(0, 20).join(';')};other 3\n${frames[0]};first 2\n`);
    await put(url, folded);
    run('flame', folded, '-o', html);
    const deep = `?query=${encodeURIComponent('samples')}&range=all`;
    let link = '';
    await test(proxy, 'links are short, however long the names are', async () => {
        const page = await newPage({}, mine);
        await open(page, url, deep);
        await page.focus('.flame');
        for (let i = 0; i < 30; i++) await page.keyboard.press('ArrowUp');
        await page.keyboard.press('Enter');
        await there(page, '.crumbs', 'no zoom');
        await textIs(page, '.details h2', /Lambda29\.run/, 'another function');
        await inAddress(page, 'zoom=');
        link = await page.evaluate(() => location.hash);
        must(link.length < 300, `${link.length} characters: ${link.slice(0, 200)}`);
        must(!link.includes('example'), `a name in ${link}`);
        await page.close();
    });
    const shows = async (page, what) => {
        await textIs(page, '.crumbs b', /Lambda29\.run/, `${what}: not zoomed`);
        await textIs(page, '.details h2', /Lambda29\.run/, `${what}: not selected`);
    };
    await test(proxy, 'a link means the same in another tab, and in a report of the same data', async () => {
        const other = await newPage({}, mine);
        await open(other, url, deep + link);
        await shows(other, 'another tab');
        await other.click('[data-do=again]');
        await settled(other);
        await shows(other, 'after a refresh');
        await other.close();
        const report = await newPage();
        await report.goto(`file://${html}${link}`);
        await shows(report, 'a report');
        await report.close();
    });
    await test(proxy, 'older links, with whole names, still open', async () => {
        const page = await newPage(),
            q = new URLSearchParams();
        q.set('sel', frames[29]);
        for (const f of frames.slice(0, 30)) q.append('zoom', f);
        await page.goto(`file://${html}#${q}`);
        await shows(page, 'an older link');
        await page.close();
    });
    await test(proxy, 'a report: back undoes a zoom and a view', async () => {
        const page = await newPage();
        await page.goto(`file://${html}`);
        await clickRow(page, 3);
        await there(page, '.crumbs', 'no zoom');
        await page.click('[data-tab=table]');
        await viewIs(page, 'table');
        await page.goBack();
        await viewIs(page, 'flame');
        await there(page, '.crumbs', 'the zoom is lost');
        await page.goBack();
        await gone(page, '.crumbs', 'the zoom is not undone');
        await page.close();
    });
}

try {
    const url = await serve('flow');
    if ((await fetch(url)).status === 501) skip('this kiln was built without the page of the server');
    await put(url, example);
    const proxy = await slowProxy(url),
        mine = new RegExp(`^((${url}|${proxy.url})/|data:|about:|blob:)`);
    must(top(example).total === sum(observed), 'kiln top and kiln traces differ');
    const parts = { refreshes, flows, labelled, history, links };
    for (const [name, part] of Object.entries(parts))
        if (!process.argv[2] || process.argv[2] === name) await part(url, proxy, mine);
    console.log(`1..${result().n}`);
    proxy.close();
} finally {
    await browser.close();
    await endServers();
    rmSync(dir, { recursive: true, force: true });
}
process.exit(result().failed ? 1 : 0);
