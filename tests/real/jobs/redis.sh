#!/bin/bash
# redis-server as a daemon with I/O threads, used by several clients; it forks to save, a client waits with a timeout.
set -eu
redis-server --daemonize yes --port 0 --unixsocket "$PWD/socket" --dir "$PWD" --pidfile "$PWD/pid" --logfile "$PWD/log" --io-threads 2 --save ''
cli() { redis-cli -s "$PWD/socket" "$@"; }
for ((i = 0; i < 100; i++)); do [[ -S socket ]] && break; sleep 0.05; done
redis-benchmark -s "$PWD/socket" -n 10000 -c 10 -P 16 -q -t set,lpush,incr >bench
cli eval 'local s = 0; for i = 1, 2000000 do s = (s * 31 + i) % 1000003 end; return s' 0
cli eval 'for i = 1, 20000 do redis.call("zadd", "z", i % 991, "m" .. i) end; return redis.call("zcard", "z")' 0
cli blpop nothing 0.5
cli bgsave
for ((i = 0; i < 100; i++)); do [[ $(cli info persistence) == *rdb_bgsave_in_progress:0* ]] && break; sleep 0.05; done
cli info persistence | tr -d '\r' | grep -E '^rdb_last_bgsave_status'
cli zrange z 10 14
pid=$(cat pid)
cli shutdown nosave
for ((i = 0; i < 200; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
