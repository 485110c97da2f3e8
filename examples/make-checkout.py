#!/usr/bin/python3
"""Writes examples/checkout.otlp: 30 seconds of a web shop's checkout service.

    examples/make-checkout.py > examples/checkout.otlp

A Go service that scores every order for fraud in a C++ library. It has two profiles: cpu (nanoseconds, one
timestamp per observation, linked to the spans of the requests) and alloc_space (bytes). It has inlined C++
frames, build ids on all mappings, and thread names. Every run writes the same bytes; it needs only python3.
"""
import hashlib
import struct
import sys

# ---- protobuf, by hand


def varint(n):
    out = bytearray()
    while n > 0x7f:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def uint(number, v):
    return varint(number << 3) + varint(v) if v else b''


def fixed64(number, v):
    return varint(number << 3 | 1) + struct.pack('<Q', v) if v else b''


def data(number, b):
    return varint(number << 3 | 2) + varint(len(b)) + b


def packed(number, values):
    return data(number, b''.join(map(varint, values))) if values else b''


def message(number, *parts):
    return data(number, b''.join(parts))


class Table:
    """Interned entries; entry 0 is the zero value."""

    def __init__(self, zero):
        self.index, self.entries = {zero: 0}, [zero]

    def add(self, entry):
        if entry not in self.index:
            self.index[entry] = len(self.entries)
            self.entries.append(entry)
        return self.index[entry]


strings, mappings, locations, functions, links, attributes, stacks = (Table(b'') for _ in range(7))


def text(s):
    return strings.add(s.encode())


def any_string(s):
    return data(1, s.encode())


def any_int(n):
    return varint(3 << 3) + varint(n)


def attribute(key, value):
    return attributes.add(uint(1, text(key)) + message(2, value))


def key_value(key, value):
    return message(1, key.encode()) + message(2, value)


# ---- the program: (module, frame type, address, source file, [(function, system name, line), ...])
# Several functions at one address are inlined calls, innermost first.

MODULES = {
    'checkout': ('/srv/checkout/bin/checkout', 0x400000, 0x1c00000),
    'scoring': ('/srv/checkout/lib/libscoring.so.3', 0x7f41a0000000, 0x7f41a0240000),
    'libc': ('/usr/lib/x86_64-linux-gnu/libc.so.6', 0x7f41b4a00000, 0x7f41b4bd0000),
    'kernel': ('[kernel.kallsyms]', 0xffffffff81000000, 0xffffffff82400000),
}
FRAMES = {}


def frame(short, module, kind, offset, source, *lines):
    FRAMES[short] = (module, kind, MODULES[module][1] + offset, source, lines)


GO = ('checkout', 'go')
frame('goexit', *GO, 0x6b2e1, '/usr/local/go/src/runtime/asm_amd64.s', ('runtime.goexit', '', 1700))
frame('mcall', *GO, 0x6ae2e, '/usr/local/go/src/runtime/asm_amd64.s', ('runtime.mcall', '', 459))
frame('serve', *GO, 0x2a1f35, '/usr/local/go/src/net/http/server.go', ('net/http.(*conn).serve', '', 2102))
frame('servehttp', *GO, 0x2a4c08, '/usr/local/go/src/net/http/server.go',
      ('net/http.HandlerFunc.ServeHTTP', '', 2220), ('net/http.serverHandler.ServeHTTP', '', 3301))
frame('otelhttp', *GO, 0x3f0b71, '/src/vendor/go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp/handler.go',
      ('otelhttp.(*middleware).serveHTTP', '', 176))
frame('place', *GO, 0x51a2c4, '/src/checkout/order.go', ('checkout/order.(*Service).Place', '', 88))
frame('price', *GO, 0x51b7d9, '/src/checkout/price.go', ('checkout/price.(*Engine).Total', '', 141))
frame('discount', *GO, 0x51bc10, '/src/checkout/price.go',
      ('checkout/price.applies', '', 203), ('checkout/price.(*Engine).discounts', '', 219))
