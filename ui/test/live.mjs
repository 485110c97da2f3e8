// test/live.mjs - uses the page of `kiln serve` in Chromium. Prints TAP and the reasons for skipped tests.
// KILN_SHOTS=DIR stores screenshots there, wide and narrow.
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import {
    browser,
    check,
    clickRow,
    corpus,
    dir,
    drop,
    eventually,
    example,
    FOREIGN,
    gone,
    inAddress,
    must,
    newPage,
    result,
    same,
    skip,
    src,
    textIs,
    themeIs,
    there,
    viewIs,
    WAIT_MS,
} from './kit.mjs';
import { bill } from './live-bill.mjs';
import { ALL, endServers, inQuery, open, put, serve, sendLoop, settled, shot, top, totalIs } from './live-kit.mjs';
import { chart } from './live-chart.mjs';
import { drag, views } from './live-views.mjs';
import { mixedShown, partsFile, partsFiles, partsShown } from './parts.mjs';
import { savedGuarded, savedLive } from './saved.mjs';
import { shareLive } from './share.mjs';

const PAGE_BYTES = 150 * 1024;

async function answers(url) {
    const ask = (path, headers = {}) => fetch(url + path, { headers });
    const html = await ask('/', { 'accept-encoding': 'identity' }),
        text = await html.text();
    same(html.headers.get('content-encoding'), null, 'encoding for clients that accept none');
    must(/default-src 'none'.*script-src 'self'/.test(html.headers.get('content-security-policy')), 'no policy');
    same((await ask('/', { 'if-none-match': html.headers.get('etag') })).status, 304, 'the same again');
    same((await ask('/?page=health')).status, 200, 'with a query');
    same((await fetch(url + '/', { method: 'POST' })).status, 405, 'POST');
    same((await ask('/assets/live-0000.js')).status, 404, 'an asset that is not there');
    const assets = [...text.matchAll(/"(\/assets\/[^"]+)"/g)].map((m) => m[1]);
    same(assets.length, 2, 'assets');
    let weight = 0;
    for (const path of ['/', ...assets]) {
        const r = await ask(path, { 'accept-encoding': 'gzip' });
        same(r.headers.get('content-encoding'), 'gzip', `${path}: encoding`);
        if (path !== '/') must(/immutable/.test(r.headers.get('cache-control')), `${path} is not cached by browsers`);
        weight += Number(r.headers.get('content-length'));
        await r.arrayBuffer();
    }
    console.log(`# the page weighs ${weight} bytes of gzip`);
    must(weight > 20000 && weight < PAGE_BYTES, `the page weighs ${weight} bytes`);
}

async function foreign(url) {
    const status = async () => (await fetch(`${url}/api/v1/status`)).json(),
        before = await status();
    const site = createServer((_, r) => r.end('<!doctype html>')).listen(0, '127.0.0.1');
    await once(site, 'listening');
    const page = await newPage({}, /./);
    page.removeAllListeners('console'); // the browser logs the status 403
    const response = await page.goto(`http://${FOREIGN}:${new URL(url).port}/`);
    same(response.status(), 403, 'a name that points here');
    await page.goto(`http://${FOREIGN}:${site.address().port}/`);
    const types = await page.evaluate(async (to) => {
        const send = (path) => fetch(to + path, { method: 'POST', mode: 'no-cors', body: 'main;evil 1\n' });
        return [(await send('/upload')).type, (await send('/v1/profiles')).type];
    }, url);
    same(types.join(), 'opaque,opaque', 'the browser did not send at all');
    await page.close();
    site.closeAllConnections();
    site.close();
    const after = await status();
    must(after.api.foreign > before.api.foreign, 'the foreign name was not counted');
    same(after.ingest.foreign - before.ingest.foreign, 2, 'rejected cross-site requests');
    same(after.ingest.taken, before.ingest.taken, 'taken');
}

