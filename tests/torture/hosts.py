"""The programs of tests/torture/run: the cases of torture_host, common programs, and tracers."""
import os
import shutil
import subprocess

BASH = r'''
set -u
f() { local i; for i in 1 2 3; do echo "$1$i"; done | sort -r | tr '\n' ' '; }
for n in $(seq 12); do f "$n" | cat | wc -c; done
x=$( (exit 7); echo $?; ) ; echo "$x"
trap 'echo trapped' USR1; kill -USR1 $$
sleep 0.05 & wait $!; echo "waited $?"
(kill -SEGV $BASHPID) 2>/dev/null; echo "child $?"
while read -r a; do echo "<$a>"; done < <(printf 'one\ntwo\n')
coproc cat; echo through >&"${COPROC[1]}"; read -r l <&"${COPROC[0]}"; echo "$l"; exec {COPROC[1]}>&-
exec 5>&1; echo five >&5
exit 9
'''
DASH = r'''
i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo $i | sed 's/1/x/'; done | sort | head -5
(exit 4) || echo "failed $?"
exit 3
'''
PYTHON = r'''
import multiprocessing, os, signal, subprocess, threading, time
def work(n): return sum(i * i for i in range(n))
if __name__ == '__main__':
    ts = [threading.Thread(target=work, args=(20000,)) for _ in range(8)]
    [t.start() for t in ts]; [t.join() for t in ts]
    with multiprocessing.get_context('fork').Pool(3) as p: print(p.map(work, range(200, 220)))
    print(subprocess.run(['echo', 'hello'], capture_output=True, text=True).stdout)
    print(subprocess.run(['sh', '-c', 'exit 3'], restore_signals=True, close_fds=True).returncode)
    signal.signal(signal.SIGALRM, lambda *a: print('alarm')); signal.setitimer(signal.ITIMER_REAL, .01); time.sleep(.03)
    pid = os.fork()
    if pid == 0: os._exit(6)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    raise SystemExit(5)
'''
PERL = r'''
my @kids; for my $n (1..6) { my $p = fork // die; if (!$p) { my $x = 0; $x += $_ for 1..20000; exit $n } push @kids, $p }
for (@kids) { waitpid $_, 0; print $? >> 8, "\n" }
print `echo inner`; $SIG{ALRM} = sub { print "alarm\n" }; kill ALRM => $$; system('exit 2'); print $? >> 8, "\n"; exit 8
'''
GIT = r'''
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q r && cd r || exit 1
for n in 1 2 3; do seq 500 > f$n; git add . && git commit -qm "c$n"; done
git gc -q && git log --format='%H %s' && git clone -q . ../s && git -C ../s fsck --no-progress && git grep -c 77
'''
MAKE = r'''
printf 'N = 1 2 3 4 5 6 7 8\nall: $(N)\n\t@echo all\n$(N):\n\t@seq 1 2000 | md5sum > out.$@\n.PHONY: all $(N)\n' > Makefile
make -j4 && cat out.* && make none 2>/dev/null; echo $?
'''
GCC = r'''
printf '#include <stdio.h>\nint main(void) { puts("compiled"); return 6; }\n' > a.c
gcc -O2 -o a a.c && ./a
'''
NODE = 'let s=0; for (let i=0;i<3e6;i++) s+=i%7; console.log(s); setTimeout(()=>{console.log("later"); process.exit(4)}, 20)'


class Host:
    """One case: its command, and permitted differences from the run without an agent."""

    def __init__(self, name, argv, group, core=False, level=True, env=None, modes=None):
        self.name, self.argv, self.group, self.core, self.level = name, argv, group, core, level
        self.env, self.modes = env or {}, modes


def host_cases(build):
    program = f'{build}/tests/torture_host'
    names = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    cores = {'ends_abort', 'ends_segv', 'ends_segv_thread', 'ends_last_word'}
    # Perf events are descriptors in the program's table.  A program that closes descriptors that it has not opened, or
    # relies on the lowest number, may interfere with an event that is being opened.
    without_events = ('timer', 'wall', 'splunk', 'off')
    no_events = {'closes_all': without_events, 'closed_standard': without_events}
    for name in names:
        yield Host(name, [program, name, '{seed}', '{percent}'], 'host', core=name in cores, modes=no_events.get(name))
    yield Host('exceptions', [f'{build}/tests/torture_cxx', '{seed}'], 'host')


