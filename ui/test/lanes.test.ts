// Threads over time: the painted area is the observed time; names of threads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LaneScene, paintLanes, partsAt } from '../src/draw/lanes';
import { Fitter, threadLabels } from '../src/draw/label';
import { threadTitles } from '../src/live/lanes';
import type { Lane, Lanes } from '../src/model/lanes';
import { threadTitle } from '../src/model/threads';

const S = 1e9,
    MS = 1e6,
    STATES = ['running', 'sleeping'];

/** Observations [time, length, state] in ns. */
const laneOf = (list: [number, number, number][], scale = 1): Lane => ({
    name: 't',
    key: 't',
    thread: 't',
    n: list.length,
    sum: list.reduce((t, x) => t + x[1], 0),
    time: list.map((x) => x[0]),
    length: list.map((x) => (scale ? x[1] : 0)),
    value: list.map((x) => x[1]),
    state: list.map((x) => x[2]),
    shares: null,
    frame: list.map(() => 0),
});

const sceneOf = (lane: Lane, length: number, scale = 1): LaneScene => ({
    lanes: { base: 0n, length, step: 0, scale, lanes: [lane], states: STATES, frames: ['f'], partial: false, why: '' },
    theme: 'light',
    ink: { text: 'ink', dim: 'dim', line: 'line', faint: 'faint' },
    left: 100,
    strip: 0,
    width: 1100,
    chosen: null,
    hover: null,
});

/** Returns the part of the row that each colour covers; the colour of the empty row is `faint`. */
function covered(s: LaneScene): number[] {
    const area = new Map<string, number>(),
        g = {
            fillStyle: '',
            clearRect() {},
            fillText() {},
            measureText: (t: string) => ({ width: 6 * t.length }),
            fillRect: (_x: number, _y: number, w: number, h: number) =>
                area.set(g.fillStyle, (area.get(g.fillStyle) ?? 0) + w * h),
        };
    paintLanes(g as unknown as CanvasRenderingContext2D, s);
    const row = area.get('faint')!;
    return [...area]
        .filter(([c]) => !['ink', 'dim', 'line', 'faint'].includes(c))
        .map(([, a]) => a / row)
        .sort((a, b) => a - b);
}

const near = (got: number, want: number, by: number) => assert.ok(Math.abs(got - want) <= by, `${got}, expected ${want}`);

test('a thread with 1 % of a CPU is not painted as busy', () => {
    // 15 minutes of a sample of 10 ms each second; a column has at least 2 of 18 pixels
    const lane = laneOf(Array.from({ length: 900 }, (_, i) => [i * S + 3 * MS, 10 * MS, 0])),
        [running] = covered(sceneOf(lane, 900 * S));
    assert.ok(running > 0.009 && running < 0.12, `${running}`);
});

test('30 % of one state and 70 % of another', () => {
    const list = Array.from({ length: 3000 }, (_, i): [number, number, number] => [i * 10 * MS, 10 * MS, i % 10 < 3 ? 0 : 1]),
        s = sceneOf(laneOf(list), 30 * S),
        [running, sleeping] = covered(s);
    near(running, 0.3, 0.01);
    near(sleeping, 0.7, 0.01);
    const parts = partsAt(s, s.lanes.lanes[0], 600);
    assert.deepEqual(
        parts.map((x) => x.name),
        ['sleeping', 'running'],
    );
    near(
        parts.reduce((t, x) => t + x.share, 0),
        1,
        0.01,
    );
});

test('wide observations are boxes, and a pause between them stays empty', () => {
    const [running] = covered(sceneOf(laneOf([[0, S, 0], [5 * S, 2 * S, 0]]), 10 * S));
    near(running, 0.3, 0.01);
});

test('values that are not times share the height of their column', () => {
    const list = Array.from({ length: 4000 }, (_, i): [number, number, number] => [i * MS, i % 4 ? 1 : 9, i % 4 ? 1 : 0]),
        [sleeping, running] = covered(sceneOf(laneOf(list, 0), 4 * S, 0));
    near(running, 0.75, 0.01);
    near(sleeping, 0.25, 0.01);
});

const UUID = ['0b5e2c4a-1111-4222-8333-444455556666', '7f00d1ce-1111-4222-8333-444455556666'];

test('a thread comes before its process, of which eight digits remain', () => {
    assert.equal(threadTitle('clerk-1', '4711', `service.instance.id=${UUID[0]}`), 'clerk-1 (4711) · 0b5e2c4a');
    assert.equal(threadTitle('clerk-1', '', 'shop · host.name=a'), 'clerk-1 · shop · host.name=a');
    assert.equal(threadTitle('7', '7'), '7');
    assert.equal(threadTitle('', '7'), 'thread 7');
    assert.equal(threadTitle('', '', '', 'CPU 3'), 'CPU 3');
    const resources = UUID.map((id) => ({ 'service.name': 'shop', 'service.instance.id': id }));
    const t = { name: ['clerk-1', 'clerk-1'], thread_id: [5, -1], resource: [0, 1] } as never;
    assert.deepEqual(threadTitles(t, resources), ['clerk-1 (5) · 0b5e2c4a', 'clerk-1 · 7f00d1ce']);
    assert.deepEqual(threadTitles(t, [resources[0], resources[0]]), ['clerk-1 (5)', 'clerk-1']);
});

test('narrow names of threads keep both ends', () => {
    const fit = new Fitter((t) => 6 * t.length),
        cut = threadLabels(
            fit,
            UUID.map((id) => threadTitle('clerk-2', '3184', `service.instance.id=${id}`)),
            90,
        );
    for (const c of cut) assert.ok(c.length <= 15 && c.startsWith('clerk-2 '), c);
    assert.notEqual(cut[0], cut[1]);
    assert.deepEqual(threadLabels(fit, ['clerk-2 (31842)'], 60), ['clerk-…42)']);
    assert.deepEqual(threadLabels(fit, ['clerk-2'], 90), ['clerk-2']);
});
