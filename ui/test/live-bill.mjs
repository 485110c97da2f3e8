// live-bill.mjs - the page of a trace whose time is known: its bill, its spans, the list of traces.
import { canvasBox, check, eventually, gone, inAddress, must, same, textIs, there } from './kit.mjs';
import { ALL, inQuery, open, settled, shot, totalIs } from './live-kit.mjs';
import { drag } from './live-views.mjs';

export const TRACE = 'ab'.repeat(16);
const BEGIN = Date.parse('2025-11-03T09:20:00Z'), // ms
    SHORT = 'cd'.repeat(16),
    PARENT = '11'.repeat(8),
    CHILD = '22'.repeat(8);

/** [type, trace, span, thread, time or start, length, state, system call]; ms after BEGIN. Observations of CPU time end at their
 *  time. */
const STORY = [
    ['cpu', TRACE, PARENT, 'a', 110, 10],
    ['off_cpu', TRACE, PARENT, 'a', 110, 30, 'sleeping', 'futex'],
    ['off_cpu', TRACE, PARENT, 'a', 140, 7, 'unscheduled'],
    ['cpu', TRACE, CHILD, 'a', 160, 13],
    ['off_cpu', TRACE, CHILD, 'a', 160, 20, 'sleeping', 'read'],
    ['off_cpu', TRACE, PARENT, 'a', 185, 15, 'sleeping', 'clock_nanosleep'],
    ['cpu', TRACE, PARENT, 'a', 205, 5],
    ['cpu', TRACE, PARENT, 'b', 150, 25],
    ['cpu', SHORT, PARENT, 'a', 310, 10],
];

/** Two spans that are far apart. */
const SPREAD = 'ef'.repeat(16),
    APART = [
        ['cpu', SPREAD, PARENT, 'c', 10, 10],
        ['cpu', SPREAD, CHILD, 'd', 390.000137, 0.0122],
    ];

const ns = (ms) => String(Math.round(ms * 1e6));

/** Sends a story. */
export async function sendBilled(url, story = STORY, service = 'billed') {
    const strings = [''],
        links = [{}],
        attributes = [{}],
        at = (list, entry, key = JSON.stringify(entry)) => {
            const i = list.findIndex((e) => JSON.stringify(e) === key);
            return i >= 0 ? i : list.push(entry) - 1;
        },
        text = (t) => at(strings, t),
        attribute = (key, value) => at(attributes, { keyStrindex: text(key), value: { stringValue: value } });

    const profile = (type) => ({
        sampleType: { typeStrindex: text(type), unitStrindex: text('nanoseconds') },
        ...(type === 'cpu' && {
            periodType: { typeStrindex: text('cpu'), unitStrindex: text('nanoseconds') },
            period: '30000000',
        }),
        timeUnixNano: `${BEGIN}000000`,
        durationNano: '400000000',
        samples: story.filter((o) => o[0] === type).map(([, trace, span, thread, time, ms, state, call]) => ({
            stackIndex: 1,
            linkIndex: at(links, { traceId: trace, spanId: span }),
            attributeIndices: [
                attribute('thread.name', thread),
                ...(state ? [attribute('thread.state', state)] : []),
                ...(call ? [attribute('kiln.wait.syscall', call)] : []),
            ],
            values: [ns(ms)],
            timestampsUnixNano: [String(BigInt(BEGIN) * 1000000n + BigInt(ns(time)))],
        })),
    });
    const profiles = ['cpu', 'off_cpu'].map(profile);
    const body = {
        resourceProfiles: [
            {
                resource: { attributes: [{ key: 'service.name', value: { stringValue: service } }] },
                scopeProfiles: [{ profiles }],
            },
        ],
        dictionary: {
            mappingTable: [{}],
            locationTable: [{}, { lines: [{ functionIndex: 1 }] }],
            functionTable: [{}, { nameStrindex: text('handle') }],
            linkTable: links,
            attributeTable: attributes,
            stackTable: [{}, { locationIndices: [1] }],
            stringTable: strings,
        },
    };
    const r = await fetch(`${url}/v1development/profiles`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
    });
    must(r.ok, `the trace was rejected: ${r.status} ${await r.text()}`);
}

