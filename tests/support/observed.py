"""Random observations as OTLP messages, written with code that protoc generates: services with threads, states, traces and times
in nanoseconds.  Tests compare the responses of a server with sums over the list of observations."""
import random

from receivers import otlp

SECOND = 1_000_000_000
BEGIN = 1_760_000_000 * SECOND


class Observation:
    """One observation: a sample with one value and one timestamp."""
    __slots__ = ('service', 'type', 'unit', 'thread', 'tid', 'state', 'stack', 'time', 'value', 'trace', 'span')

    def __init__(self, **fields):
        for k, v in fields.items():
            setattr(self, k, v)


class Dictionary:
    """The tables of a message.  Entry 0 of each is the zero value."""

    def __init__(self):
        self.d, self.known = otlp.ProfilesDictionary(), {}
        self.d.string_table.append('')
        for table in ('mapping_table', 'location_table', 'function_table', 'link_table', 'attribute_table', 'stack_table'):
            getattr(self.d, table).add()

    def put(self, table, key, fill):
        if (table, key) not in self.known:
            fill(getattr(self.d, table).add())
            self.known[table, key] = len(getattr(self.d, table)) - 1
        return self.known[table, key]

    def text(self, s):
        if s not in self.known:
            self.d.string_table.append(s)
            self.known[s] = len(self.d.string_table) - 1
        return self.known[s] if s else 0

    def attribute(self, key, value):
        def fill(a):
            a.key_strindex = self.text(key)
            setattr(a.value, 'int_value' if isinstance(value, int) else 'string_value', value)
        return self.put('attribute_table', (key, value), fill)

    def location(self, name):
        def fill(loc):
            loc.lines.add().function_index = self.put('function_table', name, lambda f: setattr(f, 'name_strindex', self.text(name)))
        return self.put('location_table', name, fill)

    def stack(self, names):
        return self.put('stack_table', names, lambda s: s.location_indices.extend(self.location(n) for n in reversed(names)))

    def link(self, trace, span):
        def fill(x):
            x.trace_id, x.span_id = bytes.fromhex(trace), bytes.fromhex(span)
        return self.put('link_table', (trace, span), fill)


def message(seen, ids=(), periods=()):
    """Returns one profile per service and type; `ids`: {(service, type): 32 hex digits}, `periods`: {type: value}."""
    data, d = otlp.ProfilesData(), Dictionary()
    groups = {}
    for o in seen:
        groups.setdefault(o.service, {}).setdefault((o.type, o.unit), []).append(o)
    for service, types in groups.items():
        res = data.resource_profiles.add()
        a = res.resource.attributes.add()
        a.key, a.value.string_value = 'service.name', service
        scope = res.scope_profiles.add()
        scope.scope.name = 'observed'
        for (kind, unit), group in types.items():
            p = scope.profiles.add()
            p.sample_type.type_strindex, p.sample_type.unit_strindex = d.text(kind), d.text(unit)
            p.time_unix_nano = min(o.time for o in group)
            p.duration_nano = max(o.time for o in group) - p.time_unix_nano + 1
            if kind in periods:
                p.period_type.type_strindex, p.period_type.unit_strindex, p.period = d.text(kind), d.text(unit), periods[kind]
            p.profile_id = bytes.fromhex(dict(ids).get((service, kind), '%032x' % (len(data.resource_profiles) * 100 + len(scope.profiles))))
            for o in group:
                s = p.samples.add()
                s.stack_index = d.stack(o.stack)
                s.values.append(o.value)
                s.timestamps_unix_nano.append(o.time)
                if o.trace:
                    s.link_index = d.link(o.trace, o.span)
                s.attribute_indices.extend([d.attribute('thread.name', o.thread), d.attribute('thread.id', o.tid)])
                if o.state:
                    s.attribute_indices.append(d.attribute('thread.state', o.state))
    data.dictionary.CopyFrom(d.d)
    return data


TRACES = ['%032x' % (0xabc0 + i) for i in range(4)]


def many(n=2000, seed=1, begin=BEGIN, seconds=6, grown=None):
    """Two services, cpu and alloc, five threads.  `grown` names a function that is on the stack more often."""
    r, out = random.Random(seed), []
    functions = ['main', 'serve', 'parse', 'query', 'render', 'compress', 'hash', 'log']
    for _ in range(n):
        service = r.choice(['shop', 'shop', 'mail'])
        tid = r.randrange(1, 4 if service == 'shop' else 3)
        depth = r.randrange(1, 6)
        stack = ('main', 'serve')[:depth] + tuple(r.choice(functions[2:]) for _ in range(depth - 2))
        if grown and r.random() < .3:
            stack = ('main', 'serve', grown)
        trace = r.choice(TRACES) if r.random() < .2 else ''
        alloc = r.random() < .1
        out.append(Observation(service=service, type='alloc' if alloc else 'cpu', unit='bytes' if alloc else 'nanoseconds',
                        thread='worker-%d' % tid, tid=tid + (100 if service == 'mail' else 0), state=r.choice(['', 'running', 'waiting']),
                        stack=stack, time=begin + r.randrange(seconds * SECOND), value=r.randrange(1, 5000) if alloc else 10_000_000,
                        trace=trace, span=trace and '%016x' % (int(trace, 16) + r.randrange(3))))
    return out
