// test/browser.mjs [corpus | stacks N] - uses reports in Chromium. Prints TAP and the reasons for skipped tests.
// Without an argument: the actions of a user. With `corpus`: the report of every file of the corpus opens without a console
// error, shows the totals that `kiln top` prints, and converts back to the same profile. With `stacks N`: opens a report of N stacks.
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import {
    browser,
    canvasBox,
    check,
    clickRow,
    corpus,
    dir,
    drop,
    eventually,
    example,
    gone,
    inAddress,
    kiln,
    must,
    newPage,
    report,
    result,
    run,
    same,
    skip,
    src,
    textIs,
    themeIs,
    there,
    viewIs,
    WAIT_MS,
} from './kit.mjs';
import { manyStacks, useMany } from './million.mjs';
import { addedShown, mixedShown, partsFile, partsFiles, partsShown } from './parts.mjs';
import { shareReport } from './share.mjs';

async function open(page, file, hash = '') {
    await page.goto('about:blank');
    await page.goto(`file://${file}${hash && '#' + hash}`);
    await page.waitForSelector('.total, [role=alert], [data-empty]', { timeout: WAIT_MS });
}
// ---- every file of the corpus ----

function corpusFiles() {
    const out = [];
    let section = '';
    for (const line of readFileSync(join(corpus, 'MANIFEST.md'), 'utf8').split('\n')) {
        section = /^## (\S+) \(\d+ files/.exec(line)?.[1] ?? section;
        if (section && line.startsWith(`| ${section}/`)) out.push(line.slice(2).split(' | ')[0]);
    }
    return out;
}

const runAside = (...args) => promisify(execFile)(kiln, args, { maxBuffer: 1 << 28 });

/** Makes the report of a file and the expected values. In canonical OTLP the same profile has the same bytes. null: kiln
 *  rejects the file, which another test covers. */
async function prepare(name, i) {
    const file = join(corpus, name),
        at = (suffix) => join(dir, `${i}${suffix}`);
    const printed = await runAside('info', '--json', file).catch(() => null);
    if (!printed) return null;
    await runAside('flame', '--no-symbolize', file, '-o', at('.html')); // without changing names
    await runAside('convert', '--quiet', '--canonical', at('.html'), at('.back.otlp'));
    await runAside('convert', '--quiet', '--canonical', file, at('.otlp'));
    const equal = readFileSync(at('.back.otlp')).equals(readFileSync(at('.otlp')));
    const info = JSON.parse(printed.stdout).files[0];
    const top = await runAside('top', '--json', '--no-symbolize', file).catch(() => null); // fails when there is no sample
    const type = top && JSON.parse(top.stdout).sample_type;
    const lead = info.profiles.findIndex((p) => p.sample_type === type && p.total !== 0);
    const totals = [];
    for (const t of new Set(info.profiles.map((p) => `${p.sample_type}/${p.unit}`))) {
        const sum = await runAside('top', '--json', '--no-symbolize', '--all-frames', '-s', t, file).catch(() => null);
        totals.push(sum ? String(BigInt(/"selected":\s*(-?\d+)/.exec(sum.stdout)[1])) : '0');
    }
    return { name, html: at('.html'), info, lead: Math.max(lead, 0), totals, equal };
}

async function corpusFile(page, { html, info, lead, totals, equal }) {
    await open(page, html);
    if (!info.profiles.length) {
        must(await page.$('[data-empty]'), 'no message about an empty file');
    } else {
        const types = [...new Set(info.profiles.map((p) => `${p.sample_type}/${p.unit}`))],
            { sample_type, unit } = info.profiles[lead];
        same(await page.getAttribute('.total', 'data-total'), totals[types.indexOf(`${sample_type}/${unit}`)], 'total');
        const all = await page.$$eval('[data-do=type] option', (o) => o.map((e) => e.dataset.total));
        if (all.length) same(all.join(), totals.join(), 'totals of all types, as `kiln top` adds them up');
        must((await page.innerText('.total b')).trim(), 'the total is not shown');
        const tabs = await page.$$eval('[data-tab]', (t) => t.map((e) => e.dataset.tab));
        const timed = info.profiles.some((p) => p.sample_type === sample_type && p.unit === unit && p.timestamps > 0);
        same(tabs.includes('heat'), timed, 'time views');
        await page.evaluate(async (all) => {
            for (const t of all) {
                document.querySelector(`[data-tab=${t}]`).click();
                await new Promise((r) => requestAnimationFrame(r));
            }
        }, tabs.slice(1));
    }
    rmSync(html);
    must(equal, 'the extracted profile differs');
}

