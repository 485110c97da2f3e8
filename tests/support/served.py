"""Runs kiln serve for the tests in tests/e2e: on its own store and a port that the kernel chooses, with queries over HTTP and measurements
through /proc; and converts OTLP messages, with protoc's descriptors only, to a form that can be compared whatever the order of their
dictionaries."""
import functools
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.parse

from receivers import KILN, Fail, need, otlp, work

HANG = 60  # seconds; only a hang takes longer


class Serve:
    """A running `kiln serve` with port, url and words (its log lines)."""

    def __init__(self, *args, before=None, store=None, listen='127.0.0.1:0'):
        self.store = store or tempfile.mkdtemp(prefix='store-', dir=work)
        self.words, self.code = [], None
        self.process = subprocess.Popen([KILN, 'serve', '--store', self.store, '--listen', listen, *args],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        preexec_fn=before)
        self.pid, self.port, self.secure = self.process.pid, None, False
        self.listens = threading.Event()
        self.reader = threading.Thread(target=self.take, daemon=True)
        self.reader.start()
        if not self.listens.wait(HANG) or not self.port:
            self.process.kill()
            raise Fail('kiln serve does not listen: %s' % self.words)
        self.url = 'http%s://localhost:%d' % ('s' if self.secure else '', self.port)

    def take(self):
        for line in self.process.stderr:
            line = line.decode(errors='replace').rstrip('\n')
            self.words.append(line)
            found = re.search(r'listening on (https?)://127\.0\.0\.1:(\d+)', line)
            if found:
                self.secure, self.port = found[1] == 'https', int(found[2])
                self.listens.set()
        self.listens.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.code is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.store, ignore_errors=True)

    def stop(self):
        """Sends SIGTERM and returns the exit code."""
        if self.code is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.code = self.process.wait(HANG)
            except subprocess.TimeoutExpired as e:
                raise Fail('kiln serve does not end: %s' % self.words) from e
            self.reader.join(HANG)
        return self.code

    def compacted(self):
        """Another server on the same store, after compaction of the journal."""
        need(self.stop() == 0, (self.code, self.words))
        p = subprocess.run([KILN, 'store', 'compact', self.store], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=HANG)
        need(p.returncode == 0, p.stdout.decode())
        return Serve(store=self.store)

    # ---- over HTTP

    def ask(self, method, path, body=None, **headers):
        """(status, headers in lower case, body), on a new connection."""
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=HANG)
        try:
            c.request(method, path, body, {k.replace('_', '-'): v for k, v in headers.items()})
            r = c.getresponse()
            return r.status, {k.lower(): v for k, v in r.getheaders()}, r.read()
        finally:
            c.close()

    def post(self, path, body, kind='application/x-protobuf', **headers):
        return self.ask('POST', path, body, Content_Type=kind, **headers)

    def export(self, **params):
        """Everything stored, read by protoc's code."""
        status, _, body = self.ask('GET', '/api/v1/export?' + urllib.parse.urlencode({'format': 'otlp', **params}))
        need(status == 200, 'export: %d %s' % (status, body[:300]))
        return otlp.ProfilesData.FromString(body)

    def status(self):
        status, _, body = self.ask('GET', '/api/v1/status')
        need(status == 200, 'status: %d %s' % (status, body[:300]))
        return json.loads(body)

    # ---- through /proc

    def memory_kb(self, key='VmHWM'):
        with open('/proc/%d/status' % self.pid, encoding='utf-8') as f:
            return [int(line.split()[1]) for line in f if line.startswith(key + ':')][0]

    def threads(self):
        return len(os.listdir('/proc/%d/task' % self.pid))

    def descriptors(self):
        return len(os.listdir('/proc/%d/fd' % self.pid))


# ---- messages that can be compared

class Entry:
    """An entry of a table that many samples refer to; compared by its key, so that it is expanded once."""
    __slots__ = 'value', 'key'

    def __init__(self, value):
        self.value, self.key = value, hashlib.sha256(text(value).encode()).hexdigest()


