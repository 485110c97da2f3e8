"""The interfaces of a release as data: the commands with --json, the endpoints of the query API and the exported
symbols that tests/fixtures/RELEASE records, and the comparison of today's results with the recorded ones.

A recorded result holds when every key and value is still there.  New keys are allowed.  Values that change from run to
run are masked by name in VOLATILE; lists that may grow are named in GROWING with the key that identifies an entry."""
import http.client
import json
import os
import re
import signal
import subprocess
import urllib.parse

LIBRARIES = ['libkiln.so', 'libkiln-span.so', 'libkiln-agent.so', 'libkiln-heap.so']

# Key: why its value differs between two runs.
VOLATILE = {
    'ns': 'time taken',
    'now': 'the clock',
    'started': 'the clock',
    'version': 'of kiln',
    'generator': 'names the version of kiln',
    'store_dir': 'a temporary directory',
}

# Queries over the store: compaction may have run in between, which moves items from the journal to blocks.
VOLATILE_OF_STORE = {
    'blocks': 'depends on compaction', 'items': 'depends on compaction', 'bytes': 'depends on compaction',
    'raw_items': 'depends on compaction', 'raw_bytes': 'depends on compaction', 'files': 'depends on compaction',
    'disk_bytes': 'depends on compaction', 'compactions': 'depends on compaction', 'groups': 'depends on compaction',
}
COST = {'samples', 'profiles', 'series', 'blocks', 'items', 'bytes', 'ns'}  # in looked_at: the work of a query, not its result
COMPACTED = {'series', 'profiles', 'samples'}  # keys of the endpoint `store`, which counts only day files

GROWING = {'formats': 'name', 'rules': 'id'}

# Results whose `schema` was raised since the release: removed keys, and why. All other keys must still exist; their
# values have another meaning now.
RAISED = {
    'diff': {'schema': 2, 'gone': {'scale'}, 'why': 'verdicts are of cost; before, after and change add up without a scale'},
}

# Sentences for people. Their keys are part of the interface; their words are not.
PROSE = {'what', 'title', 'fix', 'found', 'expected', 'advice', 'layout_evidence'}

# Values that were wrong in the release, by path, and why.
CORRECTED = {
    '.output.files[].profiles[].observations': 'a store that adds samples up carries the number of their observations',
    '.output.files[].dictionary.mapping': 'a sum over blocks held an entry twice, or not, by the seed of the hash tables',
    '.output.files[].dictionary.location': 'the same',
    '.output.files[].dictionary.attribute': 'the same',
    '.output.files[].dictionary.string': 'a sum says its observations too, by an attribute',
    '.output.formats[perf-script].carries.value_types': 'types of the same samples are written once, because readers count blocks',
}

PROFILE = 'examples/checkout.otlp'
SMALL = 'tests/vectors/v1_10/basic.bin'

# Arguments of kiln in the source directory; STORE is the store of the release.
COMMANDS = [
    ['info', '--json', PROFILE],
    ['info', '--json', SMALL],
    ['top', '--json', PROFILE],
    ['top', '--json', '--lines', '--cum', PROFILE],
    ['tree', '--json', PROFILE],
    ['peek', '--json', 'applies|Total', PROFILE],
    ['list', '--json', 'applies|Total', PROFILE],
    ['traces', '--json', SMALL],
    ['series', '--json', '--step', '5s', PROFILE],
    ['diff', '--json', PROFILE, PROFILE],
    ['check', '--json', PROFILE],
    ['check', '--json', SMALL],
    ['convert', '--json', PROFILE, '-o', '/dev/null', '--to', 'pprof'],
    ['merge', '--json', PROFILE, PROFILE, '-o', '/dev/null', '--to', 'otlp'],
    ['symbolize', '--json', '--no-cache', SMALL, '-o', '/dev/null', '--to', 'otlp'],
    ['flame', '--json', PROFILE],
    ['formats', '--json'],
    ['store', 'stats', '--json', 'STORE'],
    ['store', 'verify', '--json', 'STORE'],
    ['info', '--json', 'STORE'],
    ['top', '--json', 'STORE'],
    ['tree', '--json', '--select', 'cpu', 'STORE'],
    ['peek', '--json', 'main', 'STORE'],
    ['series', '--json', '--step', '1d', 'STORE'],
]


def endpoints(profile):
    """(name, parameters) of the query API; profile: an id."""
    whole = {'start': '2010-01-01T00:00:00Z', 'end': '2027-01-01T00:00:00Z'}
    return [
        ('labels', whole), ('labels/service.name', whole), ('series', whole), ('profiles', whole),
        ('profiles/' + profile, {}), ('spans', whole), ('counts', {**whole, 'step': '30d'}),
        ('counts', {**whole, 'step': '30d', 'by': 'service.name'}), ('heat', {**whole, 'column': '30d', 'rows': '1'}),
        ('tree', whole), ('tree', {**whole, 'query': 'cpu', 'inverted': '1'}), ('top', whole), ('top', {**whole, 'cum': '1', 'limit': '5'}),
        ('diff', {**whole, 'query': 'cpu{service.name="checkout"}', 'base_query': 'cpu{service.name!="checkout"}'}),
        ('lanes', {'profile_id': profile}), ('chart', {'profile_id': profile}), ('top', {'query': 'cpu-clock', 'start': '0'}),
        ('store', {}), ('status', {}),
    ]


