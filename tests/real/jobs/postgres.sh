#!/bin/bash
# Creates a cluster, starts it as a daemon, uses it through its socket with several clients, and stops it.  The server refuses to run as root.
set -eu
bin=$(echo /usr/lib/postgresql/*/bin | tr ' ' '\n' | tail -n 1)
as=()
if [[ $(id -u) == 0 ]]; then
    chmod 777 .
    as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
pg() { local program=$1; shift; "${as[@]}" "$bin/$program" "$@"; }
pg initdb -D data -A trust -U real --no-sync >init.log
pg pg_ctl -D data -l server.log -s -w -o "-c listen_addresses='' -c unix_socket_directories='$PWD' -c fsync=off" start
sql() { pg psql -h "$PWD" -U real -d postgres -X -A -t -q -v ON_ERROR_STOP=1 "$@"; }
sql -c 'create table t as select i, md5(i::text) as m, i % 97 as k from generate_series(1, 150000) i; create index on t (m)'
for k in 1 2 3; do sql -c "select k, count(*), max(m) from t where i % $k = 0 group by k order by k limit 5" >"q$k" & done
wait
cat q1 q2 q3
sql -c 'select sum(a.i) from t a join t b on a.m = b.m where b.k < 20'
sql -c "set statement_timeout = '500ms'; select pg_sleep(20)" 2>&1 || echo "status $?"
sql -c 'select pg_sleep(0.4)' -c 'update t set k = k + 1 where i < 20000' -c 'select count(distinct k) from t'
pg pg_ctl -D data -s -w -m fast stop
grep -c 'FATAL\|PANIC' server.log || true
