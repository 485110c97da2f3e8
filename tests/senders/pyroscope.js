// pyroscope.js - a small service under the profilers of @pyroscope/nodejs (CPU by wall-clock samples, heap).  KILN_TO is the server.
// Prints a JSON line when all was handed over.
'use strict';
const Pyroscope = require('@pyroscope/nodejs');

const ms = Number(process.env.RUN_MS);
Pyroscope.init({
    serverAddress: process.env.KILN_TO,
    appName: 'shop',
    tags: { region: 'eu', pod: 'a-1' },
    flushIntervalMs: Number(process.env.COLLECT_MS),
    wall: { collectCpuTime: true },
    tenantID: 't1',
    basicAuthUser: 'anyone',
    basicAuthPassword: process.env.TOKEN,
});

const kept = [];
let x = 0;

function burn() {
    for (let i = 0; i < 2e6; i++) x += Math.sqrt(i);
}

Pyroscope.start();
const end = Date.now() + ms;
const timer = setInterval(() => {
    burn();
    for (let i = 0; i < 3000; i++) kept.push({ number: i, name: 'item ' + i });
    if (Date.now() < end) return;
    clearInterval(timer);
    Pyroscope.stop().then(() => {
        process.stdout.write(JSON.stringify({ done: true, kept: kept.length, x: x > 0 }) + '\n');
        process.exit(0);
    });
}, 5);
