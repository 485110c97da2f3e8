// share.mjs - tests of the menu Share: what it copies and downloads is compared with the commands.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { check, dir, eventually, example, gone, inAddress, kiln, must, newPage, run, same, textIs, there } from './kit.mjs';
import { CPU, open as openLive, settled, shot, top, totalIs } from './live-kit.mjs';

const total = async (page) => Number(await page.getAttribute('.total', 'data-total'));

async function menu(page) {
    if (!(await page.$('.share-menu'))) await page.click('[data-do=share]');
    await there(page, '.share-menu', 'no menu');
}

/** Runs a copied command as a shell does, with --json. */
const shell = (command, cwd) =>
    JSON.parse(
        execFileSync('sh', ['-c', `${command} --json`], {
            cwd,
            maxBuffer: 1 << 28,
            env: { ...process.env, PATH: `${dirname(kiln)}:${process.env.PATH}` },
        }),
    );

async function copied(page, what) {
    await menu(page);
    await page.evaluate(() => navigator.clipboard.writeText(''));
    await page.click(`[data-copy=${what}]`);
    await textIs(page, '.share-menu [role=status]', /^Copied/, `${what} was not copied`);
    return page.evaluate(() => navigator.clipboard.readText());
}

async function downloaded(page, name) {
    await menu(page);
    const [d] = await Promise.all([page.waitForEvent('download'), page.click(`[data-download=${name}]`)]),
        path = join(dir, `${name}-${d.suggestedFilename()}`);
    await d.saveAs(path);
    return path;
}

const allow = (page) => page.context().grantPermissions(['clipboard-read', 'clipboard-write']);

async function pictures(page) {
    const svg = await downloaded(page, 'svg'),
        found = await page.evaluate(
            (text) => {
                const d = new DOMParser().parseFromString(text, 'image/svg+xml');
                return {
                    error: d.querySelector('parsererror')?.textContent ?? '',
                    scripts: d.querySelectorAll('script, [onload], foreignObject').length,
                    boxes: d.querySelectorAll('g > rect').length,
                    root: d.querySelector('g title')?.textContent ?? '',
                };
            },
            String(readFileSync(svg)),
        );
    must(!found.error && !found.scripts && found.boxes > 20, JSON.stringify(found));
    must(/^all\n.*100%/.test(found.root), `the first box is ${found.root}`);
    const png = readFileSync(await downloaded(page, 'png'));
    same(png.subarray(1, 4).toString(), 'PNG', 'the beginning of a PNG');
    must(png.readUInt32BE(16) === 3200 && png.readUInt32BE(20) > 200, 'the size of the PNG');
}

/** The self values that the table shows first, and all that a command prints. */
const shown = (page) => page.$$eval('.row', (list) => list.slice(0, 20).map((r) => Number(r.cells[0].title)).filter(Boolean)),
    flat = (top) => top.rows.map((r) => r.flat).filter(Boolean);

/** The totals of the outermost boxes that `kiln flame --json` prints, the largest first. */
const outermost = ({ nodes }) =>
    nodes
        .slice(1)
        .filter(([parent]) => parent === 0)
        .map(([, , , value]) => value)
        .sort((a, b) => b - a);

const SELECTIONS = [
    'label=thread.name%3Dworker-0',
    't=m.runtime.growslice',
    'not=thread.name%3Dworker-0&t=c.encoding%2Fjson.(*decodeState).literalStore&t=m.runtime.mallocgc',
];

const byMenu = (kind, row) => async (page) => {
    await page.click(`.call >> nth=${row}`, { button: 'right' });
    await page.click(`[data-transform=${kind}]`);
};

/** Transforms that have no option of their own: the call tree and its parameters, and how a user selects them. */
const CHOSEN = [
    ['a subtree', '', async (page) => (await page.keyboard.press('*'), await byMenu('subtree', 3)(page))],
    ['callers', '&invert=1', byMenu('callers', 2)],
    ['a package', '', byMenu('package', 2)],
    [
        'a search',
        '',
        async (page) => {
            await page.fill('.search input', 'json');
            await page.click('[data-do=only]');
            await page.click('[data-do=clear]');
        },
    ],
];

