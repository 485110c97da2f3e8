/* query/threads.h - the threads of samples, identified by name, ids and resource.  Pure.
 *
 * Attributes are evaluated once per entry of the dictionary, resources once per model. */
#pragma once
#include "base/err.h"
#include "base/hash.h"
#include "model/model.h"

typedef struct thread_key {
    str name;                      /* "" when not known */
    int64_t thread_id, process_id; /* -1: not known; the resource may identify the process */
    uint32_t resource;             /* index into thread_table.resources */
} thread_key;

typedef struct thread_table {
    arena *a;
    VEC(thread_key) v;               /* in order of first use */
    VEC(const resource *) resources; /* distinct resources */
    VEC(str) states;                 /* values of thread.state; [0] is "" */
    hash_index by_key, by_state, by_resource;
    /* of the current model */
    const model *m;
    uint8_t *roles;        /* by attribute: its role for the thread */
    uint32_t *resource_of; /* by resource: index into `resources`, plus 1 */
} thread_table;

/* Initializes an empty table.  Its contents live in `a`. */
NODISCARD bool thread_table_init(thread_table *t, arena *a, err *e);

/* Finds the thread of a sample of a checked model, and its state (0: not known).  ERR_MEMORY. */
NODISCARD bool thread_table_find(thread_table *t, const model *m, const profile *p, const sample *s,
                                 uint32_t *thread, uint32_t *state, err *e);

/* Orders by name, process, thread, resource. */
int thread_key_cmp(const thread_key *a, const thread_key *b);
