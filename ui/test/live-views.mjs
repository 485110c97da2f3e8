// live-views.mjs - compares the views of the live page with the data that were sent: comparison, heat map, flame chart, threads,
// traces.
import {
    canvasBox,
    check,
    eventually,
    example,
    gone,
    inAddress,
    must,
    newPage,
    same,
    textIs,
    there,
    viewIs,
    WAIT_MS,
} from './kit.mjs';
import { ALL, CPU, between, inQuery, observed, open, overstate, sendLoop, settled, shot, sum, top, totalIs } from './live-kit.mjs';

const UNITS = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };
/** "1.37 s" as ns: three digits of it. */
const ns = (text) => {
    const m = /^([−+-]?[\d.]+)(?: (ns|µs|ms|s))?$/.exec(text.trim());
    must(m, `${text} is not a time`);
    return Number(m[1].replace('−', '-')) * (m[2] ? UNITS[m[2]] : 1);
};
const near = (got, want, what) =>
    must(Math.abs(got - want) <= Math.abs(want) * 0.006, `${what}: ${got}, expected ${want}`);

const query = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.search)));
const fragment = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
const at = (text) => Date.parse(text);
/** The time range in the address, Unix ms. */
const part = async (page) => (await fragment(page)).time.split('-').map((t) => Number(BigInt(t) / 1000n) / 1e3);

export async function drag(page, selector, from, to, key) {
    const b = await (await page.waitForSelector(selector)).boundingBox(),
        x = (k) => b.x + b.width * k;
    if (key) await page.keyboard.down(key);
    await page.mouse.move(x(from), b.y + b.height * 0.4);
    await page.mouse.down();
    await page.mouse.move(x(to), b.y + b.height * 0.5, { steps: 5 });
    await page.mouse.up();
    if (key) await page.keyboard.up(key);
}

/** Runs an action that makes the page load, and waits for the end of the load. */
async function loading(page, act) {
    const before = Number(await page.getAttribute('.live', 'data-loads'));
    await act();
    await page.waitForFunction((n) => Number(document.querySelector('.live:not(.busy)')?.dataset.loads) > n, before, {
        timeout: WAIT_MS,
    });
}

/** Sums by the function on top. */
function flat(list) {
    const out = new Map();
    for (const o of list) out.set(o.stack[0].name, (out.get(o.stack[0].name) ?? 0) + o.value);
    return out;
}

async function comparison(url, page, mine) {
    await check('diff: two parts of the chart, selected by dragging; all numbers match the sent data', async () => {
        await open(page, url, CPU);
        await drag(page, '.plot .u-over', 0.1, 0.35, 'Shift');
        await inQuery(page, 'against=kept');
        await there(page, '[data-base]', 'no other side');
        await drag(page, '.plot .u-over', 0.6, 0.9);
        await inQuery(page, 'from=');
        await settled(page);
        const q = await query(page),
            a = between(at(q.from), at(q.to)),
            b = between(at(q.base_from), at(q.base_to));
        must(a.length > 100 && b.length > 100, `${a.length} and ${b.length} observations`);
        await totalIs(page, sum(a), 'this side');
        await shot(page, 'diff');
        await page.selectOption('[data-do=compare]', 'absolute');
        await page.keyboard.press('2');
        await eventually(page, () => document.querySelectorAll('.table th').length === 5, null, 'no columns of change');
        const rows = await page.$$eval('.row', (list) =>
            list.map((r) => ({
                name: r.querySelector('.name').title.split('\n')[0],
                self: Number(r.cells[0].title),
                change: Number(r.cells[2].title),
            })),
        );
        const now = flat(a),
            before = flat(b);
        must(rows.filter((r) => r.change).length > 5, 'nothing changed');
        for (const r of rows) {
            same(r.self, now.get(r.name) ?? 0, `${r.name}, self`);
            same(r.change, (now.get(r.name) ?? 0) - (before.get(r.name) ?? 0), `${r.name}, change`);
        }
        await shot(page, 'diff-table');
        await page.click('[data-do=swap]');
        await totalIs(page, sum(b), 'the other side');
        await page.click('[data-do=alone]');
        await gone(page, '[data-do=compare]', 'the comparison does not end');
    });
    await check('diff: with the time before, with itself, with another selection', async () => {
        await open(
            page,
            url,
            `?from=2025-11-03T09:14:20Z&to=2025-11-03T09:14:25Z&query=%7Bservice.name%3D%22checkout%22%7D#view=table`,
        );
        await page.click('[data-do=compare-with]');
        await page.click('[data-against=before]');
        await textIs(page, '[data-base]', /the time before: 2025-11-03 09:14:15/, 'not the time before');
        await page.click('[data-do=alone]');
        await gone(page, '[data-base]', 'the other side stays');
        await page.click('[data-do=compare-with]');
        await page.click('[data-against=keep]');
        await inQuery(page, 'against=kept');
        await there(page, '.table.compared, .compared', 'no comparison');
        const changes = await page.$$eval('.row', (list) => list.map((r) => Number(r.cells[2].title)));
        must(changes.length > 3 && changes.every((c) => c === 0), `against itself: ${changes.join(' ')}`);
        await there(page, '[data-verdict="0"]', 'unchanged profiles are reported as changed');
        await page.click('[data-do=base-label]');
        await page.selectOption('.against [data-do=label-key]', 'thread.name');
        await page.fill('.against [data-do=label-value]', 'worker-0');
        await page.click('.against [data-do=label-add]');
        await inQuery(page, 'base={service.name="checkout", thread.name="worker-0"}');
        await settled(page);
        await there(page, '.legend [data-drag=base]', 'no second line');
        await page.reload();
        await there(page, '[data-base] [data-chip="thread.name"]', 'the link forgets the other side');
        await page.goto('about:blank');
        await open(page, url, `${CPU}&against=kept&base=${encodeURIComponent('{service.name="other"}')}`);
        await eventually(
            page,
            () => /other_loop/.test(document.querySelector('[data-verdict] [data-sign=down]')?.title ?? ''),
            null,
            'a vanished function is not listed',
        );
        await page.click('[data-verdict] [data-sign=down]');
        await textIs(page, '.details', /other_loop/, 'it is not selected');
        const empty = await newPage({}, mine);
        await open(empty, url, `${CPU}&against=7d`);
        await there(empty, '[data-no-base]', 'no message about the empty side');
        await empty.close();
    });
}

