#!/bin/sh
# growth.sh - checks that the cost per byte does not grow with the input.
#
#   bench/growth.sh BUILD_DIR [OPERATION...]
#
# Callgrind counts the instructions per byte of input at 1x, 10x and 100x; this is exact and independent
# of other load.  Exit status 4: 10x or 100x costs more than TOLERANCE times 1x per byte.  valgrind supports
# AVX2 but not AVX-512, so "decode" and "encode" count the AVX2 path.
set -eu
build=${1:?usage: growth.sh BUILD_DIR [OPERATION...]}
shift
TOLERANCE=${TOLERANCE:-1.10}
bin=$build/bench
data=$build/payloads
mkdir -p "$data"
for x in 1 10 100; do
    [ -s "$data/small$x.otlp" ] || "$bin/gen" --shape small --scale "$x" "$data/small$x.otlp" 2>/dev/null
done
# shellcheck disable=SC2046  # operation names have no spaces
[ $# -gt 0 ] || set -- $("$bin/once" --list)

instructions() {    # operation file
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=measured \
        "$bin/once" "$1" "$2" 2>&1 >/dev/null | awk '/Collected :/ {print $4}'
}

printf '%-18s %12s %12s %12s %9s %9s\n' 'instructions/byte' 1x 10x 100x growth verdict
status=0
for op in "$@"; do
    row=
    for x in 1 10 100; do
        n=$(instructions "$op" "$data/small$x.otlp")
        [ -n "$n" ] || { echo "growth: $op failed on small$x.otlp" >&2; exit 1; }
        row="$row $n $(stat -c %s "$data/small$x.otlp")"
    done
    # shellcheck disable=SC2086
    echo $op $row | awk -v most="$TOLERANCE" '{
        a = $2 / $3; b = $4 / $5; c = $6 / $7; worst = (b > c ? b : c) / a
        printf "%-18s %12.3f %12.3f %12.3f %9.3f %9s\n", $1, a, b, c, worst, worst <= most ? "ok" : "GROWS"
        exit worst > most
    }' || status=4
done
exit $status
