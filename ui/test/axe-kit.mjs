// axe-kit.mjs - checks a page with axe-core.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { must } from './kit.mjs';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'),
    GRAVE = ['serious', 'critical'];

/** Returns one line per finding. `impacts` limits the findings; null: all. */
export async function findings(page, impacts = GRAVE) {
    // evaluate() is not subject to the policy of the page, which forbids added scripts
    await page.evaluate(source);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    return violations
        .filter((v) => !impacts || impacts.includes(v.impact))
        .flatMap((v) =>
            v.nodes.map(
                (n) =>
                    `${v.impact} ${v.id}: ${n.target.join(' ')}: ${(n.any[0] ?? n.all[0] ?? n.none[0])?.message ?? v.help}`,
            ),
        );
}

/** Fails when axe-core finds something serious or critical. */
export async function noFindings(page) {
    const found = await findings(page);
    must(!found.length, `${found.length} findings\n${found.slice(0, 12).join('\n')}`);
}
