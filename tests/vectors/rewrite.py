#!/usr/bin/python3
"""Rewrites the wire bytes of a ProfilesData into other bytes with the same meaning, such as protoc never writes.

    rewrite.py LAYOUT HOW[+HOW...] < in.bin > out.bin

    descending    fields in descending order, elements of a repeated field in theirs (the collector's encoder)
    unpacked      repeated scalars one record per element
    chunks        packed lists in pieces: an empty chunk, a chunk, an unpacked element, the rest
    split=NAME,.. the named singular messages as two records, to be merged
    unknown       fields 900 (varint), 901 (fixed64), 902 (bytes), 903 (fixed32) added to every message
    zeros         absent singular scalars written out as 0, "" or empty bytes (not those with presence)
"""
import os
import subprocess
import sys
import tempfile

from google.protobuf.descriptor_pb2 import FieldDescriptorProto as F, FileDescriptorSet

HERE = os.path.dirname(os.path.abspath(__file__))
FIXED64 = (F.TYPE_FIXED64, F.TYPE_DOUBLE)
BYTES = (F.TYPE_STRING, F.TYPE_BYTES)


def schema(layout):
    """{message name: {field number: field descriptor}}, names with the leading dot and package."""
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run(["protoc", "-I", os.path.join(HERE, "proto"), "-o", f.name, layout + ".proto"], check=True)
        file = FileDescriptorSet.FromString(f.read()).file[0]
    return {".%s.%s" % (file.package, m.name): {f.number: f for f in m.field} for m in file.message_type}


def varint(n):
    out = bytearray()
    while n > 0x7f:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def read_varint(b, i):
    n = shift = 0
    while True:
        n |= (b[i] & 0x7f) << shift
        shift += 7
        i += 1
        if b[i - 1] < 0x80:
            return n, i


def records(b):
    """(number, wire type, payload bytes) of every record; the payload of a LEN record is without its length."""
    i = 0
    while i < len(b):
        tag, i = read_varint(b, i)
        wt, start = tag & 7, i
        if wt == 0:
            _, i = read_varint(b, i)
        elif wt == 2:
            n, start = read_varint(b, i)
            i = start + n
        else:
            i += {1: 8, 5: 4}[wt]
        if i > len(b):
            raise ValueError("record runs past the end")
        yield tag >> 3, wt, b[start:i]


def record(number, wt, payload):
    return varint(number << 3 | wt) + (varint(len(payload)) if wt == 2 else b"") + payload


def elements(field, payload):
    """A packed payload as its elements."""
    if field.type in FIXED64:
        return [payload[i:i + 8] for i in range(0, len(payload), 8)]
    out, i = [], 0
    while i < len(payload):
        _, j = read_varint(payload, i)
        out.append(payload[i:j])
        i = j
    return out


def is_packed(f):
    return f.label == F.LABEL_REPEATED and f.type not in BYTES + (F.TYPE_MESSAGE,)


def rewrite(types, name, data, how, split):
    out = []
    for number, wt, payload in records(data):
        f = types[name][number]
        if f.type == F.TYPE_MESSAGE:
            payload = rewrite(types, f.type_name, payload, how, split)
            parts = [record(*r) for r in records(payload)]
            if f.name in split and f.label != F.LABEL_REPEATED and len(parts) > 1:
                # interleave, so that both halves hold part of every table: equal numbers keep their order
                numbers = [r[0] for r in records(payload)]
                first = [i for i, n in enumerate(numbers) if numbers[:i].count(n) < (numbers.count(n) + 1) // 2]
                if len(first) == len(parts):
                    first = first[:len(parts) // 2]
                out.append((number, wt, b"".join(parts[i] for i in first)))
                out.append((number, wt, b"".join(p for i, p in enumerate(parts) if i not in first)))
                continue
        elif is_packed(f) and wt == 2:
            es, ewt = elements(f, payload), 1 if f.type in FIXED64 else 0
            if "unpacked" in how:
                out += [(number, ewt, e) for e in es]
                continue
            if "chunks" in how:
                out += [(number, 2, b""), (number, 2, es[0])] + [(number, ewt, e) for e in es[1:2]]
                out += [(number, 2, b"".join(es[2:]))] if es[2:] else []
                continue
        out.append((number, wt, payload))
    if "zeros" in how:
        present = {r[0] for r in out}
        for n, f in types[name].items():
            if n in present or f.label == F.LABEL_REPEATED or f.type == F.TYPE_MESSAGE or f.HasField("oneof_index"):
                continue
            out.append((n, 2, b"") if f.type in BYTES else (n, 1, bytes(8)) if f.type in FIXED64 else (n, 0, b"\0"))
        out.sort(key=lambda r: r[0])
    if "unknown" in how:
        out += [(900, 0, varint(2**64 - 1)), (901, 1, b"\xff" * 8), (902, 2, b"\x08\x01unknown"), (903, 5, b"\xff" * 4)]
    if "descending" in how:
        out.sort(key=lambda r: -r[0])
    return b"".join(record(*r) for r in out)


def main():
    layout, hows = sys.argv[1], sys.argv[2].split("+")
    split = {n for h in hows if h.startswith("split=") for n in h[6:].split(",")}
    types = schema(layout)
    root = ".kiln.test.%s.ProfilesData" % layout
    sys.stdout.buffer.write(rewrite(types, root, sys.stdin.buffer.read(), hows, split))


if __name__ == "__main__":
    main()
