/* ctx/tls.h - the location of a thread-local variable of another process (x86-64, glibc and musl).
 *
 * All data comes from the memory of the process, from the tables that its loader used, because
 * files may be deleted or differ in its mount namespace. */
#pragma once
#include "base/vec.h"
#include "base/err.h"
#include "base/str.h"
#include "ctx/memory.h"

typedef enum tls_model {
    TLS_DESCRIPTOR, /* TLSDESC */
    TLS_GENERAL,    /* general dynamic: DTPMOD and DTPOFF */
    TLS_INITIAL,    /* initial-exec: TPOFF */
    TLS_LOCAL,      /* local-exec: the program itself, without relocations */
} tls_model;

typedef struct tls_variable {
    str object; /* name of the mapping of the defining object */
    tls_model model;
    bool is_static; /* at thread pointer + offset; otherwise at offset in the module's block */
    int64_t offset;
    uint64_t module;
    bool musl; /* its table of blocks has another layout */
} tls_variable;

enum { TLS_MAX = 8 }; /* maximum number of definitions */

typedef struct tls_variables {
    tls_variable v[TLS_MAX];
    size_t n;
    size_t n_lost; /* definitions whose location was not found */
} tls_variables;

/* Finds all locations of a variable of this name.  Several objects may define it; those bound to
 * one definition give one location.  Fails with ERR_UNSUPPORTED on other architectures. */
NODISCARD bool tls_find(const memory *m, str maps, const char *symbol, arena *a, tls_variables *out,
                        err *e);

/* Sets *address to the variable's address in the thread with this thread pointer.  Returns false
 * when the thread does not have the block yet. */
NODISCARD bool tls_address(const memory *m, const tls_variable *v, uint64_t tp, uint64_t *address);

const char *tls_model_name(tls_model model);
