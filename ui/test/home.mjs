// test/home.mjs - uses the home page of `kiln serve` in Chromium: the first profiles, the table of services, its links and keys, and
// senders with trouble. Numbers are compared with `kiln top` over the same server. Prints TAP.
import { execFileSync, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import {
    browser,
    check,
    dir,
    eventually,
    example,
    gone,
    kiln,
    must,
    newPage,
    result,
    run,
    same,
    skip,
    textIs,
    there,
} from './kit.mjs';
import { ALL, endServers, inQuery, open, put, sendLoop, serve, settled, shot, top, totalIs } from './live-kit.mjs';

const row = (name) => `[data-service="${name}"]`;
const topOf = (url, type, service, range) =>
    JSON.parse(run('top', '--json', '--select', `${type}{service.name="${service}"}`, `${url}?${range}`));
const linesOf = (page, name) => page.innerText(`[data-lines=${name}] pre`);
const env = (more) => ({ env: { ...process.env, ...more }, stdio: 'pipe' });
const focusIn = (page, selector, what) => eventually(page, (q) => document.activeElement?.matches(q), selector, what);

async function firstMinute(url, page) {
    await check('an empty store names three ways to send, and they work', async () => {
        await open(page, url);
        await textIs(page, '[data-first]', /No profiles are stored yet/, 'no introduction');
        await shot(page, 'home-empty');
        const [program, record] = (await linesOf(page, 'kiln')).split('\n');
        same(program, `kiln run --to ${url} ./program`, 'kiln run');
        same(record, `sudo kiln record --to ${url} --all`, 'kiln record');
        const [send, curl] = (await linesOf(page, 'file')).split('\n');
        const [key, value] = (await linesOf(page, 'sender')).replace('export ', '').split('=');
        const endpoint = /endpoint: '([^']+)'.*insecure: true/.exec(await linesOf(page, 'collector'))[1];
        for (const [how, file, args, more] of [
            ['kiln send', kiln, send.split(' ').slice(1), {}],
            ['curl', 'curl', ['-sf', ...curl.split(' ').slice(1)], {}],
            ['OTLP over HTTP', kiln, ['send', 'profile.pb.gz'], { [key]: value }],
            ['gRPC', kiln, ['send', 'profile.pb.gz', '--protocol', 'grpc', '--to', endpoint], {}],
        ]) {
            const before = (await (await fetch(`${url}/api/v1/status`)).json()).ingest;
            const given = args.map((a) => a.replace('profile.pb.gz', example).replace('@profile', `@${example}`));
            execFileSync(file, given, env(more));
            const after = (await (await fetch(`${url}/api/v1/status`)).json()).ingest;
            same(after.taken - before.taken, 1, `${how}: requests that the server stored`);
        }
        const words = program.split(' ').slice(1, -1);
        execFileSync(kiln, [...words, 'bash', '-c', 'for ((i = 0; i < 300000; i++)); do :; done'], {
            stdio: 'pipe',
            cwd: dir,
        });
        const { total } = topOf(url, 'cpu', 'unknown_service:bash', 'start=now-5m');
        must(total > 0, 'kiln run did not deliver');
    });
    await check('the lines can be copied', async () => {
        const other = await serve('to-copy'),
            context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] }),
            one = await context.newPage();
        await open(one, other);
        await one.click('[data-lines=file] button');
        await textIs(one, '[data-lines=file] button', /Copied/, 'the button does not say so');
        same(await one.evaluate(() => navigator.clipboard.readText()), await linesOf(one, 'file'), 'the clipboard');
        await context.close();
    });
    await check('a profile of another time has arrived: show it', async () => {
        // The page is the one that was opened while the store was empty.
        await textIs(page, '[data-arrived]', /A profile of checkout from 2025-11-03 .* has arrived/, 'no message');
        must(/not in this range/.test(await page.innerText(row('checkout'))), 'the row of the past');
        await shot(page, 'home-arrived');
        await page.click('[data-arrived] a');
        await totalIs(page, top(example).total, 'the profile that arrived');
        await page.goBack();
        await there(page, '[data-page=services]', 'back');
    });
}

