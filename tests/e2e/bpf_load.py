"""Computes in the interpreter and in C code of libraries, for bpf_walk."""
import json
import re
import zlib


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def round_once():
    rows = [{'n': i, 'fib': fib(i % 12)} for i in range(300)]
    text = json.dumps(sorted(rows, key=lambda r: (r['n'] * 7919) % 2003))
    return len(re.findall(r'"fib": (\d+)', text)) + len(zlib.compress(text.encode()))


while True:
    round_once()
