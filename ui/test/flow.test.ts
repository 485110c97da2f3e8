// The history of the address, nodes in newer data, and queries of slow servers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Runner, Query } from '../src/live/runner';
import { carry } from '../src/model/carry';
import { TreeBuilder, pathOf } from '../src/model/tree';
import { changedFragment, initial, sameParts, stepOf } from '../src/state';
import { twoTables } from './two_tables';

test('a node is found again in a tree of newer data', () => {
    const { frames, others, tree, other } = twoTables();
    for (let i = 1; i < tree.n; i++) {
        const found = carry({ tree, frames }, i, { tree: other, frames: others });
        assert.deepEqual(
            pathOf(other, found).map((k) => others.key(other.frame[k])),
            pathOf(tree, i).map((k) => frames.key(tree.frame[k])),
        );
    }
    const none = new TreeBuilder().finish(null);
    assert.equal(carry({ tree, frames }, 1, { tree: none, frames: others }), -1);
});

test('a change keeps what the shown data do not contain', () => {
    assert.equal(changedFragment('#sel=.gone&q=a', 'q=a', 'q=b'), 'sel=.gone&q=b');
    assert.equal(changedFragment('#sel=.gone', '', 'sel=.new'), 'sel=.new');
    assert.equal(changedFragment('#label=a%3D1&view=table', 'label=a%3D1&view=table', 'view=table'), 'view=table');
    const state = { ...initial(false), filter: { labels: [{ key: 'a', value: '1', not: false }], time: null } },
        same = sameParts(state, { ...state, view: 'table', filter: { ...state.filter } });
    assert.equal(same.filter, state.filter);
    assert.equal(same.view, 'table');
});

test('history: steps are entries, settings are none, typing is one', () => {
    const entry = (a: string, b: string) => stepOf(a, b).entry;
    assert.ok(entry('', '#view=table'));
    assert.ok(entry('#zoom=.AAAAA', '#zoom=.AAAAABBBBB'));
    assert.ok(entry('#time=1-2', ''));
    assert.ok(!entry('#view=table', '#view=table&sort=name&color=kind'));
    assert.equal(stepOf('#q=a', '#q=ab').of, 'q');
    assert.equal(stepOf('#q=a', '').of, '', 'the end of a search is a step of its own');
    assert.equal(stepOf('', '#sel=.A&zoom=.B').of, '');
});

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** A server that takes `ms`, and records what it was asked. */
function slow(ms: number) {
    const log: string[] = [];
    let open = 0,
        most = 0;
    const wanted = (subject: string, version: string, again = 0): Query<string> => ({
        subject,
        version,
        again,
        run: async (signal) => {
            log.push(version);
            most = Math.max(most, ++open);
            try {
                for (let t = 0; t < ms; t += 5) {
                    await pause(5);
                    if (signal.aborted) throw new DOMException('aborted', 'AbortError');
                }
            } finally {
                open--;
            }
            if (version.includes('bad')) throw new Error('the server is busy');
            return version;
        },
    });
    return { log, wanted, most: () => most };
}

test('newer data never abort a query, and a slow server rests as long as it worked', async () => {
    const s = slow(60),
        r = new Runner<string>(() => {});
    const start = performance.now();
    let i = 0;
    for (; performance.now() - start < 1200; i++) {
        r.want(s.wanted('q', `q ${i}`));
        await pause(10);
    }
    assert.ok(s.log.length >= 2 && s.log.length <= 1200 / (2 * 60) + 1, `${s.log.length} queries`); // the machine may be slow
    assert.equal(s.most(), 1);
    assert.ok(r.state(s.wanted('q', `q ${i}`)).result);
    r.close();
});

test('another subject aborts a query; until its result is there, the old one is stale', async () => {
    const s = slow(40),
        r = new Runner<string>(() => {});
    r.want(s.wanted('a', 'a 1'));
    await pause(80);
    r.want(s.wanted('b', 'b 1'));
    await pause(10);
    r.want(s.wanted('c', 'c 1'));
    assert.deepEqual(
        [r.state(s.wanted('c', 'c 1'))].map(({ result, stale, busy }) => ({ result, stale, busy })),
        [{ result: 'a 1', stale: true, busy: true }],
    );
    await pause(80);
    assert.deepEqual(s.log, ['a 1', 'b 1', 'c 1']);
    assert.equal(r.state(s.wanted('c', 'c 1')).result, 'c 1');
    assert.equal(r.state(s.wanted('c', 'c 2')).stale, false, 'outdated is not stale');
});

test('a failed query keeps the result, and is repeated when the user asks', async () => {
    const s = slow(10),
        r = new Runner<string>(() => {});
    r.want(s.wanted('a', 'a 1'));
    await pause(40);
    r.want(s.wanted('a', 'a bad'));
    await pause(40);
    const now = r.state(s.wanted('a', 'a bad'));
    assert.equal(now.result, 'a 1');
    assert.equal(now.error, 'the server is busy');
    r.want(s.wanted('a', 'a 2'));
    await pause(40);
    assert.equal(s.log.length, 2, 'no pause after a failure');
    r.want(s.wanted('a', 'a 2', 1));
    await pause(40);
    assert.equal(r.state(s.wanted('a', 'a 2', 1)).result, 'a 2');
    r.close();
});
