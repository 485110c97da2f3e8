#!/bin/bash
# nginx as a daemon with two workers: it detaches, responds to a client, and quits.
set -eu
mkdir -p conf www log
seq 1 40000 >www/numbers
cat >conf/nginx.conf <<CONF
daemon on;
worker_processes 2;
pid $PWD/nginx.pid;
error_log $PWD/log/error.log;
$([[ $(id -u) != 0 ]] || echo "user nobody nogroup;")
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path $PWD/t1; proxy_temp_path $PWD/t2; fastcgi_temp_path $PWD/t3; uwsgi_temp_path $PWD/t4; scgi_temp_path $PWD/t5;
    gzip on; gzip_types *; gzip_comp_level 9;
    keepalive_timeout 1s;
    server { listen unix:$PWD/socket; root $PWD/www; location /never { return 404; } }
}
CONF
chmod 777 . www log; chmod 666 www/numbers
nginx -c "$PWD/conf/nginx.conf" -e "$PWD/log/error.log"
for ((i = 0; i < 100; i++)); do [[ -S socket ]] && break; sleep 0.05; done
chmod 777 socket
curl -s --compressed --unix-socket socket 'http://x/numbers?[1-60]' | sha256sum
curl -s --unix-socket socket -o /dev/null -w '%{http_code}\n' http://x/never
nginx -c "$PWD/conf/nginx.conf" -e "$PWD/log/error.log" -s reload
sleep 0.5
curl -s --unix-socket socket http://x/numbers | sha256sum
master=$(cat nginx.pid)
nginx -c "$PWD/conf/nginx.conf" -e "$PWD/log/error.log" -s quit
for ((i = 0; i < 200; i++)); do kill -0 "$master" 2>/dev/null || break; sleep 0.05; done
! kill -0 "$master" 2>/dev/null || echo 'did not quit'
grep -c 'alert\|emerg\|crit' log/error.log || true
