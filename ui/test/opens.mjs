// opens.mjs URL - opens a link in Chromium, and prints what the page shows: page, view, service, type, total, functions. Exit
// status 77: there is no Chromium.
import { existsSync } from 'node:fs';

const chromium = process.env.KILN_CHROMIUM ?? '/usr/bin/chromium';
if (!existsSync(chromium)) process.exit(77);
const { browser, newPage, there, viewIs } = await import('./kit.mjs');
try {
    const url = process.argv[2],
        page = await newPage({}, new RegExp(`^(${new URL(url).origin}/|data:|about:|blob:)`));
    await page.goto(url);
    await there(page, '.total', 'no profile is shown');
    const shown = await page.evaluate(() => ({
        page: document.querySelector('[data-goto][aria-current=page]').dataset.goto,
        view: document.querySelector('.view').dataset.view,
        canvas: !!document.querySelector('.view .flame canvas')?.width,
        service: document.querySelector('[data-do=service]').value,
        type: document.querySelector('[data-do=type]')?.value,
        total: Number(document.querySelector('.total').dataset.total),
    }));
    await page.click('[data-tab=table]');
    await viewIs(page, 'table');
    await there(page, '.row', 'no functions');
    const functions = await page.$$eval('.row .name', (l) => l.map((e) => e.title.split('\n')[0]));
    console.log(JSON.stringify({ ...shown, functions }));
} finally {
    await browser.close();
}
