"""Profiles whose answers through Pyroscope's services are known, and requests to them as Grafana sends them. The profiles are OTLP that
protoc's code encodes; the services and messages are protoc's, from tests/vectors/proto/pyroscope."""
import collections
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import time

from receivers import KILN, PROTO, SRC, Fail, Skip, in_work, need, once, otlp, work
from served import Serve
from flames import decode_levels, same

PYROSCOPE = os.path.join(PROTO, 'pyroscope')
GRAFANA = os.path.join(SRC, 'tests', 'grafana')
QUERIER = 'querier.v1.QuerierService/'
CPU = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds'
SPACE = 'memory:alloc_space:bytes:space:bytes'
OFF_CPU = 'off_cpu:off_cpu:nanoseconds:off_cpu:nanoseconds'
STEP = 15000  # ms

subprocess.run(['protoc', '-I', PYROSCOPE, '--python_out', work, *map(os.path.basename, glob.glob(PYROSCOPE + '/*.proto'))], check=True)
sys.path.insert(0, work)
import profile_pb2  # noqa: E402  pylint: disable=wrong-import-position
import querier_pb2  # noqa: E402  pylint: disable=wrong-import-position

# A sample: names from the root, value in the unit of the type, time in ns. `service` and `type` are what Pyroscope calls them.
Row = collections.namedtuple('Row', 'service type names value time thread trace span profile region version series')

NAMES = ['main', 'serve', 'parse', 'render', 'json.Marshal', 'std::sort<int>', 'caf\u00e9', 'gc']
TRACE, SPANS = bytes(range(1, 17)), [bytes([k] * 8) for k in (1, 2, 3)]


class Message:
    """An OTLP message that grows row by row."""

    def __init__(self):
        self.m = otlp.ProfilesData()
        self.known = collections.defaultdict(dict)
        d = self.m.dictionary
        for table in (d.mapping_table, d.location_table, d.function_table, d.link_table, d.attribute_table, d.stack_table):
            table.add()
        d.string_table.append('')

    def intern(self, table, key, fill):
        known = self.known[id(table)] if not isinstance(table, str) else self.known[table]
        if key not in known:
            known[key] = fill()
        return known[key]

    def string(self, s):
        d = self.m.dictionary.string_table
        if not s:
            return 0
        return self.intern('string', s, lambda: (d.append(s), len(d) - 1)[1])

    def entry(self, name, key, **fields):
        table = getattr(self.m.dictionary, name)
        return self.intern(name, key, lambda: (table.add(**fields), len(table) - 1)[1])

    def stack(self, names):
        at = []
        for name in reversed(names):   # leaf first
            f = self.entry('function_table', name, name_strindex=self.string(name))
            at.append(self.entry('location_table', name, lines=[otlp.Line(function_index=f)]))
        return self.entry('stack_table', tuple(names), location_indices=at)

    def attribute(self, key, value):
        return self.entry('attribute_table', (key, value), key_strindex=self.string(key), value=otlp.AnyValue(string_value=value))

    def profile(self, resource, scope, kind, period, rows, profile_id, values=None):
        """All rows have one version. values: the stored value of each row; by default its own."""
        r = self.m.resource_profiles.add()
        for key, value in resource.items():
            r.resource.attributes.add(key=key, value=otlp.AnyValue(string_value=value))
        first, last = min(x.time for x in rows), max(x.time for x in rows)
        of = r.scope_profiles.add()
        of.scope.name = scope
        p = of.profiles.add(profile_id=profile_id, time_unix_nano=first, duration_nano=last - first + 1)
        p.sample_type.type_strindex, p.sample_type.unit_strindex = self.string(kind[0]), self.string(kind[1])
        if period:
            p.period_type.type_strindex, p.period_type.unit_strindex = self.string(period[0]), self.string(period[1])
            p.period = period[2]
        if rows[0].version:
            p.attribute_indices.append(self.attribute('version', rows[0].version))
        for x, value in zip(rows, values or [x.value for x in rows], strict=True):
            s = p.samples.add(stack_index=self.stack(x.names), values=[value], timestamps_unix_nano=[x.time])
            if x.thread:
                s.attribute_indices.append(self.attribute('thread.name', x.thread))
            if x.span:
                s.link_index = self.entry('link_table', x.span, trace_id=x.trace, span_id=x.span)


