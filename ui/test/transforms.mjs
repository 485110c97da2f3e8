// test/transforms.mjs - transforms, call tree and search in Chromium. Prints TAP.
// 1. Reports of files of the corpus: the table and the call tree show the numbers that `kiln top`, `kiln tree` and
//    `kiln traces` print with the options of the same effect.
// 2. The actions of a user: menus, keys, breadcrumbs, search.
import { execFile } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
    browser,
    check,
    corpus,
    dir,
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
    textIs,
    there,
    viewIs,
    WAIT_MS,
} from './kit.mjs';

// Each has one profile of its default type. KILN_EVERY_FILE=1 (`make test-page`) compares all of them.
const ALL = [
    'pprof/go1.24-cpu-labels.pprof',
    'pprof/go1.24-heap.pprof',
    'pprof/otelcol-heap.pb.gz',
    'pprof/profile-with-labels.pb.gz',
    'pprof/alloc_space_delta.pb.gz',
    'pprof/java.cpu',
    'pprof/node-datadog-wall.pprof.gz',
    'otep-bench/profile_8.pprof',
    'folded/recursion.txt',
    'folded/perf-java-stacks-01-collapsed-all.txt',
    'folded/austin-flames.txt',
    'chrome-trace/bex-interaction.json',
    'gecko/firefox61-recursion.json',
    'speedscope/excimer-real.speedscope.json',
    'jfr/jdk17-profile.jfr',
    'jfr/async-wall.jfr',
    'otlp/async45-wall.otlp',
    'otlp/async45-cpu-threads.otlp',
    'cpuprofile/node20.cpuprofile',
    'splunk/js-1.4.1-grpc-cpu.bin',
];
const FILES = process.env.KILN_EVERY_FILE ? ALL : ALL.filter((_, i) => i % 6 === 0),
    WANTED = FILES.length; // files that must be compared

// ---- the expected numbers ----

const aside = async (...args) => JSON.parse((await promisify(execFile)(kiln, args, { maxBuffer: 1 << 28 })).stdout);
const QUIET = ['--json', '--no-symbolize', '--all-frames'];
const escaped = (s) => s.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');
const exactly = (name) => `^${escaped(name)}$`;
const fileOf = (library) => `(^|/)${escaped(library)}$`;
const isPlace = (label) => label === '<unknown>' || /^\[.*\]$/.test(label);

/** The label that `kiln` prints for a frame of the page. */
function labelOf(name, library) {
    const bare = name === library || /^\+?0x[0-9a-f]+$/.test(name);
    if (!bare) return name;
    return !library ? '<unknown>' : library[0] === '[' ? library : `[${library}]`;
}

/** Sums of `kiln traces` by path: the tree that the page should show. `from`: 'root' or 'leaf'. */
function prefixSums(traces, from) {
    const out = new Map();
    for (const { value, stack } of traces) {
        const names = stack.map((f) => f.name);
        if (from === 'root') names.reverse();
        let path = '';
        names.forEach((name, i) => {
            path += `\n${name}`;
            const e = out.get(path) ?? { total: 0, self: 0 };
            e.total += value;
            if (from === 'leaf' ? i === 0 : i === names.length - 1) e.self += value;
            out.set(path, e);
        });
    }
    return out;
}

// ---- the shown numbers ----

const frames = (page) => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));

/** Opens a link. The address of a report that is open changes without a new load. */
async function open(page, html, hash) {
    const url = `file://${html}`;
    if (page.url().split('#')[0] === url) {
        await page.evaluate((h) => (location.hash = h), hash);
    } else {
        await page.goto(`${url}#${hash}`);
        await page.waitForSelector('.view', { timeout: WAIT_MS });
    }
    await viewIs(page, new URLSearchParams(hash).get('view') ?? 'flame');
    await frames(page);
}