frame('cart', *GO, 0x51e0f2, '/src/checkout/cart.go', ('checkout/cart.Load', '', 52))
frame('query', *GO, 0x4420a3, '/usr/local/go/src/database/sql/sql.go', ('database/sql.(*DB).QueryContext', '', 1745))
frame('scan', *GO, 0x443f5d, '/usr/local/go/src/database/sql/convert.go', ('database/sql.convertAssignRows', '', 391))
frame('unmarshal', *GO, 0x1f0d20, '/usr/local/go/src/encoding/json/decode.go', ('encoding/json.Unmarshal', '', 113))
frame('object', *GO, 0x1f2e88, '/usr/local/go/src/encoding/json/decode.go', ('encoding/json.(*decodeState).object', '', 755))
frame('literal', *GO, 0x1f41c7, '/usr/local/go/src/encoding/json/decode.go', ('encoding/json.(*decodeState).literalStore', '', 930))
frame('unquote', *GO, 0x1f5a63, '/usr/local/go/src/encoding/json/decode.go', ('encoding/json.unquoteBytes', '', 1193))
frame('marshal', *GO, 0x1f7b90, '/usr/local/go/src/encoding/json/encode.go', ('encoding/json.Marshal', '', 178))
frame('encode', *GO, 0x1f9d14, '/usr/local/go/src/encoding/json/encode.go', ('encoding/json.structEncoder.encode', '', 727))
frame('regexp', *GO, 0x1b81ea, '/usr/local/go/src/regexp/backtrack.go',
      ('regexp.(*bitState).shouldVisit', '', 81), ('regexp.(*Regexp).tryBacktrack', '', 170))
frame('match', *GO, 0x1b9406, '/usr/local/go/src/regexp/exec.go', ('regexp.(*Regexp).doExecute', '', 527))
frame('voucher', *GO, 0x51cf33, '/src/checkout/voucher.go', ('checkout/voucher.Valid', '', 37))
frame('mallocgc', *GO, 0x18c4f, '/usr/local/go/src/runtime/malloc.go', ('runtime.mallocgc', '', 1055))
frame('growslice', *GO, 0x4f8e2, '/usr/local/go/src/runtime/slice.go', ('runtime.growslice', '', 177))
frame('makeslice', *GO, 0x4f6a1, '/usr/local/go/src/runtime/slice.go', ('runtime.makeslice', '', 116))
frame('scanobject', *GO, 0x24d1b, '/usr/local/go/src/runtime/mgcmark.go',
      ('runtime.markBits.isMarked', '', 1392), ('runtime.greyobject', '', 1612), ('runtime.scanobject', '', 1446))
frame('drain', *GO, 0x24617, '/usr/local/go/src/runtime/mgcmark.go', ('runtime.gcDrain', '', 1201))
frame('bgmark', *GO, 0x21a90, '/usr/local/go/src/runtime/mgc.go', ('runtime.gcBgMarkWorker', '', 1412))
frame('schedule', *GO, 0x3d77c, '/usr/local/go/src/runtime/proc.go', ('runtime.findRunnable', '', 3354), ('runtime.schedule', '', 4022))
frame('write', *GO, 0x9c1e5, '/usr/local/go/src/syscall/zsyscall_linux_amd64.go', ('syscall.write', '', 964))
frame('fdwrite', *GO, 0x9f2a8, '/usr/local/go/src/internal/poll/fd_unix.go', ('internal/poll.(*FD).Write', '', 383))
frame('tls', *GO, 0x25c3f9, '/usr/local/go/src/crypto/tls/conn.go', ('crypto/tls.(*Conn).writeRecordLocked', '', 991))
frame('aesgcm', *GO, 0x12f6c0, '/usr/local/go/src/crypto/internal/fips140/aes/gcm/gcm_asm.go',
      ('crypto/internal/fips140/aes/gcm.gcmAesEnc', '', 0))
frame('cgocall', *GO, 0x5d0f, '/usr/local/go/src/runtime/cgocall.go', ('runtime.cgocall', '', 167))
frame('fraud', *GO, 0x520a4e, '/src/checkout/fraud.go', ('checkout/fraud.Score', '', 64))

