#!/bin/bash
# Runs loops, substitutions, subshells, pipes, traps and waits with timeouts.
s=0
for ((i = 0; i < 150000; i++)); do ((s = (s * 31 + i) % 1000003)); done
echo "$s"
for ((i = 0; i < 100; i++)); do x+=$(printf %d $((i * i)))-; done
echo "$x"
for ((i = 0; i < 30; i++)); do (exit $((i % 7))); y+=$?; done
echo "$y"
for ((i = 0; i < 20; i++)); do seq 1 200 | /bin/sort -n | tail -n 1; done | uniq -c
sleep 1 | read -r -t 0.5 _
echo "read: $((PIPESTATUS[1] > 128))"
trap 'echo alarm' USR1
(sleep 0.3; kill -USR1 $$) &
sleep 0.6
wait
echo 'while read' | while read -r a b; do echo "$b $a"; done
exit 9
