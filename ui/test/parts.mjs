// parts.mjs - a file of three profiles of one type: two of the resource shop (4 and 41), one of cart (6).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dir } from './kit.mjs';

/** Writes the file, and returns its path. */
export function partsFile() {
    const one = (service, second, value, i) => ({
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
        resourceProfiles: [one('shop', 10, 4, 0), one('cart', 20, 6, 1), one('shop', 30, 41, 2)],
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
    const path = join(dir, 'parts.json');
    writeFileSync(path, JSON.stringify(profiles));
    return path;
}
