/* base/err.h - an error has a code, a sentence, a byte and a path.  The caller owns it. */
#pragma once
#include "base/compiler.h"
#include <stdarg.h>

typedef enum err_code {
    ERR_OK = 0,
    ERR_MALFORMED,   /* the bytes break the rules of their format */
    ERR_LIMIT,       /* a named limit or the memory budget was reached */
    ERR_MISMATCH,    /* two things that must agree do not */
    ERR_UNSUPPORTED, /* well formed, but nothing we can carry */
    ERR_USAGE,       /* the caller asked for something that makes no sense */
    ERR_SYS,         /* the environment said no; `sys` holds errno */
} err_code;

#define NO_OFFSET UINT64_MAX

typedef struct err {
    err_code code;   /* what a program branches on; ERR_OK = nothing yet */
    int sys;         /* errno when the kernel said no, else 0 */
    uint64_t offset; /* byte in the outermost input, or NO_OFFSET */
    char path[160];  /* grows outward while unwinding */
    char msg[192];   /* one sentence, no newline */
    const char *
        hint; /* static text for people at a terminal, an option of a command that helps; may be NULL */
} err;

/* Records the first cause; a later one is ignored.  Always false, so that it can be returned.
 * A NULL `e` is allowed: the caller only wants to know whether. */
bool err_at(err *e, err_code code, uint64_t offset, const char *fmt, ...) PRINTF(4, 5);
bool err_set(err *e, err_code code, const char *fmt, ...) PRINTF(3, 4);
bool err_sys(err *e, int sys, const char *fmt, ...) PRINTF(3, 4);

/* Prepends one step to the path while unwinding: "lines[1]" under "location_table[12]" becomes
 * "location_table[12].lines[1]".  Always false. */
bool err_in(err *e, const char *fmt, ...) PRINTF(2, 3);

/* Adds a hint to the cause that was just recorded.  Always false. */
bool err_hint(err *e, const char *hint);

/* "sentence (hint) (byte 11, at location_table[12].lines[1])" into buf; returns buf. */
const char *err_text(const err *e, char *buf, size_t n);
/* The same without the hint: for a client of a server, who gives no options. */
const char *err_text_plain(const err *e, char *buf, size_t n);
const char *err_code_name(err_code code);
