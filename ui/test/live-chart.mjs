// live-chart.mjs - the chart over time: its numbers are those of `kiln series`; levels hold; the live edge; keys; stacking by a label.
// Also threads over long times, and the colours of a comparison.
import { check, eventually, example, must, newPage, run, same, textIs, there, gone } from './kit.mjs';
import { between, inQuery, observed, open, overstate, send, sendLoop, settled, shot, sum, totalIs } from './live-kit.mjs';

const RANGE = 'from=2025-11-03T09:13:00Z&to=2025-11-03T09:17:00Z', // steps of a second
    query = (q) => `query=${encodeURIComponent(q)}`,
    CHECKOUT = query('cpu/nanoseconds{service.name="checkout"}');
const spoken = (page) => page.$eval('[data-live=series]', (e) => e.textContent);
const near = (got, want, what) =>
    must(Math.abs(got - want) <= Math.abs(want) * 0.006 + 1e-9, `${what}: ${got}, expected ${want}`);

/** Moves the cursor with keys and returns the text of the live region. */
async function press(page, ...keys) {
    const before = await spoken(page);
    await page.focus('.plot');
    for (const k of keys) await page.keyboard.press(k);
    await eventually(page, (t) => document.querySelector('[data-live=series]').textContent !== t, before, `${keys}: nothing is announced`);
    return spoken(page);
}

const valueOf = (text, name = '') => {
    const m = new RegExp(`(?:^|[ :])${name}${name && ' '}([\\d.]+) (m|k)?(?:cores?|threads?)`).exec(text.slice(20));
    return m ? Number(m[1]) * (m[2] === 'k' ? 1000 : 1) : /[: ]0[.,]/.test(text.slice(19)) ? 0 : NaN;
};

