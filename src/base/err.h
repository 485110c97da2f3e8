/* base/err.h - errors with a code, a sentence, an offset and a path. The caller owns them. */
#pragma once
#include "base/compiler.h"
#include <stdarg.h>

typedef enum err_code {
    ERR_OK = 0,
    ERR_MALFORMED,   /* the bytes break the rules of their format */
    ERR_LIMIT,       /* a named limit was reached: a size, a depth, a number of entries */
    ERR_MISMATCH,    /* two things that must agree do not */
    ERR_UNSUPPORTED, /* well formed, but not supported */
    ERR_USAGE,       /* the caller's request is invalid */
    ERR_SYS,         /* a system call failed; `sys` holds errno */
    ERR_MEMORY,      /* the memory budget or the machine's memory is used up */
    ERR_BUSY,        /* a queue is full or a deadline passed: the same call may succeed later */
} err_code;

#define NO_OFFSET UINT64_MAX

typedef struct err {
    err_code code;    /* for programs to branch on; ERR_OK: no error yet */
    int sys;          /* errno of the failed system call, else 0 */
    uint64_t offset;  /* byte in the outermost input, or NO_OFFSET */
    char path[160];   /* built from the inside out while callers return */
    char msg[192];    /* one sentence, no newline */
    const char *hint; /* static text: the command option that helps; may be NULL */
} err;

/* Records the first cause; later ones are ignored.  Returns false, so that callers can return the
 * result.  `e` may be NULL when the caller does not need the cause. */
bool err_at(err *e, err_code code, uint64_t offset, const char *fmt, ...) PRINTF(4, 5);
bool err_set(err *e, err_code code, const char *fmt, ...) PRINTF(3, 4);
bool err_sys(err *e, int sys, const char *fmt, ...) PRINTF(3, 4);
/* Sets ERR_MEMORY, "not enough memory". Where the budget is known, call arena_spent() instead,
 * which states it. */
bool err_memory(err *e);

/* Returns whether the call ran out of something (a limit, memory, time, a queue) rather than failed
 * on bad input. */
static inline bool err_exhausted(const err *e)
{
    return e->code == ERR_LIMIT || e->code == ERR_MEMORY || e->code == ERR_BUSY;
}

/* Prepends one step to the path while callers return: "lines[1]" under "location_table[12]" becomes
 * "location_table[12].lines[1]". Returns false. */
bool err_in(err *e, const char *fmt, ...) PRINTF(2, 3);

/* Adds a hint to the cause that was just recorded.  Returns false. */
bool err_hint(err *e, const char *hint);

/* Writes "sentence (hint) (byte 11, at location_table[12].lines[1])" to buf and returns buf. */
const char *err_text(const err *e, char *buf, size_t n);
/* Writes the text without the hint, because clients of a server cannot use command options. */
const char *err_text_plain(const err *e, char *buf, size_t n);
const char *err_code_name(err_code code);
