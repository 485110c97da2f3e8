// grpc.js PORT SERVICE CODING FILE... - sends files through @grpc/grpc-js, side by side on one channel, with a coding of identity or gzip.
// Prints what came back, as JSON.
'use strict';
const fs = require('fs');
const grpc = require('@grpc/grpc-js');
const [port, service, coding, ...files] = process.argv.slice(2);
const asIs = (bytes) => bytes;
const Client = grpc.makeGenericClientConstructor({
    Export: {
        path: `/${service}/Export`, requestStream: false, responseStream: false,
        requestSerialize: asIs, requestDeserialize: asIs, responseSerialize: asIs, responseDeserialize: asIs,
    },
}, 'Service');
const client = new Client(`localhost:${port}`, grpc.credentials.createInsecure(), {
    'grpc.default_compression_algorithm': coding === 'gzip' ? 2 : 0,
});

function send(file) {
    return new Promise((resolve) => client.Export(fs.readFileSync(file), new grpc.Metadata(), (e, r) => {
        const details = e && e.metadata.get('grpc-status-details-bin')[0];
        resolve(e ? { code: e.code, text: e.details, details: details && details.toString('hex') } : { response: r.toString('hex') });
    }));
}

Promise.all(files.map(send)).then((answers) => {
    console.log(JSON.stringify(answers));
    client.close();
});
