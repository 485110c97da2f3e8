"""Reads samples of OTLP profile files with code that protoc generates, independently of Kiln."""
import collections
import glob
import os
import subprocess
import sys
import tempfile

SRC = os.environ.get('KILN_SRC', os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PROTO = os.path.join(SRC, 'tests', 'vectors', 'proto')

# One per timestamp.  frames: names, leaf first.  link: (trace id, span id) in hex, or None.
Sample = collections.namedtuple('Sample', 'type value time frames attrs link pid')


def message():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(['protoc', '-I', PROTO, '--python_out', folder, 'v1_10.proto'], check=True)
        sys.path.insert(0, folder)
        import v1_10_pb2  # noqa: PLC0415
        sys.path.remove(folder)
    return v1_10_pb2.ProfilesData


ProfilesData = message()


def plain(value):
    kind = value.WhichOneof('value')
    return getattr(value, kind) if kind else None


class Dictionary:
    def __init__(self, d):
        self.d, self.known = d, {}

    def text(self, i):
        return self.d.string_table[i]

    def attrs(self, indices):
        table = self.d.attribute_table
        return {self.text(table[i].key_strindex): plain(table[i].value) for i in indices}

    def frames(self, stack):
        if stack not in self.known:
            names = []
            for at in self.d.stack_table[stack].location_indices:
                location = self.d.location_table[at]
                names += [self.text(self.d.function_table[line.function_index].name_strindex) for line in location.lines] \
                    or [f'0x{location.address:x}']
            self.known[stack] = names
        return self.known[stack]

    def link(self, i):
        link = self.d.link_table[i] if i else None
        return (link.trace_id.hex(), link.span_id.hex()) if link and any(link.trace_id) else None


def of_file(path):
    with open(path, 'rb') as f:
        data = ProfilesData.FromString(f.read())
    d = Dictionary(data.dictionary)
    for resource in data.resource_profiles:
        pid = {a.key: plain(a.value) for a in resource.resource.attributes}.get('process.pid')
        for profile in (p for scope in resource.scope_profiles for p in scope.profiles):
            kind = d.text(profile.sample_type.type_strindex)
            for s in profile.samples:
                frames, attrs, link = d.frames(s.stack_index), d.attrs(s.attribute_indices), d.link(s.link_index)
                times = s.timestamps_unix_nano or [0] * len(s.values)
                for value, time in zip(s.values, times):
                    yield Sample(kind, value, time, frames, attrs, link, pid)


def of_folder(folder):
    return [s for path in sorted(glob.glob(os.path.join(folder, '*.otlp'))) for s in of_file(path)]