/** `open(page, file)` opens a report. */
export async function shareReport(page, open, html, diff, alone) {
    await allow(page);
    await check('share: the keyboard opens and closes the menu', async () => {
        await open(page, html);
        await page.focus('[data-do=share]');
        await page.keyboard.press('Enter');
        await there(page, '.share-menu button:focus', 'nothing in the menu has the focus');
        await shot(page, 'share-report');
        await page.keyboard.press('Escape');
        await gone(page, '.share-menu', 'Esc does not close the menu');
        await there(page, '[data-do=share]:focus', 'the focus is lost');
    });
    await check('share: downloads of a report have the values of the profile', async () => {
        const want = top(example).total;
        same(top(await downloaded(page, 'folded')).total, want, 'folded');
        const otlp = join(dir, 'shared.otlp'),
            own = join(dir, 'own.otlp');
        run('convert', '--quiet', '--canonical', await downloaded(page, 'otlp-all'), otlp);
        run('convert', '--quiet', '--canonical', example, own);
        must(readFileSync(otlp).equals(readFileSync(own)), 'OTLP differs');
        await pictures(page);
    });
    await check('share: files of a filtered and transformed report have the shown samples', async () => {
        for (const view of SELECTIONS) {
            await open(page, html, `view=table&${view}`);
            await there(page, '.row', `no table with ${view}`);
            const want = await shown(page);
            for (const format of ['pprof', 'otlp']) {
                const got = top('--no-trim', '--no-symbolize', '--all-frames', await downloaded(page, format));
                same(String(flat(got).slice(0, want.length)), String(want), `${format} with ${view}`);
            }
            const again = await newPage();
            await again.goto(`file://${await downloaded(page, 'html')}`);
            await there(again, '.view[data-view=table] .row', 'no table in the downloaded report');
            same(String(await shown(again)), String(want), `HTML with ${view}`);
            await again.close();
            await page.keyboard.press('Escape');
        }
    });
    await check('share: commands for a subtree, callers, a package and a search give the shown values', async () => {
        for (const [name, view, select] of CHOSEN) {
            await open(page, html, `view=tree${view}`);
            await there(page, '.call', 'no call tree');
            await select(page);
            await inAddress(page, 't=', `${name}: no transform`);
            const t = await page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get('t'));
            await open(page, html, `view=table&${new URLSearchParams({ t })}`);
            await there(page, '.row', `no table of ${name}`);
            const want = await shown(page),
                command = await copied(page, 'command'),
                got = shell(`${command} --no-trim --all-frames`, dirname(example)),
                total = await page.$eval('.total', (e) => e.textContent);
            must(got.selected > 0, `${command} selects ${got.selected}`);
            same(String(flat(got).slice(0, want.length)), String(want), command);
            must(/ of all/.test(total), total);
            await page.keyboard.press('Escape');
        }
    });
    await check('share: name and stack of the selected function', async () => {
        await open(page, html, 'view=table');
        must(!(await page.$('[data-copy=name]')), 'a name without a selection');
        await page.click('.row >> nth=2');
        const name = await page.innerText('.details h2');
        same(await copied(page, 'name'), name, 'name');
        const stack = (await copied(page, 'stack')).split('\n');
        must(stack.length > 1 && stack[0].includes(name), stack.join(' | '));
        await page.keyboard.press('Escape');
    });
    await check('share: the command of each view gives what the view shows', async () => {
        const views = {
            flame: /^kiln flame checkout\.otlp/,
            'flame&invert=1': /^kiln flame checkout\.otlp --inverted/,
            tree: /^kiln flame checkout\.otlp/,
            'tree&invert=1': /^kiln flame checkout\.otlp --inverted/,
            chart: /^kiln traces checkout\.otlp/,
            labels: /^kiln traces checkout\.otlp/,
        };
        for (const [view, want] of Object.entries(views)) {
            await open(page, html, `view=${view}`);
            const command = await copied(page, 'command');
            must(want.test(command), `${view}: ${command}`);
            const found = shell(command, dirname(example));
            same(found.total, await total(page), `${view}: the total`);
            if (/tree/.test(view)) {
                const rows = await page.$$eval('.call[data-depth="1"] [data-col=total]', (l) => l.map((c) => Number(c.dataset.value)));
                must(rows.length, `${view}: no rows`);
                same(rows.join(), outermost(found).slice(0, rows.length).join(), `${view}: totals of the outermost rows`);
            }
            await page.keyboard.press('Escape');
        }
    });
    await check('share: commands over the file of a report give the shown values', async () => {
        for (const filter of [
            '',
            '&label=thread.name%3Dworker-0&label=thread.name%3Dworker-1',
            '&not=thread.name%3Dworker-0',
        ]) {
            await open(page, html, `view=table${filter}`);
            await there(page, '.row', 'no table');
            const rows = await page.$$eval('.row', (list) => list.slice(0, 20).map((r) => Number(r.cells[0].title)));
            const found = shell(await copied(page, 'command'), dirname(example)),
                flat = found.rows.map((r) => r.flat).slice(0, 20);
            same(rows.join(), flat.join(), `self values with ${filter}`);
            await page.keyboard.press('Escape');
        }
        await open(page, diff, 'view=table');
        must(/^kiln diff --per second /.test(await copied(page, 'command')), 'the command of a comparison');
    });
    await check('share: without a clipboard, a field shows the text', async () => {
        await page.evaluate(() =>
            Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true }),
        );
        await page.click('[data-copy=command]');
        await there(page, '[data-manual]:focus', 'no field');
        const [text, selected] = await page.$eval('[data-manual]', (e) => [e.value, e.selectionEnd - e.selectionStart]);
        must(text.startsWith('kiln ') && selected === text.length, `${text}: ${selected} characters are selected`);
        await page.keyboard.press('Escape');
    });
    await check('share: names of a profile stay text in pictures', async () => {
        await open(page, alone);
        const svg = String(readFileSync(await downloaded(page, 'svg')));
        must(svg.includes('&lt;img src=x onerror=alert(1)&gt;') && !svg.includes('<img'), 'the name became markup');
        same(top(await downloaded(page, 'folded')).total, 7, 'folded');
    });
}

