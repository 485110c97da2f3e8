/* objfile/symbols.h - names and addresses, from ELF tables or from text.  Pure. */
#pragma once
#include "objfile/elf.h"

typedef struct symbol {
    uint64_t address, size; /* size 0: up to the next one */
    str name;
    str file; /* of a local symbol, as its compiler noted it; empty: not known */
} symbol;

typedef struct symbol_list {
    VEC(symbol) v;
} symbol_list;

/* Adds the functions and objects of .symtab (type ELF_SYMTAB) or .dynsym (ELF_DYNSYM).  *n counts
 * what was added. */
NODISCARD bool symbols_of_elf(const elf_file *f, uint32_t type, arena *a, symbol_list *out,
                              size_t *n, err *e);

/* Adds NAME@plt for the stubs that call into other files (64-bit x86 and ARM). */
NODISCARD bool symbols_of_plt(const elf_file *f, arena *a, symbol_list *out, err *e);

/* Lines of /proc/kallsyms: "ffffffff81000000 T _text [module]".  Addresses that are all 0 (the
 * kernel hides them from plain users) give an empty list. */
NODISCARD bool symbols_of_kallsyms(str text, arena *a, symbol_list *out, err *e);

/* Lines of /tmp/perf-PID.map: "start size name", both in hex; lines that are none are skipped.  A
 * later line wins over an earlier one: compilers reuse memory. */
NODISCARD bool symbols_of_perf_map(str text, arena *a, symbol_list *out, err *e);

/* By address; of several at one address the largest, then the last, is left. */
NODISCARD bool symbols_sort(symbol_list *l, arena *a, err *e);