async function table(url, page) {
    const now = Date.now();
    await sendLoop(url, 'api', 'encode', 3000, now - 40_000);
    await sendLoop(url, 'worker', 'compress', 600, now - 20_000);
    await put(url, example);
    const at = (ms) => new Date(ms).toISOString(),
        range = [at(now - 60_000), at(now)],
        rest = `?page=services&from=${range[0]}&to=${range[1]}`,
        apiRange = `start=${range[0]}&end=${range[1]}`;
    await check('services in the order of their CPU rate, as kiln top counts it', async () => {
        await open(page, url, rest);
        await there(page, row('api'), 'no row');
        await there(page, row('checkout'), 'no row of another time');
        const names = await page.$$eval('.services tbody tr', (l) => l.map((r) => r.dataset.service));
        same(names.filter((n) => !n.startsWith('unknown_service:')).join(), 'api,worker,checkout', 'order');
        const listed = await (await fetch(`${url}/api/v1/services?${apiRange}`)).json();
        for (const name of ['api', 'worker']) {
            const want = topOf(url, 'cpu', name, apiRange),
                got = listed.rows.find((r) => r.service === name && r.type === 'cpu'),
                seconds = (listed.end - Math.max(listed.start, got.first)) / 1e9,
                text = await page.innerText(row(name));
            same(got.sum, want.total, `${name}: sum`);
            same(got.flat, want.rows[0].flat, `${name}: top function`);
            const cores = want.total / 1e9 / seconds;
            must(text.includes(`${Number(cores.toFixed(2))} cores`), `${name}: ${text}, expected ${cores} cores`);
            must(text.includes(want.rows[0].name), `${name}: ${text}, expected ${want.rows[0].name}`);
            must((await page.$(`${row(name)} .spark path`)) !== null, `${name}: no picture`);
        }
        await shot(page, 'home');
    });
    await check('one click leads to the CPU flame graph of a service, back to the table', async () => {
        await page.click(`${row('worker')} a.name`);
        await totalIs(page, topOf(url, 'cpu', 'worker', apiRange).total, 'the flame graph');
        await inQuery(page, 'cpu/nanoseconds{service.name="worker"}');
        same(await page.getAttribute('.view', 'data-view'), 'flame', 'view');
        await page.goBack();
        await there(page, '[data-page=services]', 'back');
    });
    await check('the types of a service are links', async () => {
        await open(page, url, '?page=services&range=all');
        await there(page, row('checkout'), 'no row');
        must(/alloc_space/.test(await page.innerText(`${row('checkout')} .types`)), 'no link to alloc_space');
        await page.click(`${row('checkout')} .types a`);
        await totalIs(page, top('--sample-type', 'alloc_space', example).total, 'alloc_space');
        await inQuery(page, 'alloc_space/bytes');
    });
    await check('sorting, filtering and keys', async () => {
        await open(page, url, rest);
        await there(page, row('checkout'), 'no row');
        const names = () => page.$$eval('.services tbody tr', (l) => l.map((r) => r.dataset.service).join());
        await page.click('[data-sort=name]');
        must((await names()).startsWith('api,'), `by name: ${await names()}`);
        same(await page.getAttribute('.services th.service', 'aria-sort'), 'ascending', 'aria-sort');
        await page.keyboard.press('/');
        await focusIn(page, '[data-do=filter]', '/ does not focus the filter');
        await page.keyboard.type('WORK');
        await eventually(
            page,
            () => document.querySelectorAll('.services tbody tr').length === 1,
            null,
            'not filtered',
        );
        await page.keyboard.press('Escape');
        await eventually(page, () => document.querySelectorAll('.services tbody tr').length > 2, null, 'not cleared');
        await page.keyboard.press('ArrowDown');
        await focusIn(page, `${row('api')} a.name`, 'arrow down');
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('ArrowUp');
        await focusIn(page, `${row('api')} a.name`, 'arrow up');
        await page.keyboard.press('Enter');
        await totalIs(page, topOf(url, 'cpu', 'api', apiRange).total, 'enter opens the flame graph');
        await page.goBack();
        await there(page, '[data-page=services]', 'back');
    });
    await check('it refreshes: rows change, the filter keeps its text and focus', async () => {
        await open(page, url, '?page=services&from=now-5m&to=now&refresh=5');
        await there(page, row('api'), 'no row');
        await page.focus('[data-do=filter]');
        await page.keyboard.type('ne');
        await sendLoop(url, 'newcomer', 'begin', 50, Date.now() - 1000);
        await there(page, row('newcomer'), 'no row of a new service');
        await focusIn(page, '[data-do=filter]', 'the focus is lost');
        same(await page.inputValue('[data-do=filter]'), 'ne', 'the text');
    });
    await check('senders with trouble', async () => {
        const bad = await fetch(`${url}/v1development/profiles`, {
            method: 'POST',
            headers: { 'content-type': 'application/x-protobuf', 'user-agent': 'broken-sender/1' },
            body: 'not a profile',
        });
        same(bad.status, 400, 'a malformed request');
        await open(page, url, rest);
        await textIs(page, '[data-troubles]', /broken-sender\/1: 1 of 1 requests refused/, 'not listed');
        await page.setViewportSize({ width: 1400, height: 900 });
    });
}

