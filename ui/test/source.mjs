// source.mjs - source code beside amounts: files that a report contains or a server fetches, and links of a server. Prints TAP.
// KILN_SHOTS=DIR stores screenshots.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { browser, check, dir, kiln, must, newPage, result, same, textIs, there, viewIs } from './kit.mjs';
import { endServers, open, serve, shot } from './live-kit.mjs';
import { noFindings } from './axe-kit.mjs';

const HOSTILE = '<img src=x onerror=alert(1)>.c',
    LEAVES = [
        // function, file, line, amount
        ['parse', '/build/shop/src/main.c', 4, 30],
        ['parse', '/build/shop/src/main.c', 6, 50],
        ['hostile', `/build/shop/src/${HOSTILE}`, 2, 7],
        ['header', '/usr/include/stdio.h', 99, 5],
        ['password', '../../../../../../../../../../etc/passwd', 1, 3],
        ['host', '/etc/hostname', 1, 2],
        ['binary', '/build/shop/src/binary.c', 1, 2],
        ['big', '/build/shop/src/big.c', 1, 2],
        ['nameless', '', 0, 1],
    ];

const ID = 'c0ffee5a1e00000000000000000000000000beef',
    NO_ID = 'binary'; // a leaf of a binary without build id

/** OTLP/JSON: run calls each leaf from line 9 of main.c. `times`: each sample is repeated, and the sums stay. */
function profile(times = 1) {
    const strings = [''],
        text = (s) => (strings.includes(s) ? strings.indexOf(s) : strings.push(s) - 1);
    const names = [['run', '/build/shop/src/main.c'], ...LEAVES.map(([name, file]) => [name, file])],
        functions = [{}, ...names.map(([name, file]) => ({ nameStrindex: text(name), filenameStrindex: text(file) }))],
        locations = [
            {},
            { lines: [{ functionIndex: 1, line: '9' }] },
            ...LEAVES.map(([, , line], i) => ({ lines: [{ functionIndex: i + 2, line: String(line) }] })),
        ];
    for (const l of locations) if (l.lines && names[l.lines[0].functionIndex - 1][0] !== NO_ID) l.mappingIndex = 1;
    const now = BigInt(Date.now()) * 1000000n;
    return {
        dictionary: {
            mappingTable: [{}, { filenameStrindex: text('/usr/bin/shop'), attributeIndices: [1] }],
            locationTable: locations,
            functionTable: functions,
            linkTable: [{}],
            attributeTable: [{}, { keyStrindex: text('process.executable.build_id.gnu'), value: { stringValue: ID } }],
            stackTable: [{}, ...LEAVES.map((_, i) => ({ locationIndices: [i + 2, 1] }))],
            stringTable: (text('cpu'), text('nanoseconds'), strings),
        },
        resourceProfiles: [
            {
                resource: {
                    attributes: [
                        { key: 'service.name', value: { stringValue: 'shop' } },
                        { key: 'service.version', value: { stringValue: 'v1/../"><b>' } },
                    ],
                },
                scopeProfiles: [
                    {
                        profiles: [
                            {
                                sampleType: { typeStrindex: text('cpu'), unitStrindex: text('nanoseconds') },
                                timeUnixNano: String(now - 5000000000n),
                                durationNano: '1000000000',
                                samples: Array(times)
                                    .fill(LEAVES.map(([, , , v], i) => ({ stackIndex: i + 1, values: [String((v * 1e6) / times)] })))
                                    .flat(),
                            },
                        ],
                    },
                ],
            },
        ],
    };
}

const MAIN = ['#include <stdio.h>', '', 'int parse(void)', '{\tint n = 0; // </script><script>alert(1)</script>', '\u202e', '\treturn n;', '}', '', 'int run(void) { return parse(); }', ...Array(60).fill('// end')].join('\r\n');

const json = join(dir, 'shop.json'),
    html = join(dir, 'shop.html'),
    tree = join(dir, 'tree');

function sources() {
    mkdirSync(join(tree, 'src'), { recursive: true });
    writeFileSync(join(tree, 'src/main.c'), MAIN);
    writeFileSync(join(tree, 'src', HOSTILE), 'a\n<b onclick=alert(1)>&amp;\n');
    writeFileSync(join(tree, 'src/binary.c'), Buffer.from([65, 0, 66]));
    writeFileSync(join(tree, 'src/big.c'), Buffer.alloc((1 << 20) + 1, 'x'));
    writeFileSync(json, JSON.stringify(profile()));
}

