// live-tree.mjs - uses the page of a store with more stacks than a page loads: the server sends the largest nodes, a zoom loads more,
// sums stay exact, transforms equal `kiln top`. Prints TAP. KILN_SHOTS=DIR stores screenshots.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { browser, check, dir, eventually, gone, inAddress, must, newPage, result, same, skip, textIs, there } from './kit.mjs';
import { ALL, endServers, open, put, serve, settled, shot, top, totalIs } from './live-kit.mjs';

const TREE_BYTES = 1 << 20; // of src/live/tree.ts
const PARTS = 24,
    KINDS = 120,
    LEAVES = 60;

/** Stacks of four frames. The amounts of the parts and kinds fall, so that those of the last ones are not loaded. */
function stacks() {
    const lines = [];
    for (let p = 0; p < PARTS; p++)
        for (let k = 0; k < KINDS; k++)
            for (let l = 0; l < LEAVES; l++) {
                const value = (PARTS - p) * (PARTS - p) * (KINDS - k) + (LEAVES - l);
                lines.push(`main;part ${p} \\ (x);kind_${p}_${k} of requests;leaf ${l} of kind_${p}_${k} ${value}`);
            }
    return lines.join('\n') + '\n';
}

const folded = (page) => page.$eval('[data-folded]', (e) => Number(e.dataset.folded));
const found = async (page, text) => {
    await page.fill('.search input', text);
    await textIs(page, '.search output', /·/, 'no search');
    return page.$eval('.search output', (e) => e.textContent);
};
/** Opens the details of a function in the table, and returns its exact amounts. */
const amounts = (page, name) =>
    page.evaluate(async (wanted) => {
        for (const tr of document.querySelectorAll('.table tr.row'))
            if (tr.querySelector('.name').title === wanted)
                return [...tr.querySelectorAll('td.number')].map((td) => Number(td.title));
        return null;
    }, name);