class Resolver:
    """A message of the current layout as dictionaries, with indices resolved."""

    def __init__(self, data):
        self.d, self.kept = data.dictionary, {}

    def entry(self, table, index):
        """An Entry, or {} for an empty one."""
        key = table, index
        if key not in self.kept:
            value = self.plain(getattr(self.d, table)[index])
            self.kept[key] = Entry(value) if value else value
        return self.kept[key]

    def field(self, kind, name, value):
        """The value with its indices resolved."""
        if kind == 'strindex':
            return self.d.string_table[value]
        if kind == 'indices':
            table = name + '_table'
            return [self.entry(table, i) for i in value]
        if kind == 'index':
            return self.entry(name + '_table', value)
        if kind == 'message':
            return self.plain(value)
        if kind == 'messages':
            return [self.plain(v) for v in value]
        if kind == 'list':
            return list(value)
        if isinstance(value, bytes):
            return value.hex()
        return repr(value) if isinstance(value, float) else value

    def plain(self, m):
        """The set fields; an empty entry counts as absent. Attributes are a set, samples are ordered."""
        out = {}
        for f, v in m.ListFields():
            kind, name, in_oneof = kind_of(f)
            value = self.field(kind, name, v)
            if name in ('attribute', 'attributes'):
                value = sorted(value, key=text)
            if in_oneof or value not in NOTHING:
                out[name] = value
        return out


NOTHING = ('', [], {})


@functools.lru_cache(None)
def kind_of(f):
    """(kind, name without its ending, whether it is of a oneof) of a field's descriptor."""
    for kind in ('strindex', 'indices', 'index'):
        if f.name.endswith('_' + kind):
            return kind, f.name[:-len(kind) - 1], f.containing_oneof is not None
    repeated = f.label == f.LABEL_REPEATED
    kind = ('messages' if repeated else 'message') if f.type == f.TYPE_MESSAGE else 'list' if repeated else ''
    return kind, f.name, f.containing_oneof is not None


text = json.JSONEncoder(sort_keys=True, default=lambda entry: entry.key).encode


def profiles_of(data):
    """Every profile with its resource and scope, in a canonical order."""
    r, out = Resolver(data), []
    for res in data.resource_profiles:
        for s in res.scope_profiles:
            for p in s.profiles:
                out.append({'resource': r.plain(res.resource), 'resource_schema': res.schema_url, 'scope': r.plain(s.scope),
                            'scope_schema': s.schema_url, 'profile': r.plain(p)})
    return out


def differ(a, b, path=''):
    """The first difference between two of these, or None."""
    if type(a) is not type(b):
        return '%s: %.200r and %.200r' % (path, a, b)
    if isinstance(a, Entry):
        return None if a.key == b.key else differ(a.value, b.value, path)
    if isinstance(a, dict):
        for k in sorted(set(a) | set(b)):
            if k not in a or k not in b:
                return '%s.%s: only %s: %.300r' % (path, k, 'sent' if k in a else 'returned', a.get(k, b.get(k)))
            found = differ(a[k], b[k], path + '.' + k)
            if found:
                return found
        return None
    if isinstance(a, list):
        if len(a) != len(b):
            return '%s: %d and %d entries' % (path, len(a), len(b))
        return next((f for i, (x, y) in enumerate(zip(a, b)) for f in [differ(x, y, '%s[%d]' % (path, i))] if f), None)
    return None if a == b else '%s: %.200r and %.200r' % (path, a, b)


def need_same(sent, returned):
    """Compares results of profiles_of in any order."""
    sides = [sorted((text(p), i) for i, p in enumerate(side)) for side in (sent, returned)]
    if [x for x, _ in sides[0]] != [x for x, _ in sides[1]]:
        found = differ(*([side[i] for _, i in order] for side, order in zip((sent, returned), sides)))
        raise Fail('sent and returned: %s' % found)
