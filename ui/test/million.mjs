// million.mjs - a large profile, written without any library, and what its viewer takes. For the test of size and bench/page.mjs.

function varint(out, v) {
    while (v > 127) (out.push((v & 127) | 128), (v = Math.floor(v / 128)));
    out.push(v);
}
const field = (out, number, bytes) => {
    varint(out, (number << 3) | 2);
    varint(out, bytes.length);
    for (const b of bytes) out.push(b);
};
const scalar = (number, v) => {
    const out = [];
    varint(out, number << 3);
    varint(out, v);
    return out;
};

/** A profile with `stacks` different stacks, each with about eight frames of its own: 130 000 of them make a flame tree of a
 *  little more than a million nodes. */
export function manyStacks(stacks = 130000) {
    const FUNCTIONS = 20000,
        text = new TextEncoder();
    let seed = 12345;
    const random = (k) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % k;
    const dict = [],
        profile = [],
        path = [];
    field(dict, 1, []);
    field(dict, 2, []);
    field(dict, 3, []);
    field(dict, 4, []);
    for (let i = 1; i <= FUNCTIONS; i++) {
        field(dict, 2, [
            ...scalar(2, 4096 + i * 16),
            ...(() => {
                const o = [];
                field(o, 3, [...scalar(1, i), ...scalar(2, (i % 900) + 1)]);
                return o;
            })(),
        ]);
        field(dict, 3, scalar(1, i));
    }
    field(dict, 5, []);
    for (let i = 1; i <= FUNCTIONS; i++) field(dict, 5, text.encode(`example.com/app/pkg${i % 97}.function${i}`));
    field(dict, 5, text.encode('cpu'));
    field(dict, 5, text.encode('nanoseconds'));
    field(dict, 6, []);
    field(dict, 7, []);
    field(profile, 1, [...scalar(1, FUNCTIONS + 1), ...scalar(2, FUNCTIONS + 2)]);
    for (let s = 1; s <= stacks; s++) {
        const keep = Math.min(path.length, 4 + random(28));
        path.length = keep;
        while (path.length < keep + 8 || path.length < 12) path.push(1 + random(FUNCTIONS));
        const list = [];
        for (let k = path.length - 1; k >= 0; k--) varint(list, path[k]);
        const stack = [];
        field(stack, 1, list);
        field(dict, 7, stack);
        const values = [];
        varint(values, 10000000 * (1 + random(4)));
        const sample = scalar(1, s);
        field(sample, 4, values);
        field(profile, 2, sample);
    }
    const parts = [];
    let inner = profile;
    for (const number of [2, 2, 1]) {
        const out = [];
        varint(out, (number << 3) | 2);
        varint(out, inner.length);
        inner = Buffer.concat([Buffer.from(out), Buffer.from(inner)]);
    }
    parts.push(inner);
    const head = [];
    varint(head, (2 << 3) | 2);
    varint(head, dict.length);
    parts.push(Buffer.from(head), Buffer.from(dict));
    return Buffer.concat(parts);
}

/** What a person does, in the page: its policy forbids code that is sent as text later. */
function actions() {
    window.person = {
        click(up) {
            const c = document.querySelector('.view canvas'),
                r = c.getBoundingClientRect();
            c.dispatchEvent(new MouseEvent('click', { bubbles: true, clientX: r.left + r.width * 0.4, clientY: r.bottom - up }));
        },
        type(text) {
            const i = document.querySelector('.search input');
            i.value = text;
            i.dispatchEvent(new Event('input', { bubbles: true }));
        },
    };
}

/** Opens a viewer, zooms and searches. Returns times in ms: until it was `opened`, CPU time of the page's main thread and the
 *  `parts` of that, and of each zoom and search the `own` work of the viewer, the CPU time, and the time to the end of the `frame`. */
export async function useMany(page, open) {
    await page.addInitScript(actions);
    await page.addInitScript(() => {
        window.steps = [];
        new MutationObserver(() => {
            const step = document.querySelector('.loading')?.textContent;
            if (step && window.steps.at(-1) !== step) window.steps.push(step);
        }).observe(document, { subtree: true, childList: true, characterData: true });
    });
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
    const ticks = async () =>
        (await cdp.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value * 1000;
    await open();
    const cpu = await ticks(),
        first = await page.evaluate(() => ({
            steps: window.steps,
            opened: performance.now(),
            sorts: performance.getEntriesByName('kiln:sort').length,
            parts: Object.fromEntries(
                ['load', 'tree', 'draw'].map((k) => [k, performance.getEntriesByName(`kiln:${k}`).at(-1)?.duration ?? 0]),
            ),
        }));
    const answer = async (action, arg) => {
        const before = await ticks();
        const got = await page.evaluate(
            async ([name, x]) => {
                performance.clearMeasures();
                const start = performance.now();
                window.person[name](x);
                await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
                const own = performance.getEntriesByType('measure').filter((m) => m.name.startsWith('kiln:'));
                return { frame: performance.now() - start, own: own.reduce((sum, m) => sum + m.duration, 0) };
            },
            [action, arg],
        );
        got.cpu = (await ticks()) - before;
        await page.waitForTimeout(200);
        return got;
    };
    await page.waitForTimeout(500);
    const zoom = [],
        search = [];
    for (const up of [2, 5, 8, 11, 0]) zoom.push(await answer('click', 10 + up * 19));
    for (const q of ['function1', 'function19', 'pkg7', '/pkg(1|2)\\d/']) search.push(await answer('type', q));
    return { ...first, cpu, zoom, search };
}
