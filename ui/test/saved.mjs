// saved.mjs - tests of the menu Saved: saves, opens, renames and deletes selections, and asks for the write token.
import { check, eventually, gone, same, textIs, there } from './kit.mjs';
import { CPU, inQuery, open, shot } from './live-kit.mjs';

const stored = async (url) => (await (await fetch(`${url}/api/v1/saved`)).json()).saved;

export async function savedLive(page, url) {
    await check('saved: save, open, rename and delete a selection', async () => {
        await open(page, url, `${CPU}#view=table`);
        await page.click('[data-do=saved]');
        await there(page, '[data-do=saved-name]:focus', 'the name has no focus');
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
