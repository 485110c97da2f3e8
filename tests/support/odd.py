"""Random profiles of every shape that OTLP allows: samples with several values and times, with neither, negative, unpaired,
without a stack, in locations without names; attributes of every kind on resource, scope, profile and sample; links.  Also
implements selections as docs/store.md defines them, to compare them with the responses of servers."""
import collections
import json
import re

from observed import BEGIN, SECOND, Dictionary
from receivers import otlp

TENTH = SECOND // 10
TRACES = ['%032x' % (0xa0 + i) for i in range(3)]
SPANS = ['%016x' % i for i in range(1, 4)]
# (file of the mapping, address, ((function, file, line), ...)), innermost call first
PLACES = [('/bin/app', 1, (('f', 'a.c', 3),)), ('/bin/other', 2, (('f', 'b.c', 4),)), ('', 0, (('g', '', 0),)), ('/lib/libc.so.6', 3, ()), ('', 9, ()),
          ('/bin/app', 5, (('inlined', 'i.h', 7), ('outer', 'a.c', 9))), ('/bin/app', 6, (('', 'x.c', 7),)), ('[kernel]', 7, ())]
VALUES = [1, '1', True, 2.5, '', [1, 'a'], None]

Profile = collections.namedtuple('Profile', 'id type unit time resource scope attributes samples')
Sample = collections.namedtuple('Sample', 'places values times attributes link')


def random_sample(r, begin):
    times = sorted(begin + r.randrange(20) * TENTH for _ in range(r.choice([0, 1, 1, 1, 2, 3])))
    values = [r.randrange(-3, 50) for _ in range(len(times) if times and r.random() < .8 else r.randrange(3))]
    attributes = [(k, r.choice(v)) for k, v in (('thread.name', ['a', 'b', '']), ('thread.id', [1, 2]), ('x', VALUES)) if r.random() < .6]
    return Sample(tuple(r.choice(PLACES) for _ in range(r.randrange(5))), values if values or times else [1], times, attributes,
                  (r.choice(TRACES), r.choice(SPANS)) if r.random() < .3 else None)


def random_profile(r):
    begin = BEGIN + r.randrange(100) * TENTH
    kind, unit = r.choice([('cpu', 'nanoseconds'), ('cpu', 'nanoseconds'), ('cpu', 'count'), ('wall', 'nanoseconds')])
    return Profile('%032x' % r.getrandbits(120), kind, unit, begin, [('service.name', r.choice(['shop', 'mail']))] * (r.random() < .9) + [('x', r.choice(VALUES))] * (r.random() < .3),
                   r.choice(['', 'scope']), [('x', 'profile')] * (r.random() < .2), [random_sample(r, begin) for _ in range(r.randrange(12))])


# ---- as OTLP

class Tables(Dictionary):
    def location(self, place):
        file, address, lines = place

        def fill(loc):
            loc.address = address
            if file:
                loc.mapping_index = self.put('mapping_table', file, lambda m: setattr(m, 'filename_strindex', self.text(file)))
            for name, source, line in lines:
                def function(f, name=name, source=source):
                    f.name_strindex, f.filename_strindex = self.text(name), self.text(source)
                loc.lines.add(function_index=self.put('function_table', (name, source), function), line=line)
        return self.put('location_table', place, fill)

    def stack(self, places):
        return self.put('stack_table', places, lambda s: s.location_indices.extend(map(self.location, places))) if places else 0

    def attribute(self, key, value):
        def fill(a):
            a.key_strindex = self.text(key)
            set_value(a.value, value)
        return self.put('attribute_table', repr((key, value)), fill)


def set_value(to, v):
    """Leaves the value empty for None."""
    if isinstance(v, list):
        for x in v:
            set_value(to.array_value.values.add(), x)
    elif v is not None:
        setattr(to, {bool: 'bool_value', int: 'int_value', float: 'double_value', str: 'string_value'}[type(v)], v)


def message(profiles):
    data, d = otlp.ProfilesData(), Tables()
    for p in profiles:
        r = data.resource_profiles.add()
        for k, v in p.resource:
            a = r.resource.attributes.add(key=k)
            set_value(a.value, v)
        s = r.scope_profiles.add()
        s.scope.name = p.scope
        to = s.profiles.add(profile_id=bytes.fromhex(p.id), time_unix_nano=p.time, duration_nano=2 * SECOND)
        to.sample_type.type_strindex, to.sample_type.unit_strindex = d.text(p.type), d.text(p.unit)
        to.attribute_indices.extend(d.attribute(*a) for a in p.attributes)
        for x in p.samples:
            to.samples.add(stack_index=d.stack(x.places), values=x.values, timestamps_unix_nano=x.times, attribute_indices=[d.attribute(*a) for a in x.attributes],
                           link_index=d.link(*x.link) if x.link else 0)
    data.dictionary.CopyFrom(d.d)
    return data


# ---- selections

Row = collections.namedtuple('Row', 'profile sample values times')


def label(p, s, key):
    """The text of a label; None when there is no such label.  With s None, labels of the profile only."""
    if key in ('trace_id', 'span_id'):
        return s.link[key == 'span_id'] if s and s.link else None
    if key == 'otel.scope.name':
        return p.scope or None
    for k, v in p.resource + p.attributes + (s.attributes if s else []):
        if k == key:
            return v if isinstance(v, str) else '' if v is None else json.dumps(v, separators=(',', ':'))
    return None


def fits(p, s, matchers):
    for key, op, value in matchers:
        text = label(p, s, key) or ''
        if (text == value if op in ('=', '!=') else re.fullmatch(value, text) is not None) == (op[0] == '!'):
            return False
    return True


def cut(p, s, start, end):
    """Values and times in [start, end); None when there are none."""
    inside = [i for i, t in enumerate(s.times) if start <= t < end]
    if not s.times or s.values and len(s.values) != len(s.times):
        return (s.values, s.times) if start <= (s.times[0] if s.times else p.time) < end else None
    return ([s.values[i] for i in inside if s.values], [s.times[i] for i in inside]) if inside else None


def select(profiles, matchers=(), start=0, end=1 << 64, **by):
    """`by` are fields that profiles must have."""
    rows = []
    for p in profiles:
        if all(getattr(p, k) == v for k, v in by.items()):
            for s in p.samples:
                kept = cut(p, s, start, end) if fits(p, s, matchers) else None
                if kept:
                    rows.append(Row(p, s, *kept))
    return rows


def total(row):
    return sum(row.values) if row.values else len(row.times)


def observations(row):
    """(time, value, number) of the observations that a chart counts."""
    if not row.times or row.values and len(row.values) != len(row.times):
        return [(row.times[0] if row.times else row.profile.time, sum(row.values), len(row.values))]
    return [(t, row.values[i] if row.values else 1, 1) for i, t in enumerate(row.times)]


def frames(s):
    """Labels of the frames, root first."""
    out = []
    for file, _, lines in reversed(s.places):
        base = file.rsplit('/', 1)[-1]
        unknown = base if base.startswith('[') else '[%s]' % base if base else '<unknown>'
        out += [name or unknown for name, _, _ in reversed(lines or (('', '', 0),))]
    return tuple(out)