async function tests() {
    const url = await serve('big'),
        file = join(dir, 'big.folded');
    if ((await fetch(url)).status === 501) skip('this kiln was built without the page of the server');
    writeFileSync(file, stacks());
    await put(url, file);
    const whole = top('--no-trim', url + '/?start=0'),
        of = (name) => whole.rows.find((r) => r.name === name);
    const mine = new RegExp(`^(${url}|data:|about:|blob:)`),
        page = await newPage({}, mine);
    let sent = [];
    page.on('response', async (r) => {
        const path = new URL(r.url()).pathname.replace('/api/v1/', '');
        if (r.url().includes('/api/v1/')) sent.push({ path, url: decodeURIComponent(r.url()), bytes: (await r.body().catch(() => '')).length });
    });
    const queried = (path) => sent.filter((r) => r.path === path);

    await check('a tree that is too large is cut: the total is exact, the missing part is named', async () => {
        await open(page, url, ALL);
        await there(page, '[data-folded]', 'the page does not mention the missing part');
        await totalIs(page, whole.total, 'total');
        same(queried('export').length, 0, 'exports');
        same(queried('tree').length, 1, 'queries of trees');
        must(queried('tree')[0].bytes <= TREE_BYTES, `${queried('tree')[0].bytes} bytes`);
        must((await folded(page)) > 0 && (await folded(page)) < whole.total, `${await folded(page)} of ${whole.total} is missing`);
        await shot(page, 'big-cut');
    });
    await check('a zoom loads the missing nodes below it, once; the search and the sums include it', async () => {
        const part = 'part 20 \\ (x)',
            leaf = `leaf 7 of kind_20_${KINDS - 1}`,
            before = await folded(page);
        must(/^0 · .*of the loaded part/.test(await found(page, leaf)), 'the leaf is loaded already');
        await found(page, part);
        await page.keyboard.press('Enter');
        await inAddress(page, 'zoom=', 'no zoom');
        await eventually(page, (f) => Number(document.querySelector('[data-folded]').dataset.folded) < f, before, 'nothing is loaded');
        await settled(page);
        same(queried('tree').length, 2, 'queries of trees');
        must(queried('tree')[1].url.includes('below=main;part+20+\\\\+(x)'), queried('tree')[1].url);
        must(queried('tree')[1].bytes <= TREE_BYTES, `${queried('tree')[1].bytes} bytes`);
        await totalIs(page, whole.total, 'total');
        must(/^1 · /.test(await found(page, leaf)), 'the leaf is not found');
        await shot(page, 'big-deeper');
        await page.click('[data-tab=table]');
        for (const name of [part, leaf]) {
            await found(page, name);
            await eventually(page, (n) => [...document.querySelectorAll('.table .row .name')].some((e) => e.title === n), name, `no row ${name}`);
            same(String(await amounts(page, name)), String([of(name).flat, of(name).cum]), name);
        }
        await page.click('[data-do=clear]');
        await page.goBack();
        await page.goForward();
        same(queried('tree').length, 2, 'queries of trees after moving in the history');
    });
    await check('a link to a zoom loads it at once; a small subtree is shown whole', async () => {
        const link = page.url();
        sent = [];
        await page.goto('about:blank');
        await page.goto(link.replace('view=table', 'view=flame'));
        await settled(page);
        await there(page, '.crumbs', 'no zoom');
        same(queried('tree').length, 2, 'queries of trees');
        must(/^1 · /.test(await found(page, `leaf 7 of kind_20_${KINDS - 1}`)), 'the leaf is not found');
        await page.click('[data-do=clear]');
    });
    await check('transforms: the server applies one, several load every stack; the numbers are those of kiln top', async () => {
        const kind = `kind_22_${KINDS - 1} of requests`,
            alone = top('--no-trim', '--focus', `^${kind}$`, url + '/?start=0');
        sent = [];
        await open(page, url, `${ALL}#t=${encodeURIComponent(`w.${kind}`)}`);
        await textIs(page, '.total', new RegExp(`of all`), 'no share');
        must(queried('tree').at(-1).url.includes('focus=^kind_22'), queried('tree').at(-1).url);
        same(queried('export').length, 0, 'exports');
        await gone(page, '[data-folded]', 'a part is missing');
        await page.click('[data-tab=table]');
        await found(page, kind);
        await there(page, '.table .row', 'no row');
        same(String(await amounts(page, kind)), String([0, alone.rows.find((r) => r.name === kind).cum]), 'focus');
        sent = [];
        const both = top('--no-trim', '--focus', `^${kind}$`, '--hide', '^main$', url + '/?start=0');
        await open(page, url, `${ALL}#t=${encodeURIComponent(`w.${kind}`)}&t=m.main&view=table`);
        same(queried('tree').length, 0, 'trees');
        same(queried('export').length, 1, 'exports');
        await found(page, kind);
        same(String(await amounts(page, kind)), String([0, both.rows.find((r) => r.name === kind).cum]), 'focus and hide');
        await page.click('[data-do=clear]');
    });
    await check('"load everything" and the labels load every stack; the threads do not', async () => {
        sent = [];
        await open(page, url, `${ALL}#view=lanes`);
        same(queried('export').length, 0, 'exports');
        await page.click('[data-tab=flame]');
        await page.click('[data-do=load-all]');
        await gone(page, '[data-folded]', 'a part is missing');
        await settled(page);
        same(queried('export').length, 1, 'exports');
        await totalIs(page, whole.total, 'total');
        must(/^1 · [^o]*$/.test(await found(page, `leaf 7 of kind_20_${KINDS - 1}`)), 'the leaf is not found');
        await page.click('[data-do=clear]');
    });
}

try {
    await tests();
    console.log(`1..${result().n}`);
} finally {
    await browser.close();
    await endServers();
    rmSync(dir, { recursive: true, force: true });
}
process.exit(result().failed ? 1 : 0);