export async function shareLive(page, url) {
    await allow(page);
    await check('share: the live page downloads exactly the selection', async () => {
        await openLive(page, url, `${CPU}#label=${encodeURIComponent('thread.name=worker-0')}`);
        await there(page, '.chips li', 'the label is not selected');
        const want = Number(top(await downloaded(page, 'folded')).total);
        must(want > 0 && want < (await total(page)), `${want} of ${await total(page)}`);
        for (const format of ['pprof', 'otlp', 'html']) same(top(await downloaded(page, format)).total, want, format);
        same(Number(shell((await copied(page, 'command')).replace('kiln flame', 'kiln top')).total), want, 'command');
        await shot(page, 'share-live');
        await page.setViewportSize({ width: 390, height: 844 });
        await there(page, '.share-menu', 'the menu closes in a narrow window');
        await shot(page, 'share-live-narrow');
        const b = await (await page.$('.share .pop')).boundingBox();
        must(b.x >= 0 && b.x + b.width <= 390, `the menu is at ${b.x}, ${b.width} px wide`);
        await page.setViewportSize({ width: 1400, height: 900 });
        await page.keyboard.press('Escape');
    });
    await check('share: files of the live page have the transforms; those of a comparison have both sides', async () => {
        for (const format of ['pprof', 'otlp', 'html']) {
            await openLive(page, url, `${CPU}#t=m.runtime.growslice&view=table`);
            await there(page, '.row', 'no table');
            const want = await shown(page),
                file = await downloaded(page, format);
            if (format !== 'html')
                same(String(flat(top('--no-trim', '--no-symbolize', '--all-frames', file)).slice(0, want.length)), String(want), format);
            else {
                const report = await newPage();
                await report.goto(`file://${file}`);
                await there(report, '.row', 'no table in the report');
                same(String(await shown(report)), String(want), 'HTML');
                await report.close();
            }
            await page.keyboard.press('Escape');
        }
        const part = (a, b) => `from=2025-11-03T09:14:${a}Z&to=2025-11-03T09:14:${b}Z`,
            of = (a, b) => top(`${url}?${part(a, b).replace('from', 'start').replace('to', 'end')}&query=cpu{service.name="checkout"}`).total;
        await openLive(page, url, `?${part(20, 25)}&query=cpu%7Bservice.name%3D%22checkout%22%7D&against=before`);
        await menu(page);
        await textIs(page, '[data-download=pprof]', /of both sides/, 'the label of pprof');
        await textIs(page, '[data-download=otlp]', /of this side/, 'the label of OTLP');
        const [after, before] = [of(20, 25), of(15, 20)],
            diff = top('--no-trim', await downloaded(page, 'pprof'));
        must(before > 0 && after > 0, `${before}, ${after}`);
        same(diff.rows.reduce((n, r) => n + r.flat, 0), after - before, 'pprof of both sides');
        const report = await newPage();
        await report.goto(`file://${await downloaded(page, 'html')}`);
        await there(report, '.view canvas', 'no graph in the report');
        await textIs(report, 'h1', /against/, 'the report does not compare');
        same(await total(report), after, 'this side in the report');
        await report.close();
        await page.keyboard.press('Escape');
    });
    await check('share: the command of the view Threads gives the total of each thread', async () => {
        await openLive(page, url, `${CPU}#view=lanes`);
        await there(page, '[data-lane]', 'no lanes');
        const sums = await page.$$eval('[data-lane]', (l) => l.map((e) => Number(e.dataset.sum)));
        same(outermost(shell(await copied(page, 'command'))).join(), sums.sort((a, b) => b - a).join(), 'sums');
        await textIs(page, '[data-copy=command]', /the total of each thread/, 'the label of the command');
        await page.keyboard.press('Escape');
    });
    await check('share: a link has absolute times and shows the same data', async () => {
        await openLive(page, url, '?from=now-520w&to=now&refresh=5#view=table');
        const want = await total(page),
            link = await copied(page, 'link');
        must(/from=2\d{3}-/.test(link) && !/now|refresh/.test(link) && link.endsWith('#view=table'), link);
        await page.goto('about:blank');
        await page.goto(link);
        await settled(page);
        await totalIs(page, want, 'behind the link');
    });
    await check('share: the command for a part of the time and for a comparison', async () => {
        const part = (a, b) => `from=2025-11-03T09:14:${a}Z&to=2025-11-03T09:14:${b}Z`;
        await openLive(
            page,
            url,
            `?${part(20, 25)}&query=%7Bservice.name%3D%22checkout%22%7D&against=before#view=table`,
        );
        const verdict = shell(await copied(page, 'command')),
            want = top(
                `${url}?${part(20, 25).replace('from', 'start').replace('to', 'end')}&query={service.name="checkout"}`,
            );
        same(verdict.sum_after, Number(want.total), 'after');
        await page.keyboard.press('Escape');
        const base = BigInt(Date.parse('2025-11-03T09:14:21Z')) * 1000000n;
        await openLive(
            page,
            url,
            `?${part(20, 25)}&query=cpu%7Bservice.name%3D%22checkout%22%7D#time=${base}-${base + 1500000000n}&view=table`,
        );
        await settled(page);
        await eventually(page, () => document.querySelector('.chips li'), null, 'no part is selected');
        const flat = top(await downloaded(page, 'folded')).total;
        same(Number(shell(await copied(page, 'command')).total), Number(flat), 'part');
        await page.keyboard.press('Escape');
    });
    await check('share: a download that fails says why', async () => {
        await openLive(page, url, CPU);
        await page.evaluate(() => {
            window.fetch = () => Promise.resolve(new Response('{"error":"too large"}', { status: 503 }));
        });
        await menu(page);
        await page.click('[data-download=pprof]');
        await textIs(page, '.share-menu [role=status]', /could not be made: too large/, 'no reason');
        await page.reload();
        await settled(page);
    });
}
