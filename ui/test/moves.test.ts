// The keys of the pictures over time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Place } from '../src/draw/chart';
import type { Lane, Lanes } from '../src/model/lanes';
import { moveBox, moveCell, moveLane } from '../src/view/moves';

test('heat map: cells count up in time, columns side by side', () => {
    const move = (cell: number, key: string) => moveCell(cell, key, 4, 10);
    assert.equal(move(-1, 'ArrowRight'), 0);
    assert.equal(move(-1, 'ArrowLeft'), 39);
    assert.equal(move(9, 'ArrowUp'), 10); // the next moment is in the next column
    assert.equal(move(3, 'ArrowRight'), 13);
    assert.equal(move(3, 'ArrowLeft'), 3);
    assert.equal(move(33, 'ArrowRight'), 33);
    assert.equal(move(0, 'ArrowDown'), 0);
    assert.equal(move(33, 'PageDown'), 39);
    assert.equal(move(33, 'Home'), 0);
    assert.equal(move(0, 'End'), 39);
    assert.equal(move(0, 'x'), null);
});

test('threads: up and down keep the time', () => {
    const lane = (...time: number[]): Lane =>
        ({ name: '', time, length: time.map(() => 1), value: time }) as unknown as Lane;
    const l = { lanes: [lane(0, 10, 20, 30), lane(5, 15, 25)] } as unknown as Lanes;
    assert.deepEqual(moveLane(l, null, 'ArrowDown'), { lane: 0, i: 0 });
    assert.deepEqual(moveLane(l, { lane: 0, i: 2 }, 'ArrowDown'), { lane: 1, i: 1 });
    assert.deepEqual(moveLane(l, { lane: 0, i: 0 }, 'ArrowDown'), { lane: 1, i: 0 });
    assert.deepEqual(moveLane(l, { lane: 1, i: 2 }, 'ArrowUp'), { lane: 0, i: 2 });
    assert.deepEqual(moveLane(l, { lane: 1, i: 2 }, 'ArrowDown'), { lane: 1, i: 2 });
    assert.deepEqual(moveLane(l, { lane: 1, i: 2 }, 'ArrowRight'), { lane: 1, i: 2 });
    assert.deepEqual(moveLane(l, { lane: 1, i: 2 }, 'Home'), { lane: 1, i: 0 });
    assert.equal(moveLane(l, { lane: 0, i: 0 }, 'Enter'), null);
    assert.equal(moveLane({ lanes: [] } as unknown as Lanes, null, 'ArrowDown'), null);
});

test('flame chart: down to the first box inside, up to the box around, then to other threads', () => {
    const layer = (...boxes: [number, number][]) => ({
        x: Float64Array.from(boxes, (b) => b[0]),
        w: Float64Array.from(boxes, (b) => b[1]),
        frame: new Uint32Array(boxes.length),
        from: 0,
        to: boxes.length,
    });
    const open = { lane: { layers: [layer([0, 10], [10, 20]), layer([2, 3], [6, 2], [12, 3])] }, rows: 2, levels: 2 },
        closed = { lane: { layers: null }, rows: 0, levels: 0 },
        places = [open, closed] as unknown as Place[];
    const at = (lane: number, depth: number, box: number) => ({ lane, depth, box });
    assert.deepEqual(moveBox(places, null, 'ArrowDown', 0), at(0, -1, -1));
    assert.equal(moveBox(places, null, 'ArrowRight', 0), null);
    assert.deepEqual(moveBox(places, at(0, -1, -1), 'ArrowDown', 11), at(0, 0, 1)); // the first visible one
    assert.deepEqual(moveBox(places, at(0, 0, 0), 'ArrowDown', 0), at(0, 1, 0));
    assert.deepEqual(moveBox(places, at(0, 1, 0), 'ArrowRight', 0), at(0, 1, 1));
    assert.deepEqual(moveBox(places, at(0, 1, 2), 'ArrowRight', 0), at(0, 1, 2));
    assert.deepEqual(moveBox(places, at(0, 1, 2), 'ArrowUp', 0), at(0, 0, 1));
    assert.deepEqual(moveBox(places, at(0, 1, 2), 'ArrowDown', 0), at(1, -1, -1));
    assert.deepEqual(moveBox(places, at(1, -1, -1), 'ArrowDown', 0), at(1, -1, -1));
    assert.deepEqual(moveBox(places, at(1, -1, -1), 'ArrowUp', 0), at(0, -1, -1));
    assert.equal(moveBox(places, at(0, -1, -1), 'ArrowLeft', 0), null); // moves in time
});
