// screenshots.mjs [DIR] - `make screenshots`: pictures of every view for docs/img, of real data: the example service under
// `kiln run`, and a second instance that `kiln record --off-cpu` records (this needs root or its capabilities).
// NAME.webp is 1440 px wide, NAME-narrow.webp 390 px, NAME-dark.webp the dark theme. KILN_SHOTS=DIR also stores PNG files.
// KILN_SHOTS_NAMES=NAME,... takes only these pictures, and keeps the others.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { browser, dir, example, kiln, must, newPage, run, src, there, WAIT_MS } from './kit.mjs';
import { endServers, open, serve, settled } from './live-kit.mjs';

const to = process.argv[2] ?? join(src, 'docs', 'img'),
    png = process.env.KILN_SHOTS,
    names = process.env.KILN_SHOTS_NAMES?.split(','),
    JOB = 'while [ $SECONDS -lt 60 ]; do "$0" flame "$1" --to svg -o /dev/null; "$0" top "$1" >/dev/null; sleep 0.2; done',
    WORDS = 'while [ $SECONDS -lt 60 ]; do seq 40000 | sort -R | sha256sum >/dev/null; sleep 0.5; done',
    SECONDS = 64, // the load of the example has two peaks per minute
    QUALITY = 45,
    KINDS = {
        '': { width: 1440, height: 900, colorScheme: 'light' },
        '-narrow': { width: 390, height: 844, colorScheme: 'light' },
        '-dark': { width: 1440, height: 900, colorScheme: 'dark' },
    };

const shop = resolve(process.env.KILN_BUILD ?? join(src, 'build'), 'shop');

