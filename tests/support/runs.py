"""`kiln run` for tests in tests/e2e: a directory to run in, and the profile decoded by protoc's code."""
import json
import os
import subprocess
import tempfile

from receivers import KILN, need, otlp


class Place:
    """A working directory, and a directory for temporary files that must be empty at the end."""
    command, hz = 'run', 250

    def __init__(self, top, **env):
        self.dir = tempfile.mkdtemp(dir=top)
        self.tmp = tempfile.mkdtemp(dir=top, prefix='tmp')
        self.home = tempfile.mkdtemp(dir=top, prefix='home')
        clean = {k: v for k, v in os.environ.items() if not k.startswith(('OTEL_', 'KILN_', 'SPLUNK_')) and k != 'LD_PRELOAD'}
        self.env = {**clean, 'TMPDIR': self.tmp, 'HOME': self.home, **env}
        self.summary = None

    def argv(self, *args):
        return [KILN, self.command, '--no-html', '--json=summary.json', '--hz', str(self.hz), *args]

    def run(self, *args, stdin=b'', before=(), timeout=120, **more):
        """before: a command that kiln's arguments are appended to."""
        p = subprocess.run([*before, *self.argv(*args)], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.dir,
                           env=self.env, timeout=timeout, check=False, **more)
        need(not os.listdir(self.tmp), ('temporary files are left', os.listdir(self.tmp)))
        self.summary = None
        if os.path.exists(self.path('summary.json')):
            with open(self.path('summary.json'), encoding='utf-8') as f:
                self.summary = json.load(f)
        return p.returncode, p.stdout, p.stderr.decode()

    def path(self, name):
        return os.path.join(self.dir, name)

    def profile(self, name='x.otlp'):
        with open(self.path(name), 'rb') as f:
            return Profile(otlp.ProfilesData.FromString(f.read()))


class Profile:
    """samples: (type, pid, [function, leaf first], attributes, trace id, values, times, span id)."""

    def __init__(self, data):
        d = data.dictionary
        text = d.string_table
        self.samples = []
        self.services = set()
        self.resources = []

        def attrs(indices):
            out = {}
            for i in indices:
                a = d.attribute_table[i]
                out[text[a.key_strindex]] = a.value.int_value if a.value.HasField('int_value') else a.value.string_value
            return out

        def names(stack):
            return [text[d.function_table[line.function_index].name_strindex]
                    for at in d.stack_table[stack].location_indices for line in d.location_table[at].lines]
        for r in data.resource_profiles:
            about = {a.key: a.value.int_value or a.value.string_value for a in r.resource.attributes}
            self.services.add(about.get('service.name'))
            self.resources.append(about)
            for sp in r.scope_profiles:
                for p in sp.profiles:
                    kind = text[p.sample_type.type_strindex]
                    for s in p.samples:
                        link = d.link_table[s.link_index]
                        self.samples.append((kind, about.get('process.pid'), names(s.stack_index), attrs(s.attribute_indices),
                                             link.trace_id, list(s.values), list(s.timestamps_unix_nano), link.span_id))

    def total(self, kind='cpu', having=None, pid=None):
        return sum(sum(s[5]) for s in self.samples
                   if s[0] == kind and (not having or having in s[2]) and (pid is None or s[1] == pid))

    def pids(self, kind='cpu', having=None):
        return {s[1] for s in self.samples if s[0] == kind and (not having or having in s[2])}
