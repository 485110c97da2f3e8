"""otep_shapes - the encodings of the published benchmark (OTEP 0239), with the losses they were measured with.

The figures of the merged OTEP come from five converters that drop sample types, times, period, comments and units,
treat pprof's ids as indexes, and write the first value for every type in `arrays`.  Each function here
writes those bytes again from a pprof file, so that a lossless encoding can be compared with figures whose origin is known.  encode() yields pieces, because a denormalized profile may be a gigabyte."""
from collections import namedtuple

ID = bytes(range(1, 17))
STAMP = 1700000000  # the converters used the current time in seconds
SHAPES = ['pprof', 'denormalized', 'normalized', 'arrays', 'otep239', 'otlp']

Sample = namedtuple('Sample', 'locations values labels')
Pprof = namedtuple('Pprof', 'types samples mappings locations functions strings')


# ---- protobuf ----

def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v >= 0x80:
        out.append(v & 0x7f | 0x80)
        v >>= 7
    out.append(v)
    return bytes(out)


SMALL = [varint(i) for i in range(1 << 15)]


def packed_body(values):
    return b''.join(SMALL[v] if 0 <= v < len(SMALL) else varint(v) for v in values)


def num(field, v):
    return varint(field << 3) + varint(v) if v else b''


def sub(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


def text(field, s):
    return sub(field, s) if s else b''


def packed(field, values):
    return sub(field, packed_body(values)) if values else b''


def fixed(field, values):
    return sub(field, b''.join((v & (1 << 64) - 1).to_bytes(8, 'little') for v in values)) if values else b''


def stamp(field, v):
    return varint(field << 3 | 1) + v.to_bytes(8, 'little') if v else b''


def fields(b):
    """Yields (number, value) for each field of a message; value is an int or bytes."""
    i, n = 0, len(b)
    while i < n:
        key, i = take(b, i)
        if key & 7 == 2:
            size, i = take(b, i)
            yield key >> 3, b[i:i + size]
            i += size
        elif key & 7 == 0:
            v, i = take(b, i)
            yield key >> 3, v
        else:
            i += 8 if key & 7 == 1 else 4


def take(b, i):
    v = shift = 0
    while True:
        c = b[i]
        i += 1
        v |= (c & 0x7f) << shift
        if c < 0x80:
            return v, i
        shift += 7


def numbers(value):
    """Returns the numbers of a packed list, or the one element of an unpacked one."""
    if isinstance(value, int):
        return [value]
    out, v, shift = [], 0, 0
    for c in value:
        v |= (c & 0x7f) << shift
        if c < 0x80:
            out.append(v)
            v = shift = 0
        else:
            shift += 7
    return out


def record(b, *lists):
    """Returns a message as a dict; each field in `lists` is a list of its occurrences."""
    out = {f: [] for f in lists}
    for f, v in fields(b):
        if f in out and isinstance(out[f], list):
            out[f].append(v)
        else:
            out[f] = v
    return out


# ---- the input ----

def read_sample(b):
    locations, values, labels = [], [], []
    for f, v in fields(b):
        if f == 1:
            locations += numbers(v)
        elif f == 2:
            values += numbers(v)
        elif f == 3:
            label = record(v)
            labels.append((label.get(1, 0), label.get(2, 0), label.get(3, 0)))
    return Sample(locations, values, labels)


def read_pprof(b):
    types, samples, mappings, locations, functions, strings = [], [], [], [], [], []
    for f, v in fields(b):
        if f == 1:
            types.append(record(v))
        elif f == 2:
            samples.append(read_sample(v))
        elif f == 3:
            mappings.append(record(v))
        elif f == 4:
            location = record(v, 4)
            location[4] = [record(line) for line in location[4]]
            locations.append(location)
        elif f == 5:
            functions.append(record(v))
        elif f == 6:
            strings.append(v)
    return Pprof(types, samples, mappings, locations, functions, strings)


def with_timestamps(p):
    """Turns each unit of the first value into a sample with a timestamp, as in "average + timestamps"."""
    strings = p.strings + [b'__timestamp__']
    label = (len(strings) - 1, 0, STAMP)
    samples = [Sample(s.locations, [1, 1], s.labels + [label]) for s in p.samples for _ in range(s.values[0])]
    return p._replace(strings=strings, samples=samples)


def write_pprof(p):
    """Returns the profile as a pprof file, with only the parts that read_pprof stored."""
    out = [sub(1, num(1, t.get(1, 0)) + num(2, t.get(2, 0))) for t in p.types]
    out += [sub(2, pprof_sample(s)) for s in p.samples]
    out += [sub(3, pprof_mapping(m, lambda i: i)) for m in p.mappings]
    out += [sub(4, pprof_location(l)) for l in p.locations]
    out += [sub(5, pprof_function(f, lambda i: i)) for f in p.functions]
    return b''.join(out + [sub(6, s) for s in p.strings])


# ---- shared by the shapes ----

class Strings:
    """Strings in the order of first use."""

    def __init__(self, p):
        self.old, self.new, self.at = p.strings, [b''], {0: 0}

    def __call__(self, i):
        if i not in self.at:
            self.at[i] = len(self.new)
            self.new.append(self.old[i])
        return self.at[i]

    def put(self, field):
        return b''.join(sub(field, s) for s in self.new)


def time_of(p, s):
    return next((n for k, _, n in s.labels if p.strings[k] == b'__timestamp__'), 0)


def labels_of(p, s):
    """Returns (key, text) of each label; a numeric label has an empty text, as in every converter."""
    return [(k, v) for k, v, _ in s.labels if p.strings[k] != b'__timestamp__']


def keyvalues(p, field, labels):
    return b''.join(sub(field, text(1, p.strings[k]) + sub(2, sub(1, p.strings[v]))) for k, v in labels)


def put_lines(field, location):
    return b''.join(sub(field, num(1, line.get(1, 0)) + num(2, line.get(2, 0))) for line in location[4])


def table_mapping(m, s):
    return num(1, m.get(2, 0)) + num(2, m.get(3, 0)) + num(3, m.get(4, 0)) + num(4, s(m.get(5, 0))) + num(5, s(m.get(6, 0)))


def table_location(l):
    return num(1, l.get(2, 0)) + num(2, l.get(3, 0)) + put_lines(3, l)


def table_function(f, s):
    return num(1, s(f.get(2, 0))) + num(2, s(f.get(3, 0))) + num(3, s(f.get(4, 0))) + num(4, f.get(5, 0))


def interned(keys):
    """Returns (index of each key, the distinct keys), in the order of first use."""
    at = {}
    return [at.setdefault(k, len(at)) for k in keys], list(at)


# ---- the shapes: bytes of the profile itself, in pieces ----

def pprof_mapping(m, s, ids=True):
    flags = b''.join(num(f, m.get(f, 0)) for f in (7, 8, 9, 10)) if ids else b''
    return (num(1, m.get(1, 0)) if ids else b'') + num(2, m.get(2, 0)) + num(3, m.get(3, 0)) + num(4, m.get(4, 0)) + \
        num(5, s(m.get(5, 0))) + num(6, s(m.get(6, 0))) + flags


def pprof_location(l, ids=True):
    return (num(1, l.get(1, 0)) if ids else b'') + num(2, l.get(2, 0)) + num(3, l.get(3, 0)) + put_lines(4, l) + \
        (num(5, l.get(5, 0)) if ids else b'')


def pprof_function(f, s, ids=True):
    return (num(1, f.get(1, 0)) if ids else b'') + num(2, s(f.get(2, 0))) + num(3, s(f.get(3, 0))) + \
        num(4, s(f.get(4, 0))) + num(5, f.get(5, 0))


def pprof_sample(s, string=lambda i: i):
    labels = b''.join(sub(3, num(1, k) + num(2, string(v)) + num(3, n)) for k, v, n in s.labels)
    return packed(1, s.locations) + packed(2, s.values) + labels


def as_pprof(p):
    s = Strings(p)
    mappings = b''.join(sub(3, pprof_mapping(m, s)) for m in p.mappings)
    functions = b''.join(sub(5, pprof_function(f, s)) for f in p.functions)
    yield b''.join(sub(2, pprof_sample(x, s)) for x in p.samples)
    yield mappings + b''.join(sub(4, pprof_location(l)) for l in p.locations) + functions + s.put(6)


def denormalized_location(p, i):
    if i >= len(p.locations):
        return b''
    lines = b''
    for line in p.locations[i][4]:
        at = line.get(1, 0)
        f = p.functions[at] if at < len(p.functions) else None
        body = f and text(1, p.strings[f.get(2, 0)]) + text(2, p.strings[f.get(3, 0)]) + \
            text(3, p.strings[f.get(4, 0)]) + num(4, f.get(5, 0))
        lines += sub(3, sub(1, body or b'') + num(2, line.get(2, 0)))
    return lines


def as_denormalized(p):
    cache = [sub(1, denormalized_location(p, i)) for i in range(len(p.locations) + 1)]
    last = len(cache) - 1
    for s in p.samples:
        stack = b''.join([cache[min(i, last)] for i in s.locations])
        yield sub(2, sub(1, stack) + keyvalues(p, 3, labels_of(p, s)) + fixed(5, s.values) + stamp(6, time_of(p, s)))


def as_normalized(p):
    s = Strings(p)
    mappings = b''.join(sub(4, table_mapping(m, s)) for m in p.mappings)
    functions = b''.join(sub(6, table_function(f, s)) for f in p.functions)
    stack, stacks = interned(tuple(x.locations) for x in p.samples)
    attrs, sets = interned(tuple(labels_of(p, x)) for x in p.samples)
    yield b''.join(sub(2, packed(1, x)) for x in stacks)
    yield b''.join(sub(3, num(1, stack[i]) + packed(3, [attrs[i]]) + packed(4, x.values) + stamp(5, time_of(p, x)))
                   for i, x in enumerate(p.samples))
    yield mappings + b''.join(sub(5, table_location(l)) for l in p.locations) + functions
    yield b''.join(sub(8, keyvalues(p, 1, x)) for x in sets) + s.put(9)


def as_arrays(p):
    s = Strings(p)
    functions = b''.join(sub(6, table_function(f, s)) for f in p.functions)
    mappings = b''.join(sub(4, table_mapping(m, s)) for m in p.mappings)
    stack, stacks = interned(tuple(x.locations) for x in p.samples)
    attrs, sets = interned(tuple(labels_of(p, x)) for x in p.samples)
    times = [time_of(p, x) for x in p.samples]
    # entry 0 is the empty set, and the set of a sample without labels is another one
    column = packed(10, stack) + packed(12, [i + 1 for i in attrs]) + packed(13, [x.values[0] for x in p.samples]) + \
        (packed(14, times) if any(times) else b'')
    yield b''.join(sub(2, packed(1, x)) for x in stacks)
    yield mappings + b''.join(sub(5, table_location(l)) for l in p.locations) + functions
    yield sub(7, b'\x0a\x00\x12\x00') + sub(8, b'') + b''.join(sub(8, keyvalues(p, 1, x)) for x in sets) + s.put(9)
    yield sub(10, column) * len(p.types)


class Slices:
    """Stacks as slices of one list, found the way the converter did: the last occurrence, except one that ends
    where the list does."""
    HEAD = 4

    def __init__(self):
        self.list, self.seen = [], {}

    def find(self, stack):
        n, head = len(stack), tuple(stack[:self.HEAD])
        if n < self.HEAD:
            last = len(self.list) - n
            return next((i for i in range(last - 1, -1, -1) if self.list[i:i + n] == stack), -1) if n else -1
        for i in reversed(self.seen.get(head, ())):
            if i < len(self.list) - n and self.list[i:i + n] == stack:
                return i
        return -1

    def place(self, stack):
        at = self.find(stack)
        if at >= 0:
            return at
        at = len(self.list)
        self.list += stack
        for i in range(max(0, at - self.HEAD + 1), len(self.list) - self.HEAD + 1):
            self.seen.setdefault(tuple(self.list[i:i + self.HEAD]), []).append(i)
        return at


def as_otep239(p):
    s = Strings(p)
    mappings = b''.join(sub(3, pprof_mapping(m, s, ids=False)) for m in p.mappings)
    functions = b''.join(sub(5, pprof_function(f, s, ids=False)) for f in p.functions)
    slices, samples = Slices(), []
    for x in sorted(p.samples, key=lambda x: -len(x.locations)):
        at, t = slices.place(x.locations), time_of(p, x)
        samples.append(sub(2, packed(2, x.values) + num(4, at) + num(5, len(x.locations)) + packed(6, [t] if t else [])))
    yield b''.join(samples)
    yield mappings + b''.join(sub(4, pprof_location(l, ids=False)) for l in p.locations) + functions + s.put(6)
    yield packed(15, slices.list)


# ---- envelopes ----

FIELD = {'pprof': 101, 'normalized': 102, 'arrays': 103, 'denormalized': 104, 'otep239': 105}
WRITE = {'pprof': as_pprof, 'normalized': as_normalized, 'arrays': as_arrays, 'denormalized': as_denormalized,
         'otep239': as_otep239}


def head(field, size):
    return varint(field << 3 | 2) + varint(size)


def encode(p, shape):
    """Yields the message of the benchmark in pieces."""
    if shape == 'otlp':
        yield as_otlp(p)
        return
    size = sum(len(x) for x in WRITE[shape](p))
    container = sub(1, ID) + head(FIELD[shape], size)
    scope = sub(1, b'') + head(2, len(container) + size)
    schema = sub(3, b'todo')
    resource = sub(1, b'') + head(2, len(scope) + len(container) + size)
    yield head(1, len(resource) + len(scope) + len(container) + size + len(schema))
    yield resource + scope + container
    yield from WRITE[shape](p)
    yield schema


def as_otlp(p):
    """Encodes current OTLP (v1.10) with the same losses: a Profile for each type, without its type."""
    s = Strings(p)
    zero = lambda f: sub(f, b'')
    mappings = b''.join(sub(1, num(1, m.get(2, 0)) + num(2, m.get(3, 0)) + num(3, m.get(4, 0)) + num(4, s(m.get(5, 0))))
                        for m in p.mappings)
    functions = b''.join(sub(3, table_function(f, s)) for f in p.functions)
    locations = b''.join(sub(2, table_location(l)) for l in p.locations)
    stack, stacks = interned(tuple(x.locations) for x in p.samples)
    pairs, attrs = interned(k for x in p.samples for k in labels_of(p, x))
    pairs = iter(pairs)
    refs = [[next(pairs) + 1 for _ in labels_of(p, x)] for x in p.samples]
    attributes = b''.join(sub(6, num(1, s(k)) + sub(2, sub(1, p.strings[v]))) for k, v in attrs)
    times = [time_of(p, x) for x in p.samples]
    dictionary = zero(1) + mappings + zero(2) + locations + zero(3) + functions + zero(4) + s.put(5) + zero(6) + \
        attributes + zero(7) + b''.join(sub(7, packed(1, x)) for x in stacks)
    profiles = b''
    for k in range(len(p.types)):
        rows = b''.join(sub(2, num(1, stack[i] + 1) + packed(2, refs[i]) + packed(4, [x.values[k]]) +
                            (sub(5, times[i].to_bytes(8, 'little')) if times[i] else b''))
                        for i, x in enumerate(p.samples))
        profiles += sub(2, rows + sub(7, ID))
    return sub(1, sub(2, profiles) + sub(3, b'todo')) + sub(2, dictionary)