/** All rows of the table, scrolled from top to bottom: label → {self, total, rows}. */
async function tableRows(page) {
    const rows = await page.evaluate(async () => {
        const out = new Map(),
            box = document.querySelector('.table');
        for (let y = 0; box; y += Math.max(box.clientHeight - 80, 100)) {
            box.scrollTop = y;
            await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
            for (const tr of box.querySelectorAll('tr.row')) {
                const name = tr.querySelector('.name'),
                    [self, total] = [...tr.querySelectorAll('td.number')].map((td) => Number(td.title));
                out.set(`${name.title}\0${name.querySelector('.dim').textContent}`, { self, total });
            }
            if (y + box.clientHeight >= box.scrollHeight - 1) break;
        }
        return [...out];
    });
    const out = new Map();
    for (const [key, v] of rows) {
        const [title, library] = key.split('\0'),
            label = labelOf(title.split('\n')[0], library),
            e = out.get(label) ?? { self: 0, total: 0, rows: 0 };
        e.self += v.self;
        e.total += v.total;
        e.rows++;
        out.set(label, e);
    }
    return out;
}

function compareTable(shown, top, what) {
    let compared = 0;
    for (const { name, flat, cum } of top.rows) {
        if (name === '<unknown>' || name === '?') continue; // samples without a stack have no row in `kiln top`
        const got = shown.get(name) ?? { self: 0, total: 0, rows: 1 };
        same(got.self, flat, `${what}: self of ${name}`);
        if (got.rows === 1) same(got.total, cum, `${what}: total of ${name}`);
        compared++;
    }
    const listed = new Set(top.rows.map((r) => r.name));
    for (const [name, v] of shown)
        if (!listed.has(name) && name !== '<unknown>' && name !== '?')
            same(v.self || v.total, 0, `${what}: ${name} is not in kiln top`);
    return compared;
}

/** All rows of the call tree, scrolled from top to bottom: path of labels, total, self. */
const treeRows = async (page) => {
    const rows = await page.evaluate(async () => {
        const out = new Map(),
            box = document.querySelector('.calltree');
        for (let y = 0; box; y += Math.max(box.clientHeight - 80, 100)) {
            box.scrollTop = y;
            await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
            for (const e of box.querySelectorAll('.call'))
                out.set(Number(e.getAttribute('aria-rowindex')), {
                    depth: Number(e.dataset.depth),
                    title: e.querySelector('.name').title,
                    library: e.querySelector('.name .dim').textContent,
                    total: Number(e.querySelector('[data-col=total]').dataset.value),
                    self: Number(e.querySelector('[data-col=self]').dataset.value),
                });
            if (y + box.clientHeight >= box.scrollHeight - 1) break;
        }
        return [...out].sort((a, b) => a[0] - b[0]).map(([, r]) => r);
    });
    const path = [];
    return rows.map((r) => {
        path.length = r.depth - 1;
        path.push(labelOf(r.title.split('\n')[0], r.library));
        return { ...r, path: path.map((x) => `\n${x}`).join('') };
    });
};

