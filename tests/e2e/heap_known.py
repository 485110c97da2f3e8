#!/usr/bin/python3
"""Compares the agent's heap profiles, decoded by protoc's code, with the known allocations of a program (heap_known.cc).
A leak of 64 MiB in small blocks is found within 5 % at a sampling interval of 16 KiB.  The seed is fixed."""
import collections
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'support'))
BUILD, SRC = os.environ['KILN_BUILD'], os.environ['KILN_SRC']
AGENT, HEAP, HOST = f'{BUILD}/libkiln-agent.so', f'{BUILD}/libkiln-heap.so', f'{BUILD}/tests/heap_known'
for needed in (AGENT, HEAP, HOST):
    if not os.path.exists(needed):
        print(f'1..0 # SKIP no {needed} in this build')
        sys.exit(0)
import samples  # noqa: E402

INTERVAL = 16384
TYPES = ('alloc_objects', 'alloc_space', 'inuse_objects', 'inuse_space')
count = 0


def ok(good, name, why=''):
    global count
    count += 1
    print(f'{"ok" if good else "not ok"} {count} - {name}', flush=True)
    for line in '' if good else str(why).splitlines()[:30]:
        print('#', line[:400])


def profiled(cmd, **env):
    """Returns exit status, output and errors, and the samples and reports of the processes."""
    with tempfile.TemporaryDirectory(prefix='kiln-heap-') as folder:
        agent = {'LD_PRELOAD': f'{AGENT}:{HEAP}', 'KILN_PROFILE': 'heap', 'KILN_EXPORT': 'file', 'KILN_SEED': '1',
                 'KILN_FILE': f'{folder}/%p.otlp', 'KILN_REPORT': f'{folder}/%p.json', 'KILN_FLUSH_INTERVAL': '600000', **env}
        p = subprocess.run(cmd, env={**os.environ, 'LC_ALL': 'C', **agent}, cwd=SRC, capture_output=True, check=False, timeout=200)
        reports = {}
        for name in os.listdir(folder):
            if name.endswith('.json'):
                with open(f'{folder}/{name}', encoding='utf-8') as f:
                    reports[int(name[:-5])] = json.load(f)
        return (p.returncode, p.stdout, p.stderr), samples.of_folder(folder), reports


def totals(found, function, pid):
    sums = collections.Counter()
    for s in found:
        if function in s.frames and s.pid == pid:
            sums[s.type] += s.value
    return sums


def near(got, want, margin):
    return abs(got - want) <= margin * want


def known():
    (status, out, printed), found, reports = profiled([HOST], KILN_HEAP_INTERVAL=str(INTERVAL))
    ok(status == 0 and not printed, 'the program ran', (status, printed))
    truth = json.loads(out)
    child, status = truth.pop('child'), truth.pop('status')
    parent = (set(reports) - {child} or {0}).pop()
    ok(status == 0, 'the child of the program ran', status)
    for function, want in truth.items():
        got = totals(found, function, parent)
        for kind in TYPES:
            # 5 % for the leak; otherwise four standard errors of blocks much smaller than the interval.
            margin = 0.05 if function == 'known_leak' else 4 * math.sqrt(INTERVAL / max(want[kind.replace('objects', 'space')], 1))
            ok(near(got[kind], want[kind], margin), f'{function}: {kind} {got[kind]} of {want[kind]}', f'margin {margin}')
    leak = [s for s in found if 'known_leak' in s.frames]
    ok(leak and all(s.frames[0] == 'known_leak' for s in leak), 'stacks begin with the caller of malloc', leak[:3])
    new = [s for s in found if 'known_new' in s.frames]
    ok(new and all(s.frames[0] == 'known_new' for s in new), 'stacks begin with the caller of operator new', new[:3])
    lost = [s for s in found if not s.frames]
    ok(not lost, 'every sample has a stack', lost[:3])
    ok(all(r['heap']['samples'] and not r['heap']['live_lost'] and not r['heap']['stacks_lost'] for r in reports.values()),
       'the report shows no loss', reports)

    inherited, own = totals(found, 'known_leak', child), totals(found, 'known_child', child)
    ok(near(inherited['inuse_space'], 64 << 20, 0.05) and not inherited['alloc_space'],
       'a forked child has in use what it inherited, and has not allocated it', inherited)
    ok(not totals(found, 'known_new', child)['inuse_space'], 'freed memory is not in use', totals(found, 'known_new', child))
    ok(near(own['inuse_space'], 16 << 20, 0.13), f"the child's own memory: {own['inuse_space']} of {16 << 20}", own)


def other_programs():
    """Other programs behave the same with the real agent and every block sampled."""
    hosts = {'bash': ['bash', '-c', 'for i in {1..50}; do x[i]=$(echo $i | rev); done; echo ${x[*]}; (exit 7)'],
             'python3': ['/usr/bin/python3', '-c', 'import json, threading\n'
                         't = [threading.Thread(target=lambda: json.dumps(list(range(5000)))) for _ in range(4)]\n'
                         '[x.start() for x in t]; [x.join() for x in t]\nprint(len({i: str(i) for i in range(5000)}))'],
             'git': ['git', '-C', SRC, 'log', '--oneline', '--stat', '-n', '5']}
    for name, cmd in hosts.items():
        if not shutil.which(cmd[0]):
            continue
        p = subprocess.run(cmd, env={**os.environ, 'LC_ALL': 'C'}, cwd=SRC, capture_output=True, check=False)
        did, found, _ = profiled(cmd, KILN_HEAP_INTERVAL='1', KILN_SYMBOLIZE='off')
        ok(did == (p.returncode, p.stdout, p.stderr), f'{name}: the same with agent and heap library', did)
        kinds = {s.type for s in found}
        ok({'alloc_objects', 'alloc_space'} <= kinds <= set(TYPES) and all(s.value >= 0 for s in found), f'{name}: its profile', kinds)


known()
other_programs()
print(f'1..{count}')
