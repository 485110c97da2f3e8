// heat.js - shows values under the pointer and selects a range (heat_svg.c).  No network, no storage.
(() => {
'use strict';
const svg = document.getElementById('heat'), NS = svg.namespaceURI;
const { columns, rows, per, left, top, cell, high } = Object.fromEntries(Object.entries(svg.dataset).map(([k, v]) => [k, +v]));
const start = BigInt(svg.dataset.start), rowNs = 1000000000n / BigInt(rows);
const text = id => document.getElementById(id).textContent;
const sums = text('cells').slice(1, -1).split(',').map(Number), unit = text('unit'), subject = text('subject');
const make = (name, set) => {
    const x = document.createElementNS(NS, name);
    for (const k in set) x.setAttribute(k, set[k]);
    return svg.appendChild(x);
};
const foot = top + rows * high + 42;
const mark = make('path', { class: 'pick', d: '' });
const now = make('rect', { class: 'now', width: Math.max(1, cell - (cell > 4 ? 1 : 0)), height: high - 1, style: 'display:none' });
const hint = make('text', { x: left, y: foot });
const total = i => sums.slice(0, i).reduce((a, b) => a + b, 0);

function cellAt(e) {
    const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const c = Math.floor((p.x - left) / cell), r = rows - 1 - Math.floor((p.y - top) / high);
    return c >= 0 && c < columns && r >= 0 && r < rows ? c * rows + r : -1;
}
const timeOf = i => start + BigInt(Math.floor(i / rows) * per) * 1000000000n + BigInt(i % rows) * rowNs;
const offset = t => (Number((t - start) / 1000000n) / 1000).toFixed(2) + ' s';
const scales = {
    ns: [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']], By: [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [1024, 'KiB'], [1, 'B']],
};
const alias = { nanoseconds: 'ns', nanosecond: 'ns', bytes: 'By', byte: 'By', B: 'By' };
function human(v) {
    const scale = scales[alias[unit] ?? unit];
    if (!scale) return v.toLocaleString('en').replaceAll(',', ' ') + (/^(|1|count|\{.*\})$/.test(unit) ? '' : ' ' + unit);
    const [f, name] = scale.find(([k]) => Math.abs(v) >= k) ?? scale.at(-1);
    return `${+(v / f).toPrecision(3)} ${name}`;
}
let from = -1, to = -1;
function tell(i) {
    const range = from >= 0 && to >= 0;
    const [a, b] = range ? [Math.min(from, to), Math.max(from, to)] : [i, i];
    if (a < 0) return void (hint.textContent = 'click the first and the last cell of a range to select it');
    const end = timeOf(b) + (per > 1 ? BigInt(per) * 1000000000n : rowNs);
    const sum = range ? total(b + 1) - total(a) : sums[i];
    let line = `${offset(timeOf(a))} – ${offset(end)}: ${human(sum)}`;
    if (range && subject) line += `     kiln flame ${subject} --start ${timeOf(a)} --end ${end}`;
    hint.textContent = line;
}
// A range covers a part of the first column, whole columns, and a part of the last.
function paint() {
    const [a, b] = [Math.min(from, to), Math.max(from, to)];
    let d = '';
    if (from >= 0 && to >= 0) for (let c = Math.floor(a / rows); c <= Math.floor(b / rows); c++) {
        const r0 = c === Math.floor(a / rows) ? a % rows : 0, r1 = c === Math.floor(b / rows) ? b % rows : rows - 1;
        d += `M${left + c * cell} ${top + (rows - 1 - r1) * high}h${cell}v${(r1 - r0 + 1) * high}h${-cell}z`;
    }
    mark.setAttribute('d', d);
}
svg.addEventListener('mousemove', e => {
    const i = cellAt(e);
    now.style.display = i < 0 ? 'none' : '';
    if (i < 0) return tell(-1);
    now.setAttribute('x', left + Math.floor(i / rows) * cell);
    now.setAttribute('y', top + (rows - 1 - i % rows) * high);
    if (to < 0 || from < 0) tell(i);
});
svg.addEventListener('click', e => {
    const i = cellAt(e);
    if (i < 0 || to >= 0) from = to = -1;
    if (i >= 0) from < 0 ? from = i : to = i;
    paint();
    tell(i);
});
addEventListener('keydown', e => {
    if (e.key === 'Escape') from = to = -1, paint(), tell(-1);
});
for (const t of svg.querySelectorAll('path > title')) t.remove();
tell(-1);
})();
