#!/usr/bin/env node
// bench/page.mjs [BUILD_DIR] --store DIR [--stacks 1000000] [--page-stacks 400000] [--rounds 3] [--out bench/page.json] - what the page and the report
// take in Chromium.
//
// The store is that of `bench/store --keep`: 24 hours of 50 services. `--now` of the queries is the end of its data. Each round opens
// a new page, without a cache of the browser; the fastest round counts. A figure has three parts: time until the page shows its
// data, CPU time of the page's main thread, CPU time of the server. Then a profile of a million distinct stacks is opened as a report, and
// one of 400 000 on the page; there the script zooms and searches. Exit code 4: a goal was missed.
// A tree of a million distinct stacks exceeds the 512 MiB of a query, so the page cannot show it.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';

const TOP = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: o, positionals } = parseArgs({
    allowPositionals: true,
    options: {
        store: { type: 'string' },
        stacks: { type: 'string', default: '1000000' },
        'page-stacks': { type: 'string', default: '400000' },
        rounds: { type: 'string', default: '3' },
        out: { type: 'string', default: join(TOP, 'bench', 'page.json') },
    },
});
const kilnPath = join(resolve(positionals[0] ?? join(TOP, 'build')), 'kiln');
process.env.KILN = kilnPath;
process.env.KILN_SRC = TOP;
const { browser, dir, newPage, run } = await import('../ui/test/kit.mjs');
const { manyStacks, useMany } = await import('../ui/test/million.mjs');

const DAY_MS = 86400e3;
const BEGIN = Math.floor(1789000000 / 86400) * 86400e3; // as in bench/store
const GOALS = { services: 1000, opened: 3000, frame: 33 };
const SHOWN_MS = 120_000;

/** A server of a store; `cpu()` is its CPU time in ms. */
async function start(store, ...more) {
    const p = spawn(kilnPath, ['serve', '--listen', '127.0.0.1:0', '--store', store, '--max-age', 'none', ...more], { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '',
        url;
    for (const s of [p.stdout, p.stderr]) s.on('data', (b) => (text += b));
    while (!(url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0])) {
        if (p.exitCode !== null) throw new Error(`the server ended: ${text}`);
        await new Promise((done) => setTimeout(done, 50));
    }
    const tick = 1000 / Number(execFileSync('getconf', ['CLK_TCK']));
    return {
        url,
        cpu: () => {
            const f = readFileSync(`/proc/${p.pid}/stat`, 'utf8').split(') ')[1].split(' ');
            return (Number(f[11]) + Number(f[12])) * tick;
        },
        stop: async () => (p.kill('SIGTERM'), await once(p, 'exit')),
    };
}

/** Opens an address of the page in a new page until `shown` holds there. */
async function first(server, rest, shown) {
    const page = await newPage({}, /./),
        cdp = await page.context().newCDPSession(page);
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
    const before = server.cpu();
    await page.goto(`${server.url}/${rest}`);
    await page.waitForFunction(shown, null, { timeout: SHOWN_MS, polling: 'raf' });
    const wall = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))),
        { metrics } = await cdp.send('Performance.getMetrics'),
        got = { wall, page: metrics.find((m) => m.name === 'TaskDuration').value * 1000, server: server.cpu() - before };
    await page.close();
    return got;
}

async function best(f) {
    let out;
    for (let i = 0; i < Number(o.rounds); i++) {
        const got = await f();
        if (!out || got.wall < out.wall) out = got;
    }
    return Object.fromEntries(Object.entries(out).map(([k, v]) => [k, Math.round(v)]));
}

const SERVICES = () => document.querySelectorAll('tr[data-service]').length >= 50;
const FLAME = () => document.querySelector('.live:not(.busy)') && document.querySelector('.view canvas');
const round = (list, k) => list.map((v) => Math.round(v[k] * 10) / 10);
const figures = (r) => ({
    opened: Math.round(r.opened),
    cpu: Math.round(r.cpu),
    ...Object.fromEntries(['zoom', 'search'].map((k) => [k, { own: round(r[k], 'own'), cpu: round(r[k], 'cpu'), frame: round(r[k], 'frame') }])),
});

async function store() {
    const server = await start(resolve(o.store)),
        span = `from=${new Date(BEGIN).toISOString()}&to=${new Date(BEGIN + DAY_MS).toISOString()}`,
        query = (q) => `?query=${encodeURIComponent(q)}&${span}`;
    const out = {
        services: await best(() => first(server, `?page=services&${span}`, SERVICES)),
        service: await best(() => first(server, query('cpu{service.name="service-07"}'), FLAME)),
        everything: await best(() => first(server, query('cpu'), FLAME)),
    };
    await server.stop();
    return out;
}

async function million() {
    const otlp = join(dir, 'million.otlp'),
        html = join(dir, 'million.html'),
        config = join(dir, 'kiln.yaml');
    writeFileSync(config, 'limits: {memory: 512MiB}\n'); // the request decodes to more than the usual limit
    const server = await start(join(dir, 'store'), '--config', config);
    writeFileSync(otlp, manyStacks(Number(o.stacks)));
    run('flame', otlp, '-o', html);
    const less = manyStacks(Number(o['page-stacks']));
    // Compressed: 64 MiB is the limit of a request as sent.
    const sent = await fetch(`${server.url}/v1development/profiles`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' },
        body: gzipSync(less, { level: 1 }),
    });
    if (!sent.ok) throw new Error(`${sent.status}: ${await sent.text()}`);
    const many = async (address) => {
        const page = await newPage({}, /./),
            r = await useMany(page, async () => {
                await page.goto(address);
                await page.waitForSelector('.total', { timeout: SHOWN_MS });
                await page.waitForFunction(() => !document.querySelector('.loading') && document.querySelector('.view canvas'), null, { timeout: SHOWN_MS });
            });
        await page.close();
        return figures(r);
    };
    const out = { report: await many(`file://${html}`), page: await many(`${server.url}/?query=cpu&range=all`) };
    await server.stop();
    return out;
}

const most = (r) => Math.max(...r.zoom.frame, ...r.search.frame);
try {
    const out = { stacks: Number(o.stacks), page_stacks: Number(o['page-stacks']), ...(o.store && (await store())), ...(await million()) };
    writeFileSync(o.out, JSON.stringify(out, null, 1) + '\n');
    let missed = false;
    const say = (text, value, goal) => {
        missed ||= goal && value > goal;
        console.log(`${text}${goal ? ` (goal ${goal} ms${value > goal ? ', MISSED' : ''})` : ''}`);
    };
    for (const [k, what] of [['services', 'services, 24 h of 50'], ['service', 'flame graph of a service, 24 h'], ['everything', 'flame graph of everything, 24 h']])
        if (out[k]) say(`${what}: ${out[k].wall} ms; CPU time ${out[k].page} ms of the page, ${out[k].server} ms of the server`, out[k].wall, GOALS[k]);
    for (const k of ['report', 'page']) {
        const n = k === 'page' ? o['page-stacks'] : o.stacks;
        say(`${k} of ${n} stacks: open after ${out[k].opened} ms, ${out[k].cpu} ms of CPU time`, out[k].opened, GOALS.opened);
        say(`${k} of ${n} stacks: zoom and search at most ${most(out[k])} ms to the end of the frame`, most(out[k]), GOALS.frame);
    }
    process.exitCode = missed ? 4 : 0;
} finally {
    await browser.close();
}