def asan_cases(build):
    """The same program with AddressSanitizer, without the heap library because malloc is ASan's."""
    program = f'{build}/tests/torture_asan'
    libasan = subprocess.run(['gcc', '-print-file-name=libasan.so'], capture_output=True, text=True, check=False).stdout.strip()
    if not os.path.exists(program) or not os.path.exists(libasan):
        return
    # Without cases that ASan itself does not support: forks while threads allocate (the agent's do; gcc 12's ASan has no fork
    # handlers, so its locks stay held in the child), other stacks, cancelled threads, tight limits.
    for name in ('vfork', 'spawn', 'storm', 'storm_detached', 'trees', 'small_stacks', 'key_destructors',
                 'exit_amid_threads', 'mask_games', 'all_realtime', 'other_profiler', 'amid_malloc', 'waits', 'locks', 'long_jumps',
                 'recursion', 'loads', 'loads_at_once', 'ends__exit', 'ends_quick'):
        yield Host(f'asan: {name}', [program, name, '{seed}', '{asan_percent}'], 'asan', level=False,
                   env={'ASAN_OPTIONS': 'detect_leaks=0:handle_segv=0:handle_abort=0', 'LD_PRELOAD': libasan},
                   modes=('cpu', 'timer', 'wall', 'both'))


def people_cases():
    """LD_PRELOAD reaches everything that a shell starts."""
    scripts = {'bash': ['bash', '-c', BASH], 'dash': ['dash', '-c', DASH], 'python3': ['/usr/bin/python3', '-c', PYTHON],
               'perl': ['perl', '-e', PERL], 'git': ['bash', '-c', GIT], 'make': ['bash', '-c', MAKE], 'gcc': ['bash', '-c', GCC],
               'node': ['node', '-e', NODE]}
    for name, argv in scripts.items():
        if shutil.which(name):
            yield Host(name, argv, 'people')


def traced_cases(build):
    program = f'{build}/tests/torture_host'
    if shutil.which('strace'):
        for name in ('trees', 'fork', 'exec_chain', 'ends_segv', 'ends_return'):
            yield Host(f'strace: {name}', ['strace', '-f', '-qq', '-o', '/dev/null', program, name, '{seed}', '25'], 'traced')
    if shutil.which('gdb'):
        attach = f'{program} stop_continue {{seed}} 200 & p=$!; for i in 1 2; do sleep 0.1; ' \
                 'env -u LD_PRELOAD gdb -batch -nx -ex "thread apply all bt 3" -p $p >/dev/null 2>&1; done; wait $p; echo $?'
        yield Host('gdb: attach', ['bash', '-c', attach], 'traced')
        yield Host('gdb: run', ['env', '-u', 'LD_PRELOAD', 'gdb', '-batch', '-nx', '-q', '-ex', 'set exec-wrapper env {preload}',
                                '-ex', 'set startup-with-shell off', '-ex', 'handle all nostop noprint pass', '-ex', 'run',
                                '--args', program, 'ends_exit', '{seed}'], 'gdb')


def declined_cases(build, tmp):
    """Static programs have no loader; setuid programs must not be affected."""
    program = f'{build}/tests/torture_static'
    if os.path.exists(program):
        for name in ('trees', 'fork', 'ends_segv', 'ends_return'):
            yield Host(f'static: {name}', [program, name, '{seed}'], 'declined')
    if os.getuid() == 0:
        setuid = f'{tmp}/torture_setuid'
        shutil.copy(f'{build}/tests/torture_host', setuid)
        os.chown(setuid, 0, 0)
        os.chmod(setuid, 0o4755)
        for name in ('trees', 'ends_return'):
            yield Host(f'setuid: {name}', ['setpriv', '--reuid=65534', '--clear-groups', setuid, name, '{seed}'], 'declined')


def all_cases(build, tmp):
    return [*host_cases(build), *people_cases(), *traced_cases(build), *declined_cases(build, tmp), *asan_cases(build)]
