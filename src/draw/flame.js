// flame.js - zoom, search, keys and tooltips of a flame graph (flame_svg.c).  No network, no storage.
// Without the script the picture is complete: titles are tooltips, texts are cut to their boxes.
(() => {
'use strict';
const svg = document.getElementById('flame'), NS = svg.namespaceURI, H = 'http://www.w3.org/1999/xhtml';
const { pad, top, row, rows } = Object.fromEntries(Object.entries(svg.dataset).map(([k, v]) => [k, +v]));
const head = document.getElementById('head'), alone = svg === document.documentElement;
const make = (ns, name, to, set = {}) => {
    const x = document.createElementNS(ns, name);
    for (const k in set) x.setAttribute(k, set[k]);
    return to ? to.appendChild(x) : x;
};
let icicle = svg.dataset.icicle === '1', wide = +svg.getAttribute('width');
const GAP = .8, apart = w => w > 4 ? w - GAP : w * .8, whole = w => w > 4 - GAP ? w + GAP : w / .8;

// The boxes are in order of a walk, so the tree can be rebuilt from their depths.
const boxes = [...document.getElementById('frames').children].map((g, i) => {
    const [rect, text] = [g.querySelector('rect'), g.querySelector('text')], title = g.querySelector('title');
    const y = Math.round((rect.getAttribute('y') - top) / row);
    const lines = title.textContent.split('\n');
    title.remove();
    g.box = i;
    return { g, rect, text, lines, name: lines[0], x: (rect.getAttribute('x') - pad) / (wide - 2 * pad),
        w: whole(+rect.getAttribute('width')) / (wide - 2 * pad), depth: icicle ? y : rows - 1 - y,
        parent: -1, end: 0, match: false, state: '', y: +rect.getAttribute('y') };
});
const open = [];
boxes.forEach((b, i) => {
    while (open.length > b.depth) boxes[open.pop()].end = i;
    b.parent = b.depth ? open[b.depth - 1] : -1;
    open[b.depth] = i;
});
open.forEach(i => boxes[i].end = boxes.length);

// ---- layout ----
let zoomed = 0, at = -1, query = '';
// Text is measured on a canvas: measuring an element would force a layout of all boxes.
const paper2d = typeof OffscreenCanvas === 'undefined' ? null : new OffscreenCanvas(1, 1).getContext('2d');
function measure(t) {
    if (!paper2d) return t.getComputedTextLength();
    const key = t.getAttribute('class') + (t.parentNode.id || t.parentNode.getAttribute('class'));
    paper2d.font = fonts[key] ??= getComputedStyle(t).font;
    return paper2d.measureText(t.textContent).width;
}
const fonts = {};
const probe = make(NS, 'text', document.getElementById('frames'), { x: -9999 });
probe.textContent = 'M'.repeat(40);
const char = measure(probe) / 40 || 6.6;
probe.remove();

// ---- names: the rules of label.c ----
const cells = s => { let n = 0; for (const c of s) n += c > '\u10ff' && c !== '…' ? 2 : 1; return n; };
const brief = name => {
    const path = name.replace(/^[^(<[{ \t"']*\/(?!0x)(?=[^(<[{ \t"'])/, '');
    return path !== name ? path : name.replace(/^(?:(?![A-Z])[\w$/\u0080-\uffff]*\.)+(?=[A-Z][\w$/\u0080-\uffff]*\.)/, '');
};
function clipped(s, room) {
    if (cells(s) <= room) return s;
    let out = '', n = 0;
    for (const c of s) if ((n += cells(c)) < room) out += c; else break;
    return out + '…';
}
function tailOf(s, room) {
    const all = [...s];
    while (cells(all.join('')) > room) all.shift();
    return all.join('');
}
function argumentsAt(name) {
    const s = name.replace(/ const$/, '');
    let at = s.length - 1, depth = 0;
    if (s[at] !== ')') return name.length;
    for (; at >= 0; at--) {
        if (s[at] === ')') depth++;
        if (s[at] === '(' && !--depth) break;
    }
    return at < 1 || at + 2 >= s.length || ' .:/('.includes(s[at - 1]) ? name.length : at;
}
function ownAt(s) {
    for (let i = s.length - 1, depth = 0; i > 0; i--) {
        if (')>]}'.includes(s[i])) depth++;
        if ('(<[{'.includes(s[i])) depth--;
        if (depth) continue;
        if (s[i] === '.' || s[i] === '/') return i;
        if (s[i] === ':' && s[i - 1] === ':') return i - 1;
    }
    return 0;
}
function middle(s, own, room) {
    const name = s.slice(own), fits = room >= 8 && own && cells(name) <= Math.floor(room * 2 / 3);
    const end = fits ? name : room < 12 ? '' : tailOf(s, Math.floor(room / 3));
    return clipped(s.slice(0, s.length - end.length), room - cells(end)) + end;
}
function fit(name, room) {
    room = Math.floor(room);
    if (cells(name) <= room) return name;
    const s = brief(name);
    if (cells(s) <= room) return s;
    const hash = /::h[0-9a-f]{16}$/.exec(s)?.index, kept = s.slice(0, hash ? hash + 7 : argumentsAt(s));
    for (const mark of kept === s ? [] : hash ? ['…'] : ['(…)', '…']) if (cells(kept + mark) <= room) return kept + mark;
    return middle(kept, ownAt(hash ? s.slice(0, hash) : kept), room);
}
// ---- places ----
function place(b, x, w) {
    const y = top + row * (icicle ? b.depth : rows - 1 - b.depth), room = (w - 8) / char;
    if (b.at !== x) b.rect.setAttribute('x', Math.round((b.at = x) * 100) / 100);
    if (b.y !== y) b.rect.setAttribute('y', b.y = y);
    if (b.wide !== w) b.rect.setAttribute('width', Math.round(apart(b.wide = w) * 1000) / 1000);
    if (room < 3) {
        if (b.text?.firstChild) b.text.textContent = '';
        return;
    }
    if (!b.text) b.text = make(NS, 'text', b.g);
    b.text.setAttribute('x', Math.round((x + 4) * 100) / 100);
    b.text.setAttribute('y', y + 12);
    b.text.textContent = fit(b.name, room);
}
function state(b, s) {
    if (b.state === s) return;
    if (b.state) b.g.classList.remove(b.state);
    if (s) b.g.classList.add(s);
    b.state = s;
}
function layout() {
    const full = wide - 2 * pad, z = boxes[zoomed], up = new Set();
    if (!z) return;
    for (let i = z.parent; i >= 0; i = boxes[i].parent) up.add(i);
    boxes.forEach((b, i) => {
        if (up.has(i)) {
            state(b, 'up');
            place(b, pad, full);
        } else if (i >= zoomed && i < z.end) {
            state(b, '');
            place(b, pad + (b.x - z.x) / z.w * full, b.w / z.w * full);
        } else {
            state(b, 'off');
        }
    });
    hideTip();
    showStatus();
}
function resize() {
    if (alone) wide = Math.max(320, document.documentElement.clientWidth || innerWidth);
    const height = svg.getAttribute('height');
    svg.setAttribute('width', wide);
    svg.setAttribute('viewBox', `0 0 ${wide} ${height}`);
    const narrow = wide < 640, room = narrow ? wide - 2 * pad : 330;
    bar.setAttribute('width', room);
    bar.setAttribute('x', wide - pad - room);
    bar.setAttribute('y', narrow ? 32 : 12);
    for (const t of head.querySelectorAll('.title, .note')) clip(t, wide - (narrow ? 0 : room) - 3 * pad);
    head.querySelector('.note').style.display = narrow ? 'none' : '';
    legend();
    layout();
}
// The legend, as many entries as fit: their widths are known here.
function legend() {
    let x = pad;
    for (const k of head.querySelectorAll('[class^=c], .key')) {
        const text = k.tagName === 'text', w = text ? measure(k) + 16 : k.nextElementSibling?.tagName === 'rect' ? 13 : 16;
        const last = text ? w - 16 : w + (k.nextElementSibling?.tagName === 'text' ? measure(k.nextElementSibling) : 0);
        k.style.display = x + last > wide - pad ? 'none' : '';
        if (x + last > wide - pad) x = wide;
        k.setAttribute('x', x);
        x += w;
    }
}
// The header of a picture that is taller than the window stays visible.
function follow() {
    if (alone) head.setAttribute('transform', `translate(0,${scrollY})`);
}
function clip(t, room) {
    t.full ??= t.textContent;
    t.textContent = t.full;
    for (let n = t.full.length; n > 1 && measure(t) > room;)
        t.textContent = t.full.slice(0, n = Math.min(n - 1, Math.floor(n * room / measure(t)))) + '…';
}

// ---- zoom and search ----
function zoom(i) {
    zoomed = i;
    layout();
    search(query);
}
const share = p => (p * 100).toFixed(p > .9995 || p < 5e-6 ? 0 : p < .000995 ? 2 : 1) + ' %';
function search(text) {
    query = text;
    let like = null;
    if (text) {
        try { like = new RegExp(text, 'i'); } catch { like = { test: s => s.toLowerCase().includes(text.toLowerCase()) }; }
    }
    svg.classList.toggle('searching', !!like);
    const seen = new Map();
    for (const b of boxes) {
        let m = false;
        if (like && !(m = seen.get(b.name)) && m === undefined) seen.set(b.name, m = like.test(b.name));
        if (m !== b.match) b.g.classList.toggle('m', b.match = m);
    }
    // A frame inside a frame that matches counts once.
    const z = boxes[zoomed];
    let sum = 0, n = 0;
    for (let i = zoomed; z && i < z.end;) {
        if (boxes[i].match) n++, sum += boxes[i].w, i = boxes[i].end;
        else i++;
    }
    matched.textContent = like ? `${share(z ? sum / z.w : 0)} matched` : '';
    matched.style.display = like ? '' : 'none';
    if (field.value !== text) field.value = text;
    showStatus();
}
function showStatus() {
    back.style.display = zoomed ? '' : 'none';
    const q = new URLSearchParams();
    if (zoomed) q.set('z', zoomed);
    if (query) q.set('s', query);
    if (alone) try { history.replaceState(null, '', '#' + q); } catch { /* opened where there is no history */ }
}

// ---- the field ----
const bar = make(NS, 'foreignObject', head, { height: 28 });
const box = make(H, 'div', bar, { class: 'bar' });
const matched = make(H, 'span', box, { style: 'white-space:nowrap;font-variant-numeric:tabular-nums', role: 'status' });
const back = make(H, 'button', box, { type: 'button', title: 'Esc or 0' });
back.textContent = 'Reset zoom';
const field = make(H, 'input', box, { type: 'search', placeholder: 'Search ( / )', 'aria-label': 'Search frames', spellcheck: 'false' });
field.addEventListener('input', () => search(field.value));
field.addEventListener('keydown', e => {
    if (e.key === 'Escape') field.value ? search('') : svg.focus();
    if (e.key === 'Enter') svg.focus(), next(1);
    e.stopPropagation();
});
back.addEventListener('click', () => zoom(0));

// ---- tooltip ----
const tip = make(NS, 'g', svg, { class: 'tip', style: 'display:none' });
const paper = make(NS, 'rect', tip, { rx: 6 });
function showTip(i, px, py) {
    const b = boxes[i], z = boxes[zoomed];
    const lines = [...b.lines];
    if (zoomed && i > zoomed) lines.splice(2, 0, `${share(b.w / z.w)} of ${fit(z.name, 60)}`);
    while (tip.lastChild !== paper) tip.lastChild.remove();
    tip.style.display = '';
    let w = 0;
    lines.forEach((line, k) => {
        const t = make(NS, 'text', tip, { x: 10, y: 20 + 17 * k, class: k > 1 ? 'note' : '' });
        t.textContent = line;
        clip(t, Math.min(720, wide - 40));
        w = Math.max(w, measure(t));
    });
    const h = 17 * lines.length + 13, high = +svg.getAttribute('height');
    const seen = alone ? scrollY + innerHeight : high;
    paper.setAttribute('width', w + 20);
    paper.setAttribute('height', h);
    const x = Math.max(4, Math.min(px + 14, wide - w - 26));
    const y = py + 18 + h > Math.min(high, seen) ? py - h - 10 : py + 18;
    tip.setAttribute('transform', `translate(${x},${Math.max(2, y)})`);
}
function hideTip() { tip.style.display = 'none'; }
const frames = document.getElementById('frames');
const boxAt = e => e.target.closest?.('#frames > g')?.box ?? -1;
frames.addEventListener('mousemove', e => {
    const i = boxAt(e), p = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
    i < 0 ? hideTip() : showTip(i, p.x, p.y);
});
frames.addEventListener('mouseleave', hideTip);
svg.addEventListener('click', e => {
    const i = boxAt(e);
    if (i >= 0) focus(-1), zoom(i);
});

// ---- keys ----
function focus(i) {
    if (at >= 0) boxes[at].g.classList.remove('at');
    at = i;
    if (i < 0) return hideTip();
    const b = boxes[i];
    b.g.classList.add('at');
    b.g.scrollIntoView({ block: 'nearest' });
    showTip(i, Math.max(pad, +b.rect.getAttribute('x')), +b.rect.getAttribute('y'));
}
const siblings = i => boxes.map((b, k) => k).filter(k => boxes[k].parent === boxes[i].parent && boxes[k].state !== 'off');
function aside(i, by) {
    const s = siblings(i);
    return s[s.indexOf(i) + by] ?? i;
}
function below(i) {
    let best = -1;
    for (let k = i + 1; k < boxes[i].end; k = boxes[k].end) if (best < 0 || boxes[k].w > boxes[best].w) best = k;
    return best < 0 ? i : best;
}
function next(by) {
    const z = boxes[zoomed];
    for (let n = z.end - zoomed, k = at < zoomed ? zoomed - (by > 0) : at; n--;) {
        k = zoomed + (k + by - zoomed + z.end - zoomed) % (z.end - zoomed);
        if (boxes[k].match) return focus(k);
    }
}
const keys = {
    '/': () => field.focus(), 'f': () => field.focus(),
    'Escape': () => query ? search('') : at >= 0 ? focus(-1) : zoom(0),
    '0': () => zoom(0), 'Home': () => zoom(0),
    'Enter': () => at >= 0 && zoom(at), ' ': () => at >= 0 && zoom(at),
    'Backspace': () => zoom(Math.max(0, boxes[zoomed].parent)),
    'ArrowLeft': () => focus(at < 0 ? zoomed : aside(at, -1)), 'ArrowRight': () => focus(at < 0 ? zoomed : aside(at, 1)),
    'ArrowUp': () => vertical(!icicle), 'ArrowDown': () => vertical(icicle),
    'n': () => next(1), 'N': () => next(-1),
    'i': () => { icicle = !icicle; layout(); if (alone) scrollTo(0, icicle ? 0 : +svg.getAttribute('height')); },
};
function vertical(deeper) {
    focus(at < 0 ? zoomed : deeper ? below(at) : Math.max(0, boxes[at].parent));
}
svg.setAttribute('tabindex', '0');
(alone ? window : svg).addEventListener('keydown', e => {
    const act = keys[e.key];
    if (!boxes.length || !act || e.altKey || e.metaKey || (e.ctrlKey && e.key !== 'f')) return;
    e.preventDefault();
    act();
});

const foot = make(NS, 'text', svg, { class: 'key', 'text-anchor': 'end', y: svg.getAttribute('height') - 11 });
foot.textContent = 'click or Enter: zoom · /: search · arrows: move · i: invert';
addEventListener('resize', () => { resize(); footer(); });
function footer() {
    foot.setAttribute('x', wide - pad);
    foot.style.display = wide < 760 ? 'none' : '';
}
const asked = new URLSearchParams(alone ? location.hash.slice(1) : '');
zoomed = Math.min(Math.max(0, +asked.get('z') || 0), Math.max(0, boxes.length - 1));
resize();
footer();
addEventListener('scroll', follow, { passive: true });
if (alone && !icicle) scrollTo(0, +svg.getAttribute('height'));
search(asked.get('s') ?? '');
})();
