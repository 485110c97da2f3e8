// test/keys.mjs - uses the page without a pointer: every canvas has a cursor that keys move, and a live region that names the box
// under it; the focus is visible; the page works at 200 % zoom. Prints TAP.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import {
    browser,
    check,
    dir,
    eventually,
    example,
    inAddress,
    must,
    newPage,
    result,
    run,
    same,
    skip,
    there,
    viewIs,
} from './kit.mjs';
import { noFindings } from './axe-kit.mjs';
import { CPU, endServers, inQuery, open, put, send, serve, settled, shot, top } from './live-kit.mjs';

/** The text of a live region, when it matches. */
const spoken = async (page, name, re) => {
    await eventually(
        page,
        ([n, r]) => new RegExp(r).test(document.querySelector(`[data-live="${n}"]`)?.textContent ?? ''),
        [name, re.source],
        `the live region ${name} does not match ${re}: ${await page.textContent(`[data-live="${name}"]`)}`,
    );
    return page.textContent(`[data-live="${name}"]`);
};
const press = async (page, ...keys) => {
    for (const k of keys) await page.keyboard.press(k);
};

/** The share of the window that an element fills, and whether it can be seen as a whole. */
const heightOf = (page, selector) =>
    page.$eval(selector, (e) => {
        const r = e.getBoundingClientRect();
        return {
            share: (Math.min(r.bottom, innerHeight) - Math.max(r.top, 0)) / innerHeight,
            wide: document.documentElement.scrollWidth > innerWidth,
        };
    });

/** The elements of the view that can be seen below its lower edge: not those that scroll inside it. */
const beyond = (page) =>
    page.$eval('.view', (view) =>
        [...view.querySelectorAll('*')]
            .filter((e) => {
                let bottom = e.getBoundingClientRect().bottom;
                for (let up = e; up && (up === e || up !== view.parentElement); up = up.parentElement)
                    if (getComputedStyle(up).overflowY !== 'visible') bottom = Math.min(bottom, up.getBoundingClientRect().bottom);
                return bottom > view.getBoundingClientRect().bottom + 1;
            })
            .map((e) => `${e.tagName} ${e.className}`)
            .join(', '),
    );

const THREADS = 14,
    MANY = `?from=2025-11-07T10:00:00Z&to=2025-11-07T10:01:00Z&query=${encodeURIComponent('cpu/nanoseconds{service.name="many"}')}`;

async function flame(page, url) {
    const rows = top(example).rows;
    await check('flame graph: arrow keys move the cursor, which is announced', async () => {
        await open(page, url, CPU);
        await page.focus('.flame');
        await press(page, 'ArrowUp');
        const first = await spoken(page, 'Flame graph', /: total .*; self .*; level 1/);
        await there(page, '.tip', 'no tooltip at the cursor');
        await press(page, 'ArrowUp');
        await spoken(page, 'Flame graph', /level 2/);
        await press(page, 'ArrowDown');
        same(await spoken(page, 'Flame graph', /level 1/), first, 'back to the first box');
        must(
            rows.some((r) => first.startsWith(r.name)),
            `${first} is not a function of kiln top`,
        );
    });
    await check('flame graph: Enter zooms, Backspace zooms out, s shows callers and callees', async () => {
        await press(page, 'ArrowUp', 'ArrowUp', 'Enter');
        await inAddress(page, 'zoom=');
        await press(page, 'Backspace', 's');
        await viewIs(page, 'sandwich');
        await there(page, '.sandwich .flame', 'no callers or callees');
    });
    await check('sandwich: each half has a cursor', async () => {
        const name = () => page.textContent('.sandwich .middle b'),
            before = await name();
        await page.focus('.sandwich .flame[aria-label^=Callees]');
        await press(page, 'ArrowDown', 'ArrowDown');
        const text = await spoken(page, 'Callees', /level 2/);
        await press(page, 's');
        await eventually(
            page,
            (n) => document.querySelector('.sandwich .middle b').textContent !== n,
            before,
            'the function stays',
        );
        must(text.startsWith(await name()), `${text}: another function than ${await name()}`);
    });
    await check('one frame has one name in the graph, the table, the details and the search', async () => {
        await open(page, url, CPU);
        await page.focus('.flame');
        await press(page, 'ArrowUp', 'ArrowUp');
        const name = (await spoken(page, 'Flame graph', /level 2/)).split(': total')[0];
        await eventually(page, (n) => document.querySelector('.details h2')?.textContent === n, name, 'details');
        await press(page, '2');
        await eventually(
            page,
            (n) => document.querySelector('.row.selected .name')?.title.split('\n')[0] === n,
            name,
            'table',
        );
        await page.click('.details .actions button:has-text("Highlight")');
        same(await page.inputValue('.search input'), name, 'search');
        await eventually(
            page,
            () => document.querySelectorAll('.table .row').length > 0,
            null,
            'the search finds nothing',
        );
    });
}