async function rates(url, page) {
    await check('chart: rates are those of kiln series, at any zoom', async () => {
        const series = JSON.parse(run('series', '--json', '--step', '1s', example)).steps;
        await open(page, url, `?${RANGE}&${CHECKOUT}`);
        await page.focus('.plot');
        await page.keyboard.press('Home');
        const seen = new Map();
        for (let i = 0; i < 100; i++) {
            const text = await press(page, 'ArrowRight');
            seen.set(text.slice(0, 19), valueOf(text));
        }
        must(series.length > 20, 'no series');
        for (const s of series) {
            const at = new Date(Math.floor(s.time_unix_nano / 1e6)).toISOString().slice(0, 19).replace('T', ' ');
            near(seen.get(at), s.value / 1e9, `cores at ${at}`);
        }
        // With steps of 30 s the values are the means of the same rates: the axis has not changed.
        await open(page, url, `?from=2025-11-03T08:14:00Z&to=2025-11-03T09:34:00Z&${CHECKOUT}`);
        await page.focus('.plot');
        await page.keyboard.press('End');
        let text;
        do text = await press(page, 'ArrowLeft');
        while (!text.startsWith('2025-11-03 09:14:00'));
        const from = Date.parse('2025-11-03T09:14:00Z');
        near(valueOf(text), sum(between(from, from + 30e3)) / 30e9, 'mean of 30 s');
    });
    await check('chart: keys select a part, Enter shows it, Escape leaves it', async () => {
        await open(page, url, `?${RANGE}&${CHECKOUT}`);
        await page.focus('.plot');
        await page.keyboard.press('Home');
        for (let i = 0; i < 7; i++) await page.keyboard.press('PageDown');
        const text = await press(page, 'Shift+ArrowRight', 'Shift+ArrowRight', 'Shift+PageDown');
        const m = /Selected from (\S+ \S+) to (\S+ \S+)\./.exec(text);
        same(`${m?.[1]} ${m?.[2]}`, '2025-11-03 09:14:10 2025-11-03 09:14:23', 'the selected part');
        await there(page, '.tip .series-values', 'no values beside the cursor');
        await shot(page, 'chart-keys');
        await page.keyboard.press('Escape');
        await gone(page, '.tip', 'Escape leaves the tip');
        await page.keyboard.press('Home');
        for (let i = 0; i < 7; i++) await page.keyboard.press('PageDown');
        await press(page, 'Shift+ArrowRight', 'Shift+ArrowRight', 'Shift+PageDown');
        await page.keyboard.press('Enter');
        await inQuery(page, 'from=2025-11-03T09:14:10Z&to=2025-11-03T09:14:23Z');
        await settled(page);
        await totalIs(page, sum(between(Date.parse('2025-11-03T09:14:10Z'), Date.parse('2025-11-03T09:14:23Z'))), 'the part');
    });
    await check('chart: the part under a drag is marked, and no tip covers it', async () => {
        await open(page, url, `?${RANGE}&${CHECKOUT}`);
        const b = await (await page.waitForSelector('.plot .u-over')).boundingBox(),
            x = (share) => b.x + b.width * share,
            y = b.y + b.height / 2;
        await page.mouse.move(x(0.25), y);
        await page.mouse.down();
        for (const share of [0.3, 0.4, 0.5]) {
            await page.mouse.move(x(share), y);
            await gone(page, '.tip', 'a tip covers the part');
            const mark = await (await page.$('.plot .u-select')).boundingBox();
            near(mark?.width ?? 0, b.width * (share - 0.25), `width of the mark at ${share}`);
            near(mark.x, x(0.25), `left edge of the mark at ${share}`);
        }
        await shot(page, 'chart-drag');
        await page.mouse.up();
        await eventually(
            page,
            () => {
                const q = new URLSearchParams(location.search),
                    off = (key, at) => Math.abs(Date.parse(q.get(key)) - Date.parse(`2025-11-03T${at}Z`));
                return off('from', '09:14:00') <= 1000 && off('to', '09:15:00') <= 1000;
            },
            null,
            'the part is not selected',
        );
        await settled(page);
    });
    await check('chart: stacked by a label; the legend filters and excludes; the sum is that of the rows', async () => {
        await open(page, url, `?${RANGE}&${CHECKOUT}`);
        await page.selectOption('[data-do=by]', 'thread.name');
        await inQuery(page, 'by=thread.name');
        await there(page, '[data-legend] [data-row="worker-1"]', 'no legend of threads');
        const text = await press(page, 'Home', ...Array(7).fill('PageDown')),
            at = Date.parse(`${text.slice(0, 19).replace(' ', 'T')}Z`),
            of = between(at, at + 1000);
        for (const name of ['worker-0', 'worker-1', 'worker-2', 'worker-3'])
            near(valueOf(text, name), sum(of.filter((o) => o.labels['thread.name'] === name)) / 1e9, name);
        near(valueOf(text, 'sum'), sum(of) / 1e9, 'sum');
        await shot(page, 'chart-stacked');
        await page.click('[data-legend] [data-row="worker-1"]');
        await inQuery(page, 'thread.name="worker-1"');
        await totalIs(page, sum(observed.filter((o) => o.labels['thread.name'] === 'worker-1')), 'only worker-1');
        await page.goBack();
        await settled(page);
        await page.click('[data-legend] [data-row="worker-1"]', { modifiers: ['Alt'] });
        await inQuery(page, 'thread.name!="worker-1"');
        await totalIs(page, sum(observed.filter((o) => o.labels['thread.name'] !== 'worker-1')), 'all but worker-1');
    });
}

