/* ctx/contexts.h - all that a running process has published: its own context and its threads'. */
#pragma once
#include "base/vec.h"
#include "base/err.h"
#include "ctx/process_context.h"
#include "ctx/thread_context.h"
#include "ctx/tls.h"

typedef struct contexts_opts {
    bool no_threads; /* stop nobody: the process context alone */
} contexts_opts;

typedef struct contexts {
    int pid;
    bool has_process;
    process_context process;
    bool other_schema; /* threads are published in a way that is not read here (schema_version) */
    tls_variables variables;
    VEC(thread_context) threads;
    size_t n_with, n_failed; /* threads with a context; threads that could not be looked at */
} contexts;

/* Reads a process.  Each thread is stopped for the time of reading its record (ptrace), as the OTEP
 * demands and because the thread pointer can be had in no other way.  A thread that is gone meanwhile
 * is left out; one that may not be stopped is THREAD_FAILED.
 * ERR_SYS: no such process, no permission; others as process_context_read. */
NODISCARD bool contexts_read(int pid, const contexts_opts *o, arena *a, contexts *out, err *e);

/* Name of a key; "" when the key map has none (the entry is to be ignored then). */
str contexts_key(const contexts *c, uint8_t key);
