#!/bin/sh
# Makes every .bin and .facts.json here from the .txtpb files; --check makes them elsewhere and compares.
#
#   protoc -I proto --deterministic_output --encode=kiln.test.LAYOUT.ProfilesData LAYOUT.proto < X.txtpb > X.bin
#   rewrite.py LAYOUT HOW < LAYOUT/CASE.bin > ambiguous/NAME.bin
#   facts.py LAYOUT X.bin > X.facts.json
#   protoc ... --encode=kiln.test.dialect_NAME.ROOT dialect_NAME.proto < dialects/NAME-CASE.txtpb > dialects/NAME-CASE.bin
#   protoc ... --encode=kiln.test.pprof.Profile pprof.proto < pprof/fields.txtpb > pprof/fields.bin
#
# LAYOUT is v1_3 ... v1_10: the directory, or in ambiguous/ the first word of the file name. The facts of a file
# in ambiguous/ are those of the layout EXPECT.tsv names, which is not always the one it was written in.
set -eu
cd "$(dirname "$0")"
here=$PWD
python=/usr/bin/python3          # Debian's, with python3-protobuf
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/pb2" "$tmp/out"
out=$here
case ${1-} in
--check) out=$tmp/out ;;
'') ;;
*) echo "usage: make.sh [--check]" >&2; exit 2 ;;
esac

fail() { echo "make.sh: $*" >&2; exit 1; }

encode() {  # layout, path without suffix
    protoc -I proto --deterministic_output --encode="kiln.test.$1.ProfilesData" "$1.proto" < "$2.txtpb" > "$out/$2.bin"
}

facts() {   # layout, path without suffix
    $python -B facts.py --pb2 "$tmp/pb2" "$1" "$out/$2.bin"
}

for layout in v1_3 v1_4 v1_5 v1_6 v1_7 v1_8 v1_9 v1_10; do
    mkdir -p "$out/$layout"
    for t in "$layout"/*.txtpb; do
        encode "$layout" "${t%.txtpb}"
        facts "$layout" "${t%.txtpb}" > "$out/${t%.txtpb}.facts.json"
    done
done

# Seed dialects: the first word of the name is the dialect; B is layout v1_3, a bare C has no envelope.
mkdir -p "$out/dialects"
for t in dialects/*.txtpb; do
    name=${t#dialects/}
    case ${name%%-*} in
    b) file=v1_3 root=v1_3.ProfilesData ;;
    c) file=dialect_c root=dialect_c.Profile ;;
    c_box) file=dialect_c root=dialect_c.ProfilesData ;;
    *) file=dialect_${name%%-*} root=dialect_${name%%-*}.ProfilesData ;;
    esac
    protoc -I proto --deterministic_output --encode="kiln.test.$root" "$file.proto" < "$t" > "$out/${t%.txtpb}.bin"
done

mkdir -p "$out/pprof"
protoc -I proto --deterministic_output --encode=kiln.test.pprof.Profile pprof.proto < pprof/fields.txtpb > "$out/pprof/fields.bin"

mkdir -p "$out/ambiguous"
for t in ambiguous/*.txtpb; do
    name=${t#ambiguous/}
    encode "${name%%-*}" "${t%.txtpb}"
done

while read -r name case how; do
    $python -B rewrite.py "${name%%-*}" "$how" < "$out/${name%%-*}/$case.bin" > "$out/ambiguous/$name.bin"
done <<END
v1_10-descending basic descending
v1_9-descending basic descending
v1_7-descending basic descending
v1_10-collector-nulls nulls zeros+descending
v1_9-zeros nulls zeros
v1_10-unpacked basic unpacked
v1_9-unpacked basic unpacked
v1_8-unpacked basic unpacked
v1_5-unpacked basic unpacked
v1_3-unpacked basic unpacked
v1_10-chunks basic chunks
v1_6-chunks basic chunks
v1_10-split-dictionary basic split=dictionary
v1_7-split-dictionary basic split=dictionary
v1_10-split-resource basic split=resource,scope,sample_type,period_type
v1_3-split-container basic split=resource,scope,profile,period_type
v1_10-split-oneof anyvalue split=array_value,kvlist_value
v1_10-unknown basic unknown
v1_9-unknown basic unknown
END

# Facts of ambiguous/: made for what has a .txtpb; a rewritten file must have those of the file it came from.
tab=$(printf '\t')
while IFS=$tab read -r file verdict class _ want; do
    case $file in '#'*) continue ;; esac
    stem=ambiguous/${file%.bin}
    layout=v1_${verdict#1.}
    [ -f "$out/$stem.bin" ] || fail "EXPECT.tsv: no file $file"
    case $class in unique | tie-broken | ambiguous) ;; *) fail "EXPECT.tsv: class of $file" ;; esac
    facts "$layout" "$stem" > "$tmp/facts.json"
    if [ "$want" = "$stem.facts.json" ]; then
        cp "$tmp/facts.json" "$out/$want"
    else
        cmp -s "$tmp/facts.json" "$out/$want" || fail "$file: other facts than $want"
    fi
done < ambiguous/EXPECT.tsv
for b in "$out"/ambiguous/*.bin; do
    grep -q "^$(basename "$b")$tab" ambiguous/EXPECT.tsv || fail "EXPECT.tsv says nothing about $(basename "$b")"
done

if [ "$out" != "$here" ]; then
    for d in v1_3 v1_4 v1_5 v1_6 v1_7 v1_8 v1_9 v1_10 ambiguous dialects pprof; do
        diff -r -q -x '*.txtpb' -x '*.yaml' -x EXPECT.tsv "$here/$d" "$out/$d" || fail "$d differs from what its sources make"
    done
    echo "tests/vectors: all files are what their sources make"
fi
