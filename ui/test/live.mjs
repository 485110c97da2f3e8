// test/live.mjs - the page of `kiln serve` in a real Chromium: what a person does with it. Prints TAP; says why it skips.
// KILN_SHOTS=DIR leaves pictures there, wide and narrow, to be looked at.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import {
    browser,
    canvasBox,
    check,
    clickRow,
    corpus,
    dir,
    drop,
    eventually,
    example,
    gone,
    inAddress,
    kiln,
    must,
    newPage,
    result,
    run,
    same,
    skip,
    textIs,
    themeIs,
    there,
    viewIs,
} from './kit.mjs';

const PAGE_BYTES = 150 * 1024,
    shots = process.env.KILN_SHOTS;
const servers = [];

/** A server of its own on a port that was free; the address that it prints. */
async function serve(name, ...more) {
    const p = spawn(kiln, ['serve', '--listen', '127.0.0.1:0', '--store', join(dir, name), ...more], {
        stdio: ['ignore', 'pipe', 'pipe'],
    });
    servers.push(p);
    let said = '';
    for (const stream of [p.stdout, p.stderr]) stream.on('data', (b) => (said += b));
    for (let i = 0; i < 200; i++) {
        const at = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
        if (at) return at[0];
        await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`the server does not say where it listens: ${said}`);
}

async function shot(page, name) {
    if (!shots) return;
    mkdirSync(shots, { recursive: true });
    await page.waitForTimeout(150);
    await page.screenshot({ path: join(shots, `${name}.png`) });
}

const put = async (url, file, bytes) => {
    const r = await fetch(`${url}/upload`, { method: 'POST', body: bytes ?? readFileSync(file) });
    must(r.ok, `${file} was not taken: ${r.status} ${await r.text()}`);
};
const top = (...args) => JSON.parse(run('top', '--json', ...args));

/** Nothing is asked any more, and something is shown. */
const settled = (page) =>
    page.waitForFunction(
        () => document.querySelector('.live:not(.busy)') && document.querySelector('.total, [data-nothing], .first, .page'),
        null,
        { timeout: 20000 },
    );
const totalIs = (page, want, what) =>
    eventually(page, (t) => document.querySelector('.total')?.dataset.total === t, String(want), `${what}: not ${want}`);
const inQuery = (page, text) =>
    eventually(
        page,
        (t) => new URLSearchParams(location.search).toString() !== '' && decodeURIComponent(location.search.replaceAll('+', ' ')).includes(t),
        text,
        `${text} is not in the address`,
    );
async function open(page, url, rest = '') {
    await page.goto('about:blank');
    await page.goto(`${url}/${rest}`);
    await settled(page);
}
const ALL = '?range=all';

async function answers(url) {
    const ask = (path, headers = {}) => fetch(url + path, { headers });
    const html = await ask('/', { 'accept-encoding': 'identity' }),
        text = await html.text();
    same(html.headers.get('content-encoding'), null, 'encoding for who takes none');
    must(/default-src 'none'.*script-src 'self'/.test(html.headers.get('content-security-policy')), 'no policy');
    same((await ask('/', { 'if-none-match': html.headers.get('etag') })).status, 304, 'the same again');
    same((await ask('/?page=health')).status, 200, 'with a question');
    same((await fetch(url + '/', { method: 'POST' })).status, 405, 'POST');
    same((await ask('/assets/live-0000.js')).status, 404, 'an asset that is not there');
    const assets = [...text.matchAll(/"(\/assets\/[^"]+)"/g)].map((m) => m[1]);
    same(assets.length, 2, 'assets');
    let weight = 0;
    for (const path of ['/', ...assets]) {
        const r = await ask(path, { 'accept-encoding': 'gzip' });
        same(r.headers.get('content-encoding'), 'gzip', `${path}: encoding`);
        if (path !== '/') must(/immutable/.test(r.headers.get('cache-control')), `${path} is not kept by browsers`);
        weight += Number(r.headers.get('content-length'));
        await r.arrayBuffer();
    }
    console.log(`# the page weighs ${weight} bytes of gzip`);
    must(weight > 20000 && weight < PAGE_BYTES, `the page weighs ${weight} bytes`);
}

