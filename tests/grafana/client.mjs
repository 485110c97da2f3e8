// client.mjs - calls Pyroscope's services with the official client (@connectrpc/connect-node).
//
//   node client.mjs DESCRIPTORS PORT < CALLS
//
// DESCRIPTORS is protoc's, of our own description of the services.  CALLS is JSON: [{"method": "querier.v1.QuerierService/ProfileTypes",
// "request": {}, "headers": {}}].  Makes each call in each dialect: Connect with protobuf and JSON, gRPC-Web and gRPC, over HTTP/1.1 and
// HTTP/2, compressed and not.  Prints for each call {"dialect": {"message": {}, "headers": {}} or {"code": 3, "text": ""}}.
import { readFileSync } from 'node:fs';
import { createFileRegistry, fromBinary, fromJson, toJson } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { ConnectError, createClient } from '@connectrpc/connect';
import { compressionGzip, createConnectTransport, createGrpcTransport, createGrpcWebTransport, Http2SessionManager } from '@connectrpc/connect-node';

const [, , descriptors, port] = process.argv;
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(descriptors)));
const baseUrl = `http://127.0.0.1:${port}`;
const AT_ONCE = 4;

const sessions = [];
function transports() {
    const out = {};
    for (const gzip of [false, true]) {
        const how = { baseUrl, acceptCompression: gzip ? [compressionGzip] : [], ...(gzip && { sendCompression: compressionGzip, compressMinBytes: 1 }) };
        const h2 = () => {
            sessions.push(new Http2SessionManager(baseUrl));
            return { ...how, httpVersion: '2', sessionManager: sessions.at(-1) };
        };
        const tail = gzip ? '+gzip' : '';
        for (const [version, options] of [['h1', () => ({ ...how, httpVersion: '1.1' })], ['h2', h2]]) {
            out[`connect ${version}${tail}`] = createConnectTransport({ ...options(), useBinaryFormat: true });
            out[`json ${version}${tail}`] = createConnectTransport({ ...options(), useBinaryFormat: false });
            out[`grpc-web ${version}${tail}`] = createGrpcWebTransport(options());
        }
        out[`grpc h2${tail}`] = createGrpcTransport(h2());
    }
    return out;
}

async function call(transport, { method, request, headers }) {
    const [service, name] = method.split('/');
    const found = registry.getService(service).methods.find((x) => x.name === name);
    let seen = {};
    try {
        const client = createClient(registry.getService(service), transport);
        const answer = await client[found.localName](fromJson(found.input, request ?? {}), { headers, onHeader: (h) => (seen = Object.fromEntries(h)) });
        return { message: toJson(found.output, answer), headers: seen };
    } catch (e) {
        if (!(e instanceof ConnectError)) throw e;
        return { code: e.code, text: e.rawMessage };
    }
}

const all = Object.entries(transports());
const calls = JSON.parse(readFileSync(0, 'utf8'));
const results = calls.map(() => ({}));
const jobs = calls.flatMap((c, i) => all.map(([dialect, transport]) => async () => (results[i][dialect] = await call(transport, c))));
const next = jobs[Symbol.iterator]();
await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
        for (const job of next) await job();
    }),
);
process.stdout.write(JSON.stringify(results));
for (const s of sessions) s.abort();
