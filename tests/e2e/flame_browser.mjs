// flame_browser.mjs PICTURE MATCHED - uses the script of a flame graph (src/draw/flame.js) in Chromium.  Prints TAP.
// MATCHED is the part of the picture, in percent, that /json/ must match, as kiln computes it.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [picture, matched] = process.argv.slice(2);
const { chromium } = createRequire(join(process.env.KILN_SRC, 'ui', 'package.json'))('playwright-core');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
const url = pathToFileURL(picture).href, errors = [], requests = [];
let n = 0, failed = 0;

async function open(more = {}, hash = '') {
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, ...more });
    page.on('console', m => m.type() === 'error' && errors.push(m.text()));
    page.on('pageerror', e => errors.push(e.message));
    page.on('request', r => r.url().startsWith(url) || requests.push(r.url()));
    await page.goto(url + hash);
    return page;
}
async function test(name, run) {
    let why;
    try { why = await run(); } catch (e) { why = e.message; }
    console.log(`${why ? 'not ' : ''}ok ${++n} - ${name}` + (why ? `\n# ${String(why).replaceAll('\n', '\n# ')}` : ''));
    failed += !!why;
}
const differ = (got, want) => got === want ? '' : `${JSON.stringify(got)} is not ${JSON.stringify(want)}`;
const boxOf = (page, name) => page.evaluate(name => {
    const g = [...document.querySelectorAll('#frames > g')].find(x => x.querySelector('text')?.textContent === name);
    const r = g?.querySelector('rect').getBoundingClientRect();
    return r ? { x: r.x, y: r.y, width: r.width, height: r.height } : null;
}, name);
const shown = page => page.evaluate(() => document.querySelectorAll('#frames > g:not(.off)').length);
const fieldOf = page => page.evaluate(() => document.querySelector('input').value);
const settled = page => page.evaluate(() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))));
const status = page => page.locator('[role=status]').textContent();
const click = async (page, name) => {
    const b = await boxOf(page, name);
    await page.mouse.click(b.x + b.width / 2, b.y + b.height / 2);
};

const page = await open();
const all = await shown(page);
await test('fits the window', async () => differ(Math.round((await boxOf(page, 'all')).width), 1400 - 25));
await test('fits a narrow one', async () => {
    await page.setViewportSize({ width: 390, height: 700 });
    await settled(page);
    const narrow = Math.round((await boxOf(page, 'all')).width);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    await page.setViewportSize({ width: 1400, height: 900 });
    await settled(page);
    return differ(narrow, 390 - 25) || differ(wide, 390);
});
await test('search: /, regular expression, the part that matched', async () => {
    await page.keyboard.press('/');
    await page.keyboard.type('json');
    return differ(await status(page), `${matched} % matched`)
        || differ(await page.locator('#frames > g.m').count() > 0, true);
});
await test('an invalid expression is plain text', async () => {
    await page.locator('input').fill('(*decode');
    return differ(await page.locator('#frames > g.m').count() > 0, true);
});
await test('Escape clears the search', async () => {
    await page.keyboard.press('Escape');
    return differ(await page.locator('.searching').count(), 0) || differ(await fieldOf(page), '');
});
await test('a click zooms, the address stores the zoom', async () => {
    await page.evaluate(() => document.activeElement.blur());
    await click(page, 'checkout/fraud.Score');
    return differ(Math.round((await boxOf(page, 'checkout/fraud.Score')).width), 1375)
        || differ((await shown(page)) < all, true) || differ(/#z=\d+/.test(page.url()), true);
});
await test('the address restores zoom and search', async () => {
    const again = await open({}, new URL(page.url()).hash + '&s=scoring');
    const why = differ(Math.round((await boxOf(again, 'checkout/fraud.Score')).width), 1375)
        || differ(await fieldOf(again), 'scoring');
    await again.close();
    return why;
});
await test('0 shows everything again', async () => {
    await page.keyboard.press('0');
    return differ(await shown(page), all);
});
await test('arrows and Enter', async () => {
    for (const key of ['ArrowUp', 'ArrowUp', 'ArrowUp', 'Enter']) await page.keyboard.press(key);
    const deeper = (await shown(page)) <= all && await page.locator('#frames > g.up').count();
    await page.keyboard.press('Backspace');
    const up = await page.locator('#frames > g.up').count();
    await page.keyboard.press('0');
    return differ([deeper, up].join(), '2,1');
});
await test('i inverts the picture', async () => {
    const before = await boxOf(page, 'all'), leaf = await boxOf(page, 'runtime.goexit');
    await page.keyboard.press('i');
    const after = await boxOf(page, 'all'), then = await boxOf(page, 'runtime.goexit');
    return differ(before.y > leaf.y && after.y < then.y, true);
});
await test('the tooltip shows name and numbers', async () => {
    const b = await boxOf(page, 'runtime.goexit');
    await page.mouse.move(b.x + 40, b.y + 5);
    return differ(/^runtime\.goexit11\.4 s · 98\.3 %/.test(await page.locator('.tip').textContent()), true);
});
await test('without scripts: titles, and no text leaves its box', async () => {
    const still = await open({ javaScriptEnabled: false });
    const titles = await still.locator('#frames title').count();
    let out = 0;
    for (const g of await still.locator('#frames > g:has(text)').all()) {
        const r = await g.locator('rect').boundingBox(), t = await g.locator('text').boundingBox();
        if (t.x + t.width > r.x + r.width + 1) out++;
    }
    await still.close();
    return differ(titles, all) || differ(out, 0);
});
await test('dark and light differ', async () => {
    const dark = await open({ colorScheme: 'dark' });
    const ink = p => p.evaluate(() => getComputedStyle(document.querySelector('#frames rect')).fill);
    const why = differ(await ink(dark) !== await ink(page), true);
    await dark.close();
    return why;
});
await test('no error, no request', async () => [...errors, ...requests].join('\n'));
console.log(`1..${n}`);
await browser.close();
process.exit(failed ? 1 : 0);
