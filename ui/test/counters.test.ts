// Every counter of the server has a label on the page of its health, and no label is of a counter that is gone.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { COUNTERS, Group, counterText } from '../src/live/counters';

/** The names in the lists of these macros. */
function namesIn(file: string, ...macros: string[]): string[] {
    const text = readFileSync(join(process.env['KILN_SRC'] ?? '..', 'src', file), 'utf8');
    return macros.flatMap((m) => {
        const list = new RegExp(`#define ${m}\\(X\\)((?:.*\\\\\\n)*.*)`).exec(text)![1];
        return [...list.matchAll(/X\((\w+),/g)].map((x) => x[1]);
    });
}

const WANTED: Record<Group, string[]> = {
    ingest: namesIn('server/ingest.h', 'INGEST_COUNTERS'),
    store: namesIn('store/store.h', 'STORE_COUNTERS', 'STORE_GAUGES'),
    http: [
        ...namesIn('net/http_server.h', 'HTTP_SERVER_COUNTERS', 'HTTP_SERVER_PEAKS'),
        ...['connections', 'exchanges', 'held_bytes', 'owed_bytes', 'file_bytes', 'jobs_waiting', 'questions_waiting'],
    ],
};

test('every counter of the server has a label', () => {
    for (const group of Object.keys(WANTED) as Group[]) {
        assert.ok(WANTED[group].length > 10, group);
        assert.deepEqual(Object.keys(COUNTERS[group]).sort(), WANTED[group].sort());
    }
    assert.equal(counterText('http', 'of_a_newer_server'), 'of a newer server');
});
