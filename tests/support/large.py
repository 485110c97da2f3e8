"""Large OTLP files, written byte by byte: fast, and independent of Kiln's code.

Profiles differ in their time and first sample; all share a dictionary of STACKS stacks.  SHAPES: `profiles` is one message of many
profiles, `profile` one message of one profile, `framed` a file of many messages (the Collector's framing)."""
import random
import struct

STACKS, FUNCTIONS, DEPTH, THREADS = 2000, 500, 30, 16
SAMPLES = 2000  # samples of each of many profiles
BEGIN = 1_700_000_000_000_000_000


def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)
    return bytes(out)


def field(number, bytes_):
    return varint(number << 3 | 2) + varint(len(bytes_)) + bytes_


def number(n, v):
    return varint(n << 3) + varint(v) if v else b''


def fixed(n, v):
    return varint(n << 3 | 1) + struct.pack('<Q', v)


def packed(n, values):
    return field(n, b''.join(map(varint, values)))


def dictionary(rng):
    strings = ['', 'cpu', 'nanoseconds', 'thread.id'] + ['function_number_%d' % i for i in range(FUNCTIONS)]
    out = [field(1, b'')]  # mapping 0
    out += [field(2, b'')] + [field(2, number(2, 4096 + 16 * i) + field(3, number(1, i + 1) + number(2, i + 1))) for i in range(FUNCTIONS)]
    out += [field(3, b'')] + [field(3, number(1, 4 + i)) for i in range(FUNCTIONS)]
    out += [field(4, b'')]
    out += [field(5, s.encode()) for s in strings]
    out += [field(6, b'')] + [field(6, number(1, 3) + field(2, number(3, i + 1))) for i in range(THREADS)]
    out += [field(7, b'')] + [field(7, packed(1, [rng.randrange(1, FUNCTIONS + 1) for _ in range(DEPTH)])) for _ in range(STACKS)]
    return b''.join(out)


def sample(rng, time):
    return field(2, number(1, rng.randrange(1, STACKS + 1)) + packed(2, [rng.randrange(1, THREADS + 1)]) +
                 packed(4, [rng.randrange(1_000_000, 20_000_000)]) + field(5, struct.pack('<Q', time)))


def blobs(rng, n=20):
    """Blocks of SAMPLES samples, shared by several profiles: creating every sample separately takes too long."""
    return [b''.join(sample(rng, BEGIN + i * 10_000_000) for i in range(SAMPLES)) for _ in range(n)]


def profile(i, samples, rng):
    return field(1, number(1, 1) + number(2, 2)) + sample(rng, BEGIN + i) + samples + fixed(3, BEGIN + i * 1000) + \
        number(4, SAMPLES * 10_000_000)


def data(profiles, words):
    service = field(1, field(1, b'service.name') + field(2, field(1, b'large')))
    return field(1, field(1, service) + field(2, b''.join(field(2, p) for p in profiles))) + field(2, words)


def write(path, shape, size, seed=1):
    """Writes about `size` bytes; returns the number of profiles."""
    rng = random.Random(seed)
    words, pool = dictionary(rng), blobs(rng)
    each = 16 if shape == 'framed' else size  # profiles per message
    one = len(pool[0]) + 60 + len(words) // each
    n = size // one
    with open(path, 'wb') as f:
        if shape == 'profile':
            f.write(data([profile(0, b''.join(pool[i % len(pool)] for i in range(n)), rng)], words))
            return 1
        for at in range(0, n, each):
            m = data([profile(i, pool[i % len(pool)], rng) for i in range(at, min(n, at + each))], words)
            f.write((struct.pack('>I', len(m)) if shape == 'framed' else b'') + m)
    return n


if __name__ == '__main__':
    import sys
    print(write(sys.argv[1], sys.argv[2], int(sys.argv[3])))
