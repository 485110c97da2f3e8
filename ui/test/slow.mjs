// slow.mjs - a proxy in front of a server. It delays the responses of /api/v1/ by a time that can be changed, and records them.
import { once } from 'node:events';
import { createServer, request } from 'node:http';

export async function slowProxy(to) {
    const target = new URL(to),
        agent = { host: target.hostname, port: target.port };
    const proxy = {
        url: '',
        delay: 0, // ms, or a function of the path
        /** Per request: path, whether the client aborted it, and how many of its path were open. */
        log: [],
        close: () => (server.closeAllConnections(), server.close()),
    };
    const open = new Map();
    const server = createServer((req, res) => {
        const path = req.url.replace(/\?.*/, ''),
            api = path.startsWith('/api/v1/'),
            entry = { path, query: req.url.slice(path.length), aborted: false, open: (open.get(path) ?? 0) + 1 };
        if (api) {
            proxy.log.push(entry);
            open.set(path, entry.open);
        }
        const { delay } = proxy,
            wait = !api ? 0 : typeof delay === 'function' ? delay(path) : delay;
        let ended = false;
        res.on('close', () => {
            entry.aborted = !ended;
            if (api) open.set(path, open.get(path) - 1);
        });
        const on = request({ ...agent, path: req.url, method: req.method, headers: { ...req.headers, host: target.host } });
        on.on('response', (r) =>
            setTimeout(() => {
                res.writeHead(r.statusCode, r.headers);
                r.on('end', () => (ended = true));
                r.pipe(res);
            }, wait),
        );
        on.on('error', () => res.destroy());
        req.pipe(on);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    proxy.url = `http://127.0.0.1:${server.address().port}`;
    return proxy;
}
