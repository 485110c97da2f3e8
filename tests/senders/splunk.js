// splunk.js - a small service under the profilers of @splunk/otel (CPU, memory, snapshots).  Its environment says where they send.
// Prints a JSON line for each span it opened, and one when all was handed over.
'use strict';
const { start, stop } = require('@splunk/otel');
start({ metrics: false, profiling: { collectionDuration: Number(process.env.COLLECT_MS) } });

const { context, propagation, trace } = require('@opentelemetry/api');
const tracer = trace.getTracer('senders');
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n');

const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));

function burn(ms) {
    for (const end = Date.now() + ms; Date.now() < end;) fib(15);
}

class Basket {
    items = [];

    fill() {
        for (let i = 0; i < 3000; i++) this.items.push({ number: i, name: 'item ' + i });
    }
}

function inSpan(name, parent, work) {
    const span = tracer.startSpan(name, {}, parent);
    const { traceId, spanId } = span.spanContext();
    say({ span: name, ids: [traceId, spanId] });
    context.with(trace.setSpan(parent, span), work);
    span.end();
}

// This baggage requests a snapshot of the whole trace.
const wanted = propagation.setBaggage(context.active(),
    propagation.createBaggage({ 'splunk.trace.snapshot.volume': { value: 'highest' } }));

function turn() {
    inSpan('outer', wanted, () => {
        burn(60);
        inSpan('inner', context.active(), () => {
            new Basket().fill();
            burn(40);
        });
    });
    inSpan('alone', context.active(), () => burn(40));
    burn(30);
}

const LEAST_TURNS = 8;
const end = Date.now() + Number(process.env.RUN_MS);
let turns = 0;
const timer = setInterval(async () => {
    turn();
    if (++turns < LEAST_TURNS || Date.now() < end) return;
    clearInterval(timer);
    await stop();
    say({ done: true });
}, 5);
