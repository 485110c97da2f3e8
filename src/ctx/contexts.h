/* ctx/contexts.h - the published contexts of a running process: its own and those of its
 * threads. */
#pragma once
#include "base/vec.h"
#include "base/err.h"
#include "ctx/process_context.h"
#include "ctx/thread_context.h"
#include "ctx/tls.h"

typedef struct contexts_opts {
    bool no_threads; /* read the process context only, and stop no thread */
} contexts_opts;

typedef struct contexts {
    int pid;
    bool has_process;
    process_context process;
    /* the schema_version of the thread contexts is not supported */
    bool other_schema;
    tls_variables variables;
    VEC(thread_context) threads;
    size_t n_with, n_failed; /* threads with a context; threads that could not be read */
} contexts;

/* Reads a process.  Stops each thread with ptrace while it reads its record, as the OTEP requires;
 * only ptrace provides the thread pointer.  Skips a thread that ends in the meantime.  A thread
 * that cannot be stopped is THREAD_FAILED.  Fails with ERR_SYS when there is no such process or no
 * permission, and like process_context_read. */
NODISCARD bool contexts_read(int pid, const contexts_opts *o, arena *a, contexts *out, err *e);

/* Returns the name of a key; "" if the key map does not contain it (ignore the entry). */
str contexts_key(const contexts *c, uint8_t key);
