// speedscope_import.js DIR FILE... - prints the results of speedscope's own importer as JSON lines.
//
// The npm package is the browser's bundle; its importer needs no browser. This script extracts it from the bundle by the
// names it exports, which survive minification, and runs it before the page is drawn.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

function importer(dir) {
  const release = path.join(dir, 'dist', 'release');
  const file = fs.readdirSync(release).find((f) => /^speedscope-.*\.js$/.test(f));
  let text = fs.readFileSync(path.join(release, file), 'utf8');
  const exported = /([\w$]+)=\{\};[\w$]+\(\1,\{[^}]*importProfileGroupFromText:/.exec(text);
  if (!exported) throw new Error('no importProfileGroupFromText in the bundle');
  const name = exported[1].replace(/\$/g, '\\$');
  const init = new RegExp('\\(\\)=>\\(([\\w$]+)\\(\\),' + name + '\\)').exec(text);
  const draw = text.lastIndexOf('console.log(`speedscope v');
  if (!init || draw < 0) throw new Error('the bundle looks different');
  text = `${text.slice(0, draw)}globalThis.taken=(${init[1]}(),${exported[1]});return;${text.slice(draw)}`;
  const element = () => new Proxy(function () {}, {
    get: (_, k) => (k === Symbol.toPrimitive ? () => '' : element()),
    apply: () => element(), construct: () => element(), set: () => true,
  });
  const context = {
    console: { log() {}, warn() {}, error() {}, time() {}, timeEnd() {} },
    TextDecoder, TextEncoder, URL, setTimeout, clearTimeout, atob, btoa, performance,
    navigator: { userAgent: '', platform: '' }, location: { hash: '', protocol: 'file:', href: 'file:///' },
    localStorage: { getItem: () => null, setItem() {} }, matchMedia: () => ({ matches: false, addListener() {} }),
    requestAnimationFrame() {}, FileReader: class {}, document: element(), addEventListener() {},
  };
  context.window = context.self = context;
  vm.createContext(context);
  vm.runInContext(text, context);
  return context.taken;
}

async function main() {
  const [dir, ...files] = process.argv.slice(2);
  const take = importer(dir);
  for (const f of files) {
    let out;
    try {
      const group = await take.importProfileGroupFromText(path.basename(f), fs.readFileSync(f, 'utf8'));
      out = group && {
        name: group.name, view: group.indexToView,
        profiles: group.profiles.map((p) => {
          const frames = {};
          let depth = 0;
          let deepest = 0;
          p.forEachFrame((x) => { frames[x.name] = (frames[x.name] || 0) + x.getSelfWeight(); });
          p.forEachCall(() => { deepest = Math.max(deepest, ++depth); }, () => { depth--; });
          return { name: p.getName(), unit: p.getWeightUnit(), total: p.getTotalNonIdleWeight(), deepest, frames };
        }),
      };
    } catch (e) {
      out = { error: String(e && e.message || e) };
    }
    console.log(JSON.stringify(out));
  }
}

main().catch((e) => { console.error(e); process.exit(1); });
