// flame.mjs - lays out flame graphs as Grafana does.
//
//   node flame.mjs < CASES     [{"names": [], "levels": [[]], "diff": false}]
//
// First the levels become a tree and the tree a data frame, by the rules of Grafana's data source; then the code of Grafana's
// panel (FlameGraphDataContainer of @grafana/flamegraph) computes the boxes.  Prints them for each case, by level:
// [{"label", "value", "right", "self", "selfRight", "start", "parent": index in the level above}].
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The panel's module imports @grafana/data, for display only, and lodash, for another view. */
async function panel() {
    const from = join(dirname(fileURLToPath(import.meta.url)), 'node_modules/@grafana/flamegraph/dist/esm');
    const to = mkdtempSync(join(tmpdir(), 'kiln-panel-'));
    const data = `const FieldType = { string: 'string', number: 'number', enum: 'enum' };
        const getDisplayProcessor = () => (v) => ({ text: String(v), numeric: v }); const createTheme = () => ({});\n`;
    const texts = { 'types.mjs': '', 'FlameGraph/treeTransforms.mjs': 'const groupBy = () => { throw new Error("unused"); };\n', 'FlameGraph/dataTransform.mjs': data };
    for (const [name, stub] of Object.entries(texts)) {
        const text = readFileSync(join(from, name), 'utf8').replace(/^import .* from '(@grafana\/data|lodash)';$/m, '').replace('../types.mjs', './types.mjs');
        writeFileSync(join(to, name.split('/').pop()), stub + text);
    }
    try {
        return await import(pathToFileURL(join(to, 'dataTransform.mjs')));
    } finally {
        rmSync(to, { recursive: true });
    }
}

/** The boxes of each level; a comparison adds its two sides, each with its own distance. */
function boxes(levels, diff) {
    const size = diff ? 7 : 4;
    return levels.map((v) => {
        const row = [];
        let left = 0;
        let right = 0;
        for (let i = 0; i < v.length; i += size) {
            left += v[i];
            if (diff) right += v[i + 3];
            row.push({ start: left + right, value: v[i + 1], self: v[i + 2], right: diff ? v[i + 4] : 0, selfRight: diff ? v[i + 5] : 0, name: v[i + size - 1], nodes: [] });
            left += v[i + 1];
            if (diff) right += v[i + 4];
        }
        return row;
    });
}

/** Gives each box to the first one above that contains its start.  This is why boxes without width go wrong. */
function toTree(rows) {
    for (let d = 1; d < rows.length; d++) {
        let up = 0;
        for (const box of rows[d]) {
            while (!(box.start >= rows[d - 1][up].start && box.start < rows[d - 1][up].start + rows[d - 1][up].value + rows[d - 1][up].right)) up++;
            rows[d - 1][up].nodes.push(box);
        }
    }
    return rows[0][0];
}

/** A nested set: nodes in order with their level. */
function toFrame(root, names, diff) {
    const columns = { label: [], level: [], value: [], self: [], valueRight: [], selfRight: [] };
    const stack = [[root, 0]];
    while (stack.length) {
        const [node, level] = stack.pop();
        columns.label.push(names[node.name]);
        columns.level.push(level);
        columns.value.push(node.value);
        columns.self.push(node.self);
        columns.valueRight.push(node.right);
        columns.selfRight.push(node.selfRight);
        for (const child of node.nodes.reverse()) stack.push([child, level + 1]);
    }
    const kept = Object.entries(columns).filter(([name]) => diff || !name.endsWith('Right'));
    return { length: columns.label.length, fields: kept.map(([name, values]) => ({ name, values, type: name === 'label' ? 'string' : 'number', config: {} })) };
}

const { FlameGraphDataContainer } = await panel();
const result = JSON.parse(readFileSync(0, 'utf8')).map(({ names, levels, diff }) => {
    const frame = new FlameGraphDataContainer(toFrame(toTree(boxes(levels, diff)), names, diff), { collapsing: true });
    const rows = frame.getLevels();
    return rows.map((row, d) =>
        row.map((x) => ({
            label: frame.getLabel(x.itemIndexes[0]),
            value: frame.getValue(x.itemIndexes[0]),
            right: frame.getValueRight(x.itemIndexes[0]),
            self: frame.getSelf(x.itemIndexes[0]),
            selfRight: frame.getSelfRight(x.itemIndexes[0]),
            start: x.start,
            parent: d ? rows[d - 1].indexOf(x.parents[0]) : 0,
        })),
    );
});
process.stdout.write(JSON.stringify(result));