const ms = (n) => n * 1e6;
const parts = (page) =>
    page.$$eval('[data-table=bill] [data-part]', (l) =>
        Object.fromEntries(
            l.map((r) => [[r.dataset.part, r.dataset.syscall].filter(Boolean).join(' '), Number(r.dataset.sum)]),
        ),
    );

async function isBill(page, want, what) {
    const whole = Object.values(want).reduce((a, b) => a + b, 0);
    await eventually(
        page,
        (w) => document.querySelector('[data-whole]')?.dataset.whole === w,
        String(ms(whole)),
        `${what}: the whole`,
    );
    const got = await parts(page);
    same(
        JSON.stringify(got),
        JSON.stringify(Object.fromEntries(Object.entries(want).map(([k, v]) => [k, ms(v)]))),
        what,
    );
    const shares = await page.$$eval('[data-table=bill] [data-part] td:nth-child(3)', (l) =>
        l.map((c) => parseFloat(c.textContent)),
    );
    const sum = shares.reduce((a, b) => a + b, 0);
    must(Math.abs(sum - 100) < 0.1, `${what}: the shares add up to ${sum}`);
    const widths = await page.$$eval('.bill .data > .bill-bar > i', (l) =>
            l.reduce((n, i) => n + i.getBoundingClientRect().width, 0),
        ),
        bar = await page.$eval('.bill .data > .bill-bar', (b) => b.getBoundingClientRect().width);
    must(Math.abs(widths - bar) < 1.5, `${what}: the bar is ${widths} of ${bar} pixels`);
}

export async function bill(url, page) {
    await sendBilled(url);
    await sendBilled(url, APART, 'apart');
    await check('the bill of a trace, of a span, and the flame graph of a part', async () => {
        await open(page, url, `#trace=${TRACE}`);
        await isBill(
            page,
            {
                on_cpu: 53,
                'blocked futex': 30,
                'blocked read': 20,
                'blocked clock_nanosleep': 15,
                runnable: 7,
                unaccounted: 5,
            },
            'the trace',
        );
        await shot(page, 'bill');
        await textIs(page, '.bill', /adds up the spans of all threads, so it is longer than the trace/, 'longer than the trace');
        same(await page.innerText('[data-fact=duration]'), '105 ms', 'the duration of the trace');
        const overs = await page.$$eval('[data-table=spans] tbody tr', (l) => l.map((r) => r.cells[6].textContent));
        must(overs.length > 3 && overs.every(Boolean), `a span without a duration: ${overs}`);
        same(
            await page.$$eval('[data-billed]', (l) => l.map((r) => r.dataset.wall).join()),
            '105000000,25000000,33000000',
            'spans',
        );
        await page.click(`[data-billed="${PARENT}"] button`);
        await inQuery(page, `span=${PARENT}`);
        await isBill(
            page,
            { on_cpu: 40, 'blocked futex': 30, 'blocked clock_nanosleep': 15, runnable: 7, unaccounted: 5 },
            'a span on two threads',
        );
        await page.click('[data-id=trace]');
        await page.click(`[data-billed="${CHILD}"] button`);
        await isBill(page, { on_cpu: 13, 'blocked read': 20 }, 'the child');
        await page.click('[data-part=blocked] button');
        await totalIs(page, ms(20), 'the flame graph of a part');
        await inQuery(page, 'kiln.wait.syscall="read"');
        await page.goBack();
        await page.click('[data-part=on_cpu] button');
        await totalIs(page, ms(13), 'the flame graph on the CPU');
        await open(page, url, `#trace=${SHORT}`);
        await isBill(page, { on_cpu: 10 }, 'another trace');
        await textIs(page, '[data-type="cpu/nanoseconds"]', /cpu, 1 sample(?!s)/, 'one sample');
        same(await page.innerText('[data-fact=duration]'), '10 ms', 'the duration of one observation');
        same(await page.$eval('[data-table=spans] tbody tr', (r) => r.cells[6].textContent), '10 ms', 'over one observation');
        const start = /from (.*)$/.exec(await page.innerText('[data-fact=duration] + span'))[1];
        await open(page, url, `${ALL}&page=trace&query=${encodeURIComponent('{service.name="billed"}')}`);
        await textIs(page, `[data-trace="${SHORT}"]`, new RegExp(start.replace('.', '\\.')), 'the list has another start');
        await open(page, url, `#trace=${SPREAD}`);
        await isBill(page, { on_cpu: 10.0122 }, 'a trace with a gap');
        await textIs(page, `[data-table=spans] [data-span="${CHILD}"]`, /12\.2 µs.*12\.2 µs/, 'over 12.2 µs, in full precision');
        await textIs(page, '.bill', /adds up the spans of all threads\. /, 'shorter than the trace');
    });
    await check('traces: grouped, by duration, time and samples, with a minimum', async () => {
        await open(page, url, `${ALL}&page=trace&query=${encodeURIComponent('{service.name="billed"}')}`);
        const list = () =>
            page.$$eval('[data-trace]', (l) =>
                l.map((r) => `${r.dataset.trace.slice(0, 2)} ${r.dataset.duration / 1e6}`).join(),
            );
        await there(page, '[data-trace]', 'no traces');
        same(await list(), 'ab 105,cd 10', 'the longest first');
        await page.click('[data-order=time]');
        await eventually(
            page,
            () => document.querySelector('[data-trace]')?.dataset.trace.startsWith('cd'),
            null,
            'the latest is not first',
        );
        await inQuery(page, 'order=time');
        await page.selectOption('[data-do=least]', '100ms');
        await eventually(
            page,
            () => document.querySelectorAll('[data-trace]').length === 1,
            null,
            'shorter traces are listed',
        );
        same(await list(), 'ab 105', 'with a minimum');
        await page.reload();
        await there(page, '[data-trace]', 'no traces after a reload');
        same(await list(), 'ab 105', 'after a reload');
        await page.selectOption('[data-do=least]', '1s');
        await textIs(page, '[data-nothing]', /No trace in this time range is as long/, 'nothing');
        await page.goBack();
        await there(page, '[data-trace]', 'no traces after back');
        await shot(page, 'traces');
        await page.click('[data-trace] button');
        await inQuery(page, `trace=${TRACE}`);
        await page.click('[data-do=all-traces]');
        await there(page, '[data-trace]', 'no way back to the list');
    });
    await overLanes(url, page);
    await brushes(url, page);
    await listBrushes(url, page);
}