async function everyCorpusFile() {
    if (!existsSync(join(corpus, 'MANIFEST.md'))) skip(`no corpus at ${corpus}: set KILN_CORPUS`);
    const page = await newPage();
    const names = corpusFiles().filter((f) => existsSync(join(corpus, f)));
    const tried = (name, i) => prepare(name, i).catch((e) => ({ name, problem: e.message }));
    let next = tried(names[0], 0); // the next file is made while the browser shows this one
    for (const [i] of names.entries()) {
        const made = await next;
        if (i + 1 < names.length) next = tried(names[i + 1], i + 1);
        if (made?.problem) report(made.name, made.problem);
        else if (made) await check(made.name, () => corpusFile(page, made));
    }
}

// ---- the actions of a user ----

async function person() {
    const html = join(dir, 'app.html'),
        diff = join(dir, 'diff.html'),
        alone = join(dir, 'alone.html'),
        other = join(dir, 'other.otlp');
    run('flame', example, '-o', html);
    run('convert', '--quiet', example, join(dir, 'convert.html'));
    run('convert', '--quiet', join(src, 'tests/vectors/v1_10/basic.bin'), other);
    run('flame', example, '--diff', example, '-o', diff);
    writeFileSync(join(dir, 'few.folded'), 'main;read 3\nmain;<img src=x onerror=alert(1)> 4\n');
    run('flame', join(dir, 'few.folded'), '-o', alone);
    const page = await newPage();

    await check('flame and convert write the same file', async () =>
        must(readFileSync(html).equals(readFileSync(join(dir, 'convert.html'))), 'they differ'),
    );
    await check('a report of a few stacks weighs less than 150 KB after gzip', async () => {
        const weight = gzipSync(readFileSync(alone)).length;
        console.log(`# it weighs ${weight} bytes of gzip`);
        must(weight > 20000 && weight < 150 * 1024, `it weighs ${weight} bytes`);
    });
    await check('load: total, tabs, service and time', async () => {
        await open(page, html);
        const total = JSON.parse(run('info', '--json', example)).files[0].profiles[0].total;
        same(await page.getAttribute('.total', 'data-total'), String(total), 'total');
        same(
            (await page.$$eval('[data-tab]', (t) => t.map((e) => e.dataset.tab))).join(),
            'flame,table,tree,sandwich,chart,heat,labels',
            'tabs',
        );
        must((await page.innerText('.title')).includes('checkout'), 'the service is not named');
    });
    await check('search: share of the total, dimmed boxes, in the address', async () => {
        await page.keyboard.press('/');
        await page.keyboard.type('scoring');
        await textIs(page, '.search output', /^[1-9]\d* · [1-9]\d*(\.\d+)?%$/, 'no share of the total');
        await inAddress(page, 'q=scoring');
        await page.keyboard.press('Escape');
        await gone(page, '.search output', 'Esc does not end the search');
    });
    await check('zoom: click, breadcrumbs, Esc', async () => {
        await clickRow(page, 3);
        await there(page, '.crumbs', 'no breadcrumbs');
        await inAddress(page, 'zoom=');
        await there(page, '.details', 'no details of the clicked box');
        await page.click('.crumbs button');
        await gone(page, '.crumbs', 'the first crumb is not the whole');
        await page.keyboard.press('Escape');
        await gone(page, '.details', 'Esc does not end the selection');
    });
    await check('the tooltip shows name and numbers', async () => {
        const b = await canvasBox(page);
        await page.mouse.move(b.x + b.width / 2, b.y + b.height - 30);
        await textIs(page, '.tip', /total.*%/, 'no tooltip');
        await page.mouse.move(5, 5);
    });
    await check('views: each by click and by key', async () => {
        for (const [i, v] of ['flame', 'table', 'tree', 'sandwich', 'chart', 'heat', 'labels'].entries()) {
            await page.click(`[data-tab=${v}]`);
            await viewIs(page, v);
            await page.keyboard.press('1');
            await viewIs(page, 'flame');
            await page.keyboard.press(String(i + 1));
            await viewIs(page, v);
        }
    });
    await check('one selection in all views', async () => {
        await page.click('[data-tab=table]');
        await page.click('.row >> nth=1');
        const name = await page.innerText('.details h2');
        await page.click('[data-tab=sandwich]');
        same(await page.innerText('.sandwich .middle b'), name, 'sandwich');
        await page.click('[data-tab=flame]');
        same(await page.innerText('.details h2'), name, 'details');
        await page.keyboard.press('Escape');
    });
    await check('table: sorts both ways, arrows move', async () => {
        await page.click('[data-tab=table]');
        const first = () => page.innerText('.row >> nth=0 >> .name');
        const down = await first();
        await page.click('th >> nth=0 >> button');
        await eventually(
            page,
            (d) => document.querySelector('.row .name').innerText !== d,
            down,
            'the order did not change',
        );
        await page.click('th >> nth=2 >> button');
        await there(page, 'th:nth-child(3)[aria-sort=descending]', 'not sorted by name');
        await page.focus('.table');
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('ArrowDown');
        await there(page, '.row.selected', 'nothing is selected');
        await page.keyboard.press('Escape');
    });
    await check('keyboard in the flame graph: arrows, Enter, Backspace', async () => {
        await page.keyboard.press('1');
        await page.focus('.flame');
        for (const k of ['ArrowUp', 'ArrowUp', 'Enter']) await page.keyboard.press(k);
        await there(page, '.crumbs', 'Enter does not zoom');
        await page.keyboard.press('Backspace');
        await page.keyboard.press('Backspace');
        await gone(page, '.crumbs', 'Backspace does not zoom out');
        await page.keyboard.press('i');
        await inAddress(page, 'icicle=1');
        await page.keyboard.press('i');
        await page.keyboard.press('Escape');
        await page.keyboard.press('?');
        await there(page, '.help', 'no help');
        await page.keyboard.press('Escape');
        await gone(page, '.help', 'Esc does not close the help');
    });
    await check('labels: a click filters, the chip removes the filter', async () => {
        await page.click('[data-tab=labels]');
        await page.click('[data-label] >> nth=0');
        await textIs(page, '.total', /of all/, 'the total does not follow');
        await page.click('.chips button');
        await textIs(page, '.total', /^((?!of all).)*$/, 'the chip does not remove the filter');
    });
    await check('heat map: a drag selects time, the flame graph follows', async () => {
        await page.click('[data-tab=heat]');
        const b = await canvasBox(page);
        await page.mouse.move(b.x + 120, b.y + 100);
        await page.mouse.down();
        await page.mouse.move(b.x + 300, b.y + 60, { steps: 4 });
        await page.mouse.up();
        await textIs(page, '.total', /of all/, 'nothing was selected');
        await page.click('[data-tab=flame]');
        const [from, to] = new URLSearchParams(new URL(page.url()).hash.slice(1)).get('time').split('-'),
            part = await page.innerText('[data-part]'),
            { traces } = JSON.parse(run('traces', '--json', '--start', from, '--end', to, example)),
            n = traces.reduce((sum, t) => sum + t.times.length, 0);
        must(n > 3, `${n} observations in the part`);
        await textIs(page, '.title', new RegExp(`(^|\\D)${n} observations$`), `the header does not count ${n} observations`);
        const clock = (ns) => new Date(Number(BigInt(ns) / 1000000n)).toISOString().slice(11, 19);
        must(part.includes(clock(from)) && part.includes(clock(to)), `the chip is ${part}`);
        must((await page.innerText('.title')).includes(clock(from)), 'the header does not have the time of the part');
        await page.keyboard.press('Escape');
        await textIs(page, '.total', /^((?!of all).)*$/, 'Esc does not remove the filter');
    });
    await check('flame chart: zoom by key, window in the address', async () => {
        await page.click('[data-tab=chart]');
        await page.focus('.chart');
        await page.keyboard.press('+');
        await inAddress(page, 'window=');
        await page.keyboard.press('Escape');
    });
    await check('another sample type', async () => {
        await page.click('[data-tab=heat]');
        await page.selectOption('[data-do=type]', '1');
        const total = JSON.parse(run('info', '--json', example)).files[0].profiles[1].total;
        await there(page, `.total[data-total="${total}"]`, 'another total');
        await viewIs(page, 'flame');
        await gone(page, '[data-tab=heat]', 'a type without timestamps has a heat map');
    });
    await check('several profiles of a type: their sum, resources and single profiles', async () => {
        await partsShown(page, [partsFile()]);
        await partsShown(page, ['--all', partsFile()]);
    });
    await check('several inputs: their profiles of a type are one entry', async () => {
        await addedShown(page, partsFiles());
        await addedShown(page, ['--all', ...partsFiles()]);
        await mixedShown(page, [example, partsFile()]);
    });
    await check('a link restores the view', async () => {
        await open(page, html, 'view=table&q=runtime&icicle=1');
        await viewIs(page, 'table');
        same(await page.inputValue('.search input'), 'runtime', 'search');
    });
    await check('dark and light: as the system, and by the button', async () => {
        const dark = await newPage({ colorScheme: 'dark' });
        await open(dark, html);
        await themeIs(dark, 'dark');
        await dark.click('[data-do=theme]');
        await themeIs(dark, 'light');
        await dark.close();
    });
    await check('resize: the picture follows', async () => {
        await open(page, html);
        await page.setViewportSize({ width: 390, height: 800 });
        await page.waitForFunction(() => document.querySelector('.view canvas').clientWidth <= 390);
        must(
            await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
            'the page is wider than the screen',
        );
        await page.setViewportSize({ width: 1400, height: 900 });
        await page.waitForFunction(() => document.querySelector('.view canvas').clientWidth > 1000);
    });
    await check('print: light, without controls', async () => {
        await page.emulateMedia({ media: 'print' });
        await themeIs(page, 'light');
        must(!(await page.isVisible('.tabs')), 'tabs are printed');
        await page.emulateMedia({ media: 'screen' });
    });
    await check('diff: a profile with itself has not changed', async () => {
        await open(page, diff);
        must(await page.$('[data-do=compare]'), 'no comparison');
        await page.click('[data-tab=table]');
        await there(page, '.row', 'no rows');
        const changes = await page.$$eval('.row td:nth-child(3) .value', (v) => v.map((e) => e.textContent));
        must(changes.length > 5 && changes.every((c) => c === '0'), `changes: ${changes.join(' ')}`);
        await page.keyboard.press('d');
        await eventually(
            page,
            () => document.querySelectorAll('.table th').length === 3,
            null,
            'd does not end the comparison',
        );
    });
    await shareReport(page, open, html, diff, alone);
    await check('drop: a file is compared with, or opened', async () => {
        await open(page, html);
        await drop(page, other, 'other.otlp');
        await page.click('[data-do=compare-with]');
        await page.waitForSelector('[data-do=compare]');
        await drop(page, other, 'other.otlp');
        await page.click('[data-do=open]');
        await page.waitForFunction(() => document.querySelector('h1').textContent === 'other.otlp');
        await drop(page, diff, 'diff.html');
        await page.waitForSelector('[data-do=compare]');
        await drop(page, join(src, 'README.md'), 'README.md');
        await textIs(page, '[role=alert]', /cannot be shown/, 'a file that is not a profile is not rejected');
    });
    await check('names are escaped; views without data are not offered', async () => {
        await open(page, alone);
        await page.click('[data-tab=table]');
        must((await page.innerText('.table')).includes('<img src=x'), 'the name is not shown');
        same(await page.$$eval('img', (i) => i.length), 0, 'images');
        same(
            (await page.$$eval('[data-tab]', (t) => t.map((e) => e.dataset.tab))).join(),
            'flame,table,tree,sandwich',
            'tabs',
        );
    });
    await check('comments, temporality, attributes and the original file are shown', async () => {
        const about = join(dir, 'about.html');
        run('flame', join(src, 'tests/fixtures/seeds/b.otep239'), '-o', about);
        await open(page, about);
        same(
            (await page.$$eval('[data-comment]', (c) => c.map((e) => e.textContent))).join('|'),
            'a human comment|second comment',
            'comments',
        );
        must(await page.isVisible('[data-comment]'), 'the comments cannot be seen');
        await textIs(page, '[data-temporality]', /cumulative/, 'no temporality');
        await textIs(page, '[data-original]', /jfr, 15/, 'no original file');
        await textIs(page, '[data-attribute="abc.com/score"]', /10\.239/, 'no attribute');
        await open(page, html);
        same(await page.$('[data-about]'), null, 'a profile without facts has a panel');
    });
    await check('a million boxes: progress, sorted stacks; zoom and search (reported, not asserted)', () =>
        million(page),
    );
}