CC = ('scoring', 'native')
frame('score', *CC, 0x1e2d0, '/src/scoring/api.cc', ('score_order', 'score_order', 31))
frame('forest', *CC, 0x24b18, '/src/scoring/forest.cc',
      ('scoring::Node::below(float) const', '_ZNK7scoring4Node5belowEf', 74),
      ('scoring::Tree::leaf(std::span<float const>) const', '_ZNK7scoring4Tree4leafESt4spanIKfLm18446744073709551615EE', 96),
      ('scoring::Forest::predict(std::span<float const>) const', '_ZNK7scoring6Forest7predictESt4spanIKfLm18446744073709551615EE', 131))
frame('features', *CC, 0x21f4a, '/src/scoring/features.cc',
      ('scoring::Features::of(scoring::Order const&)', '_ZN7scoring8Features2ofERKNS_5OrderE', 212))
frame('find', *CC, 0x2288c, '/usr/include/c++/13/bits/hashtable.h',
      ('std::__detail::_Mod_range_hashing::operator()(unsigned long, unsigned long) const',
       '_ZNKSt8__detail18_Mod_range_hashingclEmm', 430),
      ('std::_Hashtable<std::string, std::pair<std::string const, float>, ...>::find(std::string const&) const',
       '_ZNKSt10_HashtableISsSt4pairIKSsfESaIS2_E4findERS1_', 1720))
frame('memmove', 'libc', 'native', 0x9d1c5, '', ('__memmove_avx_unaligned_erms', '__memmove_avx_unaligned_erms', 0))
frame('entry', 'kernel', 'kernel', 0xa0012b, '', ('entry_SYSCALL_64_after_hwframe', '', 0))
frame('tcp', 'kernel', 'kernel', 0x8f3c61, '', ('tcp_sendmsg_locked', '', 0))
frame('copyin', 'kernel', 'kernel', 0x4b27d0, '', ('copy_user_enhanced_fast_string', '', 0))

REQUEST = 'goexit serve servehttp otelhttp place'
CPU = [  # root first, weight
    (REQUEST + ' fraud cgocall score forest', 30),
    (REQUEST + ' fraud cgocall score features find', 11),
    (REQUEST + ' fraud cgocall score features memmove', 4),
    (REQUEST + ' price discount', 7),
    (REQUEST + ' price voucher match regexp', 13),
    (REQUEST + ' cart query scan', 5),
    (REQUEST + ' cart query scan mallocgc', 4),
    (REQUEST + ' cart unmarshal object literal unquote', 8),
    (REQUEST + ' cart unmarshal object literal unquote growslice mallocgc', 3),
    (REQUEST + ' marshal encode', 5),
    ('goexit serve tls aesgcm', 4),
    ('goexit serve fdwrite write entry tcp copyin', 6),
    ('goexit serve fdwrite write entry tcp', 2),
    (REQUEST + ' fraud cgocall score', 1),
    (REQUEST + ' price', 2),
    (REQUEST + ' cart query', 2),
    (REQUEST + ' marshal encode mallocgc', 2),
    (REQUEST + ' cart unmarshal object', 3),
    (REQUEST + ' cart unmarshal object literal', 2),
]
BACKGROUND = [('goexit bgmark drain scanobject', 9), ('mcall schedule', 3)]
ALLOC = [
    (REQUEST + ' cart query scan', 31, 512),
    (REQUEST + ' cart unmarshal object literal unquote growslice', 58, 2048),
    (REQUEST + ' marshal encode makeslice', 22, 8192),
    (REQUEST + ' price discount makeslice', 17, 4096),
    ('goexit serve tls makeslice', 9, 16384),
]


def mapping(module):
    path, start, limit = MODULES[module]
    build = hashlib.sha1(path.encode()).hexdigest()
    ids = [attribute('process.executable.build_id.gnu', any_string(build)),
           attribute('process.executable.build_id.htlhash', any_string(hashlib.sha256(path.encode()).hexdigest()[:32]))]
    return mappings.add(uint(1, start) + uint(2, limit) + uint(4, text(path)) + packed(5, ids))