async function overTime(page, url) {
    await check('flame chart: the cursor moves along stacks and in time', async () => {
        await open(page, url, `${CPU}#view=chart`);
        await there(page, '.chart canvas', 'no flame chart');
        await page.focus('.chart');
        await press(page, 'ArrowDown');
        await spoken(page, 'chart', /^Thread .*observations, \d+ of \d+ levels shown/);
        await press(page, 'ArrowDown');
        await spoken(page, 'chart', /level 1, thread/);
        await press(page, 'ArrowDown');
        const first = await spoken(page, 'chart', /level 2, thread/);
        await there(page, '.cursor', 'no visible cursor');
        await press(page, 'ArrowDown', 'ArrowUp');
        same(await spoken(page, 'chart', /level 2/), first, 'back to the box');
        await press(page, 'Enter');
        await inAddress(page, 'window=');
        await inAddress(page, 'sel=');
        await press(page, 'Escape');
    });
    await check('flame chart: Enter on the name of a thread closes and opens it', async () => {
        await open(page, url, `${CPU}#view=chart`);
        await there(page, '.chart canvas', 'no flame chart');
        await page.focus('.chart');
        await press(page, 'ArrowDown', 'Enter');
        const text = await spoken(page, 'chart', /^Thread/);
        if (!/closed/.test(text)) await press(page, 'Enter');
        await spoken(page, 'chart', /closed|levels shown/);
    });
    await check('heat map: the cursor is announced, Shift and Enter select', async () => {
        await open(page, url, `${CPU}#view=heat`);
        await there(page, '.heat canvas', 'no heat map');
        await page.focus('.heat .scroll');
        await press(page, 'ArrowRight', 'ArrowRight', 'ArrowUp');
        await spoken(page, 'heat', /^2025-11-03 .*: /);
        await press(page, 'Shift+ArrowRight', 'Shift+ArrowRight');
        await spoken(page, 'heat', /selected/);
        await shot(page, 'keys-heat');
        await press(page, 'Enter');
        await inAddress(page, 'time=');
    });
    await check('threads: the cursor is announced, Enter selects, Space shows one thread', async () => {
        await open(page, url, `${CPU}#view=lanes`);
        await there(page, '.lanes canvas', 'no threads');
        await page.focus('.lanes .scroll');
        await press(page, 'ArrowRight');
        const first = (await spoken(page, 'lanes', /, .*2025-11-03/)).split(',')[0];
        await press(page, 'ArrowDown');
        const second = (await spoken(page, 'lanes', /, .*2025-11-03/)).split(',')[0];
        must(first !== second, `both are ${first}`);
        await shot(page, 'keys-lanes');
        await press(page, 'Shift+ArrowRight', 'Enter');
        await inAddress(page, 'time=');
        await settled(page);
        await open(page, url, `${CPU}#view=lanes`);
        await there(page, '.lanes canvas', 'no threads');
        await page.focus('.lanes .scroll');
        await press(page, 'ArrowRight', ' ');
        await inAddress(page, 'label=thread.name=');
    });
    await check('charts over time: the cursor is announced', async () => {
        await open(page, url, CPU);
        await page.focus('.plot');
        await press(page, 'ArrowRight', 'ArrowRight');
        await spoken(page, 'series', /^2025-11-03/);
        await press(page, 'Shift+ArrowRight', 'Enter');
        await inQuery(page, 'from=2025');
    });
}