async function addresses(url, page) {
    await check('old addresses open Explore', async () => {
        for (const rest of [ALL, '?query=cpu&range=all', '?from=now-90d&to=now', '?page=explore']) {
            await open(page, url, rest);
            same(await page.getAttribute('[data-goto=explore]', 'aria-current'), 'page', rest);
        }
        await page.click('[data-goto=services]');
        await there(page, '[data-page=services]', 'the tab');
    });
    await check('? explains flame graphs in six sentences', async () => {
        await open(page, url, ALL);
        await page.keyboard.press('?');
        await there(page, '[data-about]', 'no explanation');
        same(
            await page.$$eval('[data-about] p', (l) =>
                l.map((p) => p.textContent.split(/\.(?:\s|$)/).filter(Boolean).length).join(''),
            ),
            '111111',
            'sentences',
        );
        await page.keyboard.press('Escape');
        await gone(page, '[data-about]', 'the help does not close');
        await open(page, url, '?page=services');
        await page.keyboard.press('?');
        await there(page, '[data-about]', 'no explanation on the home page');
        await page.keyboard.press('Escape');
        await gone(page, '[data-about]', 'the help of the home page does not close');
    });
    await check('the legend names the colours', async () => {
        await open(page, url, `${ALL}&query=${encodeURIComponent('cpu{service.name="checkout"}')}`);
        await page.click('.color-legend summary');
        await textIs(page, '.color-legend', /package or module.*scoring/, 'no groups');
        await page.keyboard.press('c');
        await eventually(
            page,
            () => document.querySelector('.color-legend').dataset.legend !== 'package',
            null,
            'another scheme',
        );
        await page.click('.color-legend summary');
    });
    await check('390 px: nothing is wider than the screen', async () => {
        const phone = await newPage({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' }, /./),
            wide = () => phone.evaluate(() => document.documentElement.scrollWidth);
        await open(phone, url, '?page=services&range=all');
        await there(phone, row('checkout'), 'no row');
        same(await wide(), 390, 'the table');
        must(await phone.isVisible(`${row('checkout')} .rate`), 'the rate is not visible');
        await shot(phone, 'home-phone');
        const empty = await serve('empty-phone');
        await open(phone, empty);
        await there(phone, '[data-first]', 'no introduction');
        same(await wide(), 390, 'the introduction');
        await phone.close();
    });
}

/** Records the machine with the command of the introduction. Returns why that is not possible here; '' if it was done. */
function recordMachine(url) {
    const shell = spawn('sh', ['-c', 'for i in $(seq 3000); do sleep .01; done'], {
        env: { ...process.env, OTEL_SERVICE_NAME: 'recorded' },
        stdio: 'ignore',
    });
    try {
        execFileSync(kiln, ['record', '-q', '-a', '--off-cpu', '-d', '1500ms', '--to', url], { stdio: 'pipe', timeout: 60_000 });
        return '';
    } catch (e) {
        must(e.status === 3, `kiln record: ${e.status} ${e.stderr}`);
        return String(e.stderr).trim();
    } finally {
        shell.kill();
    }
}

async function recorded(url, page) {
    const why = recordMachine(url);
    if (why) return console.log(`# skip what kiln record sends: ${why}`);
    await check('what kiln record -a --off-cpu sends is shown', async () => {
        await open(page, url, '?page=services');
        await there(page, row('recorded'), 'no row');
        must((await page.$$('.services tbody tr')).length > 3, 'the other programs of the machine are missing');
        await open(page, url, `?query=${encodeURIComponent('off_cpu/nanoseconds{service.name="recorded"}')}&range=1h`);
        await totalIs(page, topOf(url, 'off_cpu', 'recorded', 'start=now-1h').total, 'waits');
        same(await page.getAttribute('.view', 'data-view'), 'flame', 'view');
        await page.focus('.flame');
        for (const k of ['ArrowUp', 'ArrowUp', 'Enter']) await page.keyboard.press(k);
        await there(page, '.crumbs', 'no box to zoom into');
        await shot(page, 'home-recorded');
    });
}

try {
    const url = await serve('home');
    if ((await fetch(url)).status === 501) skip('this kiln was built without the page of the server');
    const page = await newPage({}, new RegExp(`^(${url}/|data:|about:|blob:)`));
    await firstMinute(url, page);
    await table(url, page);
    await addresses(url, page);
    const machine = await serve('recorded');
    await recorded(machine, await newPage({}, new RegExp(`^(${machine}/|data:|about:|blob:)`)));
    console.log(`1..${result().n}`);
} finally {
    await browser.close();
    await endServers();
    rmSync(dir, { recursive: true, force: true });
}
process.exit(result().failed ? 1 : 0);