def location(short):
    module, kind, address, source, lines = FRAMES[short]
    body = uint(1, mapping(module)) + uint(2, address)
    for name, system, line in lines:
        f = functions.add(uint(1, text(name)) + uint(2, text(system) if system != name else 0) + uint(3, text(source)))
        body += message(3, uint(1, f), uint(2, line))
    return locations.add(body + packed(4, [attribute('profile.frame.type', any_string(kind))]))


def stack(path):
    return stacks.add(packed(1, [location(s) for s in reversed(path.split())]))


# ---- the measurement

START, SECONDS, PERIOD = 1762161245_250_000_000, 30, 10_000_000   # 2025-11-03 09:14:05.250 UTC
state = 20251103


def random(n):
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) & 0xffffffffffffffff
    return (state >> 33) * n >> 31


def pick(choices):
    at = random(sum(c[1] for c in choices))
    for c in choices:
        at -= c[1]
        if at < 0:
            return c
    raise AssertionError


def span(request):
    h = hashlib.sha256(b'checkout request %d' % request).digest()
    return links.add(data(1, h[:16]) + data(2, h[16:24]))


def thread(name, tid):
    return attribute('thread.name', any_string(name)), attribute('thread.id', any_int(tid))


def cpu_samples():
    """Four worker threads busy an eighth of the time, one request after another, and the collector."""
    samples = {}
    for worker in range(4):
        attrs = thread('worker-%d' % worker, 4120 + worker)
        now, request = random(40), worker * 100
        while now < SECONDS * 100 - 30:
            request += 1
            for _ in range(3 + random(9)):
                tick = START + now * PERIOD + worker * 1_370_000
                samples.setdefault((stack(pick(CPU)[0]), attrs, span(request)), []).append(tick)
                now += 1
            now += 40 + random(60)
    attrs = thread('gc', 4131)
    now = 90
    while now < SECONDS * 100 - 30:
        for _ in range(8 + random(6)):
            samples.setdefault((stack(pick(BACKGROUND)[0]), attrs, 0), []).append(START + now * PERIOD + 7_000_000)
            now += 1
        now += 400
    return samples


def build():
    cpu, nanoseconds = text('cpu'), text('nanoseconds')
    profile_cpu = message(1, uint(1, cpu), uint(2, nanoseconds))
    for (s, attrs, link), times in cpu_samples().items():
        times.sort()
        profile_cpu += message(2, uint(1, s), packed(2, attrs), uint(3, link), packed(4, [PERIOD] * len(times)),
                               data(5, struct.pack('<%dQ' % len(times), *times)))
    profile_cpu += fixed64(3, START) + uint(4, SECONDS * 10**9) + message(5, uint(1, cpu), uint(2, nanoseconds))
    profile_cpu += uint(6, PERIOD) + data(7, hashlib.md5(b'checkout cpu').digest())

    space = text('alloc_space'), text('bytes')
    profile_alloc = message(1, uint(1, space[0]), uint(2, space[1]))
    for path, n, size in ALLOC:
        profile_alloc += message(2, uint(1, stack(path)), packed(4, [n * 524288 // size * size]))
    profile_alloc += fixed64(3, START) + uint(4, SECONDS * 10**9)
    profile_alloc += message(5, uint(1, text('space')), uint(2, space[1])) + uint(6, 524288)
    profile_alloc += data(7, hashlib.md5(b'checkout alloc').digest())

    resource = b''.join(message(1, key_value(k, v)) for k, v in (
        ('service.name', any_string('checkout')),
        ('service.version', any_string('2.14.0')),
        ('deployment.environment.name', any_string('production')),
        ('host.name', any_string('shop-7f9c')),
        ('process.pid', any_int(4119)),
        ('process.runtime.name', any_string('go')),
    ))
    scope = data(1, b'shop.example/profiler') + data(2, b'1.3.0')
    scope_profiles = message(1, scope) + message(2, profile_cpu) + message(2, profile_alloc)
    out = message(1, message(1, resource), message(2, scope_profiles),
                  data(3, b'https://opentelemetry.io/schemas/1.37.0'))
    tables = mappings, locations, functions, links, strings, attributes, stacks
    return out + message(2, *(data(i + 1, entry) for i, t in enumerate(tables) for entry in t.entries))


if __name__ == '__main__':
    sys.stdout.buffer.write(build())