async function person(url) {
    const mine = new RegExp(`^(${url}/|data:|about:|blob:)`),
        page = await newPage({}, mine);
    const few = join(dir, 'few.folded');
    writeFileSync(few, 'main;read 3\nmain;<img src=x onerror=alert(1)> 4\n');

    await check('what the server sends: types, etags, policy, weight', () => answers(url));
    await check('an empty store says what to do', async () => {
        await open(page, url);
        await textIs(page, '.first', /Nothing is stored yet/, 'no word of welcome');
        must((await page.innerText('.first pre')).includes(url), 'the address is not named');
        await shot(page, 'empty');
    });
    await check('drop: the file is kept and shown', async () => {
        await drop(page, example, 'checkout.otlp');
        await textIs(page, '[data-notice]', /checkout\.otlp: 2 profiles/, 'no answer');
        await totalIs(page, top(example).total, 'total');
        await inQuery(page, 'service.name="checkout"');
        await page.click('[data-notice] button');
    });
    await check('a time with nothing in it offers what there is', async () => {
        await open(page, url);
        await there(page, '[data-nothing]', 'an empty hour is not said to be empty');
        await page.click('[data-do=show-all]');
        await totalIs(page, top(example).total, 'total');
        await page.goBack();
        await there(page, '[data-nothing]', 'back does not go back');
        await page.goForward();
        await totalIs(page, top(example).total, 'total after forward');
    });
    await put(url, few);
    const others = ['otlp/async45-cpu-threads.otlp', 'pprof/cppbench.cpu'].map((f) => join(corpus, f)).filter(existsSync);
    for (const f of others) await put(url, f);
    await check('services and types: totals are those of kiln top', async () => {
        await open(page, url, ALL);
        await page.selectOption('[data-do=service]', 'checkout');
        await totalIs(page, top(example).total, 'cpu');
        await page.keyboard.press('2');
        const want = top(example).rows[0];
        await textIs(page, '.row .name', new RegExp(want.name.slice(0, 12).replace(/[^\w]/g, '.')), 'another first row');
        await page.selectOption('[data-do=type]', 'alloc_space/bytes');
        await totalIs(page, top('--sample-type', 'alloc_space', example).total, 'alloc_space');
        await page.selectOption('[data-do=type]', 'cpu/nanoseconds');
        await totalIs(page, top(example).total, 'cpu again');
        await page.keyboard.press('1');
    });
    await check('labels: one is added, and taken away', async () => {
        const one = top('--tagfocus', 'thread.name=^worker-0$', example).selected;
        await page.click('[data-do=label]');
        await page.selectOption('[data-do=label-key]', 'thread.name');
        await page.fill('[data-do=label-value]', 'worker-0');
        await page.click('[data-do=label-add]');
        await totalIs(page, one, 'worker-0');
        await inQuery(page, 'thread.name="worker-0"');
        await page.click('[data-chip="thread.name"] button');
        await totalIs(page, top(example).total, 'without it');
    });
    await check('flame graph: zoom, crumbs, search, keys', async () => {
        await viewIs(page, 'flame');
        await clickRow(page, 3);
        await there(page, '.crumbs', 'no breadcrumbs');
        await inAddress(page, 'zoom=');
        await shot(page, 'flame');
        await page.keyboard.press('Escape');
        await page.keyboard.press('Escape');
        await gone(page, '.crumbs', 'Esc does not zoom out');
        await page.keyboard.press('/');
        await page.keyboard.type('scoring');
        await textIs(page, '.search output', /%$/, 'no share');
        await page.keyboard.press('Escape');
        for (const [key, view] of [
            ['2', 'table'],
            ['3', 'sandwich'],
            ['6', 'labels'],
            ['1', 'flame'],
        ]) {
            await page.keyboard.press(key);
            await viewIs(page, view);
        }
    });
    await check('chart: a drag chooses the time, typed times do too', async () => {
        const b = await (await page.waitForSelector('.plot .u-over')).boundingBox();
        await page.mouse.move(b.x + b.width * 0.3, b.y + 30);
        await page.mouse.down();
        await page.mouse.move(b.x + b.width * 0.6, b.y + 40, { steps: 5 });
        await page.mouse.up();
        await inQuery(page, 'from=2025');
        await settled(page);
        await eventually(
            page,
            (t) => Number(document.querySelector('.total')?.dataset.total) < t,
            top(example).total,
            'the total does not follow',
        );
        await page.click('[data-do=range]');
        await page.fill('[data-do=from]', '2025-11-03 09:14:10');
        await page.fill('[data-do=to]', 'nonsense');
        await page.click('[data-do=apply-range]');
        await there(page, '.pop .wrong', 'nonsense is taken');
        await page.fill('[data-do=to]', '2025-11-03 09:14:20');
        await page.click('[data-do=apply-range]');
        await inQuery(page, 'to=2025-11-03 09:14:20');
        await settled(page);
    });
    await check('diff: against the time before, and against a kept selection', async () => {
        await page.selectOption('[data-do=against]', 'before');
        await there(page, '[data-do=compare]', 'no comparison');
        await page.keyboard.press('2');
        await eventually(page, () => document.querySelectorAll('.table th').length === 5, null, 'no columns of change');
        await shot(page, 'diff-table');
        await page.keyboard.press('1');
        await shot(page, 'diff');
        await page.selectOption('[data-do=against]', 'keep');
        await inQuery(page, 'against=kept');
        await settled(page);
        await page.keyboard.press('2');
        await there(page, '.row', 'no rows');
        const changes = await page.$$eval('.row td:nth-child(3) .value', (v) => v.map((e) => e.textContent));
        must(changes.length > 3 && changes.every((c) => c === '0'), `against itself: ${changes.join(' ')}`);
        await page.selectOption('[data-do=against]', '');
        await gone(page, '[data-do=compare]', 'the comparison does not end');
        await page.keyboard.press('1');
    });
    await check('heat map and flame chart fetch the times', async () => {
        await open(page, url, `${ALL}&query=cpu%2Fnanoseconds%7Bservice.name%3D%22checkout%22%7D`);
        await page.click('[data-tab=heat]');
        await there(page, '.heat canvas', 'no heat map');
        await totalIs(page, top(example).total, 'total with times');
        const b = await canvasBox(page);
        await page.mouse.move(b.x + 120, b.y + 100);
        await page.mouse.down();
        await page.mouse.move(b.x + 300, b.y + 60, { steps: 4 });
        await page.mouse.up();
        await textIs(page, '.total', /of all/, 'nothing was chosen');
        await shot(page, 'heat');
        await page.click('[data-tab=chart]');
        await there(page, '.chart canvas', 'no flame chart');
        await shot(page, 'chart');
        await open(page, url, `${ALL}&query=cpu%2Fnanoseconds%7Bservice.name%3D%22checkout%22%7D#view=heat`);
        await there(page, '.heat canvas', 'a link to a heat map does not open one');
    });
    await check('too many observations: says so, offers less', async () => {
        const busy = await newPage({}, mine);
        await busy.route('**/api/v1/counts*', async (route) => {
            const r = await route.fetch(),
                body = await r.json();
            for (const row of body.rows) row.count = row.count.map((c) => c * 1000);
            await route.fulfill({ response: r, json: body });
        });
        await open(busy, url, `${ALL}&query=cpu%2Fnanoseconds%7Bservice.name%3D%22checkout%22%7D#view=heat`);
        await there(busy, '[data-too-many]', 'it is not said');
        await shot(busy, 'too-many');
        await busy.click('[data-do=newest]');
        await there(busy, '.heat canvas', 'the newest part is no offer');
        await busy.close();
    });
    await check('a trace is found by its id', async () => {
        const traces = JSON.parse(run('traces', '--json', example)).traces,
            id = traces[0].trace_id,
            sum = traces.filter((t) => t.trace_id === id).reduce((n, t) => n + t.value, 0);
        await open(page, url);
        await page.fill('[data-do=trace]', id);
        await page.keyboard.press('Enter');
        await totalIs(page, sum, 'the samples of the trace');
        await inQuery(page, id);
        await page.fill('[data-do=trace]', '0123456789abcdef0123456789abcdef');
        await page.keyboard.press('Enter');
        await textIs(page, '[data-notice]', /No sample of trace/, 'a trace that is not there');
        await page.click('[data-notice] button');
        await shot(page, 'trace');
    });
    await check('profiles one by one, and one of them', async () => {
        await open(page, url, ALL);
        await page.click('[data-goto=profiles]');
        await there(page, '[data-profile]', 'no list');
        await shot(page, 'profiles');
        must((await page.innerText('.list')).includes('checkout'), 'the service is not named');
        await page.click('tr:has-text("checkout"):has-text("cpu") button');
        await totalIs(page, top(example).total, 'the profile');
        await page.goBack();
        await there(page, '[data-profile]', 'back is not back');
    });
    await check('health: senders, layouts, store', async () => {
        await page.click('[data-goto=health]');
        await there(page, '[data-table=senders] tbody tr', 'no sender');
        await textIs(page, '[data-table=layouts]', /otlp 1\.10/, 'no layout');
        await there(page, '[data-counters=Store]', 'no counters');
        await shot(page, 'health');
    });
    await check('upload that is no profile is refused in words', async () => {
        const other = await newPage({}, mine);
        other.removeAllListeners('console'); // where the browser itself says that it was answered 400
        await open(other, url, ALL);
        await drop(other, join(dir, 'nothing.bin'), 'nothing.bin');
        await textIs(other, '[data-notice]', /nothing\.bin: .+/, 'no answer');
        await other.close();
    });
    await check('refresh: what arrives is shown', async () => {
        await open(page, url, '?from=now-1h&to=now&refresh=5&query=%7Bservice.name%3D%22%22%7D');
        const before = await page.getAttribute('.live', 'data-loads');
        await page.waitForFunction((n) => Number(document.querySelector('.live').dataset.loads) > Number(n), before, {
            timeout: 30000,
        });
        await page.click('[data-do=again]');
        await settled(page);
    });
    await check('dark and light: as the system, by the button, remembered', async () => {
        const dark = await newPage({ colorScheme: 'dark' }, mine);
        await open(dark, url, ALL);
        await themeIs(dark, 'dark');
        await shot(dark, 'dark');
        await dark.click('[data-goto=health]');
        await there(dark, '[data-page=health]', 'no health');
        await dark.click('[data-do=theme]');
        await themeIs(dark, 'light');
        await open(dark, url, ALL);
        await themeIs(dark, 'light');
        await dark.keyboard.press('t');
        await themeIs(dark, 'dark');
        await dark.close();
    });
    await check('narrow: nothing is wider than the screen', async () => {
        const phone = await newPage({ viewport: { width: 390, height: 844 } }, mine);
        const fits = async (what) =>
            must(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} is too wide`);
        await open(phone, url, ALL);
        await fits('explore');
        await shot(phone, 'narrow');
        await phone.click('[data-do=range]');
        await shot(phone, 'narrow-range');
        await phone.keyboard.press('Escape');
        await phone.click('[data-tab=table]');
        await shot(phone, 'narrow-table');
        for (const p of ['profiles', 'health']) {
            await phone.click(`[data-goto=${p}]`);
            await there(phone, `[data-page=${p}]`, p);
            await fits(p);
            await shot(phone, `narrow-${p}`);
        }
        await phone.close();
    });
    await check('names are text, whatever they hold', async () => {
        await open(page, url, '?range=all&query=samples#view=table');
        await textIs(page, '.table', /<img src=x/, 'the name is not shown');
        same(await page.$$eval('img', (i) => i.length), 0, 'images');
    });
    await page.close();
}

async function guarded() {
    const read = join(dir, 'read'),
        write = join(dir, 'write');
    writeFileSync(read, 'reading-token-0001 people\n', { mode: 0o600 });
    writeFileSync(write, 'writing-token-0001 senders\n', { mode: 0o600 });
    const url = await serve('guarded', '--read-tokens', read, '--write-tokens', write),
        page = await newPage({}, new RegExp(`^(${url}/|data:|about:|blob:)`));
    // The browser itself says in the console that it was answered 401.
    page.removeAllListeners('console');
    await check('a token is asked for, and remembered by the tab', async () => {
        await page.goto(url);
        await page.fill('[data-do=token]', 'not-the-right-one-at-all');
        await page.keyboard.press('Enter');
        await there(page, '.token .wrong', 'a wrong token is not said to be wrong');
        await shot(page, 'token');
        await page.fill('[data-do=token]', 'reading-token-0001');
        await page.keyboard.press('Enter');
        await there(page, '.first', 'the right token does not open');
        await drop(page, example, 'checkout.otlp');
        await page.fill('[data-do=token]', 'writing-token-0001');
        await page.keyboard.press('Enter');
        await totalIs(page, top(example).total, 'what was sent');
        await page.reload();
        await totalIs(page, top(example).total, 'after a reload');
    });
    await page.close();
}

try {
    const url = await serve('store');
    if ((await fetch(url)).status === 501) skip('this kiln was built without its page');
    writeFileSync(join(dir, 'nothing.bin'), Buffer.from([1, 2, 3, 255, 254, 0, 9]));
    await person(url);
    await guarded();
    console.log(`1..${result().n}`);
} finally {
    await browser.close();
    for (const p of servers) {
        p.kill('SIGTERM');
        if (p.exitCode === null) await once(p, 'exit');
    }
    rmSync(dir, { recursive: true, force: true });
}
process.exit(result().failed ? 1 : 0);
