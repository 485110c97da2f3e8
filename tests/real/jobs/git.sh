#!/bin/bash
# Creates a history with commits, branches, a merge and a clone, and repacks it with threads.
set -eu
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'
git init -q -b main one
cd one
for ((i = 0; i < 12; i++)); do
    for ((j = 0; j < 30; j++)); do seq $((i * j)) $((i * j + 800)) >"f$((j % 25 + i))"; done
    git add -A
    git commit -q -m "change $i"
done
git checkout -q -b side HEAD~3
echo side >side && git add side && git commit -q -m side
git merge -q -m merge main
git log --format='%H %s' --stat | sha256sum
git -c pack.threads=2 repack -q -a -d -f --depth=50 --window=200
git fsck --no-progress
git clone -q . ../two
git -C ../two rev-parse HEAD
git grep -c 77 HEAD -- 'f1*' | sort
git blame -s f20 | sha256sum
git diff HEAD~4 | git apply --stat -R | tail -n 1
