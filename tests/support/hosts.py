"""Programs that run under the agent, for the tests in tests/e2e: started with their own environment, inspected through
/proc while they run, with access to the agent's report."""
import json
import os
import subprocess
import threading
import time

from receivers import BUILD, SRC, Fail, Skip, in_work, need

AGENT = os.path.join(BUILD, 'libkiln-agent.so')
HOST = os.path.join(BUILD, 'tests', 'splunk_host')
HANG = 60  # seconds: longer means a hang


def clean_environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(('OTEL_', 'SPLUNK_', 'KILN_', 'LD_PRELOAD', 'SSL_CERT_'))}


class Host:
    """A program that prints `ready PID` and `thread TID NAME` for each of its threads, and runs until its standard input ends.
    agent=False: without the agent.  Between `ready` and `ending` (ns since the epoch) all of its threads exist, have their
    names and are in their final functions."""
    count = 0

    def __init__(self, *args, agent=True, wrap=(), **env):
        need(os.path.exists(AGENT), 'no %s' % AGENT)
        Host.count += 1
        self.report_path = in_work('report.%d.%%p.json' % Host.count)
        full = clean_environment()
        if agent:
            full.update(LD_PRELOAD=AGENT, KILN_REPORT=self.report_path)
        full.update(env)
        if wrap and 'LD_PRELOAD' in full:  # LD_PRELOAD is for the program, not for the wrapper
            wrap = (*wrap, 'env', 'LD_PRELOAD=' + full.pop('LD_PRELOAD'))
        self.began = time.time_ns()
        self.process = subprocess.Popen([*wrap, *args], env=full, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.lines, self.words = [], []
        self.threads, self.pid, self.child, self.code = {}, None, None, None
        self.ready = self.ending = self.ended = None
        self.readers = [threading.Thread(target=self.take, args=(self.process.stdout, self.lines), daemon=True),
                        threading.Thread(target=self.take, args=(self.process.stderr, self.words), daemon=True)]
        self.is_ready = threading.Event()
        for r in self.readers:
            r.start()
        if not self.is_ready.wait(HANG):
            self.process.kill()
            raise Fail('the program is not ready: %s %s' % (self.lines, self.words))
        need(self.pid, 'the program ended: %s %s' % (self.lines, self.words))

    def take(self, stream, into):
        for line in stream:
            line = line.decode(errors='replace').rstrip('\n')
            into.append(line)
            if line.startswith('thread '):
                _, tid, name = line.split(' ', 2)
                self.threads[int(tid)] = name
            if line.startswith('child '):
                self.child = int(line.split()[1])
            if line.startswith('ready ') and not self.pid:
                self.ready = time.time_ns()
                self.pid = int(line.split()[1])
                self.is_ready.set()
        if stream is self.process.stdout:
            self.is_ready.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None and self.code is None:
            self.process.kill()
            self.process.wait()

    def end(self):
        """Waits for the normal end; the results are in code, lines, words and report()."""
        if self.code is None:
            self.ending = time.time_ns()
            self.process.stdin.close()
            try:
                self.code = self.process.wait(HANG)
            except subprocess.TimeoutExpired as e:
                raise Fail('the program does not end: %s %s' % (self.lines, self.words)) from e
            for r in self.readers:
                r.join(HANG)
            self.ended = time.time_ns()
        return self

    def report(self, pid=None):
        path = self.report_path.replace('%p', str(pid or self.pid))
        need(os.path.exists(path), 'no report at %s: %s' % (path, self.words))
        with open(path, encoding='utf-8') as f:
            return json.load(f)

    def printed(self, *parts):
        """Lines of the agent on standard error that contain all the parts."""
        return [w for w in self.words if w.startswith('kiln: ') and all(p in w for p in parts)]

    # ---- while it runs

    def proc(self, name):
        with open('/proc/%d/%s' % (self.pid, name), encoding='utf-8', errors='replace') as f:
            return f.read()

    def tasks(self):
        return sorted(int(t) for t in os.listdir('/proc/%d/task' % self.pid))

    def status(self, key):
        return [x.split(':', 1)[1].strip() for x in self.proc('status').splitlines() if x.startswith(key + ':')][0]

    def rss_kb(self):
        return int(self.status('VmRSS').split()[0])

    def descriptors(self, pid=None):
        """Descriptors of all threads: those of the agent may have a separate table."""
        tasks, found = '/proc/%d/task' % (pid or self.pid), []
        for tid in os.listdir(tasks):
            folder = os.path.join(tasks, tid, 'fd')
            try:
                found += [os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder)]
            except OSError:
                pass  # the thread ended, or the descriptor was closed
        return found


def wait_until(condition, what, seconds=HANG):
    end = time.monotonic() + seconds
    while not condition():
        need(time.monotonic() < end, 'waited too long: %s' % (str(what() if callable(what) else what),))
        time.sleep(0.02)


def build_host(source, out, *args):
    """Compiles one of the programs of tests/e2e with other options."""
    path = in_work(out)
    p = subprocess.run([*args, os.path.join(SRC, 'tests', 'e2e', source), '-o', path], stderr=subprocess.PIPE, check=False)
    if p.returncode:
        raise Skip(p.stderr.decode().splitlines()[0])
    return path