def masked(value, volatile):
    if isinstance(value, dict):
        return {k: None if k in volatile else masked(v, COST if k == 'looked_at' else volatile) for k, v in value.items()}
    return [masked(v, volatile) for v in value] if isinstance(value, list) else value


def shape(value):
    """The value with numbers replaced by 0, because they are counters of one run."""
    if isinstance(value, dict):
        return {k: shape(v) for k, v in value.items()}
    return 0 if isinstance(value, int) and not isinstance(value, bool) else value


def lacks(old, new, path=''):
    """The first path where `new` lacks or changes something of `old`, or None."""
    name = path.rsplit('.', 1)[-1]
    if re.sub(r'\[\d+\]', '[]', path) in CORRECTED:
        return None
    if name in PROSE and isinstance(old, str) and isinstance(new, str):
        return None if bool(old) == bool(new) else '%s: %.100r, now %.100r' % (path, old, new)
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key not in new:
                return '%s.%s is gone' % (path, key)
            found = lacks(value, new[key], path + '.' + key)
            if found:
                return found
        return None
    if isinstance(old, list) and isinstance(new, list):
        if name in GROWING:
            by = {entry[GROWING[name]]: entry for entry in new}
            return next((f for entry in old for f in [lacks(entry, by.get(entry[GROWING[name]]), '%s[%s]' % (path, entry[GROWING[name]]))] if f), None)
        if len(old) != len(new):
            return '%s: %d entries, now %d' % (path, len(old), len(new))
        return next((f for i, (a, b) in enumerate(zip(old, new)) for f in [lacks(a, b, '%s[%d]' % (path, i))] if f), None)
    return None if old == new and isinstance(old, bool) == isinstance(new, bool) else '%s: %.100r, now %.100r' % (path, old, new)


def keys_gone(old, new, gone, path=''):
    """The first key of `old` that neither `new` nor `gone` has; None: all exist. Only the first entry of a list is compared."""
    if isinstance(old, list) and isinstance(new, list):
        return keys_gone(old[0], new[0], gone, path + '[0]') if old and new else None
    if not isinstance(old, dict):
        return None
    if not isinstance(new, dict):
        return '%s is not an object' % path
    for key, value in old.items():
        if key not in new and key not in gone:
            return '%s.%s is gone' % (path, key)
        found = keys_gone(value, new.get(key), gone, path + '.' + key) if key in new else None
        if found:
            return found
    return None


def broken(name, old, new):
    """What a command or endpoint changes in a recorded result, or None."""
    raised = RAISED.get(name)
    if not raised or old['output']['schema'] == raised['schema']:
        return lacks(old, new)
    if new['output']['schema'] != raised['schema'] or new.get('exit') != old.get('exit'):
        return 'schema %s, exit %s' % (new['output']['schema'], new.get('exit'))
    return keys_gone(old, new, raised['gone'])


def run_command(kiln, src, args, store):
    """{"exit", "output"} of one of COMMANDS."""
    of_store = 'STORE' in args
    p = subprocess.run([kiln] + [store if a == 'STORE' else a for a in args], cwd=src, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=120)
    text = p.stdout.decode()
    if not text:
        return {'exit': p.returncode, 'output': p.stderr.decode()}
    # Bytes on disk depend on free pages of SQLite; bytes of an encoded selection depend on the order of its tables.
    volatile = set(VOLATILE) | ({'bytes'} if of_store else set()) | ({'name'} if args[0] == 'info' else set())
    return {'exit': p.returncode, 'output': masked(json.loads(text.replace(store, 'STORE')), volatile)}


class Server:
    """kiln serve over a store, without retention."""

    def __init__(self, kiln, store, env=None):
        self.process = subprocess.Popen([kiln, 'serve', '--store', store, '--listen', '127.0.0.1:0', '--max-age', 'none', '--max-store', 'none'],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
        self.log = []
        for line in self.process.stderr:
            self.log.append(line.decode().rstrip('\n'))
            found = re.search(r'listening on http://127\.0\.0\.1:(\d+)', self.log[-1])
            if found:
                self.port = int(found[1])
                return
        raise RuntimeError('kiln serve does not start: %s' % self.log)

    def request(self, method, target, body=None, headers=None):
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
        try:
            c.request(method, target, body, headers or {})
            r = c.getresponse()
            return r.status, r.read()
        finally:
            c.close()

    def query(self, name, params):
        target = '/api/v1/' + name + ('?' + urllib.parse.urlencode(params) if params else '')
        status, body = self.request('GET', target)
        if name == 'status':
            return {'status': status, 'output': shape(masked(json.loads(body), VOLATILE))}
        volatile = set(VOLATILE) | set(VOLATILE_OF_STORE) | (COMPACTED if name == 'store' else set())
        return {'status': status, 'output': masked(json.loads(body), volatile)}

    def newest_profile(self, query):
        _, body = self.request('GET', '/api/v1/profiles?' + urllib.parse.urlencode({'query': query, 'limit': 1, 'start': 0}))
        return json.loads(body)['profiles'][0]['id']

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(60)
        self.log += self.process.stderr.read().decode().splitlines()
        return code


def symbols(build):
    """{library: [type name@version]} of the libraries that were built."""
    out = {}
    for name in LIBRARIES:
        if not os.path.exists(os.path.join(build, name)):
            continue
        text = subprocess.run(['nm', '-D', '--defined-only', '--with-symbol-versions', os.path.join(build, name)], check=True, stdout=subprocess.PIPE).stdout.decode()
        out[name] = sorted(' '.join(line.split()[1:]) for line in text.splitlines())
    return out
