#!/bin/bash
# haproxy as a daemon with two threads: it responds by itself, and gives up on a silent server after a timeout.
set -eu
cat >haproxy.cfg <<CFG
global
    nbthread 2
    pidfile $PWD/pid
defaults
    mode http
    timeout connect 1s
    timeout client 2s
    timeout server 700ms
frontend front
    bind unix@$PWD/socket mode 777
    http-request return status 200 content-type text/plain lf-string "%[path,sha2(256),hex] %[path,crc32]" if { path_beg /hash }
    default_backend silent
backend silent
    server one unix@$PWD/silent
CFG
python3 -c '
import os, socket, time
s = socket.socket(socket.AF_UNIX); s.bind("silent"); s.listen(5); os.chmod("silent", 0o777)
time.sleep(60)' & silent=$!
for ((i = 0; i < 100; i++)); do [[ -S silent ]] && break; sleep 0.05; done
haproxy -D -q -f haproxy.cfg
for ((i = 0; i < 100; i++)); do [[ -S socket && -s pid ]] && break; sleep 0.05; done
curl -s --unix-socket socket 'http://x/hash[1-400]' | sha256sum
curl -s --unix-socket socket -o /dev/null -w '%{http_code}\n' http://x/wait
pid=$(cat pid)
kill -USR1 "$pid"
kill "$silent"
wait "$silent" || true
for ((i = 0; i < 200; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