/** Elements that Tab reaches, with whether their focus is visible. */
async function tabOrder(page, most = 120) {
    const out = [];
    await page.evaluate(() => document.activeElement?.blur());
    for (let i = 0; i < most; i++) {
        await page.keyboard.press('Tab');
        const e = await page.evaluate(() => {
            const a = document.activeElement;
            if (!a || a === document.body) return null;
            const outlined = (e) => {
                const s = getComputedStyle(e);
                return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2;
            };
            return {
                name: a.dataset.do ?? a.dataset.tab ?? a.dataset.goto ?? a.className ?? a.tagName,
                text: (a.getAttribute('aria-label') ?? a.textContent).slice(0, 40),
                visible: outlined(a) || outlined(a.parentElement), // the search field is outlined with its buttons
            };
        });
        if (!e) break;
        out.push(e);
    }
    return out;
}

async function focus(page, url) {
    await check('Tab reaches the views, the chart and the graph, with visible focus', async () => {
        await open(page, url, CPU);
        const list = await tabOrder(page),
            names = list.map((e) => e.name);
        for (const want of ['explore', 'service', 'type', 'plot', 'flame'])
            must(names.includes(want), `${want} is not reachable: ${names.join(', ')}`);
        const hidden = list.filter((e) => !e.visible);
        must(!hidden.length, `no visible focus: ${hidden.map((e) => `${e.name} ${e.text}`).join(', ')}`);
    });
    await check('views: one tab stop, arrow keys switch', async () => {
        same(await page.$$eval('[data-tab]', (l) => l.filter((e) => e.tabIndex === 0).length), 1, 'tab stops');
        await page.focus('[data-tab=flame]');
        await press(page, 'ArrowRight');
        await viewIs(page, 'table');
        same(await page.evaluate(() => document.activeElement.dataset.tab), 'table', 'the focus');
        await press(page, 'Home');
        await viewIs(page, 'flame');
    });
}

async function dialogs(page, url) {
    const inside = (selector) => page.evaluate((q) => !!document.activeElement.closest(q), selector);
    await check('help: the focus is inside until it closes', async () => {
        await open(page, url, CPU);
        await page.focus('.flame');
        await press(page, '?');
        await there(page, '[role=dialog]', 'no help');
        await eventually(
            page,
            () => document.activeElement.closest('[role=dialog]'),
            null,
            'the focus is not in the help',
        );
        for (const k of ['Tab', 'Tab', 'Tab', 'Shift+Tab', 'Shift+Tab']) {
            await press(page, k);
            must(await inside('[role=dialog]'), `${k} leaves the help`);
        }
        await press(page, 'Escape');
        await eventually(page, () => document.activeElement.className === 'flame', null, 'the focus does not return');
    });
    await check('menus and help have the focus before the next frame', async () => {
        const found = await page.evaluate(async () => {
            const inside = async (selector, act) => {
                act();
                for (let i = 0; i < 20; i++) await Promise.resolve(); // no timer, no frame
                return !!document.activeElement.closest(selector);
            };
            const key = (name) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true })),
                out = [await inside('.pop', () => document.querySelector('[data-do=range]').click())];
            key('Escape');
            out.push(await inside('.help', () => key('?')));
            key('Escape');
            return out.join();
        });
        same(found, 'true,true', 'the focus in the menu, in the help');
    });
    await check('menus: Escape returns to the button', async () => {
        await page.click('[data-do=range]');
        await there(page, '.pop', 'no menu');
        must(await inside('.pop'), 'the focus is not in the menu');
        await press(page, 'Escape');
        same(await page.evaluate(() => document.activeElement.dataset.do), 'range', 'the focus');
    });
}

