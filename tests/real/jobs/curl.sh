#!/bin/bash
# Downloads in parallel from a small server; two transfers time out.
set -u
python3 - <<'PY' &
import http.server, socketserver, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == '/slow':
            time.sleep(5)
        body = self.path.encode() * 20000
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass

Server('socket', Handler).serve_forever()
PY
server=$!
for ((i = 0; i < 200; i++)); do [[ -S socket ]] && break; sleep 0.05; done
mkdir -p got
curl -s --no-progress-meter --parallel --parallel-max 4 --unix-socket socket -o 'got/#1' 'http://x/file[1-40]'
cat got/* | sha256sum
curl -s --max-time 1 --unix-socket socket http://x/slow; echo "status $?"
curl -s --retry 1 --retry-delay 1 --max-time 0.5 --unix-socket socket http://x/slow; echo "status $?"
kill $server
wait $server 2>/dev/null
true
