<?php
// Arrays, hashes, sorting, waiting.
$s = 0;
for ($i = 0; $i < 15000000; $i++) $s = ($s * 31 + $i) % 1000003;
echo "$s\n";
$a = [];
for ($i = 0; $i < 300000; $i++) $a["k" . ($i * 7919 % 300007)] = $i;
ksort($a);
echo md5(implode(',', $a)), "\n";
$start = hrtime(true);
usleep(300000);
$r = [];
$pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
$read = [$pair[0]]; $write = null; $except = null;
stream_select($read, $write, $except, 0, 300000);
echo hrtime(true) - $start >= 600000000 ? "long enough\n" : "too early\n";
echo shell_exec('echo from a process');
exit(8);