const line = (page, n) =>
    page.$eval(`[data-line="${n}"]`, (tr) => ({
        self: Number(tr.cells[0].title),
        total: Number(tr.cells[1].title),
        text: tr.cells[3].textContent,
        hot: tr.classList.contains('hot'),
    }));
const select = async (page, name) => {
    await page.goto('about:blank');
    await page.goto(`file://${html}#view=table`);
    await page.click(`.row:has-text("${name}")`);
    await page.keyboard.press('Escape').catch(() => {});
    await page.click(`.row:has-text("${name}")`);
    await page.click('[data-tab=source]');
    await viewIs(page, 'source');
};

async function report() {
    execFileSync(kiln, ['flame', json, '--source', '--source-path', tree, '-o', html]);
    await check('a report contains the files below the given directory, and no others', async () => {
        const text = String(readFileSync(html)),
            found = /kiln\.source\+gzip">([^<]*)</.exec(text);
        must(found, 'no source in the report');
        const all = JSON.parse(execFileSync('gzip', ['-dc'], { input: Buffer.from(found[1], 'base64') }));
        same(all.files.map((f) => f.name).sort().join(), ['/build/shop/src/main.c', `/build/shop/src/${HOSTILE}`].sort().join(), 'files');
        const why = Object.fromEntries(all.missing.map((f) => [f.name.replace(/.*\//, ''), f.why]));
        same(why['stdio.h'], 'not found', 'stdio.h');
        same(why['passwd'], 'its path leaves the directory', 'passwd');
        same(why['hostname'], 'not found', 'hostname');
        same(why['binary.c'], 'not text in UTF-8', 'binary.c');
        same(why['big.c'], 'larger than 1 MiB', 'big.c');
        const plain = join(dir, 'plain.html');
        execFileSync(kiln, ['flame', json, '-o', plain]);
        must(!/kiln\.source\+gzip">/.test(String(readFileSync(plain))), 'source without --source');
        same(JSON.parse(execFileSync(kiln, ['top', '--json', html])).total, 102e6, 'the report as input');
    });
    for (const colorScheme of ['light', 'dark']) {
        const page = await newPage({ colorScheme });
        await check(`the lines of a function with their amounts, ${colorScheme}`, async () => {
            await select(page, 'parse');
            await there(page, '[data-line="6"]', 'no lines');
            const [four, six, three] = [await line(page, 4), await line(page, 6), await line(page, 3)];
            same(JSON.stringify([four.self, four.total, six.self, six.total]), JSON.stringify([30e6, 30e6, 50e6, 50e6]), 'amounts');
            must(four.hot && six.hot && !three.hot, 'heat');
            same(four.text, '{       int n = 0; // </script><script>alert(1)</script>', 'text with a tab');
            same(await page.$eval('[data-line="5"] code', (e) => e.textContent), '\ufffd', 'a character that changes the direction');
            const shades = await page.$$eval('.hot', (list) => list.map((tr) => getComputedStyle(tr.cells[3]).backgroundColor));
            must(new Set(shades).size === 2, shades.join(' | '));
            await shot(page, `source-${colorScheme}`);
            await noFindings(page);
            await page.focus('.code');
            must(await page.evaluate(() => document.activeElement.getAttribute('role') === 'region'), 'the code has no focus');
            await page.focus('[data-do=whole-file]');
            await page.keyboard.press('Enter');
            await there(page, '[data-line="69"]', 'not the whole file');
            await select(page, 'run');
            await there(page, '[data-line="9"]', 'no lines of the caller');
            same(JSON.stringify(await line(page, 9)).replace(/,"text.*/, ''), '{"self":0,"total":102000000', 'the caller');
        });
        await check(`names and contents stay text, missing files are named, ${colorScheme}`, async () => {
            await select(page, 'hostile');
            await there(page, '[data-line="2"]', 'no lines');
            same((await line(page, 2)).text, '<b onclick=alert(1)>&amp;', 'text');
            await textIs(page, '.source p', /<img src=x/, 'the name of the file');
            same(await page.$$eval('.source img, .source b[onclick]', (l) => l.length), 0, 'markup');
            for (const [name, why] of [['header', /stdio\.h, is not in this report: not found/], ['password', /leaves the directory/], ['nameless', /does not name the source file/]]) {
                await select(page, name);
                await textIs(page, '[data-no-source]', why, name);
            }
            await noFindings(page);
        });
        await page.close();
    }
}

async function missing() {
    const page = await newPage();
    await check('without a selection, the view lists the missing files', async () => {
        await page.goto(`file://${html}#view=source`);
        await there(page, '[data-source-files="2"]', 'no number of files');
        await page.click('summary:has-text("missing")');
        await textIs(page, '.empty li', /: /, 'no missing file');
        same(await page.$$eval('.empty li', (l) => l.length), 5, 'missing files');
        await noFindings(page);
    });
    await page.close();
    await check('--source applies to HTML only', async () => {
        for (const args of [[], ['-o', join(dir, 'x.svg')], ['--json']]) {
            let status = 0;
            try {
                execFileSync(kiln, ['flame', json, '--source', ...args], { stdio: 'pipe' });
            } catch (e) {
                status = e.status;
            }
            same(status, 2, `kiln flame --source ${args.join(' ')}`);
        }
    });
}

/** A debuginfod server. */
async function debuginfod() {
    const asked = [],
        files = { '/build/shop/src/main.c': MAIN, [`/build/shop/src/${HOSTILE}`]: 'a\n<b onclick=alert(1)>&amp;\n', '/build/shop/src/big.c': 'a\0b' };
    const s = createServer((q, r) => {
        const path = decodeURIComponent(q.url).replace(`/buildid/${ID}/source`, '');
        asked.push(path);
        r.writeHead(path in files ? 200 : 404, { 'content-type': 'text/html' });
        r.end(files[path] ?? '<h1>no</h1>');
    });
    await new Promise((done) => s.listen(0, '127.0.0.1', done));
    return { url: `http://127.0.0.1:${s.address().port}`, asked, close: () => s.close() };
}

async function fetched() {
    const from = await debuginfod(),
        config = join(dir, 'debuginfod.yaml');
    writeFileSync(config, `source:\n  link: https://git.example.com/shop/{file}#L{line}\n  debuginfod: ${from.url}\n`);
    const url = await serve('fetched', '--config', config),
        r = await fetch(`${url}/v1development/profiles`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(profile()) });
    must(r.ok, await r.text());
    const page = await newPage({}, new RegExp(`^(${url}/|data:|about:|blob:)`), /status of 404/),
        choose = async (name) => {
            await page.click('[data-tab=table]');
            await page.click(`.row:has-text("${name}")`);
            await textIs(page, '.details h2', new RegExp(`^${name}$`), 'not selected');
            await page.click('[data-do=source]');
            await viewIs(page, 'source');
        };
    await check('the page of a server shows lines that the server fetches by build id, with their amounts', async () => {
        await open(page, url, '?range=all#view=table');
        await choose('parse');
        await there(page, '[data-line="6"]', 'no lines');
        const [four, six, three] = [await line(page, 4), await line(page, 6), await line(page, 3)];
        same(JSON.stringify([four.self, four.total, six.self, six.total]), JSON.stringify([30e6, 30e6, 50e6, 50e6]), 'amounts');
        must(four.hot && six.hot && !three.hot, 'heat');
        same(four.text, '{       int n = 0; // </script><script>alert(1)</script>', 'text with a tab');
        await shot(page, 'source-fetched');
        await noFindings(page);
        await choose('run');
        await there(page, '[data-line="9"]', 'no lines of the caller');
        same(from.asked.join(), '/build/shop/src/main.c', 'requests');
        await choose('hostile');
        await there(page, '[data-line="2"]', 'no lines');
        same((await line(page, 2)).text, '<b onclick=alert(1)>&amp;', 'text');
        same(await page.$$eval('.source img, .source b[onclick]', (l) => l.length), 0, 'markup');
    });
    await check('a link opens the source of the selected function', async () => {
        await page.reload();
        await there(page, '.source [data-line="2"]', 'no lines');
    });
    await check('without a file, the page shows the reason and the configured link', async () => {
        for (const [name, why, link] of [
            ['header', /stdio\.h, cannot be shown: 127\.0\.0\.1:\d+ does not have the file\./, 'https://git.example.com/shop/usr/include/stdio.h#L1'],
            ['binary', /cannot be shown: the profile does not have the GNU build id/, 'https://git.example.com/shop/build/shop/src/binary.c#L1'],
            ['big', /big\.c, is not text/, 'https://git.example.com/shop/build/shop/src/big.c#L1'],
            ['password', /cannot be shown: its path is not absolute/, null],
        ]) {
            await choose(name);
            await textIs(page, '[data-no-source]', why, name);
            same((await page.$$eval('[data-no-source] a', (l) => l.map((a) => a.href)))[0] ?? null, link, `the link of ${name}`);
        }
        await noFindings(page);
        must(from.asked.every((path) => !path.includes('passwd')), 'a request for a path with ..');
    });
    await check('a selection that is loaded as a tree is loaded again, with its lines', async () => {
        const many = await serve('many', '--config', config),
            sent = await fetch(`${many}/v1development/profiles`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(profile(8000)) });
        must(sent.ok, await sent.text());
        const other = await newPage({}, new RegExp(`^(${many}/|data:|about:|blob:)`));
        await open(other, many, '?range=all#view=table');
        await other.click('.row:has-text("parse")');
        await textIs(other, '.details h2', /^parse$/, 'not selected');
        same(await other.$$eval('.details .lines', (l) => l.length), 0, 'a tree without lines');
        await other.click('[data-tab=source]');
        await there(other, '[data-line="6"]', 'no lines');
        same((await line(other, 6)).self, 50e6, 'amounts');
        await other.close();
    });
    await page.close();
    from.close();
}

async function live() {
    const config = join(dir, 'kiln.yaml');
    writeFileSync(config, 'source:\n  link: https://git.example.com/shop/blob/{service.version}/{file}#L{line}\n  trim: /build/shop/\n');
    const url = await serve('linked', '--config', config),
        r = await fetch(`${url}/v1development/profiles`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(profile()) });
    must(r.ok, await r.text());
    const page = await newPage({}, new RegExp(`^(${url}/|data:|about:|blob:)`));
    await check('the page of a server links lines to the configured address, escaped', async () => {
        await open(page, url, '?range=all#view=table');
        await page.click('.row:has-text("parse")');
        await there(page, '.details .lines a', 'no link');
        const links = await page.$$eval('.details a', (l) => l.map((a) => [a.href, a.rel, a.target]));
        const version = 'v1%2F..%2F%22%3E%3Cb%3E';
        must(links.every((l) => l[1] === 'noopener noreferrer' && l[2] === '_blank'), JSON.stringify(links));
        same(links.at(-1)[0], `https://git.example.com/shop/blob/${version}/src/main.c#L6`, 'the link of line 6');
        await page.click('.row:has-text("hostile")');
        await textIs(page, '.details h2', /hostile/, 'not selected');
        await there(page, '.details .lines a', 'no link');
        same(await page.$eval('.details .lines a', (a) => a.href), `https://git.example.com/shop/blob/${version}/src/${encodeURIComponent(HOSTILE)}#L2`, 'hostile');
        await page.click('.row:has-text("password")');
        await textIs(page, '.details h2', /password/, 'not selected');
        await there(page, '.details .lines', 'no lines');
        same(await page.$$eval('.details a', (l) => l.length), 0, 'links to a path with ..');
        same(await page.$$eval('[data-tab=source], [data-do=source]', (l) => l.length), 0, 'source without a source server');
        await shot(page, 'source-live');
    });
    await page.close();
    writeFileSync(config, 'source: {link: "javascript:alert(1)//{file}"}\n');
    await check('a link that is no web address is rejected', async () => {
        try {
            execFileSync(kiln, ['serve', '--config', config, '--listen', '127.0.0.1:0', '--store', join(dir, 'wrong')], { stdio: 'pipe', timeout: 10000 });
        } catch (e) {
            must(/source\.link must begin with/.test(String(e.stderr)), String(e.stderr));
            return;
        }
        must(false, 'accepted');
    });
}

try {
    sources();
    await report();
    await missing();
    await live();
    await fetched();
    console.log(`1..${result().n}`);
} finally {
    await browser.close();
    await endServers();
    rmSync(dir, { recursive: true, force: true });
}
process.exit(result().failed ? 1 : 0);
