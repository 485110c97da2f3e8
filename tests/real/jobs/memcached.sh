#!/bin/bash
# memcached as a daemon with four threads, used through its socket by two clients, ended by SIGTERM.
set -eu
as=()
[[ $(id -u) != 0 ]] || as=(-u root)
memcached "${as[@]}" -d -t 4 -s "$PWD/socket" -P "$PWD/pid"
for ((i = 0; i < 100; i++)); do [[ -S socket && -s pid ]] && break; sleep 0.05; done
client() {
    python3 - "$1" <<'PY'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect('socket')
f = s.makefile('rb')
total = 0
for i in range(6000):
    key = b'k%s-%d' % (sys.argv[1].encode(), i % 500)
    s.sendall(b'set %s 0 0 100\r\n%s\r\nget %s\r\n' % (key, b'%0100d' % i, key))
    assert f.readline() == b'STORED\r\n'
    f.readline()
    total += int(f.readline())
    f.readline()
print(total)
PY
}
client a >a.out &
client b >b.out &
wait %1 %2
cat a.out b.out
kill "$(cat pid)"
pid=$(cat pid)
for ((i = 0; i < 200; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
