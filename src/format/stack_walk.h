/* format/stack_walk.h - how a reader gets stacks that a recording contains only as copied bytes.
 * Pure.
 *
 * Unwinding needs the files of the recorded programs, which readers must not open.  The caller of
 * format_read() passes a stack_walk (read_opts.walk); collect/copied.h implements it.  A stack_walk
 * serves one input, because versions of address spaces are numbered per input. */
#pragma once
#include "base/str.h"

enum { WALK_X86_64 = 62, WALK_AARCH64 = 183 }; /* e_machine of ELF */
enum { WALK_REGS = 32 };

typedef struct walk_map { /* a part of a file that a process has mapped for execution */
    uint64_t start, limit, offset;
    str filename, build_id; /* build id: raw bytes; empty: not known */
} walk_map;

/* The executable mappings of a process, which do not overlap. */
typedef struct walk_space {
    uint32_t version; /* equal versions have equal maps */
    const walk_map *maps;
    size_t n;
    str hostname, os_release; /* of the recorded machine; empty: not known */
} walk_space;

/* The user registers of a sample and the bytes above its stack pointer. */
typedef struct copied_stack {
    uint16_t machine; /* WALK_X86_64, WALK_AARCH64 */
    uint64_t pc;
    uint64_t regs[WALK_REGS]; /* by DWARF number */
    uint32_t known;           /* bit i: regs[i] was recorded */
    str bytes;
    bool partial; /* the stack may continue after `bytes` */
} copied_stack;

typedef enum walk_end {
    WALK_WHOLE,       /* up to the first function of the thread */
    WALK_CUT,         /* the copied bytes end before the stack */
    WALK_NO_FILE,     /* code whose file is missing, or is another build */
    WALK_NO_RULE,     /* code without unwind rules */
    WALK_NO_REGISTER, /* the caller depends on a value that was not recorded: Go switches stacks */
    WALK_BROKEN,      /* the stack does not match the rules of its code */
    WALK_REFUSED,     /* not attempted: another processor or byte order, or missing registers */
    WALK_ENDS
} walk_end;

/* Addresses, innermost first, valid until the next call.  The first one, and any that a signal
 * interrupted, is the next instruction; the others are return addresses.  n is at least 1 unless the
 * walk was refused. */
typedef struct walked_stack {
    const uint64_t *pcs;
    size_t n;
    walk_end end;
} walked_stack;

typedef struct stack_walk {
    void *ctx;
    /* Returns whether the walk has the maps of this version.  It may forget older ones. */
    bool (*has_space)(void *ctx, uint32_t version);
    /* Copies what it needs.  Returns false when out of memory; the reader then does not walk. */
    bool (*add_space)(void *ctx, const walk_space *s);
    /* Walks a stack in the address space of this version, which it has. */
    walked_stack (*walk)(void *ctx, uint32_t version, const copied_stack *s);
} stack_walk;
