/* unwind/go_table.h - rules of code that Go compiled, from its own table (.gopclntab).
 *
 * Go writes no .eh_frame.  Its table gives for each address of a function how far the stack pointer
 * is below the return address, for tracebacks and the garbage collector; strip does not remove it.
 * Layouts of Go 1.18 and later are read, little-endian, 64 bits.
 *
 *     header   magic, minimal size of an instruction, size of a pointer, then words: number of functions,
 *              ..., start of the code [3], ..., offset of the deltas [7], offset of the functions [8]
 *     functions {start of the code, offset of the description}: 2 x uint32, sorted
 *     deltas   pairs of varints {change of the value, zigzag; bytes of code}
 *
 * Pure and safe in signal handlers. */
#pragma once
#include "unwind/object.h"

/* Returns whether the bytes are a table that go_rule() reads. */
NODISCARD bool go_table_readable(const unwind_bytes *table);

/* Returns the rule at run-time address pc, and sets *hit.  The first functions of a stack
 * (runtime.goexit, runtime.mstart) have RULE_END.  Functions that switch stacks
 * (runtime.systemstack, runtime.mcall) have a wide rule by GO_SAVED_SP: Go stores the caller's sp in
 * memory, so that no register gives it. */
uint32_t go_rule(const unwind_bytes *table, uint64_t pc, object_hit *hit);

enum { GO_SAVED_SP = 255 }; /* not the number of a register */
