/* ctx/tls.h - where a thread-local variable of another process lies (x86-64, glibc and musl).
 *
 * Everything is read from its memory, by the tables that its loader used: files may be gone, or be
 * others in its mount namespace. */
#pragma once
#include "base/vec.h"
#include "base/err.h"
#include "base/str.h"
#include "ctx/memory.h"

typedef enum tls_model {
    TLS_DESCRIPTOR, /* TLSDESC */
    TLS_GENERAL,    /* general dynamic: DTPMOD and DTPOFF */
    TLS_INITIAL,    /* initial-exec: TPOFF */
    TLS_LOCAL,      /* local-exec: the program itself, nothing left to relocate */
} tls_model;

typedef struct tls_variable {
    str object; /* name in the map of what defines it */
    tls_model model;
    bool is_static; /* at thread pointer + offset; otherwise at offset in the module's block */
    int64_t offset;
    uint64_t module;
    bool musl; /* its table of blocks has another shape */
} tls_variable;

enum { TLS_MAX = 8 }; /* definitions that are kept */

typedef struct tls_variables {
    tls_variable v[TLS_MAX];
    size_t n;
    size_t n_lost; /* definitions without a way to their place */
} tls_variables;

/* All places of a variable of this name.  Several objects may define it; those bound to one definition
 * give one place.  ERR_UNSUPPORTED on other machines. */
NODISCARD bool tls_find(const memory *m, str maps, const char *symbol, arena *a, tls_variables *out,
                        err *e);

/* Its address in the thread with this thread pointer; false: the thread has no such block yet. */
NODISCARD bool tls_address(const memory *m, const tls_variable *v, uint64_t tp, uint64_t *address);

const char *tls_model_name(tls_model model);
