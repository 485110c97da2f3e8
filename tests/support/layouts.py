"""Facts of OTLP messages (tests/vectors/facts.py: Google's protobuf, without code of Kiln) in a form that messages of an old layout
and what kiln made of them in today's share: what an old layout has no other home for is in attributes under pprof.* and kiln.*,
which unit tests check."""
import json
import os
import sys

VECTORS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'vectors')
sys.path.insert(0, VECTORS)
import facts as reader  # noqa: E402

LAYOUTS = ['v1_3', 'v1_4', 'v1_5', 'v1_6', 'v1_7', 'v1_8', 'v1_9', 'v1_10']
# Empty or nearly empty bytes fit every layout; facts.py ignores a profile without a sample type, which is one untyped profile
# for Kiln.
UNTYPED = {'empty', 'near_empty', 'minimal'}


def text(x):
    return json.dumps(x, sort_keys=True)


def number(layout):
    return int(layout[3:])


def is_old(layout):
    """Whether a profile may have several types, and one value for several timestamps."""
    return number(layout) < 8


def ours(key):
    return key.startswith(('pprof.', 'kiln.')) and not key.startswith('kiln.test.')


def plain(attributes):
    return {k: v for k, v in attributes.items() if not ours(k)}


def sample(s, old):
    """v1.3 ... v1.7 have one value for several timestamps; Kiln spreads it over them, so sums are compared."""
    values = [sum(s['values'])] if old and len(s['timestamps']) > 1 else s['values']
    return [s['stack'], s['modules'], s['frame_types'], values, s['timestamps'], s['link'], plain(s['attributes'])]


def mapping(m):
    """v1.3 has a field for the build id."""
    out = {**m, 'attributes': plain(m['attributes'])}
    build_id, kind = out.pop('build_id', None), out.pop('build_id_kind', None)
    if kind == 'linker':
        out['attributes']['process.executable.build_id.gnu'] = build_id
    return out


def profile(p, old):
    keep = ['sample_type', 'unit', 'period', 'period_type', 'period_unit', 'time_unix_nano', 'duration_nano', 'profile_id',
            'dropped_attributes_count', 'original_payload', 'original_payload_format', 'n_samples', 'total']
    return {**{k: p.get(k) for k in keep}, 'attributes': plain(p['attributes']),
            'mappings': sorted((mapping(m) for m in p['mappings']), key=text),
            'samples': sorted((sample(s, old) for s in p['samples']), key=text)}


def scattered(k):
    """SplitMix64, as in profile_id_derive of src/model/model.c."""
    full = (1 << 64) - 1
    z = k * 0x9e3779b97f4a7c15 & full
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & full
    z = (z ^ z >> 27) * 0x94d049bb133111eb & full
    return z ^ z >> 31


def lead_back(found):
    """A profile of several types has one id; each profile that Kiln creates from it has its own id, derived from that one."""
    ids = {x['profile']['profile_id'] for x in found if x['profile']['profile_id']}
    whole = {}
    for i in ids:
        for k in range(1, 32):
            halves = (int(i[:16], 16) + scattered(2 * k), int(i[16:], 16) + scattered(2 * k + 1))
            derived = ''.join('%016x' % (h & (1 << 64) - 1) for h in halves)
            if derived in ids:
                whole[derived] = i
    for x in found:
        x['profile']['profile_id'] = whole.get(x['profile']['profile_id'], x['profile']['profile_id'])


def profiles(facts, old):
    """Every profile with its resource and scope, in a canonical order."""
    out = []
    for r in facts['resources']:
        about = {k: r.get(k) for k in ('attributes', 'dropped_attributes_count', 'schema_url', 'entity_refs')}
        for s in r['scopes']:
            scope = {k: s[k] for k in ('name', 'version', 'schema_url', 'dropped_attributes_count')}
            out += [{'resource': about, 'scope': {**scope, 'attributes': plain(s['attributes'])}, 'profile': profile(p, old)}
                    for p in s['profiles']]
    if old:
        lead_back(out)
    return sorted(out, key=lambda x: (x['profile']['profile_id'], x['profile']['sample_type'], text(x)))


def differ(a, b, path=''):
    """The first difference between two of these, or None."""
    if type(a) is not type(b):
        return f'{path}: {a!r} and {b!r}'
    if isinstance(a, dict):
        for k in sorted(set(a) | set(b)):
            if k not in a or k not in b:
                return f'{path}.{k}: only on one side'
            found = differ(a[k], b[k], f'{path}.{k}')
            if found:
                return found
        return None
    if isinstance(a, list):
        if len(a) != len(b):
            return f'{path}: {len(a)} and {len(b)} entries'
        return next((f for i, (x, y) in enumerate(zip(a, b)) for f in [differ(x, y, f'{path}[{i}]')] if f), None)
    return None if a == b else f'{path}: {a!r} and {b!r}'
