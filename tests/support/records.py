"""`kiln record` for tests in tests/e2e: what the kernel permits, a program that takes lines, and a recording that is started, ended and
checked."""
import ctypes
import json
import os
import signal
import subprocess
import threading
import time

import runs
from receivers import KILN, Skip, need, once

HANG = 40  # seconds: longer means a hang
MODES = ('perf', 'bpf')


# ---- what the kernel permits, found without kiln

def system_call(number, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(number, *args)
    return result, os.strerror(ctypes.get_errno())


@once
def why_not(mode):
    """Returns why the kernel does not permit this mode; '' if it does."""
    machine = os.uname().machine
    perf, bpf = {'x86_64': (298, 321), 'aarch64': (241, 280)}[machine]
    attr = ctypes.create_string_buffer(128)
    attr[0:8] = (1).to_bytes(4, 'little') + (128).to_bytes(4, 'little')  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK
    attr[40:48] = (0x21 if os.getuid() else 1).to_bytes(8, 'little')  # disabled; exclude_kernel for other users
    everything = mode == 'bpf'
    fd, text = system_call(perf, attr, -1 if everything else 0, 0 if everything else -1, -1, 0)
    if fd < 0:
        return 'no perf events: ' + text
    os.close(fd)
    if mode == 'perf':
        return ''
    attr = ctypes.create_string_buffer(128)
    attr[0:16] = b''.join(n.to_bytes(4, 'little') for n in (2, 4, 8, 1))  # an array of one element
    fd, text = system_call(bpf, 0, attr, 128)
    if fd < 0:
        return 'no BPF: ' + text
    os.close(fd)
    if not os.path.exists('/sys/kernel/btf/vmlinux'):
        return 'no BPF: the kernel has no BTF'
    release = tuple(int(n) for n in os.uname().release.split('-')[0].split('.')[:2])
    if release < (5, 19):
        return 'no BPF: the kernel is older than 5.19'
    p = subprocess.run([KILN, 'record', '--mode', 'bpf', '-o', '/dev/null', '-q', '--no-html', 'true'], capture_output=True, check=False)
    return 'this kiln was built without BPF' if b'built without BPF' in p.stderr else ''


def permitted(mode):
    if why_not(mode):
        raise Skip(why_not(mode))


# ---- programs

class Program:
    """A program that prints `ready PID`, begins when it gets a line, prints measurements and `done 0`, and ends with its input."""

    def __init__(self, *argv, **more):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
        self.lines = []
        self.pid = self.words('ready')[0][0]

    def words(self, first):
        """Returns the rest of the lines up to one that begins with `first`; the lines are kept."""
        timer = threading.Timer(HANG, self.process.kill)
        timer.start()
        try:
            for line in self.process.stdout:
                self.lines.append(line.decode().split())
                if self.lines[-1][:1] == [first]:
                    break
            else:
                need(False, 'the program ended before `%s`: %s' % (first, self.lines))
        finally:
            timer.cancel()
        return self.found(first)

    def found(self, first):
        return [[int(w) if w.isdigit() else w for w in line[1:]] for line in self.lines if line[:1] == [first]]

    def go(self, wait=True):
        self.process.stdin.write(b'\n')
        self.process.stdin.flush()
        if wait:
            self.words('done')

    def cpu(self):
        """CPU time in s."""
        with open('/proc/%d/stat' % self.pid, encoding='utf-8') as f:
            return sum(map(int, f.read().rpartition(')')[2].split()[11:13])) / os.sysconf('SC_CLK_TCK')

    def compute(self, seconds):
        """Waits until the program has used this much CPU time from now."""
        start, end = self.cpu(), time.monotonic() + HANG
        while self.cpu() - start < seconds:
            need(self.process.poll() is None and time.monotonic() < end, 'the program does not run')
            time.sleep(.02)

    def total(self):
        return self.found('total')[-1][0]

    def threads(self):
        """{tid: (name, CPU time in ns)}"""
        return {tid: (name, ns) for tid, name, ns in self.found('thread')}

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(HANG)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def comms(pid):
    found = {}
    for tid in os.listdir('/proc/%d/task' % pid):
        try:
            with open('/proc/%d/task/%s/comm' % (pid, tid), encoding='utf-8') as f:
                found[int(tid)] = f.read().strip()
        except OSError:
            pass
    return found


class Recording(runs.Place):
    """A recording that is under way after `attach`, and complete after `end`."""
    command, hz = 'record', 499
    as_text = False  # prints the summary for people instead
    output = ('-o', 'x.otlp')

    def argv(self, *args):
        return [a for a in super().argv(*args) if not (self.as_text and a.startswith('--json'))]

    def attach(self, mode, *args, before=(), wait=True, env=None):
        permitted(mode)
        argv = [*before, *self.argv('--mode', mode, *self.output, *args)]
        self.process = subprocess.Popen(argv, cwd=self.dir, env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        end = time.monotonic() + HANG
        while wait and 'kiln-record' not in comms(self.process.pid).values():  # that thread starts when the sources have started
            if self.process.poll() is not None:
                need(False, 'kiln ended early: %s' % (self.end(stop=False)[1:],))
            need(time.monotonic() < end, 'kiln does not attach')
            time.sleep(.005)
        return self

    def end(self, stop=True):
        """Returns exit code, output and errors."""
        if stop:
            self.process.send_signal(signal.SIGINT)
        try:
            out, err = self.process.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            need(False, 'kiln does not end')
        need(not os.listdir(self.tmp), ('temporary files are left', os.listdir(self.tmp)))
        return self.process.returncode, out, err.decode()

    def take(self, stop=True, ignore=None):
        """Ends the recording and returns its profile.  ignore: a rule of `kiln check`."""
        code, out, err = self.end(stop)
        need(code == 0 and not out, (code, out, err))
        return self.read(ignore)

    def read(self, ignore=None):
        with open(self.path('summary.json'), encoding='utf-8') as f:
            self.summary = json.load(f)
        checked = subprocess.run([KILN, 'check', *(['--ignore', ignore] if ignore else []), self.path('x.otlp')], capture_output=True, text=True, check=False)
        need(checked.returncode == 0, checked.stdout + checked.stderr)
        return self.profile()


def by_thread(x, kind='cpu'):
    """{tid: ns}"""
    sums = {}
    for s in x.samples:
        if s[0] == kind:
            sums[s[3].get('thread.id')] = sums.get(s[3].get('thread.id'), 0) + sum(s[5])
    return sums


def names_of_threads(x):
    return {s[3].get('thread.id'): s[3].get('thread.name') for s in x.samples}