/** Compares the rows on the screen. Rows of different files may have one label; they are added up. */
async function compareTree(page, sums, what) {
    const shown = new Map();
    for (const r of await treeRows(page)) {
        const e = shown.get(r.path) ?? { total: 0, self: 0, rows: 0 };
        e.total += r.total;
        e.self += r.self;
        e.rows++;
        shown.set(r.path, e);
    }
    let compared = 0;
    for (const [path, got] of shown) {
        const want = sums.get(path);
        if (!want && /\n(<unknown>|\?)/.test(path)) continue; // without a stack
        must(want, `${what}: no stack begins with${path.replaceAll('\n', ' › ')}`);
        if (/\n(\[|<unknown>)/.test(path)) continue; // several addresses of the page are one frame of kiln
        same(got.total, want.total, `${what}: total of${path.replaceAll('\n', ' › ')}`);
        same(got.self, want.self, `${what}: self of${path.replaceAll('\n', ' › ')}`);
        compared++;
    }
    return compared;
}

/** `want`: the kinds of the breadcrumbs, or their number. */
const crumbsAre = (page, want) =>
    eventually(
        page,
        (w) => {
            const kinds = [...document.querySelectorAll('.transforms li')].map((e) => e.dataset.kind);
            return (typeof w === 'number' ? kinds.length : kinds.join()) === w;
        },
        want,
        `the breadcrumbs are not ${want}`,
    );

// ---- files of the corpus ----

/** The function that calls itself through others in most stacks; '' when none does. */
function recursiveIn(traces) {
    const found = new Map();
    for (const { value, stack } of traces) {
        const names = stack.map((f) => f.name);
        for (const n of new Set(names.filter((n, i) => !isPlace(n) && names.indexOf(n) < i - 1 && names[i - 1] !== n)))
            found.set(n, (found.get(n) ?? 0) + value);
    }
    return [...found].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '';
}

/** The most frequent profile.frame.type; '' when the file has none. */
async function categoryIn(file) {
    const { stdout } = await promisify(execFile)(kiln, ['convert', '--quiet', '--to', 'otlp-json', file, '-'], {
            maxBuffer: 1 << 28,
        }),
        { dictionary: d } = JSON.parse(stdout),
        types = new Map(
            (d.attributeTable ?? [])
                .map((a, i) => [i, d.stringTable[a.keyStrindex ?? 0] === 'profile.frame.type' ? a.value.stringValue : ''])
                .filter(([, type]) => type),
        ),
        count = new Map();
    for (const l of d.locationTable)
        for (const a of l.attributeIndices ?? [])
            if (types.has(a)) count.set(types.get(a), (count.get(types.get(a)) ?? 0) + 1);
    return [...count].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '';
}

/** Functions and a library to which the transforms are applied. null: the file is not suited. */
async function prepare(name, i) {
    const file = join(corpus, name),
        html = join(dir, `${i}.html`);
    const info = (await aside('info', '--json', file)).files[0],
        top = await aside('top', ...QUIET, '--no-trim', '--cum', file);
    if (info.profiles.filter((p) => p.sample_type === top.sample_type && p.unit === top.unit).length > 1) return null;
    const named = top.rows.filter((r) => !isPlace(r.name) && r.cum > 0);
    if (named.length < 2) return null;
    await promisify(execFile)(kiln, ['flame', '--no-symbolize', file, '-o', html]);
    const half = named[0].cum / 2,
        middle = named.reduce((a, b) => (Math.abs(b.cum - half) < Math.abs(a.cum - half) ? b : a)),
        hot = named.reduce((a, b) => (b.flat > a.flat ? b : a));
    const { traces } = await aside('traces', ...QUIET, file),
        category = await categoryIn(file);
    const maps = (await aside('top', ...QUIET, '--no-trim', '-g', 'mappings', file)).rows,
        map = maps.map((r) => r.mapping?.replace(/^.*\//, '')).find(Boolean);
    return {
        name,
        file,
        html,
        middle: middle.name,
        hot: hot.name,
        library: map ?? '',
        named: named.length === top.rows.length,
        again: recursiveIn(traces),
        category,
    };
}

const cases = ({ middle, hot, library, named, again, category }) => [
    { t: [], options: [] },
    { t: [`f.${middle}`], options: ['--show-from', exactly(middle)] },
    { t: [`w.${hot}`], options: ['--focus', exactly(hot)] },
    { t: [`m.${hot}`], options: ['--hide', exactly(hot)] },
    { t: [`d.${hot}`], options: ['--ignore', exactly(hot)] },
    { t: [`c.${middle}`], options: ['--collapse', exactly(middle)] },
    { t: [`r.${middle}`], options: ['--collapse-direct-recursion', exactly(middle)] },
    ...[middle, hot, ...(again ? [again] : [])].map((f) => ({ t: [`R.${f}`], options: ['--collapse-recursion', exactly(f)] })),
    ...(category
        ? [
              { t: [`k.${category}`], options: ['--focus-category', exactly(category)] },
              { t: [`k.${category}`, `f.${middle}`], options: ['--focus-category', exactly(category), '--show-from', exactly(middle)] },
          ]
        : []),
    { t: [`m.${hot}`, `f.${middle}`], options: ['--hide', exactly(hot), '--show-from', exactly(middle)] },
    ...(library
        ? [
              { t: [`L.${library}`], options: ['--collapse-library', fileOf(library)] },
              {
                  t: [`d.${hot}`, `L.${library}`],
                  options: ['--ignore', exactly(hot), '--collapse-library', fileOf(library)],
              },
          ]
        : []),
    // kiln --show also removes frames without symbols
    ...(library && named ? [{ t: [`l.${library}`], options: ['--show', fileOf(library)] }] : []),
];

const link = (view, t, more = '') => `view=${view}${t.map((x) => `&t=${encodeURIComponent(x)}`).join('')}${more}`;

async function corpusFile(page, made) {
    let compared = 0;
    for (const { t, options } of cases(made)) {
        const what = `${made.name} ${options.join(' ')}`,
            printed = Promise.all([
                aside('top', ...QUIET, '--no-trim', ...options, made.file),
                aside('traces', ...QUIET, ...options, made.file),
            ]);
        await open(page, made.html, link('table', t));
        await crumbsAre(page, t.length);
        const shown = await tableRows(page),
            [top, { traces }] = await printed;
        compared += compareTable(shown, top, what);
        for (const from of ['root', 'leaf']) {
            await open(page, made.html, link('tree', t, from === 'leaf' ? '&invert=1' : ''));
            await crumbsAre(page, t.length + (from === 'leaf' ? 1 : 0));
            if (!(await page.$('.calltree'))) {
                same(top.rows.length, 0, `${what}: rows of an empty view`);
                continue;
            }
            await page.focus('.calltree');
            await page.keyboard.press('Home');
            await page.keyboard.press('*');
            await frames(page);
            compared += await compareTree(page, prefixSums(traces, from), `${what} (call tree from the ${from})`);
        }
    }
    must(compared > 10, `only ${compared} numbers were compared`);
    rmSync(made.html);
}

async function corpusFiles() {
    if (!existsSync(join(corpus, 'MANIFEST.md'))) return report(`# skip no corpus at ${corpus}: set KILN_CORPUS`);
    const page = await newPage({ viewport: { width: 1400, height: 2000 } });
    const tried = (name, i) => prepare(name, i).catch((e) => ({ name, problem: e.message }));
    let done = 0,
        next = tried(FILES[0], 0); // the next file is made while the browser shows this one
    for (const [i] of FILES.entries()) {
        const made = await next;
        if (i + 1 < FILES.length) next = tried(FILES[i + 1], i + 1);
        if (made?.problem) report(made.name, made.problem);
        if (!made || made.problem) continue;
        await check(`kiln and the page agree: ${made.name}`, () => corpusFile(page, made));
        done++;
    }
    await check(`${WANTED} files were compared`, () => must(done >= WANTED, `only ${done}`));
    await page.close();
}

/** Every node of a small tree: the sums by call are those of `kiln tree`. */
async function everyEdge(page, html) {
    for (const { t, options } of [
        { t: [], options: [] },
        { t: ['m.checkout/order.(*Service).Place'], options: ['--hide', exactly('checkout/order.(*Service).Place')] },
        { t: ['c.checkout/fraud.Score'], options: ['--collapse', exactly('checkout/fraud.Score')] },
    ]) {
        await open(page, html, link('tree', t));
        for (let closed = 1; closed;)
            closed = await page.evaluate(async () => {
                const all = [...document.querySelectorAll('.call[aria-expanded=false] .twist')];
                all[0]?.click();
                await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
                return all.length;
            });
        const edges = new Map();
        for (const { path, total } of await treeRows(page)) {
            const names = path.split('\n').slice(1),
                pairs = names.map((n, i) => (i && names[i - 1] !== n ? `${names[i - 1]} → ${n}` : ''));
            const edge = pairs.pop();
            if (edge && !pairs.includes(edge)) edges.set(edge, (edges.get(edge) ?? 0) + total);
        }
        const tree = await aside('tree', ...QUIET, '--no-trim', ...options, example);
        let n = 0;
        for (const row of tree.rows)
            for (const to of row.callees) {
                same(edges.get(`${row.name} → ${to.name}`), to.value, `${row.name} → ${to.name}`);
                n++;
            }
        same(edges.size, n, 'calls');
        must(n > 10, `only ${n} calls`);
    }
}

// ---- the actions of a user ----

const rowOf = (page, name) => page.locator('.table tr.row', { has: page.locator(`td.name[title^="${name}"]`) }).first();

async function person() {
    const html = join(dir, 'app.html');
    run('flame', example, '-o', html);
    const page = await newPage();
    await check('kiln tree and the opened call tree agree', async () => {
        await page.setViewportSize({ width: 1400, height: 4000 });
        await everyEdge(page, html);
        await page.setViewportSize({ width: 1400, height: 900 });
    });
    await check('menus: table by mouse, flame graph and call tree by key; numbers of kiln top', async () => {
        await open(page, html, 'view=table');
        await rowOf(page, 'encoding/json.unquoteBytes').click({ button: 'right' });
        await page.click('[data-transform=merge]');
        await crumbsAre(page, 'merge');
        await inAddress(page, 't=m.encoding/json.unquoteBytes');
        await page.focus('.table');
        await rowOf(page, 'checkout/order.(*Service).Place').click();
        await page.focus('.table');
        await page.keyboard.press('m'); // the menu
        await there(page, '.menu', 'm does not open the menu');
        await page.keyboard.press('f'); // focus on function
        await crumbsAre(page, 'merge,function');
        await gone(page, '.menu', 'the menu stays');
        const hide = ['--hide', exactly('encoding/json.unquoteBytes')],
            from = ['--show-from', exactly('checkout/order.(*Service).Place')];
        const top = (...o) => aside('top', ...QUIET, '--no-trim', ...o, example);
        compareTable(await tableRows(page), await top(...hide, ...from), 'both');
        await page.keyboard.press('u'); // undo
        await crumbsAre(page, 'merge');
        compareTable(await tableRows(page), await top(...hide), 'after undo');
        await page.focus('.table');
        await page.keyboard.press('m');
        await page.click('[data-transform=category]');
        await crumbsAre(page, 'merge,category');
        await page.keyboard.press('Escape');
        await page.keyboard.press('Escape');
        await page.focus('.table');
        await page.keyboard.press('ArrowDown');
        for (const [letter, kinds] of [
            ['r', 'merge,recursion'],
            ['R', 'merge,recursion,direct'],
        ]) {
            await page.keyboard.press('m');
            await page.keyboard.press(letter);
            await crumbsAre(page, kinds);
        }
        await page.keyboard.press('u');
        await page.keyboard.press('u');
        await crumbsAre(page, 'merge');

        await page.keyboard.press('1');
        await viewIs(page, 'flame');
        await page.focus('.flame');
        for (const k of ['ArrowUp', 'ArrowUp', 'Shift+F10']) await page.keyboard.press(k);
        await there(page, '.menu [data-transform=subtree]', 'no subtree in the menu of the flame graph');
        await page.keyboard.press('S');
        await crumbsAre(page, 'merge,subtree');
        await page.click('[data-tab=tree]');
        await page.focus('.calltree');
        await page.keyboard.press('Home');
        await page.keyboard.press('m');
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Escape');
        await gone(page, '.menu', 'Esc does not close the menu');
        same(await page.evaluate(() => document.activeElement.className), 'calltree', 'focus after the menu');
        await page.keyboard.press('m');
        await page.keyboard.press('d');
        await crumbsAre(page, 'merge,subtree,drop');
        await textIs(page, '.empty', /No stack is left/, 'no message when nothing is left');
        await page.click('.empty button');
        await crumbsAre(page, 'merge,subtree');
    });
    await check('breadcrumbs: each can be removed, and all of them', async () => {
        await open(page, html, link('table', ['m.runtime.mallocgc', 'd.score_order', 'w.runtime.goexit']));
        await crumbsAre(page, 'merge,drop,with');
        must(
            (await page.getAttribute('[data-kind=drop]', 'title')).includes("--ignore '^score_order$'"),
            'no option of kiln',
        );
        await page.click('[data-kind=drop] button');
        await crumbsAre(page, 'merge,with');
        await textIs(page, '.total', /of all/, 'the total does not follow');
        await page.keyboard.press('Escape');
        await crumbsAre(page, 'merge');
        await open(page, html, link('table', ['m.runtime.mallocgc', 'd.score_order', 'x.y', 's.1']));
        await crumbsAre(page, 'merge,drop');
        await page.click('[data-do=undo-all]');
        await gone(page, '.transforms', 'Undo all leaves transforms');
    });
    await check('inverted: by key and by checkbox, in flame graph and call tree', async () => {
        await open(page, html, '');
        await page.keyboard.press('v');
        await inAddress(page, 'invert=1');
        await crumbsAre(page, 'invert');
        await page.click('[data-tab=tree]');
        const first = await treeRows(page),
            top = await aside('top', ...QUIET, '--nodecount', '1', example);
        same(first[0].total, top.rows[0].flat, 'the largest leaf');
        same(first[0].path, `\n${top.rows[0].name}`, 'its name');
        await page.uncheck('[data-do=invert]');
        await gone(page, '.transforms', 'the checkbox does not end the inversion');
    });
    await check('call tree: keys, ARIA, and rows that stay open', async () => {
        await open(page, html, 'view=tree');
        await page.focus('.calltree');
        await page.keyboard.press('Home');
        const active = () =>
            page.evaluate(() => {
                const id = document.querySelector('.calltree').getAttribute('aria-activedescendant'),
                    e = document.getElementById(id);
                return (
                    e && {
                        level: Number(e.ariaLevel),
                        expanded: e.getAttribute('aria-expanded'),
                        selected: e.ariaSelected,
                    }
                );
            });
        same((await active()).level, 1, 'level of the first row');
        await page.keyboard.press('*');
        const deep = await active();
        must(deep.level > 5 && deep.expanded === null && deep.selected === 'true', `hottest: ${JSON.stringify(deep)}`);
        await page.keyboard.press('ArrowLeft');
        same((await active()).level, deep.level - 1, 'left goes to the caller');
        await page.keyboard.press('ArrowLeft');
        same((await active()).expanded, 'false', 'left closes');
        const rows = (await treeRows(page)).length;
        await page.keyboard.press('ArrowRight');
        same((await active()).expanded, 'true', 'right opens');
        must((await treeRows(page)).length > rows, 'nothing was opened');
        await page.keyboard.press('End');
        await page.keyboard.press('ArrowUp');
        await page.keyboard.press('*');
        // a transform that removes nothing else keeps the rows open
        const before = await treeRows(page);
        await page.evaluate(() => (location.hash += '&t=d.runtime.findRunnable'));
        await crumbsAre(page, 'drop');
        const after = await treeRows(page);
        must(after.length > before.length / 2, `${before.length} rows before, ${after.length} after`);
    });
    await check('search: count, next and previous, in every view', async () => {
        await open(page, html, '');
        await page.keyboard.press('/');
        await page.keyboard.type('json');
        await textIs(page, '.search output', /^6 · \d/, 'no count of functions'); // as kiln top --focus lists them
        await page.keyboard.press('Enter');
        await textIs(page, '.search output', /^\s*1\/6/, 'no position');
        await inAddress(page, 'sel=.');
        await page.evaluate(() => document.activeElement.blur());
        for (let i = 2; i <= 6; i++) {
            await page.keyboard.press('n');
            await textIs(page, '.search output', new RegExp(`^\\s*${i}/6`), `match ${i}`);
        }
        await page.keyboard.press('n');
        await textIs(page, '.search output', /^\s*1\/6/, 'the last match is followed by the first');
        await page.keyboard.press('N');
        await textIs(page, '.search output', /^\s*6\/6/, 'the first match is preceded by the last');
        const name = await page.innerText('.details h2');
        for (const [view, selector] of [
            ['table', '.row.selected'],
            ['tree', '.call.selected'],
        ]) {
            await page.click(`[data-tab=${view}]`);
            await there(page, selector, `the match is not selected in ${view}`);
            await page.waitForFunction(
                (q) => {
                    const r = document.querySelector(q).getBoundingClientRect();
                    return r.top >= 0 && r.bottom <= innerHeight;
                },
                selector,
                { timeout: WAIT_MS },
            );
            must((await page.innerText(selector)).includes(name), `another row is selected in ${view}`);
        }
        await page.click('[data-tab=sandwich]');
        same(await page.innerText('.sandwich .middle b'), name, 'sandwich');
    });
    await check('search: a box that is too narrow is zoomed to', async () => {
        await open(page, html, 'q=/schedule|score_order/');
        await page.evaluate(() => document.activeElement.blur());
        await page.keyboard.press('n');
        await textIs(page, '.search output', /^\s*1\/2/, 'no first match');
        must(!(await page.evaluate(() => location.hash)).includes('zoom='), 'a wide box is zoomed to');
        await page.keyboard.press('n');
        await inAddress(page, 'zoom=');
        await textIs(page, '.details h2', /^runtime.schedule$/, 'another function');
    });
    await check('search: in the flame chart, the next match moves the window', async () => {
        await open(page, html, 'view=chart&q=json.Marshal');
        await page.focus('.chart');
        for (let i = 0; i < 22; i++) await page.keyboard.press('+');
        const window = () => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get('window'));
        await inAddress(page, 'window=');
        const before = await window();
        await page.evaluate(() => document.activeElement.blur());
        await page.keyboard.press('n');
        await textIs(page, '.search output', /^\s*1\//, 'no match');
        await eventually(
            page,
            (w) => new URLSearchParams(location.hash.slice(1)).get('window') !== w,
            before,
            'the window did not move',
        );
    });
    await check('search: only matches, clear, Esc', async () => {
        await open(page, html, 'view=table&q=json');
        const share = await page.innerText('.search output .share');
        await page.click('[data-do=only]');
        await crumbsAre(page, 'search');
        await textIs(page, '.search output .share', /^100%$/, 'stacks without a match stay');
        await textIs(page, '.total', new RegExp(`${share.replace('.', '\\.')} of all`), 'another share of all');
        await page.click('[data-do=only]');
        await gone(page, '.transforms', 'the second click does not show all stacks');
        await page.click('[data-do=clear]');
        await gone(page, '.search output', 'the search is not cleared');
        same(await page.inputValue('.search input'), '', 'text');
        await page.keyboard.type('json');
        await there(page, '.search output', 'no search');
        await page.keyboard.press('Escape');
        await gone(page, '.search output', 'Esc does not clear the search');
    });
    await check('narrow: menu, breadcrumbs and call tree fit', async () => {
        await page.setViewportSize({ width: 390, height: 800 });
        await open(page, html, link('tree', ['m.runtime.mallocgc', 'd.score_order'], '&q=json'));
        await page.focus('.calltree');
        await page.keyboard.press('Home');
        await page.keyboard.press('m');
        const b = await (await page.waitForSelector('.menu')).boundingBox();
        must(b.x >= 0 && b.x + b.width <= 390 && b.y + b.height <= 800, `the menu is at ${JSON.stringify(b)}`);
        must(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is too wide');
        await page.keyboard.press('Escape');
    });
    await page.close();
}

try {
    const only = process.argv[2];
    if (only !== 'corpus') await person();
    if (only !== 'person') await corpusFiles();
    console.log(`1..${result().n}`);
} finally {
    await browser.close();
    rmSync(dir, { recursive: true, force: true });
}
process.exit(result().failed ? 1 : 0);