async function levels(url, page) {
    await check('chart: levels hold until they are reported again, and end with a gap', async () => {
        const from = Date.parse('2025-11-04T10:00:00Z');
        for (const [service, at, value] of [
            ['heap-a', 5, 1],
            ['heap-a', 25, 2],
            ['heap-b', 15, 10],
            ['heap-b', 35, 20],
            ['heap-b', 55, 30],
            ['heap-b', 75, 40],
            ['heap-b', 95, 50],
            ['heap-b', 115, 60],
        ])
            await send(url, { service, type: 'inuse_space', unit: 'bytes', from: from + at * 1e3, samples: [{ value: value * 2 ** 20 }] });
        await open(page, url, `?from=2025-11-04T10:00:00Z&to=2025-11-04T10:02:00Z&${query('inuse_space/bytes{service.name=~"heap-.*"}')}`);
        const at = async (t) => {
            await page.focus('.plot');
            await page.keyboard.press('End');
            let text;
            do text = await press(page, 'ArrowLeft');
            while (text.slice(11, 19) > t);
            return text;
        };
        must(/heap-b 30 MiB, heap-a 2 MiB, sum 32 MiB/.test(await at('10:01:10')), `held: ${await spoken(page)}`);
        must(/heap-b 20 MiB, heap-a 2 MiB, sum 22 MiB/.test(await at('10:00:50')), `held: ${await spoken(page)}`);
        must(/heap-b 40 MiB, heap-a no data, sum 40 MiB/.test(await at('10:01:30')), `ended: ${await spoken(page)}`);
        must(/heap-b no data, heap-a no data, sum no data/.test(await at('10:00:03')), `before: ${await spoken(page)}`);
        await shot(page, 'chart-levels');
        await open(page, url, `?from=2025-11-04T10:01:10Z&to=2025-11-04T10:01:20Z&${query('inuse_space/bytes{service.name=~"heap-.*"}')}`);
        const text = await press(page, 'Home');
        must(/heap-b 30 MiB, heap-a 2 MiB, sum 32 MiB/.test(text), `a part that begins between reports: ${text}`);
    });
}

async function edge(url, page) {
    await check('chart: the live edge holds and is marked', async () => {
        const now = Date.now();
        for (let i = 8; i > 0; i--)
            await send(url, {
                service: 'edge',
                from: now - i * 10e3 - 5e3,
                duration: 10e3,
                samples: Array.from({ length: 100 }, (_, k) => ({ value: 1e8, time: now - i * 10e3 - 5e3 + k * 100 })),
            });
        await open(page, url, `?from=now-2m&to=now&${query('cpu/nanoseconds{service.name="edge"}')}`);
        const at = Number(await page.getAttribute('.plot', 'data-edge'));
        must(Math.abs(at - (now - 5e3)) < 1, `the edge is ${(now - at) / 1e3} s ago`);
        await press(page, 'End');
        await textIs(page, '.tip', /not complete yet/, 'the last step is not marked');
        const text = await spoken(page);
        must(Math.abs(valueOf(text) - 1) < 0.5, `not the last rate: ${text}`); // ten observations a second
        await shot(page, 'chart-edge');
    });
}

/** The part of a thread's row that has a colour other than that of the empty row, from the canvas. */
const painted = (page, lane) =>
    page.evaluate((k) => {
        const c = document.querySelector('.lanes canvas'),
            dpr = c.width / c.getBoundingClientRect().width,
            left = document.querySelector('.lanes').getBoundingClientRect().width < 600 ? 96 : 170,
            width = c.width - Math.ceil((left + 4) * dpr),
            height = 16 * dpr,
            own = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
        own.drawImage(c, Math.ceil((left + 2) * dpr), (24 + 22 * k + 3) * dpr, width, height, 0, 0, width, height);
        const { data } = own.getImageData(0, 0, width, height);
        const shades = new Map();
        for (let i = 0; i < data.length; i += 4) {
            const key = data.slice(i, i + 3).join();
            shades.set(key, (shades.get(key) ?? 0) + 1);
        }
        return [...shades.values()].map((n) => n / (width * height)).sort((a, b) => b - a);
    }, lane);

