// parts.mjs - reports of several profiles: of one file, of several files, of a store and of a server. Profiles of one type are one
// entry, summed by default; resources and single profiles are filters. The totals are those of `kiln top`.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dir, inAddress, must, run, same, there } from './kit.mjs';

/** [service, second, value, number] of profiles of one type. */
const PARTS = [
    ['shop', 10, 4, 0],
    ['cart', 20, 6, 1],
    ['shop', 30, 41, 2],
];

function write(name, parts) {
    const one = ([service, second, value, i]) => ({
        resource: { attributes: [{ key: 'service.name', value: { stringValue: service } }] },
        scopeProfiles: [
            {
                profiles: [
                    {
                        profileId: Buffer.alloc(16, i + 1).toString('hex'),
                        sampleType: { typeStrindex: 1, unitStrindex: 2 },
                        timeUnixNano: String((1762160400n + BigInt(second)) * 1000000000n),
                        durationNano: '10000000000',
                        samples: [{ stackIndex: 1, values: [String(value)] }],
                    },
                ],
            },
        ],
    });
    const profiles = {
        resourceProfiles: parts.map(one),
        dictionary: {
            stringTable: ['', 'samples', 'count', 'main'],
            functionTable: [{}, { nameStrindex: 3 }],
            mappingTable: [{}],
            linkTable: [{}],
            attributeTable: [{}],
            locationTable: [{}, { lines: [{ functionIndex: 1 }] }],
            stackTable: [{}, { locationIndices: [1] }],
        },
    };
    const path = join(dir, name);
    writeFileSync(path, JSON.stringify(profiles));
    return path;
}

/** Writes all profiles to one file. */
export const partsFile = () => write('parts.json', PARTS);
/** Writes each profile to a file of its own. */
export const partsFiles = () => PARTS.map((p, i) => write(`part-${i}.json`, [p]));

const topOf = (inputs, ...args) => String(JSON.parse(run('top', '--json', ...args, ...inputs)).selected);

async function openReport(page, inputs) {
    const html = join(dir, 'inputs.html');
    run('flame', ...inputs, '-o', html);
    await page.goto('about:blank');
    await page.goto(`file://${html}`);
    await there(page, '.total', 'no report');
}

const totalIs = (page, want, what) => there(page, `.total[data-total="${want}"]`, `${what}: not ${want}`);

/** `inputs`: arguments of kiln that stand for the profiles of PARTS. */
async function sumShown(page, inputs) {
    await openReport(page, inputs);
    same(await page.getAttribute('.total', 'data-total'), topOf(inputs), 'the total of `kiln top`');
    same(await page.getAttribute('.total', 'data-total'), '51', 'total');
    same(await page.$('[data-do=type]'), null, 'one type is a list');
    const names = await page.$$eval('[data-do=resource] option', (o) => o.map((e) => e.textContent));
    same(names.join(), 'all 2,shop (45),cart (6)', 'resources');
    await page.selectOption('[data-do=resource]', 'shop');
    await totalIs(page, 45, 'the sum of a resource');
    await inAddress(page, 'resource=shop');
}

/** Inputs that are several files: kiln adds up their profiles of equal type and resource. */
export async function addedShown(page, inputs) {
    await sumShown(page, inputs);
    same(await page.$('[data-do=one]'), null, 'single profiles of a sum');
    await page.selectOption('[data-do=resource]', 'cart');
    await totalIs(page, 6, 'the other resource');
    await page.selectOption('[data-do=resource]', '');
    await totalIs(page, 51, 'all again');
}

/** One input: a single profile is a filter. */
export async function partsShown(page, inputs) {
    await sumShown(page, inputs);
    same(topOf(inputs, '--resource', 'service.name=shop'), '45', 'kiln top of a resource');
    must((await page.innerText('.title')).includes('2 profiles'), 'the number of profiles is not shown');
    same((await page.$$('[data-do=one] option')).length, 3, 'the profiles of the resource');
    await page.selectOption('[data-do=one]', { index: 2 });
    await totalIs(page, 41, 'a single profile');
    await inAddress(page, 'profile=');
    const number = /profile=(\d+)/.exec(page.url())[1];
    if (inputs.at(-1).endsWith('.json')) same(topOf(inputs.slice(-1), '-s', number), '41', 'kiln top of the profile with that number');
    same(topOf(inputs, '--profile-id', '03'), '41', 'kiln top of the profile with that id');
    await page.selectOption('[data-do=resource]', '');
    await totalIs(page, 51, 'all again');
}

/** The total of a type over the inputs that have it: `kiln top -s` requires it of each. */
function typeTotal(inputs, type) {
    const having = inputs.filter((i) =>
        JSON.parse(run('info', '--json', i)).files[0].profiles.some((p) => p.sample_type === type),
    );
    return topOf(having, '-s', type);
}

/** Inputs with several types: each type is one entry with the total of `kiln top`. */
export async function mixedShown(page, inputs) {
    await openReport(page, inputs);
    const entries = await page.$$eval('[data-do=type] option', (o) => o.map((e) => [e.textContent.split(/[ (]/)[0], e.dataset.total]));
    same(entries.map(([type]) => type).sort().join(), 'alloc_space,cpu,samples', 'types');
    for (const [i, [type, total]] of entries.entries()) {
        same(total, typeTotal(inputs, type), `${type}: the total in the list`);
        await page.selectOption('[data-do=type]', { index: i });
        await totalIs(page, total, type);
    }
}
