// Computes in JIT-compiled code and in builtins, for bpf_walk.
function fib(n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
function round() {
  const a = Array.from({ length: 2000 }, (_, i) => (i * 7919) % 2003);
  a.sort((x, y) => x - y);
  const m = new Map(a.map((x) => [String(x), fib(x % 14)]));
  return JSON.stringify([...m.entries()].filter(([, v]) => v % 2)).length;
}
function turn() {
  for (let i = 0; i < 20; i++) round();
  setImmediate(turn);
}
turn();
