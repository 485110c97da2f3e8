#!/bin/bash
# apt's own processes fetch the lists of an archive in a directory; apt reads and searches them and simulates an installation.
set -eu
mkdir -p repo state/lists/partial cache/archives/partial etc/apt.conf.d etc/preferences.d etc/trusted.gpg.d
chmod -R a+rX .
{
    for ((i = 0; i < 4000; i++)); do
        printf 'Package: real-%d\nVersion: 1.%d\nArchitecture: all\nMaintainer: a <a@b>\nDepends: real-%d\nDescription: package %d of a test\nFilename: ./real-%d.deb\nSize: 1000\nSHA256: %064d\n\n' \
            "$i" "$i" $((i / 2 + (i == 0 ? 1 : 0))) "$i" "$i" "$i"
    done
} >repo/Packages
echo "deb [trusted=yes] file:$PWD/repo ./" >etc/sources.list
: >status
o=(-o Dir::Etc="$PWD/etc" -o Dir::Etc::main=none -o Dir::Etc::parts=none -o Dir::State="$PWD/state" -o Dir::State::status="$PWD/status"
    -o Dir::Cache="$PWD/cache" -o Dir::Log="$PWD" -o APT::Architecture=amd64 -o Acquire::Languages=none)
apt-get -q=2 "${o[@]}" update
apt-cache "${o[@]}" search 'package 39.* of' | sort | sha256sum
apt-cache "${o[@]}" depends --recurse real-3999 | sha256sum
apt-cache "${o[@]}" dumpavail | sha256sum
apt-get -q=2 "${o[@]}" -s install real-3999 real-77 | sort | sha256sum
apt-cache "${o[@]}" policy real-12
apt-get -q=2 "${o[@]}" -y --download-only install real-1 2>/dev/null || echo "status $?"