async function heat(url, page) {
    await check('heat map: cells match the sent data, down to parts of a second', async () => {
        await open(page, url, `${CPU}#view=heat`);
        await there(page, '.heat canvas', 'no heat map');
        const row = ns(/each row ([\d.]+ [^\s.]+)\./.exec(await page.innerText('.heat p'))[1]);
        must(row < 1e9, `rows of ${row} ns`);
        const b = await canvasBox(page);
        let used = 0;
        for (let i = 0; i < 40 && used < 6; i++) {
            await page.mouse.move(b.x + 80 + ((i * 97) % (b.width - 100)), b.y + 10 + ((i * 61) % (b.height - 50)));
            await there(page, '.tip', 'no tip');
            const [value, time] = await page.$eval('.tip', (t) => [
                t.querySelector('b').textContent,
                /[\d-]{10} [\d:.]+/.exec(t.textContent)[0],
            ]);
            const from = at(`${time.replace(' ', 'T')}Z`),
                want = sum(between(from, from + row / 1e6));
            near(ns(value), want, `the cell at ${time}`);
            used += want > 0 ? 1 : 0;
        }
        must(used >= 6, 'only empty cells');
        await totalIs(page, sum(observed), 'total');
    });
    await check('heat map: a part is selected, shown, linked to and refined', async () => {
        await loading(page, () => drag(page, '.heat canvas', 0.2, 0.4));
        await inAddress(page, 'time=');
        await textIs(page, '.total', /of all/, 'nothing was selected');
        const [from, to] = await part(page),
            want = sum(between(from, to));
        await totalIs(page, want, 'the part');
        await textIs(page, '.title', new RegExp(`(^|\\D)${between(from, to).length} observations$`), 'the header counts others');
        for (const place of ['.title', '[data-part]'])
            await textIs(page, place, new RegExp(new Date(from).toISOString().slice(11, 21)), `the time of the part in ${place}`);
        await shot(page, 'heat');
        await page.click('text=flame graph of the selection');
        await viewIs(page, 'flame');
        await totalIs(page, want, 'its flame graph');
        await page.reload();
        await totalIs(page, want, 'the link');
        await page.click('[data-tab=heat]');
        await page.click('[data-do=closer]');
        await inQuery(page, 'from=2025');
        await settled(page);
        const q = await query(page);
        must(Math.abs(at(q.from) - from) < 1 && Math.abs(at(q.to) - to) < 1, 'another time');
        await totalIs(page, want, 'closer');
        await there(page, '.heat canvas', 'no finer map');
        await page.goBack();
        await there(page, '.chips li', 'back');
        await settled(page);
        await loading(page, () => page.keyboard.press('Escape'));
        await totalIs(page, sum(observed), 'all of it');
    });
}

