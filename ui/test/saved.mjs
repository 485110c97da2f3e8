// saved.mjs - tests of the menu Saved: saves, opens, renames and deletes selections; without the write token, and on a read-only
// server, it lists and opens them only.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, dir, eventually, example, gone, must, newPage, same, textIs, there } from './kit.mjs';
import { CPU, inQuery, open, serve, shot } from './live-kit.mjs';

const list = async (url) => (await fetch(`${url}/api/v1/saved`)).json(),
    stored = async (url) => (await list(url)).saved;

export async function savedLive(page, url) {
    await check('saved: save, open, rename and delete a selection', async () => {
        await open(page, url, `${CPU}#view=table`);
        await page.click('[data-do=saved]');
        await there(page, '[data-do=saved-name]:focus', 'the name has no focus');
        const [proposed, chosen] = await page.$eval('[data-do=saved-name]', (e) => [e.value, e.value.slice(e.selectionStart, e.selectionEnd)]);
        same(`${proposed}|${chosen}`, 'checkout cpu|checkout cpu', 'the proposed name, and what typing replaces');
        await page.fill('[data-do=saved-name]', 'cpu of “checkout”');
        await page.keyboard.press('Enter');
        await there(page, '[data-saved="cpu of “checkout”"]', 'not in the list');
        await textIs(page, '[data-do=save]', /Replace/, 'the name is not known as taken');
        const [entry] = await stored(url);
        same(entry.name, 'cpu of “checkout”', 'name');
        await shot(page, 'saved');
        await page.click('[data-do=saved-rename]');
        await page.fill('[data-do=saved-rename-to]', 'mine');
        await page.keyboard.press('Enter');
        await there(page, '[data-saved=mine]', 'not renamed');
        await page.keyboard.press('Escape');
        await gone(page, '.saved-menu', 'Esc does not close the menu');
        await open(page, url, '?range=all');
        await page.click('[data-do=saved]');
        await page.click('[data-saved=mine] [data-do=saved-open]');
        await inQuery(page, 'service.name="checkout"');
        await eventually(page, () => location.hash === '#view=table', null, 'the view is another');
        await page.click('[data-do=saved]');
        await page.click('[data-do=saved-delete]');
        await gone(page, '[data-saved]', 'not deleted');
        same((await stored(url)).length, 0, 'entries');
        await page.keyboard.press('Escape');
    });
}

const TOKEN = 'a-token-of-those-who-write',
    CHANGES = '[data-do=save], [data-do=saved-name], [data-do=saved-rename], [data-do=saved-delete]';

/** Opens the menu and waits for the list. */
async function menu(page, url) {
    await open(page, url, '?range=all');
    await page.click('[data-do=saved]');
    await there(page, '[data-saved=theirs]', 'the selection is not listed');
}

async function opens(page) {
    await page.click('[data-saved=theirs] [data-do=saved-open]');
    await inQuery(page, 'service.name="checkout"');
}

export async function savedGuarded() {
    const file = join(dir, 'writers'),
        tokens = (text) => writeFileSync(file, text, { mode: 0o600 });
    tokens(`${TOKEN} people\n`);
    const url = await serve('saved', '--write-tokens', file),
        page = await newPage({}, new RegExp(`^(${url}/|data:|about:|blob:)`)),
        authorization = `Bearer ${TOKEN}`;
    page.removeAllListeners('console'); // the browser logs the status 401
    const send = (method, path, body) => fetch(url + path, { method, headers: { authorization }, body });
    must((await send('PUT', '/api/v1/saved/theirs', CPU)).ok, 'not saved');
    must((await send('POST', '/upload', readFileSync(example))).ok, 'not uploaded');
    await check('saved: without the write token the menu lists and opens, and offers no change', async () => {
        await menu(page, url);
        await textIs(page, '[data-needs-token]', /require a write token/, 'the token is not mentioned');
        same(await page.$(CHANGES), null, 'a change is offered');
        await shot(page, 'saved-token');
        await opens(page);
    });
    await check('saved: a wrong token is rejected, the right one allows changes', async () => {
        await menu(page, url);
        const enter = async (token) => {
            await there(page, '[role=dialog] [data-do=token]', 'no prompt');
            await page.fill('[data-do=token]', token);
            await page.keyboard.press('Enter');
        };
        await page.focus('[data-do=saved-token]');
        await page.keyboard.press('Enter');
        await gone(page, '.token .wrong', 'no token was rejected yet');
        await enter('not-the-right-one-at-all');
        await page.click('[data-do=saved-delete]');
        await there(page, '.token .wrong', 'the token is not reported as wrong');
        same((await stored(url)).length, 1, 'entries');
        await enter(TOKEN);
        await gone(page, '[data-saved]', 'not deleted');
        must((await stored(url)).length === 0, 'still stored');
    });
    await page.close();
    await check('saved: a read-only server lists and opens', async () => {
        must((await send('PUT', '/api/v1/saved/theirs', CPU)).ok, 'not saved');
        tokens('# nobody may write\n');
        const other = await newPage({}, new RegExp(`^(${url}/|data:|about:|blob:)`));
        for (let i = 0; (await list(url)).changes !== 'none'; i++) {
            must(i < 300, 'the tokens are not reloaded');
            await new Promise((done) => setTimeout(done, 100));
        }
        await menu(other, url);
        await textIs(other, '[data-read-only]', /read-only/, 'no reason');
        same(await other.$(`${CHANGES}, [data-do=saved-token]`), null, 'a change is offered');
        await opens(other);
        await other.close();
    });
}
