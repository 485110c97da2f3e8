"""Trees of stacks, and decoders of Pyroscope's flame graphs, written from the description of the encoding. A tree is
{path: ([total of each side], [self of each side])}, where a path is a tuple of names from the root."""
import collections


def tree_of(sides):
    """{path: ([total of each side], [self of each side])}, without nodes whose totals are 0."""
    total, own = collections.defaultdict(lambda: [0] * len(sides)), collections.defaultdict(lambda: [0] * len(sides))
    total[()] = [0] * len(sides)   # there is always a root
    for i, stacks in enumerate(sides):
        for names, value in stacks:
            own[tuple(names)][i] += value
            for n in range(len(names) + 1):
                total[tuple(names[:n])][i] += value
    return {path: (total[path], own[path]) for path in total if any(total[path]) or not path}


def prune(tree, most):
    """Pyroscope's rule: the limit is the size of the most-th largest node; smaller ones, and any with this name, become `other`."""
    sizes = sorted((max(t) for path, (t, _) in tree.items() if path), reverse=True)
    least = sizes[most - 1] if 0 < most < len(sizes) else 0
    kept, other = {}, collections.defaultdict(lambda: [0] * len(tree[()][0]))
    for path in sorted(tree, key=len):
        totals, own = tree[path]
        if not path or (path[:-1] in kept and max(totals) >= least and path[-1] != 'other'):
            kept[path] = (totals, own)
        elif path[:-1] in kept:
            other[path[:-1]] = [a + b for a, b in zip(other[path[:-1]], totals)]
    kept.update({path + ('other',): (v, v) for path, v in other.items()})
    return kept


# ---- decoders: [(path, [totals], [selfs])] in the order of the boxes

def decode_levels(names, levels, sides):
    size = 3 * sides + 1
    assert names[levels[0][-1]] == 'total' and levels[0][-1] == 0 and len(levels[0]) == size, levels[0]
    assert len(set(names)) == len(names), 'a name is repeated'
    out, above = [], None
    for values in levels:
        row, end, up = [], [0] * sides, 0
        assert len(values) % size == 0 and len(values) > 0
        for i in range(0, len(values), size):
            box = values[i:i + size]
            assert all(box[3 * s] >= 0 for s in range(sides)), box
            totals, own = [box[3 * s + 1] for s in range(sides)], [box[3 * s + 2] for s in range(sides)]
            start = [box[3 * s] + end[s] for s in range(sides)]
            end = [start[s] + totals[s] for s in range(sides)]
            path = ()
            if above is not None:
                assert any(totals), 'a box without width'
                wide = next(s for s in range(sides) if totals[s])   # the side on which the parent can be found
                while not (start[wide] >= above[up][1][wide] + above[up][3][wide] and end[wide] <= above[up][1][wide] + above[up][2][wide]):
                    up += 1
                for s in range(sides):
                    if totals[s]:
                        assert above[up][1][s] + above[up][3][s] <= start[s] and end[s] <= above[up][1][s] + above[up][2][s]
                path = above[up][0] + (names[box[-1]],)
            row.append((path, start, totals, own))
        out += [(path, totals, own) for path, _, totals, own in row]
        above = row
    return out


def decode_tree(data):
    """Names, self values and numbers of children before each other; of siblings the last one comes first."""
    if not data:
        return []
    at = 0

    def varint():
        nonlocal at
        v = shift = 0
        while True:
            v |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                return v

    out, order, waiting = [], collections.defaultdict(list), [None]
    while waiting:
        above = waiting.pop()
        n = varint()
        name = data[at:at + n].decode()
        at += n
        own, children = varint(), varint()
        path = () if above is None else above + (name,)
        if above is not None:
            order[above].append(name)
        out.append([path, own, own])
        waiting += [path] * children
    assert at == len(data), 'bytes are left'
    for names in order.values():
        raw = [x.encode() for x in names]
        assert raw == sorted(raw, reverse=True) and len(set(raw)) == len(raw), names
    sums = {tuple(path): 0 for path, _, _ in out}
    for path, own, _ in out:
        for n in range(len(path) + 1):
            sums[path[:n]] += own
    return [(path, [sums[path]], [own]) for path, own, _ in out]


def same(got, want):
    """Compares boxes with a tree."""
    found = {path: (totals, own) for path, totals, own in got}
    if len(found) != len(got):
        return 'a path is repeated'
    for path in set(found) | set(want):
        if found.get(path) != want.get(path):
            return '%r: %r, expected %r' % (path, found.get(path), want.get(path))
    return ''