const WHOLE = 400, // ms
    iso = (t) => new Date(BEGIN + t).toISOString(),
    range = (type) =>
        `?query=${encodeURIComponent(`${type}/nanoseconds{service.name="billed"}`)}&from=${iso(0)}&to=${iso(WHOLE)}`;

async function overLanes(url, page) {
    await check('spans are drawn above the threads, and select their samples', async () => {
        await open(page, url, `${range('cpu')}#view=lanes`);
        await there(page, '[data-spans="4"]', 'spans of two threads');
        await open(page, url, `${range('off_cpu')}#view=lanes`);
        await there(page, '[data-spans="3"]', 'spans of the thread that waits');
        const b = await canvasBox(page),
            to = (t) => page.mouse.move(b.x + 170 + (t / WHOLE) * (b.width - 170), b.y + 24 + 8);
        for (const [t, span, length] of [
            [120, PARENT, '105 ms'],
            [165, CHILD, '33 ms'],
            [195, PARENT, '105 ms'],
        ]) {
            await to(t);
            await textIs(page, '.tip', new RegExp(`${span}.*${length}`, 's'), `the span at ${t} ms`);
        }
        await shot(page, 'spans');
        await to(165);
        await page.mouse.down();
        await page.mouse.up();
        await inQuery(page, `span_id="${CHILD}"`);
        await totalIs(page, ms(20), 'the child');
        await page.goBack();
        await totalIs(page, ms(72), 'back');
        await page.focus('.lane-spans summary');
        await page.keyboard.press('Enter');
        await page.focus(`[data-lane-span="${PARENT}"] button`);
        await page.keyboard.press('Enter');
        await inQuery(page, `span_id="${PARENT}"`);
        await totalIs(page, ms(52), 'the parent, by keyboard');
    });
}

/** [from, to] of the selected part in ms after BEGIN. */
const chosen = (page) =>
    page.evaluate(
        (begin) =>
            new URLSearchParams(location.hash.slice(1))
                .get('time')
                .split('-')
                .map((t) => Number(BigInt(t) - BigInt(begin) * 1000000n) / 1e6),
        BEGIN,
    );