async function threads(url, mine) {
    await check('threads over long times: short observations are shares of columns', async () => {
        const page = await newPage({}, mine),
            from = Date.parse('2025-11-05T11:00:00Z'),
            samples = [];
        for (let i = 0; i < 6000; i++) // 30 % running, 70 % sleeping, every 10 ms
            samples.push({
                value: 10e6,
                time: from + i * 10,
                labels: { 'thread.name': 'mixed', 'thread.state': i % 10 < 3 ? 'running' : 'sleeping' },
            });
        for (let i = 0; i < 60; i++) // 1 % of the time
            samples.push({ value: 10e6, time: from + i * 1000, labels: { 'thread.name': 'rare', 'thread.state': 'running' } });
        await send(url, { service: 'shares', type: 'wall', from, duration: 60e3, samples });
        await open(page, url, `?from=2025-11-05T11:00:00Z&to=2025-11-05T11:01:00Z&${query('wall/nanoseconds{service.name="shares"}')}#view=lanes`);
        await there(page, '[data-lane=rare]', 'no lanes');
        await textIs(page, '.lanes p', /heights are shares of the time/, 'no explanation');
        const [sleeping, running] = await painted(page, 0);
        must(Math.abs(sleeping - 0.7) < 0.1 && Math.abs(running - 0.3) < 0.1, `mixed: ${sleeping} sleeping, ${running} running`);
        const [empty] = await painted(page, 1);
        must(empty > 0.9, `rare: ${empty} of the row is empty`);
        await shot(page, 'lanes-shares');
        await page.close();
    });
    await check('threads over long times: shares of states, as sent', async () => {
        const page = await newPage({}, mine),
            from = Date.parse('2025-11-05T10:00:00Z');
        await overstate(page);
        const samples = Array.from({ length: 300 }, (_, i) => ({
            value: 10e6,
            time: from + i * 100,
            labels: { 'thread.name': `t${i % 3}`, 'thread.state': i % 3 && i % 4 === 0 ? 'running' : 'sleeping' },
        }));
        await send(url, { service: 'states', type: 'wall', from, duration: 30e3, samples });
        await open(page, url, `?from=2025-11-05T10:00:00Z&to=2025-11-05T10:00:30Z&${query('wall/nanoseconds{service.name="states"}')}#view=lanes`);
        await there(page, '[data-lane=t1] [data-state]', 'no states');
        for (const t of ['t0', 't1', 't2'])
            for (const state of ['running', 'sleeping']) {
                const want = samples.filter((s) => s.labels['thread.name'] === t && s.labels['thread.state'] === state).length * 10e6;
                const got = await page.$eval(`[data-lane=${t}]`, (l, s) => Number(l.querySelector(`[data-state=${s}]`)?.dataset.sum ?? 0), state);
                same(got, want, `${t}, ${state}`);
            }
        same(await page.getAttribute('.lanes .legend', 'data-groups'), '2', 'groups in the legend');
        await textIs(page, '.lanes p', /share of each thread state/, 'no explanation');
        await shot(page, 'lanes-states');
        await page.close();
    });
}

async function colours(url, page) {
    await check('comparison: a legend; changes within the noise are grey', async () => {
        await open(page, url, `?from=2025-11-03T09:14:20Z&to=2025-11-03T09:14:35Z&against=before&${CHECKOUT}`);
        await page.selectOption('[data-do=color]', 'diff');
        await there(page, '[data-legend=diff]', 'no legend');
        same(await page.$$eval('[data-legend=diff] [data-step]', (l) => l.length), 9, 'steps');
        await textIs(page, '[data-legend=diff]', /grey: within the noise of sampling/, 'noise');
        await shot(page, 'diff-legend');
    });
}

const BEFORE = Date.parse('2025-11-06T10:00:00Z'),
    AFTER = BEFORE + 60e3;

/** [name, observations before, after, the colours that are right: steps from -4 (shrank) to 4 (grew)]. Counts vary by their square
 *  root: 100 ± 10 and 110 ± 10 do not differ, 100 and 300 do. */
const CHANGES = [
    ['grew', 100, 300, (s) => s > 0],
    ['shrank', 300, 100, (s) => s < 0],
    ['steady', 100, 110, (s) => s === 0],
];