/** Runs kiln with the example service until it ends. */
async function profiled(service, ...args) {
    const env = { ...process.env, ...(service && { OTEL_SERVICE_NAME: service }) },
        p = spawn(resolve(kiln), args, { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [p.stdout, p.stderr]) stream.on('data', (b) => (output += b));
    const [code] = await once(p, 'exit');
    must(code === 0, `kiln ${args[0]} ended with status ${code}:\n${output}`);
}

const ask = async (url, path) => (await fetch(`${url}/api/v1/${path}`)).json();

/** The longest trace whose bill has most of the kinds of time. Instances of the example may give orders the same ids: their traces
 *  last for seconds. */
async function traceOf(url) {
    const { traces } = await ask(url, 'traces?query=off_cpu&sort=duration&limit=1000');
    let best = null;
    for (const { trace_id, duration } of traces) {
        if (duration >= 1e9) continue;
        const { reasons } = await ask(url, `bill?trace_id=${trace_id}`),
            kinds = ['on_cpu', 'blocked', 'runnable'].filter((kind) => reasons.some((r) => r.kind === kind)).length;
        if (!best || kinds > best.kinds) best = { trace_id, kinds };
        if (kinds === 3) break;
    }
    must(best, 'no trace has waits');
    return best.trace_id;
}

async function pictures(url, began, ended) {
    const iso = (t) => new Date(t).toISOString().slice(0, 19) + 'Z',
        span = `from=${iso(began)}&to=${iso(ended)}`,
        middle = (began + ended) / 2,
        of = (selector, range = span) => `?query=${encodeURIComponent(selector)}&${range}`,
        part = (a, b) => `from=${iso(middle + a * 1e3)}&to=${iso(middle + b * 1e3)}`,
        cpu = of('cpu{service.name="shop"}'),
        moment = of('off_cpu{service.name="shop"}', part(-1, 1)),
        file = join(dir, 'shop.otlp'),
        report = join(dir, 'shop.html'),
        sources = join(dir, 'shop-source.html'),
        frame = ['focus .flame', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowUp'];
    run('convert', '--quiet', `${url}${cpu}`, file);
    run('flame', file, '-o', report);
    run('flame', '--source', '--source-path', src, file, '-o', sources);
    for (const [name, rest] of [
        ['shop, CPU time', cpu],
        ['shop, waits', of('off_cpu{service.name="shop"}')],
    ])
        await fetch(`${url}/api/v1/saved/${encodeURIComponent(name)}`, { method: 'PUT', body: rest });
    const empty = await serve('empty');
    const LIST = {
        services: [`?page=services&${span}`, '[data-service=shop] .spark path'],
        flame: [cpu, '.flame canvas'],
        details: [cpu, '.details:not([aria-busy=true])', ['focus .flame', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'Enter', 'blur']],
        table: [`${cpu}#view=table`, '.row'],
        tree: [`${cpu}#view=tree`, '.call', ['focus .calltree', 'Home', '*', 'blur']],
        sandwich: [`${cpu}#view=sandwich`, '.sandwich .flame canvas', ['click [data-tab=table]', 'click .row:has-text("shop::pricing::discount")', 'click [data-tab=sandwich]']],
        chart: [`${of('cpu{service.name="shop"}', part(-1, 1))}#view=chart`, '.chart canvas'],
        threads: [`${moment}#view=lanes`, '[data-lane]'],
        heat: [`${cpu}#view=heat`, '.heat canvas'],
        labels: [`${cpu}#view=labels`, '[data-label]'],
        compare: [`${of('cpu{service.name="shop"}', part(5, 30))}&against=before#color=diff`, '[data-legend=diff]'],
        'compare-table': [`${of('cpu{service.name="shop"}', part(5, 30))}&against=before#color=diff&view=table&sort=change`, '.row'],
        'chart-stacked': [`${cpu}&by=thread.name`, '[data-legend] [data-row]'],
        menu: [cpu, '.menu', [...frame, 'm']],
        transforms: [cpu, '.transforms', [...frame, 'm', 'm', 'focus .flame', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'm', 'f']],
        help: [cpu, '.help', ['press ?']],
        saved: [cpu, '[data-saved]', ['click [data-do=saved]']],
        waits: [of('off_cpu{service.name="shop"}'), '.flame canvas'],
        traces: [`?page=trace&${span}&order=time&query=${encodeURIComponent('{service.name="shop"}')}`, '[data-trace]'],
        trace: [`#trace=${await traceOf(url)}`, '[data-table=bill]'],
        profiles: [`?page=profiles&${span}`, '[data-profile]'],
        health: ['?page=health', '[data-table=senders] tbody tr'],
        share: [cpu, '.share-menu', ['click [data-do=share]']],
        first: ['', '.first', [], empty],
        report: [`file://${report}`, '.flame canvas'],
        source: [`file://${sources}#view=table`, '.source .hot', ['click .row:has-text("shop::stock::total")', 'click [data-tab=source]']],
    };
    for (const [name, [rest, shown, actions = [], server = url]] of Object.entries(LIST).filter(([n]) => !names || names.includes(n)))
        for (const [kind, look] of Object.entries(KINDS)) {
            const page = await newPage({ viewport: { width: look.width, height: look.height }, colorScheme: look.colorScheme }, /./);
            if (rest.startsWith('file:')) await page.goto(rest);
            else await open(page, server, rest);
            for (const a of actions) {
                const [verb, ...what] = a.split(' ');
                if (verb === 'click' || verb === 'focus') await page[verb](what.join(' '));
                else if (verb === 'blur') await page.evaluate(() => document.activeElement.blur());
                else await page.keyboard.press(what[0] ?? a);
            }
            await there(page, shown, `${name}${kind}: nothing to show`);
            if (!rest.startsWith('file:')) await settled(page);
            await page.waitForFunction(
                () => !/Loading/.test(document.body.innerText) && document.getAnimations().every((a) => a.playState !== 'running'),
                null,
                { timeout: WAIT_MS },
            );
            await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
            const cdp = await page.context().newCDPSession(page),
                { data } = await cdp.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
            writeFileSync(join(to, `${name}${kind}.webp`), Buffer.from(data, 'base64'));
            if (png) await page.screenshot({ path: join(png, `${name}${kind}.png`) });
            await page.close();
        }
}

try {
    mkdirSync(to, { recursive: true });
    if (png) mkdirSync(png, { recursive: true });
    const url = process.env.KILN_SHOTS_URL ?? (await serve('shots')),
        began = Number(process.env.KILN_SHOTS_BEGAN ?? Date.now());
    if (!process.env.KILN_SHOTS_URL)
        await Promise.all([
            profiled('', 'run', '--quiet', '--wall', '--every', '20ms', '--heap', '--to', url, shop, String(SECONDS), '4000'),
            profiled('nightly-report', 'run', '--quiet', '--to', url, 'bash', '-c', JOB, resolve(kiln), resolve(example)),
            profiled('word-index', 'run', '--quiet', '--to', url, 'bash', '-c', WORDS),
            profiled('', 'record', '--quiet', '--off-cpu', '--hz', '999', '--to', url, '--', shop, String(SECONDS), '1500'),
        ]);
    const ended = Number(process.env.KILN_SHOTS_ENDED ?? Date.now());
    console.log(`KILN_SHOTS_URL=${url} KILN_SHOTS_BEGAN=${began} KILN_SHOTS_ENDED=${ended}`);
    if (!names) for (const f of readdirSync(to)) if (f.endsWith('.webp')) rmSync(join(to, f));
    await pictures(url, began, ended);
    const bytes = readdirSync(to).reduce((n, f) => n + statSync(join(to, f)).size, 0);
    console.log(`${readdirSync(to).length} pictures, ${Math.round(bytes / 1024)} KiB in ${to}`);
} finally {
    await browser.close();
    await endServers();
    rmSync(dir, { recursive: true, force: true });
}