async function zoomed(url, mine) {
    await check('200 % zoom: the graph keeps half of the height', async () => {
        const page = await newPage({ viewport: { width: 720, height: 450 } }, mine),
            from = Date.parse('2025-11-07T10:00:00Z');
        for (let t = 0; t < THREADS; t++)
            await send(url, {
                service: 'many',
                from,
                duration: 60e3,
                samples: Array.from({ length: 60 }, (_, i) => ({
                    value: 10e6,
                    time: from + i * 1000 + t * 7,
                    labels: { 'thread.name': `thread-${t}` },
                })),
            });
        for (const view of ['flame', 'table', 'tree', 'sandwich', 'chart', 'lanes', 'heat', 'labels']) {
            await open(page, url, `${MANY}#view=${view}`);
            await there(page, `.view[data-view=${view}]`, view);
            if (view === 'lanes' || view === 'heat') await there(page, '.view canvas', `no picture of ${view}`);
            const { share, wide } = await heightOf(page, '.view');
            must(share >= 0.5, `${view}: ${Math.round(share * 100)} % of the height`);
            must(!wide, `${view} is wider than the window`);
            same(await beyond(page), '', `${view}: drawn beyond the view`);
            await shot(page, `zoom-${view}`);
        }
        await page.close();
    });
    await check('200 % zoom: the report keeps half of the height for the graph', async () => {
        const file = join(dir, 'zoom.html'),
            page = await newPage({ viewport: { width: 720, height: 450 } });
        run('flame', example, '-o', file);
        for (const view of ['flame', 'table', 'tree', 'sandwich', 'chart', 'heat', 'labels']) {
            await page.goto('about:blank');
            await page.goto(`file://${file}#view=${view}`);
            await there(page, `.view[data-view=${view}]`, `no view ${view}`);
            const { share } = await heightOf(page, '.view');
            must(share >= 0.5, `${view}: ${Math.round(share * 100)} % of the height`);
        }
        await shot(page, 'zoom-report');
        await page.close();
    });
    await check('wide and narrow: the controls stay in their places, the facts are whole, the graph keeps its height', async () => {
        for (const width of [1440, 1400, 1024, 800, 720, 390]) {
            const page = await newPage({ viewport: { width, height: 900 } }, mine),
                edge = width > 720 ? 16 : 12,
                box = (selector) => page.$eval(selector, (e) => e.getBoundingClientRect().toJSON());
            await open(page, url, CPU);
            await there(page, '.flame canvas', 'no graph');
            must((await box('.tabs.pages')).left < 90, `${width} px: the pages are at ${(await box('.tabs.pages')).left}`);
            same(Math.round((await box('[data-do=by]')).right), width - edge, `${width} px: the right edge of "by"`);
            if (width > 390) {
                const cut = await page.$$eval('.title p span', (l) => l.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent));
                same(cut.join(), '', `${width} px: clipped facts`);
            }
            await page.focus('.flame');
            await press(page, 'ArrowUp', 'ArrowUp', 'Enter');
            await there(page, '.details', 'no details');
            const { height } = await box('.flame');
            must(height >= 0.25 * 900, `${width} px: the graph is ${height} px high beside the details`);
            await shot(page, `width-${width}`);
            await page.close();
        }
    });
    await check('narrow: names of the call tree end in the view', async () => {
        const page = await newPage({ viewport: { width: 390, height: 844 } }, mine);
        await open(page, url, `${CPU}#view=tree`);
        await there(page, '.call', 'no call tree');
        const [sheet, view] = await page.$eval('.calltree', (e) => [e.scrollWidth, e.clientWidth]);
        must(sheet <= view, `rows of ${sheet} px in ${view} px`);
        await page.close();
    });
    await check('reduced motion: nothing moves by itself', async () => {
        const page = await newPage({ reducedMotion: 'reduce' }, mine);
        await open(page, url, CPU);
        const moving = await page.evaluate(() => {
            const list = [...document.querySelectorAll('*')].flatMap((e) =>
                [null, '::before', '::after'].map((pseudo) => [e, getComputedStyle(e, pseudo)]),
            );
            return list
                .filter(
                    ([, s]) =>
                        s.animationName !== 'none' ||
                        (s.transitionDuration !== '0s' && s.transitionProperty !== 'visibility'),
                )
                .map(([e]) => e.className || e.tagName);
        });
        must(!moving.length, `these elements move: ${moving.join(', ')}`);
        await page.close();
    });
}

try {
    const url = await serve('keys');
    if ((await fetch(url)).status === 501) skip('this kiln was built without the page of the server');
    await put(url, example);
    const mine = new RegExp(`^(${url}/|data:|about:|blob:)`),
        page = await newPage({}, mine);
    await check('axe-core finds nothing serious in the flame graph', async () => {
        await open(page, url, CPU);
        await noFindings(page);
    });
    await flame(page, url);
    await overTime(page, url);
    await focus(page, url);
    await dialogs(page, url);
    await zoomed(url, mine);
    console.log(`1..${result().n}`);
} finally {
    await browser.close();
    await endServers();
    rmSync(dir, { recursive: true, force: true });
}
process.exit(result().failed ? 1 : 0);