/** The colours of the boxes on the first level of the flame graph, by name. */
async function boxColours(page) {
    const row = Number(await page.getAttribute('.flame', 'data-row')),
        b = await (await page.$('.flame canvas')).boundingBox(),
        flame = await (await page.$('.flame')).boundingBox(),
        y = Math.min(b.y + b.height, flame.y + flame.height) - 1.5 * row,
        xs = Array.from({ length: 40 }, (_, i) => ((i + 0.5) / 40) * b.width),
        out = new Map();
    await page.mouse.move(5, 5); // the box below the pointer has another colour
    await gone(page, '.tip', 'the tip stays');
    // 4 px below the upper edge of the box, above its text
    const colours = await page.$eval(
        '.flame canvas',
        (c, [xs, y]) => {
            const k = c.width / c.clientWidth,
                line = c.getContext('2d').getImageData(0, y * k, c.width, 1).data;
            return xs.map((x) => `rgb(${[...line.slice(4 * Math.floor(x * k))].slice(0, 3).join(', ')})`);
        },
        [xs, y - b.y - row / 2 + 4],
    );
    for (const [i, x] of xs.entries()) {
        await page.mouse.move(b.x + x, y);
        await there(page, '.tip b', 'no tip');
        const name = await page.innerText('.tip b');
        out.set(name, (out.get(name) ?? new Set()).add(colours[i]));
    }
    return out;
}

async function noise(url, page) {
    await check('comparison: frames that changed by less than the noise of sampling are grey, as in the legend', async () => {
        for (const [name, before, after] of CHANGES) {
            await sendLoop(url, 'noise', name, before, BEFORE);
            await sendLoop(url, 'noise', name, after, AFTER);
        }
        const iso = (t) => new Date(t).toISOString(),
            range = `from=${iso(AFTER)}&to=${iso(AFTER + 10e3)}&base_from=${iso(BEFORE)}&base_to=${iso(BEFORE + 10e3)}`,
            of = query('cpu/nanoseconds{service.name="noise"}');
        await open(page, url, `?${range}&against=kept&base=${encodeURIComponent('{service.name="noise"}')}&${of}`);
        await page.selectOption('[data-do=compare]', 'absolute');
        await page.selectOption('[data-do=color]', 'diff');
        await textIs(page, '[data-legend=diff]', /shrank.*grew.*grey: within the noise of sampling/, 'no legend');
        const legend = new Map(
                await page.$$eval('[data-legend=diff] [data-step]', (l) =>
                    l.map((e) => [getComputedStyle(e).backgroundColor, Number(e.dataset.step)]),
                ),
            ),
            shown = await boxColours(page);
        await shot(page, 'diff-noise');
        same([...shown.keys()].sort().join(), 'grew,shrank,steady', 'boxes');
        for (const [name, , , right] of CHANGES) {
            const steps = [...shown.get(name)].map((c) => legend.get(c));
            must(steps.length === 1 && right(steps[0]), `${name}: step ${steps}, colours ${[...shown.get(name)]}`);
        }
        for (const [view, row, bars] of [
            ['table', '.row', 2],
            ['tree', '.call', 1],
        ]) {
            await page.click(`[data-tab=${view}]`);
            await there(page, row, `no ${view}`);
            await there(page, '[data-legend=diff]', `no legend of the ${view}`);
            const found = await page.$$eval(row, (list) =>
                list.map((r) => ({
                    name: /grew|shrank|steady/.exec(r.querySelector('.name').textContent)[0],
                    colours: [...r.querySelectorAll('[data-change] .bar, .swatch')].map((e) => getComputedStyle(e).backgroundColor),
                    quiet: [...r.querySelectorAll('[data-change] .value')].every((e) => e.classList.contains('dim')),
                })),
            );
            same(found.map((r) => r.name).sort().join(), 'grew,shrank,steady', `rows of the ${view}`);
            for (const [name, , , right] of CHANGES) {
                const { colours, quiet } = found.find((r) => r.name === name),
                    steps = colours.map((c) => legend.get(c));
                must(steps.length === bars + 1 && steps.every(right), `${view}, ${name}: steps ${steps}, colours ${colours}`);
                same(quiet, right(0), `${view}, ${name}: the numbers are grey`);
            }
            await shot(page, `diff-noise-${view}`);
        }
    });
}

export async function chart(url, page, mine) {
    await rates(url, page);
    await levels(url, page);
    await edge(url, page);
    await threads(url, mine);
    await colours(url, page);
    await noise(url, page);
}