// ---- size ----

async function million(page, stacks) {
    const otlp = join(dir, 'million.otlp'),
        html = join(dir, 'million.html');
    writeFileSync(otlp, manyStacks(stacks));
    run('flame', otlp, '-o', html);
    const r = await useMany(page, () => open(page, html)),
        list = (l, k) => l.map((v) => v[k].toFixed(0)).join(' ');
    console.log(`# open: ${r.opened.toFixed(0)} ms, ${r.cpu.toFixed(0)} ms of CPU time of the page`);
    console.log(`# a million boxes: ${Object.entries(r.parts).map(([k, v]) => `${k} ${v.toFixed(0)} ms`).join(', ')}`);
    for (const what of ['zoom', 'search'])
        console.log(
            `# ${what}: ${list(r[what], 'own')} ms of work, ${list(r[what], 'cpu')} ms of CPU time, ${list(r[what], 'frame')} ms to the end of the frame (budget 33)`,
        );
    must(r.steps.includes('Decoding'), `no progress of decoding: ${r.steps.join()}`);
    same(await page.$('.loading'), null, 'progress stays');
    same(r.sorts, 0, 'stacks of the report that had to be sorted');
    must((await canvasBox(page)).width > 100, 'nothing is drawn');
}

try {
    if (spawnSync(kiln, ['flame', example, '-o', join(dir, 'probe.html')]).status === 3)
        skip('this kiln was built without the viewer');
    if (process.argv[2] === 'corpus') await everyCorpusFile();
    else if (process.argv[2] === 'stacks')
        await check('many stacks', async () => million(await newPage(), Number(process.argv[3])));
    else await person();
    console.log(`1..${result().n}`);
} finally {
    await browser.close();
    rmSync(dir, { recursive: true, force: true });
}
process.exit(result().failed ? 1 : 0);