async function lanes(url, page, mine) {
    const threads = [...new Set(observed.map((o) => o.labels['thread.name']))];
    const compare = async (p) => {
        await there(p, '[data-lane]', 'no lanes');
        const got = await p.$$eval('[data-lane]', (l) =>
            l.map((e) => [e.dataset.lane, Number(e.dataset.n), Number(e.dataset.sum)]),
        );
        same(got.length, threads.length, 'threads');
        for (const [name, n, value] of got) {
            const of = observed.filter((o) => name.startsWith(o.labels['thread.name']));
            same(n, of.length, `${name}, observations`);
            same(value, sum(of), `${name}, sum`);
        }
    };
    await check('threads: as many as sent, with their sums; a time and a thread are selected', async () => {
        await open(page, url, `${CPU}#view=lanes`);
        await compare(page);
        await shot(page, 'lanes');
        await loading(page, () => drag(page, '.lanes canvas', 0.4, 0.6));
        await inAddress(page, 'time=');
        const [from, to] = await part(page);
        await totalIs(page, sum(between(from, to)), 'the part');
        await loading(page, () => page.click('text=whole time range'));
        await totalIs(page, sum(observed), 'all of it');
        const first = (await page.getAttribute('[data-lane]', 'data-lane')).replace(/ \(.*/, '');
        const b = await canvasBox(page);
        await page.mouse.click(b.x + 20, b.y + 35);
        await inAddress(page, `thread.name=${first}`);
        await eventually(page, () => document.querySelectorAll('[data-lane]').length === 1, null, 'other threads stay');
        await page.keyboard.press('1');
        await eventually(
            page,
            (p) => document.querySelector('.total').textContent.includes(p),
            'of all',
            'the thread is not filtered by',
        );
    });
    await check('threads: boxes are at their times', async () => {
        const q = encodeURIComponent('cpu/nanoseconds{service.name="checkout"}');
        await open(page, url, `?from=2025-11-03T09:13:35Z&to=2025-11-03T09:15:05Z&query=${q}#view=lanes`); // 09:14:05 to 09:14:35
        await there(page, '[data-lane]', 'no lanes');
        const b = await canvasBox(page),
            left = 170 / b.width,
            x = (seconds) => left + (seconds / 90) * (1 - left);
        await loading(page, () => drag(page, '.lanes canvas', x(29), x(61)));
        await inAddress(page, 'time=');
        await totalIs(page, sum(observed), 'the time of all of them');
        const thread = (await page.getAttribute('[data-lane]', 'data-lane')).replace(/ \(.*/, ''),
            of = observed.filter((o) => o.labels['thread.name'] === thread).sort((p, q) => p.time - q.time),
            one = of[Math.floor(of.length / 2)],
            now = await canvasBox(page); // there is a line above it now
        await page.mouse.move(
            now.x + now.width * x((one.time - at('2025-11-03T09:13:35Z')) / 1e3) + 1,
            now.y + 24 + 15 + 11, // axis, spans, half of a row
        );
        await there(page, '.tip', 'no tip');
        const [name, leaf, value, time] = await page.$eval('.tip', (t) => [...t.children].map((c) => c.textContent)),
            found = of.find((o) => Math.floor(o.time) === at(time.replace(' UTC', 'Z').replace(' ', 'T')));
        must(name.startsWith(thread) && found && Math.abs(found.time - one.time) < 300, `${name} at ${time}`);
        same(leaf, found.stack[0].name, 'the function on top');
        same(ns(value), found.value, 'the value');
    });
    await check('too many observations: threads in steps, and a flame chart that offers a part', async () => {
        const busy = await newPage({}, mine);
        await overstate(busy);
        await open(busy, url, `${CPU}#view=lanes`);
        await compare(busy);
        await textIs(busy, '.lanes p', /each box [\d.]+ m?s/, 'no steps');
        await shot(busy, 'lanes-steps');
        await busy.click('[data-tab=chart]');
        await there(busy, '[data-too-many]', 'no message about too many observations');
        await shot(busy, 'too-many');
        await busy.click('[data-do=newest]');
        await there(busy, '.chart canvas', 'the newest part is not offered');
        await busy.close();
    });
}

async function traces(url, page) {
    const trace = observed[0].trace_id,
        of = observed.filter((o) => o.trace_id === trace),
        spanId = of[0].span_id,
        shows = async (what) => {
            await there(page, '[data-page=trace] [data-table=spans] tbody tr', `${what}: no spans`);
            near(ns(await page.innerText('[data-type="cpu/nanoseconds"] b')), sum(of), what);
        };
    await check('a trace is found by its id, by a traceparent, by a link of another tool', async () => {
        await open(page, url);
        await page.fill('[data-do=trace]', trace);
        await page.keyboard.press('Enter');
        await shows('the id');
        await inQuery(page, `trace=${trace}`);
        await shot(page, 'trace');
        same(await page.$$eval('[data-span]', (l) => l.length), new Set(of.map((o) => o.span_id)).size, 'spans');
        for (const link of [`#trace=${trace}`, `?traceID=${trace}`, `#/?traceparent=00-${trace}-${spanId}-01`]) {
            await open(page, url, link);
            await shows(link);
        }
        await page.fill('[data-do=trace]', spanId.toUpperCase());
        await page.keyboard.press('Enter');
        await inQuery(page, `span=${spanId}`);
        await shows('the span');
        await page.click('[data-show=flame]');
        await totalIs(page, sum(of), 'its flame graph');
        await inQuery(page, 'span_id=');
        await page.goBack();
        await shows('back');
        await page.fill('[data-do=trace]', 'no id');
        await there(page, '[data-do=trace][aria-invalid=true]', 'an invalid id is not marked');
        await page.fill('[data-do=trace]', '0123456789abcdef0123456789abcdef');
        await page.keyboard.press('Enter');
        await textIs(page, '[data-nothing]', /No sample of this trace/, 'a trace that is not there');
        await open(page, url, `${ALL}&page=trace`);
        await there(page, '[data-trace]', 'no list without an id');
    });
    await check('flame chart: the boxes of a trace begin and end as sent', async () => {
        await open(page, url, `#trace=${trace}`);
        await page.click('[data-show=chart]');
        await there(page, '.chart canvas', 'no flame chart');
        await textIs(page, '.title', new RegExp(`${of.length} observations`), 'observations');
        const b = await canvasBox(page);
        await page.mouse.move(b.x + b.width * 0.5, b.y + 63); // the first level below axis and heading
        await there(page, '.tip', 'no tip');
        const [name, text] = await page.$eval('.tip', (t) => [
            t.querySelector('b').textContent,
            t.lastElementChild.textContent,
        ]);
        same(name, of[0].stack.at(-1).name, 'the frame at the root');
        const times = of.map((o) => o.time).sort((x, y) => x - y),
            m = /^(.*) from (.*)$/.exec(text);
        near(ns(m[1]), (times.at(-1) - times[0] + of[0].value / 1e6) * 1e6, 'length');
        same(ns(m[2]), 0, 'begin');
        await shot(page, 'chart');
    });
}

async function limits(url, mine) {
    await check('budgets and errors of the server are shown', async () => {
        const page = await newPage({}, mine);
        page.removeAllListeners('console'); // the browser logs the status 503
        const cut = async (route) => {
            const r = await route.fetch({ headers: { ...route.request().headers(), accept: 'application/json' } });
            await route.fulfill({
                response: r,
                json: { ...(await r.json()), partial: true, why: 'the 20 s are over' },
            });
        };
        for (const name of ['heat', 'lanes', 'counts', 'traces']) await page.route(`**/api/v1/${name}?*`, cut);
        await open(page, url, `${CPU}#view=heat`);
        await textIs(page, '.view .notice', /The heat map is incomplete: the 20 s are over/, 'heat');
        await textIs(page, 'body', /The chart is incomplete: the 20 s are over/, 'counts');
        await page.click('[data-tab=lanes]');
        await textIs(page, '.view .notice', /The list is incomplete: the 20 s are over/, 'lanes');
        await page.click('[data-goto=trace]');
        await textIs(page, '.page .notice', /The list is incomplete: the 20 s are over/, 'traces');
        await page.unroute('**/api/v1/heat?*');
        const reject = (route) =>
            route.fulfill({ status: 503, json: { error: 'the answer does not fit the memory budget' } });
        await page.route('**/api/v1/heat?*', reject);
        await open(page, url, `${CPU}#view=heat&q=x`);
        await textIs(page, '.view', /The heat map cannot be shown: the answer does not fit the memory budget/, 'heat, rejected');
        await page.route('**/api/v1/export?*', reject);
        await open(page, url, CPU);
        await textIs(
            page,
            '.empty',
            /The profile cannot be shown: the answer does not fit the memory budget/,
            'export, rejected',
        );
        await there(page, '.plot .u-over', 'no chart to select a part with');
        await page.close();
    });
}

export async function views(url, page, mine) {
    await sendLoop(url, 'other', 'other_loop', 400, Date.parse('2025-11-03T09:14:10Z'));
    await comparison(url, page, mine);
    await heat(url, page);
    await lanes(url, page, mine);
    await traces(url, page);
    await limits(url, mine);
    must(top(example).total === sum(observed), 'kiln top and kiln traces differ');
}