async function person(url) {
    const mine = new RegExp(`^(${url}/|data:|about:|blob:)`),
        page = await newPage({}, mine);
    const few = join(dir, 'few.folded');
    writeFileSync(few, 'main;read 3\nmain;<img src=x onerror=alert(1)> 4\n');

    await check('what the server sends: types, etags, policy, weight', () => answers(url));
    await check('an empty store shows instructions', async () => {
        await open(page, url);
        await textIs(page, '.first', /No profiles are stored yet/, 'no introduction');
        must((await page.innerText('.first pre')).includes(url), 'the address is not named');
        await shot(page, 'empty');
    });
    await check('an empty store shows new profiles without a reload', async () => {
        const r = await fetch(`${url}/upload`, { method: 'POST', body: readFileSync(example) });
        must(r.ok, `upload: ${r.status}`);
        await textIs(page, '[data-arrived]', /A profile of checkout from 2025-11-03 .* has arrived/, 'nothing happened');
    });
    await check('a broken link is reported', async () => {
        await open(page, url, '?query=cpu%7Bservice');
        await textIs(page, '[data-notice]', /query=cpu\{service is not a selector/, 'no message');
        await page.click('[data-notice] button');
    });
    await check('drop: the file is stored and shown', async () => {
        await drop(page, example, 'checkout.otlp');
        await textIs(page, '[data-notice]', /checkout\.otlp: 2 profiles/, 'no message');
        await totalIs(page, top(example).total, 'total');
        await inQuery(page, 'service.name="checkout"');
        await page.click('[data-notice] button');
        await open(page, url);
        await drop(page, example, 'again.otlp');
        await totalIs(page, top(example).total, 'once more: it was stored already');
        await page.click('[data-notice] button');
    });
    await check('an empty time range offers the stored one', async () => {
        await open(page, url, '?page=explore');
        await there(page, '[data-nothing]', 'no message about the empty hour');
        await page.click('[data-do=show-all]');
        await totalIs(page, top(example).total, 'total');
        await page.goBack();
        await there(page, '[data-nothing]', 'back does not go back');
        await page.goForward();
        await totalIs(page, top(example).total, 'total after forward');
    });
    await put(url, few);
    const others = ['otlp/async45-cpu-threads.otlp', 'pprof/cppbench.cpu']
        .map((f) => join(corpus, f))
        .filter(existsSync);
    for (const f of others) await put(url, f);
    await check('services and types: totals are those of kiln top', async () => {
        await open(page, url, ALL);
        await page.selectOption('[data-do=service]', 'checkout');
        await totalIs(page, top(example).total, 'cpu');
        await page.keyboard.press('2');
        const want = top(example).rows[0];
        await textIs(
            page,
            '.row .name',
            new RegExp(want.name.slice(0, 12).replace(/[^\w]/g, '.')),
            'another first row',
        );
        await page.selectOption('[data-do=type]', 'alloc_space/bytes');
        await totalIs(page, top('--sample-type', 'alloc_space', example).total, 'alloc_space');
        await page.selectOption('[data-do=type]', 'cpu/nanoseconds');
        await totalIs(page, top(example).total, 'cpu again');
        await page.keyboard.press('1');
    });
    await check('labels: one is added and removed', async () => {
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
            ['3', 'tree'],
            ['4', 'sandwich'],
            ['8', 'labels'],
            ['1', 'flame'],
        ]) {
            await page.keyboard.press(key);
            await viewIs(page, view);
        }
    });
    await check('transforms: numbers of kiln top, and the link keeps them', async () => {
        await viewIs(page, 'flame');
        await page.keyboard.press('2');
        await page.click('.row >> nth=0', { button: 'right' });
        await page.click('[data-transform=merge]');
        const hot = top(example).rows[0].name,
            pattern = `^${hot.replace(/[^\w]/g, '.')}$`,
            want = top('--hide', pattern, example).rows[0];
        await textIs(page, '.row .name', new RegExp(want.name.slice(0, 12).replace(/[^\w]/g, '.')), 'another first row');
        same(await page.getAttribute('.row td.number', 'title'), String(want.flat), 'its self value');
        await inAddress(page, 't=m.');
        await page.reload();
        await there(page, '.transforms [data-kind=merge]', 'the transform is gone');
        await page.keyboard.press('Escape');
        await page.keyboard.press('Escape');
        await gone(page, '.transforms', 'Esc does not undo it');
        await page.keyboard.press('1');
    });
    await check('chart: a drag selects the time, typed times do too', async () => {
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
        await there(page, '.pop .wrong', 'an invalid time is accepted');
        await page.fill('[data-do=to]', '2025-11-03 09:14:20');
        await page.click('[data-do=apply-range]');
        await inQuery(page, 'to=2025-11-03 09:14:20');
        await settled(page);
    });
    await views(url, page, mine);
    await chart(url, page, mine);
    await shareLive(page, url);
    await savedLive(page, url);
    await check('the list of profiles, and one of them', async () => {
        await open(page, url, ALL);
        await page.click('[data-goto=profiles]');
        await there(page, '[data-profile]', 'no list');
        await shot(page, 'profiles');
        must((await page.innerText('.list')).includes('checkout'), 'the service is not named');
        await page.click('tr:has-text("checkout"):has-text("cpu") button');
        await totalIs(page, top(example).total, 'the profile');
        await page.goBack();
        await there(page, '[data-profile]', 'back does not return to the list');
    });
    await check('comments and the original file: in the list, and with a single profile', async () => {
        await put(url, join(src, 'tests/fixtures/seeds/b.otep239'));
        await open(page, url, `${ALL}&page=profiles`);
        await page.click('tr:has-text("svcb"):has-text("cpu") [data-do=about]');
        await textIs(page, '[data-details] [data-comment]', /a human comment/, 'no comment in the list');
        await textIs(page, '[data-details] [data-original]', /jfr, 15/, 'no original file in the list');
        await page.click('tr:has-text("svcb"):has-text("cpu") button');
        await textIs(page, '[data-about] [data-comment]', /a human comment/, 'no comment above the flame graph');
        await textIs(page, '[data-about] [data-temporality]', /cumulative/, 'no temporality');
        await shot(page, 'about');
    });
    await check('health: senders, layouts, store', async () => {
        await page.click('[data-goto=health]');
        await there(page, '[data-table=senders] tbody tr', 'no sender');
        await textIs(page, '[data-table=layouts]', /otlp 1\.10/, 'no layout');
        await there(page, '[data-counters=Store]', 'no counters');
        same(await page.innerText('[data-counters=Receiving] [data-counter=taken] dt'), 'requests acknowledged', 'a label');
        const seen = await page.$$eval('[data-counter]', (l) => l.map((e) => [e.checkVisibility(), e.querySelector('dd').textContent]));
        must(seen.some(([v]) => !v) && seen.every(([v, n]) => v === !/^(0|0 B|no)$/.test(n)), `counters at zero are shown: ${seen}`);
        const stored = await (await fetch(`${url}/api/v1/store`)).json(),
            grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');
        await textIs(page, '[data-fact=samples]', new RegExp(`^${grouped(stored.samples)}$`), 'samples');
        await textIs(page, '[data-fact=waiting] b', new RegExp(`^${grouped(stored.raw_items)}$`), 'backlog');
        await textIs(page, '[data-fact=bytes]', /of 10 GiB.*kept for 7 days/, 'retention');
        await textIs(page, '[data-fact=queue]', /requests in progress/, 'queue');
        await shot(page, 'health');
    });
    await check('an upload that is not a profile is rejected with a message', async () => {
        const other = await newPage({}, mine);
        other.removeAllListeners('console'); // the browser logs the status 400
        await open(other, url, ALL);
        await drop(other, join(dir, 'nothing.bin'), 'nothing.bin');
        await textIs(other, '[data-notice]', /nothing\.bin: .+/, 'no message');
        await other.close();
    });
    await check('a recording without a date gets that of its file; a duplicate is reported', async () => {
        const other = await newPage({}, mine),
            name = 'undated.speedscope.json',
            frames = { frames: [{ name: 'undated' }] },
            one = { type: 'sampled', name: 'x', unit: 'seconds', startValue: 1, endValue: 3, samples: [[0]], weights: [2] };
        writeFileSync(join(dir, name), JSON.stringify({ $schema: 'https://www.speedscope.app/', shared: frames, profiles: [one] }));
        await open(other, url, ALL);
        await drop(other, join(dir, name), name);
        await textIs(other, '[data-notice]', /undated\.speedscope\.json: 1 profile \(speedscope\)/, 'no message');
        await inQuery(other, `from=${new Date().getUTCFullYear()}`);
        await drop(other, join(dir, name), name);
        await textIs(other, '[data-notice]', /already stored/, 'accepted twice');
        await other.close();
    });
    await check('foreign pages can neither read nor send', () => foreign(url));
    await check('refresh: new profiles are shown; a selection in a moving time range stays', async () => {
        const now = Date.now();
        await sendLoop(url, 'ticker', 'tick', 100, now - 60e3);
        await open(page, url, '?from=now-15m&to=now&refresh=5&query=%7Bservice.name%3D%22ticker%22%7D');
        await totalIs(page, 1000e6, 'the first');
        await sendLoop(url, 'ticker', 'tock', 50, now - 30e3);
        await page.waitForFunction(() => document.querySelector('.total')?.dataset.total === '1500000000', null, {
            timeout: WAIT_MS,
        });
        await page.click('[data-tab=heat]');
        await there(page, '.heat canvas', 'no heat map');
        await drag(page, '.heat canvas', 0.5, 0.99);
        await inAddress(page, 'time=');
        await inQuery(page, 'from=20');
        await page.click('[data-tab=flame]');
        await totalIs(page, 1500e6, 'the part');
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
        const inside = async (what) => {
            const out = await phone.$$eval('.live :is(button, select, input)', (l) =>
                l.filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.title || e.textContent),
            );
            must(!out.length, `${what}: cut off: ${out.join(', ')}`);
        };
        await inside('explore');
        await open(phone, url, '?from=2025-11-03T09:14:22.250Z&to=2025-11-03T09:14:28.750Z&against=before');
        await inside('a comparison');
        await fits('a comparison');
        await shot(phone, 'narrow-diff');
        await open(phone, url, ALL);
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

async function billed() {
    const url = await serve('billed'),
        page = await newPage({}, new RegExp(`^(${url}/|data:|about:|blob:)`));
    await bill(url, page);
    await page.close();
}

/** Reports of a server and of its store. */
async function inputs() {
    const url = await serve('inputs'),
        page = await newPage();
    for (const file of partsFiles()) await put(url, file);
    await check('a report of a server: profiles of a type are one entry', () => partsShown(page, [url]));
    await check('a report of a store: profiles of a type are one entry', () => partsShown(page, [join(dir, 'inputs')]));
    await put(url, example);
    await check('reports of a server, of a store, and of a server and a file: several types', async () => {
        await mixedShown(page, [url]);
        await mixedShown(page, [join(dir, 'inputs')]);
        await mixedShown(page, [`${url}?query=%7Bservice.name%3D%22checkout%22%7D`, partsFile()]);
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
    // The browser logs the status 401.
    page.removeAllListeners('console');
    await check('the page prompts for a token and stores it for the tab', async () => {
        await page.goto(url);
        await page.fill('[data-do=token]', 'not-the-right-one-at-all');
        await page.keyboard.press('Enter');
        await there(page, '.token .wrong', 'a wrong token is not reported');
        await shot(page, 'token');
        await page.fill('[data-do=token]', 'reading-token-0001');
        await page.keyboard.press('Enter');
        await there(page, '.first', 'the right token is not accepted');
        await drop(page, example, 'checkout.otlp');
        await page.fill('[data-do=token]', 'writing-token-0001');
        await page.keyboard.press('Enter');
        await totalIs(page, top(example).total, 'the sent profile');
        await page.reload();
        await totalIs(page, top(example).total, 'after a reload');
    });
    await page.close();
}

try {
    const url = await serve('store');
    if ((await fetch(url)).status === 501) skip('this kiln was built without the page of the server');
    writeFileSync(join(dir, 'nothing.bin'), Buffer.from([1, 2, 3, 255, 254, 0, 9]));
    await person(url);
    await billed();
    await guarded();
    await savedGuarded();
    await inputs();
    console.log(`1..${result().n}`);
} finally {
    await browser.close();
    await endServers();
    rmSync(dir, { recursive: true, force: true });
}
process.exit(result().failed ? 1 : 0);
