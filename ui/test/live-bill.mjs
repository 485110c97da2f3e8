// live-bill.mjs - the page of a trace whose time is known: its bill, its spans, the list of traces.
import { check, eventually, must, same, textIs, there } from './kit.mjs';
import { ALL, inQuery, open, shot, totalIs } from './live-kit.mjs';

const BEGIN = Date.parse('2025-11-03T09:20:00Z'), // ms
    TRACE = 'ab'.repeat(16),
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

async function send(url) {
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
            period: '1000000',
        }),
        timeUnixNano: `${BEGIN}000000`,
        durationNano: '400000000',
        samples: STORY.filter((o) => o[0] === type).map(([, trace, span, thread, time, ms, state, call]) => ({
            stackIndex: 1,
            linkIndex: at(links, { traceId: trace, spanId: span }),
            attributeIndices: [
                attribute('thread.name', thread),
                ...(state ? [attribute('thread.state', state)] : []),
                ...(call ? [attribute('kiln.wait.syscall', call)] : []),
            ],
            values: [`${ms}000000`],
            timestampsUnixNano: [`${BEGIN + time}000000`],
        })),
    });
    const profiles = ['cpu', 'off_cpu'].map(profile);
    const body = {
        resourceProfiles: [
            {
                resource: { attributes: [{ key: 'service.name', value: { stringValue: 'billed' } }] },
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
    const widths = await page.$$eval('.bill > .bill-bar > i', (l) =>
            l.reduce((n, i) => n + i.getBoundingClientRect().width, 0),
        ),
        bar = await page.$eval('.bill > .bill-bar', (b) => b.getBoundingClientRect().width);
    must(Math.abs(widths - bar) < 1.5, `${what}: the bar is ${widths} of ${bar} pixels`);
}

export async function bill(url, page) {
    await send(url);
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
}
