// live-kit.mjs - helpers of the tests of the live page: servers, sent data, and waiting for a page to settle.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dir, eventually, example, kiln, must, run, WAIT_MS } from './kit.mjs';

const shots = process.env.KILN_SHOTS;
const servers = [];

/** Starts a server on a free port and returns the address that it prints. */
export async function serve(name, ...more) {
    const p = spawn(kiln, ['serve', '--listen', '127.0.0.1:0', '--store', join(dir, name), ...more], {
        stdio: ['ignore', 'pipe', 'pipe'],
    });
    servers.push(p);
    let printed = '';
    for (const stream of [p.stdout, p.stderr]) stream.on('data', (b) => (printed += b));
    for (let i = 0; i < 200; i++) {
        const at = /http:\/\/127\.0\.0\.1:\d+/.exec(printed);
        if (at) return at[0];
        await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`the server did not print its address: ${printed}`);
}

export async function shot(page, name) {
    if (!shots) return;
    mkdirSync(shots, { recursive: true });
    await page.waitForTimeout(150);
    await page.screenshot({ path: join(shots, `${name}.png`) });
}

export const put = async (url, file, bytes) => {
    const r = await fetch(`${url}/upload`, { method: 'POST', body: bytes ?? readFileSync(file) });
    must(r.ok, `${file} was rejected: ${r.status} ${await r.text()}`);
};
export const top = (...args) => JSON.parse(run('top', '--json', ...args));

/** Waits until no request is running and something is shown. */
export const settled = (page) =>
    page.waitForFunction(
        () =>
            document.querySelector('.live:not(.busy)') &&
            document.querySelector('.total, [data-nothing], .first, .page, .empty[role=alert]'),
        null,
        { timeout: WAIT_MS },
    );
export const totalIs = (page, want, what) =>
    eventually(
        page,
        (t) => document.querySelector('.total')?.dataset.total === t,
        String(want),
        `${what}: not ${want}`,
    );
export const inQuery = (page, text) =>
    eventually(
        page,
        (t) =>
            new URLSearchParams(location.search).toString() !== '' &&
            decodeURIComponent(location.search.replaceAll('+', ' ')).includes(t),
        text,
        `${text} is not in the address`,
    );
export async function open(page, url, rest = '') {
    await page.goto('about:blank');
    await page.goto(`${url}/${rest}`);
    await settled(page);
}
/** Lets the server report a thousand times as many observations, so that the page asks for sums by step. */
export const overstate = (page) =>
    page.route('**/api/v1/counts*', async (route) => {
        const r = await route.fetch(),
            body = await r.json();
        if (!/thread/.test(route.request().url()))
            for (const row of body.rows) row.count = row.count.map((c) => c * 1000);
        await route.fulfill({ response: r, json: body });
    });
export const ALL = '?range=all';

/** The CPU samples of checkout, which most tests use. */
export const CPU = `${ALL}&query=${encodeURIComponent('cpu/nanoseconds{service.name="checkout"}')}`;

export async function endServers() {
    for (const p of servers) {
        p.kill('SIGTERM');
        if (p.exitCode === null) await once(p, 'exit');
    }
}

/** Every observation of the example, as `kiln traces` prints it. The views must show their sums. Times are Unix ms. */
export const observed = JSON.parse(
    String(run('traces', '--json', example)).replace(/"times": \[([^\]]*)\]/g, (_, list) => {
        const ms = list.split(',').map((t) => Number(BigInt(t) / 1000n) / 1e3);
        return `"times": ${JSON.stringify(ms)}`;
    }),
).traces.flatMap((t) => t.times.map((time) => ({ ...t, time, value: t.value / t.times.length })));

export const sum = (list) => list.reduce((n, o) => n + o.value, 0);
export const between = (from, to) => observed.filter((o) => o.time >= from && o.time < to);

/** Sends a profile of one function as OTLP/JSON. Times and durations are ms; a sample has a value, and optionally a time
 *  and labels. */
export async function send(url, { service, name = 'work', type = 'cpu', unit = 'nanoseconds', from, duration = 0, period = 10e6, samples }) {
    const text = (value) => ({ stringValue: value }),
        strings = ['', type, unit, name],
        string = (s) => (strings.includes(s) ? strings.indexOf(s) : strings.push(s) - 1),
        attributes = [{}],
        known = new Map();
    const attribute = ([key, value]) => {
        const id = `${key}=${value}`;
        if (!known.has(id)) known.set(id, attributes.push({ keyStrindex: string(key), value: text(value) }) - 1);
        return known.get(id);
    };
    const ns = (ms) => String(BigInt(Math.round(ms * 1e3)) * 1000n);
    const rows = samples.map((s) => ({
        stackIndex: 1,
        values: [String(s.value)],
        ...(s.time !== undefined && { timestampsUnixNano: [ns(s.time)] }),
        attributeIndices: Object.entries(s.labels ?? {}).map(attribute),
    }));
    const profile = {
        sampleType: { typeStrindex: 1, unitStrindex: 2 },
        ...(unit === 'nanoseconds' && { periodType: { typeStrindex: 1, unitStrindex: 2 }, period: String(period) }),
        timeUnixNano: ns(from),
        durationNano: ns(duration),
        samples: rows,
    };
    const body = {
        dictionary: {
            stringTable: strings,
            mappingTable: [{}],
            locationTable: [{}, { lines: [{ functionIndex: 1 }] }],
            functionTable: [{}, { nameStrindex: 3 }],
            linkTable: [{}],
            attributeTable: attributes,
            stackTable: [{}, { locationIndices: [1] }],
        },
        resourceProfiles: [
            {
                resource: { attributes: [{ key: 'service.name', value: text(service) }] },
                scopeProfiles: [{ profiles: [profile] }],
            },
        ],
    };
    const r = await fetch(`${url}/v1development/profiles`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
    });
    must(r.ok, `${service} was rejected: ${r.status} ${await r.text()}`);
}

/** Sends n observations of one function: each is 10 ms of CPU time, 10 ms after the one before. */
export const sendLoop = (url, service, name, n, from) =>
    send(url, {
        service,
        name,
        from,
        duration: n * 10,
        samples: Array.from({ length: n }, (_, i) => ({ value: 10e6, time: from + i * 10 })),
    });