/** The mark on the chart covers the selected part. */
async function marked(page, what) {
    await there(page, '.u-over .chart-mark', `${what}: no mark on the chart`);
    const [from, to] = await chosen(page);
    const want = [from / WHOLE, to / WHOLE].map((x) => Math.min(Math.max(x, 0), 1));
    await eventually(
        page,
        (places) => {
            const m = document.querySelector('.u-over .chart-mark'),
                a = m.getBoundingClientRect(),
                b = m.parentElement.getBoundingClientRect();
            return [a.left, a.right].every((x, i) => Math.abs((x - b.left) / b.width - places[i]) < 0.01);
        },
        want,
        `${what}: the mark is not at ${want}`,
    );
}

async function brushes(url, page) {
    const select = async (view, selector, from, to, key) => {
        await page.click(`[data-tab=${view}]`);
        await there(page, selector, `${selector} is not there`);
        const before = await page.evaluate(() => location.hash);
        await drag(page, selector, from, to, key);
        await eventually(
            page,
            (h) => location.hash !== h && location.hash.includes('time='),
            before,
            `${selector}: nothing selected`,
        );
        await settled(page);
    };
    await check('a part that is selected in a view is marked on the chart and followed by the others', async () => {
        await open(page, url, range('cpu'));
        await select('lanes', '.lanes canvas', 0.3, 0.6);
        await marked(page, 'threads');
        await there(page, '.lanes .mark', 'no mark in the threads');
        const [from, to] = await chosen(page),
            inside = STORY.filter(([type, , , , t]) => type === 'cpu' && t >= from && t < to),
            want = ms(inside.reduce((n, o) => n + o[5], 0));
        must(want > 0 && inside.length < 5, 'a part with some samples');
        await totalIs(page, want, 'the total');
        await page.click('[data-tab=heat]');
        await textIs(page, '.heat', /flame graph of the selection/, 'the heat map does not show the part');
        await page.click('[data-tab=flame]');
        await totalIs(page, want, 'the flame graph');
        await marked(page, 'beside the flame graph');
        await select('heat', '.heat canvas', 0.5, 0.7);
        await marked(page, 'heat map');
        await page.keyboard.press('Escape');
        await gone(page, '.chart-mark', 'the mark stays');
        await settled(page);
        await select('chart', '.chart canvas', 0.2, 0.5, 'Shift');
        await marked(page, 'flame chart');
        await page.reload();
        await inAddress(page, 'time=');
        await marked(page, 'after a reload');
        await shot(page, 'mark');
    });
}

/** The lists of traces and profiles have a chart; a part that is selected there is the time range of all pages. */
async function listBrushes(url, page) {
    const query = encodeURIComponent('{service.name="billed"}');
    for (const [what, rest, row] of [
        ['traces', 'page=trace', '[data-trace]'],
        ['profiles', 'page=profiles', '[data-profile]'],
    ])
        await check(`${what}: a part that is selected on the chart is the time range of every page`, async () => {
            await open(page, url, `?${rest}&query=${query}&from=${iso(0)}&to=${iso(WHOLE)}`);
            await there(page, row, 'no list');
            await there(page, '.list-chart .u-over', 'no chart');
            await shot(page, `brush-${what}`);
            await drag(page, '.list-chart .u-over', 0.7, 0.95);
            await eventually(
                page,
                (whole) => new URLSearchParams(location.search).get('from') !== whole,
                iso(0),
                'the range does not follow',
            );
            const [from, to] = await page.evaluate(() => ['from', 'to'].map((k) => Date.parse(new URLSearchParams(location.search).get(k))));
            must(Math.abs(from - BEGIN - 280) < 4 && Math.abs(to - BEGIN - 380) < 4, `from ${from - BEGIN} to ${to - BEGIN} ms`);
            await settled(page);
            if (what === 'traces')
                await eventually(
                    page,
                    (t) => [...document.querySelectorAll('[data-trace]')].map((r) => r.dataset.trace).join() === t,
                    SHORT,
                    'the list does not follow',
                );
            await page.click('[data-goto=explore]');
            await totalIs(page, ms(10), 'explore does not follow');
            await page.click('[data-tab=heat]');
            await textIs(page, '.total', /10 ms/, 'the heat map does not follow');
            await page.goBack();
            await page.goBack();
            await page.goBack();
            await there(page, '.list-chart', 'back does not return to the list');
            await eventually(page, (w) => new URLSearchParams(location.search).get('from') === w, iso(0), 'back does not undo it');
        });
}
