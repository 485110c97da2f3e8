/* objfile/symbols.h - names and addresses, from ELF tables or from text.  Pure. */
#pragma once
#include "objfile/elf.h"

typedef struct symbol {
    uint64_t address, size; /* size 0: up to the next symbol */
    str name;
    str file; /* source file of a local symbol; empty: not known */
} symbol;

typedef struct symbol_list {
    VEC(symbol) v;
} symbol_list;

/* Adds the functions and objects of .symtab (type ELF_SYMTAB) or .dynsym (ELF_DYNSYM). Sets *n to
 * the number of symbols added. */
NODISCARD bool symbols_of_elf(const elf_file *f, uint32_t type, arena *a, symbol_list *out,
                              size_t *n, err *e);

/* Adds NAME@plt for the stubs that call into other files (64-bit x86 and ARM). */
NODISCARD bool symbols_of_plt(const elf_file *f, arena *a, symbol_list *out, err *e);

/* Parses lines of /proc/kallsyms: "ffffffff81000000 T _text [module]".  The list stays empty if
 * all addresses are 0, as the kernel shows them to unprivileged users. */
NODISCARD bool symbols_of_kallsyms(str text, arena *a, symbol_list *out, err *e);

/* Parses lines of /tmp/perf-PID.map: "start size name", numbers in hex; other lines are skipped.
 * A later line overrides an earlier one, because compilers reuse memory. */
NODISCARD bool symbols_of_perf_map(str text, arena *a, symbol_list *out, err *e);

/* Sorts by address.  Of several symbols at one address the largest, then the last, is kept. */
NODISCARD bool symbols_sort(symbol_list *l, arena *a, err *e);