class Known:
    """The rows that are stored, and the range of times that covers them. Times are not at the edges of steps, except those of the
    service `edge`."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.start = int(time.time() - 900) * 1000 // STEP * STEP   # ms
        self.end = self.start + 20 * STEP
        self.rows, self.message, self.n = [], Message(), 0
        self.covered = {}   # by profile: [start, end) ns
        cpu, space = ('cpu', 'nanoseconds', 10000000), ('space', 'bytes', 524288)
        for service, region in (('x', 'eu'), ('y', 'us')):
            for _ in range(3):
                self.add(service, region, CPU, ('cpu', 'nanoseconds'), cpu, 500)
        self.add('x', 'eu', SPACE, ('alloc_space', 'bytes'), space, 40)
        self.add('x', 'eu', 'memory:alloc_objects:count:space:bytes', ('alloc_objects', 'count'), space, 40)
        self.add('counts', 'us', CPU, ('samples', 'count'), cpu, 30, scale=cpu[2])
        self.add('', 'us', OFF_CPU, ('off_cpu', 'nanoseconds'), None, 30)
        self.add('edge', 'us', CPU, ('cpu', 'nanoseconds'), cpu, 3, times=[self.start * 10**6, (self.start + STEP) * 10**6,
                                                                          (self.start + STEP + 1) * 10**6])
        self.add_alike(cpu)
        self.add_names(cpu)

    def add_alike(self, cpu):
        """Series of one service and one stored type that have different ids, or different periods by which samples are multiplied."""
        samples, wall, slow = ('samples', 'count'), ('wall', 'nanoseconds'), (*cpu[:2], 2 * cpu[2])
        for name in ('mutex', 'block'):
            self.add('locks', 'us', name + ':contentions:count:contentions:count', ('contentions', 'count'), ('contentions', 'count', 1), 10,
                     scope='go/' + name)
        self.add('both', 'us', CPU, samples, cpu, 10, scale=cpu[2])
        self.add('both', 'us', 'wall:samples:count:wall:nanoseconds', samples, (*wall, cpu[2]), 10)
        self.add('fleet', 'us', CPU, samples, cpu, 10, scale=cpu[2], version='v1')
        self.add('fleet', 'us', CPU, samples, slow, 10, scale=slow[2], version='v2')
        self.add('walls', 'us', 'wall:wall:nanoseconds:cpu:nanoseconds', wall, cpu, 10, threads=('',))
        self.add('walls', 'us', 'wall:wall:nanoseconds:wall:nanoseconds', wall, None, 10, threads=('',))
        self.add('slash', 'us', 'http/requests:http/requests:count:http/requests:count', ('http/requests', 'count'), None, 10)
        # the samples of a service that has CPU time stay a count, also where only they match
        self.add('timed', 'eu', CPU, ('cpu', 'nanoseconds'), cpu, 10)
        self.add('timed', 'us', 'process_cpu:samples:count:cpu:nanoseconds', samples, cpu, 10)

    def add_names(self, cpu):
        """Services without a name, and one whose sender gave it such a name."""
        self.add('unknown_service:java', 'us', CPU, ('cpu', 'nanoseconds'), cpu, 10)
        self.add('', 'us', CPU, ('cpu', 'nanoseconds'), cpu, 10, executable='java')
        self.add('', 'us', CPU, ('cpu', 'nanoseconds'), cpu, 10)
        self.add('', 'us', CPU, ('cpu', 'nanoseconds'), cpu, 10, executable='')
        self.add('', 'us', CPU, ('samples', 'count'), cpu, 10, scale=cpu[2], executable='other')

    def add(self, service, region, kind, stored, period, n, scale=1, times=None, scope='', executable='tool', threads=('w', 'v'), version=''):
        rng, rows = self.rng, []
        resource = {'service.name': service, 'region': region, 'k8s.pod.name': 'pod-' + service} if service else {'region': region}
        if not service and executable:
            resource['process.executable.name'] = executable
        shown = service or 'unknown_service' + (':' + executable if executable else '')
        self.n += 1
        profile_id = bytes([self.n] * 16)
        for i in range(n):
            # the middle of a ms between edges
            at = times[i] if times else (self.start + rng.randrange(20) * STEP + rng.randrange(1, STEP)) * 10**6 - 500000
            span = rng.choice(SPANS + [b'']) if service != 'y' else b''
            names = tuple(['main'] + [rng.choice(NAMES) for _ in range(rng.randrange(7))])
            rows.append(Row(shown, kind, names, rng.randrange(1, 10**6) * scale, at, rng.choice(threads), TRACE, span, profile_id, region, version,
                            (service, shown, region, stored, period, scope)))
        self.rows += rows
        self.covered[profile_id] = min(x.time for x in rows), max(x.time for x in rows) + 1
        self.message.profile(resource, scope, stored, period, rows, profile_id, [x.value // scale for x in rows])

    def select(self, kind=None, start=None, end=None, **wanted):
        """Rows in [start, end) ms."""
        start, end = (start or self.start) * 10**6, (end or self.end) * 10**6
        return [x for x in self.rows if kind in (None, x.type) and start <= x.time < end and all(getattr(x, k) == v for k, v in wanted.items())]

    def stacks(self, *args, **wanted):
        return [(x.names, x.value) for x in self.select(*args, **wanted)]

    def points(self, rows, start, end, step):
        """{right edge: [values]}: a row belongs to the first edge that is not before it."""
        out = collections.defaultdict(list)
        for x in rows:
            n = -((start * 10**6 - x.time) // (step * 10**6))   # edges to the right, rounded up
            n = max(n, 0)
            edge = start + n * step
            if edge <= end and x.time > (start - step) * 10**6:
                out[edge].append(x.value)
        return dict(out)

    def profiles(self, rows, edge, step):
        """The number of profiles in (edge - step, edge] ms: each counts by the share of its time."""
        n, first, last = 0, (edge - step) * 10**6 + 1, edge * 10**6 + 1
        for profile in {x.profile for x in rows}:
            start, end = self.covered[profile]
            n += max(0, min(end, last) - max(start, first)) / (end - start)
        return n

    def range(self, **more):
        return {'start': str(self.start), 'end': str(self.end), **more}


SEED = int(os.environ.get('KILN_SEED') or random.randrange(1 << 32))
known = Known(SEED)


def filled(*args):
    s = Serve(*args)
    status, _, body = s.post('/v1development/profiles', known.message.m.SerializeToString())
    need(status == 200, (status, body))
    return s


@once
def server():
    return filled().compacted()


def query(**more):
    return known.range(profileTypeID=CPU, labelSelector='{}', **more)


def flame_of(j, sides=1):
    f = j['flamegraph']
    levels = [[int(v) for v in x['values']] for x in f['levels']]
    boxes = decode_levels(f['names'], levels, sides)
    need(int(f.get('total', 0)) == sum(boxes[0][1]) and int(f.get('maxSelf', 0)) == max(max(own) for _, _, own in boxes), f)
    return boxes


def need_tree(boxes, want):
    why = same(boxes, want)
    need(not why, why)


def points_of(j):
    """{labels: {ms: value}}"""
    return {tuple(sorted((p['name'], p['value']) for p in s.get('labels', []))): {int(p['timestamp']): float(p.get('value', 0)) for p in s['points']}
            for s in j.get('series', [])}


@once
def need_client():
    if not shutil.which('node'):
        raise Skip('no node')
    p = subprocess.run(['node', os.path.join(SRC, 'ui', 'packages.mjs'), GRAFANA], stderr=subprocess.PIPE, check=False)
    if p.returncode:
        raise Skip(p.stderr.decode().strip()[-300:])
    subprocess.run(['protoc', '-I', PYROSCOPE, '--include_imports', '--descriptor_set_out', in_work('pyroscope.bin'),
                    *map(os.path.basename, glob.glob(PYROSCOPE + '/*.proto'))], check=True)


def call_all(server, calls):
    """Answers of the official client: for each call {dialect: {'message': ..., 'headers': ...} or {'code': ..., 'text': ...}}."""
    need_client()
    p = subprocess.run(['node', os.path.join(GRAFANA, 'client.mjs'), in_work('pyroscope.bin'), str(server.port)], input=json.dumps(calls).encode(),
                       capture_output=True, check=False, timeout=240)
    need(p.returncode == 0, p.stderr.decode()[-1500:])
    return json.loads(p.stdout)


def post(server, method, body=b'{}', kind='application/json', **headers):
    """(status, headers, body)"""
    return server.ask('POST', '/' + method, body if isinstance(body, bytes) else json.dumps(body).encode(), Content_Type=kind, **headers)


def ask(server, method, request, **headers):
    """The answer to a call in JSON."""
    status, head, body = post(server, method, request, **headers)
    need(status == 200, '%s: %d %s %s' % (method, status, head, body[:300]))
    return json.loads(body)


def kiln_json(server, command, selector, known, *args):
    """The JSON of a command of kiln on the same selection."""
    p = subprocess.run([KILN, command, '--json', *args, '--start', ns_time(known.start), '--end', ns_time(known.end), '--select', selector, server.url],
                       capture_output=True, check=False, timeout=60)
    if p.returncode:
        raise Fail('kiln %s: %s' % (command, p.stderr.decode()))
    return json.loads(p.stdout)


def ns_time(ms):
    return '%d.%03d' % (ms // 1000, ms % 1000)
