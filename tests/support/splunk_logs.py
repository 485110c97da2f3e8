"""Profiles in log records (Splunk's conventions), read with protoc-made code (`pb` is logs.proto's) and nothing of ours."""
import base64
import collections
import gzip
import re

ADDED = {'com.splunk.sourcetype', 'profiling.data.total.frame.count', 'profiling.data.type', 'profiling.data.format'}

Row = collections.namedtuple('Row', 'frames values labels')  # frames: ((name, file, line) of each line) of each location


def text_of(body):
    """Frames, thread line and state of a call stack: layout is free, so blanks and `at` do not count, and lines about
    locks and compilers are in the ledger (text_line)."""
    lines = [x.strip() for x in re.split(r'\r?\n', body)]
    return [re.sub(r'^at ', '', x) for x in lines if x and not re.match('- |No compile task|Locked ownable', x)]


def pprof_of(pb, body):
    """(number of types, rows) of a body.  Text at string 0 is text (Python's agent), ids have their zeros, a negative line
    is unknown."""
    p = pb.Profile.FromString(gzip.decompress(base64.b64decode(body, validate=True)))
    s = list(p.string_table)
    functions = {f.id: (s[f.name] if f.name else '', s[f.filename] if f.filename else '') for f in p.function}
    locations = {x.id: tuple(functions[n.function_id] + (max(n.line, 0),) for n in x.line) for x in p.location}
    rows = []
    for x in p.sample:
        labels = {}
        for n in x.label:
            key, value = s[n.key], s[n.str] if n.str else n.num
            width = {'trace_id': 32, 'span_id': 16}.get(key)
            labels[key] = value.zfill(width) if width else value
        rows.append(Row(tuple(locations[i] for i in x.location_id), tuple(x.value), tuple(sorted(labels.items()))))
    return len(p.sample_type), rows


def log_records(data):
    """(resource_logs, scope_logs, record) of each."""
    for r in data.resource_logs:
        for s in r.scope_logs:
            for x in s.log_records:
                yield r, s, x


# ---- records against records

def records(pb, data):
    for r, s, x in log_records(pb.LogsData.FromString(data)):
        a = {k.key: k.value.SerializeToString() for k in x.attributes}
        text = {k.key: k.value.string_value for k in x.attributes}
        kind = text.get('profiling.data.format', 'text')
        if kind == 'text':
            body = text_of(x.body.string_value)
        else:
            n_types, rows = pprof_of(pb, x.body.string_value)
            body = n_types, collections.Counter(rows)
        ids = tuple(i if any(i) else b'' for i in (x.trace_id, x.span_id))
        yield (r.resource.SerializeToString(), r.schema_url, s.scope.SerializeToString(), s.schema_url,
               x.time_unix_nano, x.observed_time_unix_nano, x.name, x.severity_number, x.event_name, ids, kind, body, a)


def compare(pb, before, after):
    """Lines that say where two messages differ."""
    old, new = list(records(pb, before)), list(records(pb, after))
    if len(old) != len(new):
        return ['%d records, there were %d' % (len(new), len(old))]
    key = lambda x: (x[4], str(x[11]))  # records of one scope may be grouped anew
    for i, (a, b) in enumerate(zip(sorted(old, key=key), sorted(new, key=key))):
        for k in range(12):
            if a[k] != b[k]:
                return ['record %d, fact %d: %r, there was %r' % (i, k, b[k], a[k])]
        lost = {k for k in a[12] if b[12].get(k) != a[12][k]}
        made = set(b[12]) - set(a[12]) - ADDED
        if lost or made:
            return ['record %d: attributes lost %s, made %s' % (i, lost, made)]
    return []


# ---- records against OTLP profiles: docs/splunk.md in the other direction

MS = 1000000
OWN_LABELS = {'source.event.time', 'source.event.period', 'trace_id', 'span_id'}


def observation(row, value):
    """(frames, time, value, ids, attributes) of a row; a plain tuple that an OTLP sample can be turned into as well."""
    labels = dict(row.labels)
    ids = (labels.get('trace_id', ''), labels.get('span_id', ''))
    rest = tuple(sorted((k, v) for k, v in labels.items() if k not in OWN_LABELS))
    return tuple(line for place in row.frames for line in place), labels['source.event.time'] * MS, value, ids, rest


def from_records(pb, *messages):
    """[(resource, scope, type, unit, period, attributes, Counter of observations)] that records with agents' pprof bodies mean."""
    out = []
    for r, s, x in (y for m in messages for y in log_records(pb.LogsData.FromString(m))):
        text = {k.key: k.value.string_value for k in x.attributes}
        _, rows = pprof_of(pb, x.body.string_value)
        about = (attributes(r.resource.attributes), (s.scope.name, s.scope.version))
        kept = {k: text[k] for k in ('profiling.data.type', 'profiling.instrumentation.source') if k in text}
        times = {'kiln.splunk.time': x.time_unix_nano, 'kiln.splunk.observed_time': x.observed_time_unix_nano}
        kept.update({k: v for k, v in times.items() if v})
        kept.update({'kiln.splunk.record': {'name': x.name}} if x.name else {})
        if text['profiling.data.type'] == 'allocation':
            out.append((*about, 'alloc_space', 'bytes', 0, kept, collections.Counter(observation(w, w.values[0]) for w in rows)))
            continue
        period, = {dict(w.labels)['source.event.period'] * MS for w in rows} or {0}
        out.append((*about, 'samples', 'count', period, kept, collections.Counter(observation(w, 1) for w in rows)))
        out.append((*about, 'wall', 'nanoseconds', period, kept, collections.Counter(observation(w, period) for w in rows)))
    return sorted(out, key=repr)


def from_profiles(data):
    """The same of a ProfilesData."""
    out, d = [], data.dictionary
    text = d.string_table
    table = lambda indices: {text[a.key_strindex]: plain(a.value) for a in (d.attribute_table[i] for i in indices)}

    def frames(stack):
        for place in (d.location_table[i] for i in d.stack_table[stack].location_indices):
            for line in place.lines:
                f = d.function_table[line.function_index]
                yield text[f.name_strindex], text[f.filename_strindex], line.line

    for r, s, p in ((r, s, p) for r in data.resource_profiles for s in r.scope_profiles for p in s.profiles):
        found = collections.Counter()
        for x in p.samples:
            link = d.link_table[x.link_index]
            ids = (link.trace_id.hex(), link.span_id.hex()) if x.link_index else ('', '')
            rest = tuple(sorted(table(x.attribute_indices).items()))
            for at, value in zip(x.timestamps_unix_nano, x.values, strict=True):
                found[tuple(frames(x.stack_index)), at, value, ids, rest] += 1
        kept = {k: v for k, v in table(p.attribute_indices).items() if k != 'profiling.data.total.frame.count'}
        out.append((attributes(r.resource.attributes), (s.scope.name, s.scope.version), text[p.sample_type.type_strindex],
                    text[p.sample_type.unit_strindex], p.period, kept, found))
    return sorted(out, key=repr)


def plain(value):
    kind = value.WhichOneof('value')
    if kind == 'array_value':
        return [plain(v) for v in value.array_value.values]
    return attributes(value.kvlist_value.values) if kind == 'kvlist_value' else getattr(value, kind)


def attributes(values):
    return {k.key: plain(k.value) for k in values}
