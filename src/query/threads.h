/* query/threads.h - whose samples these are: threads of processes, told apart by name, ids and resource.  Pure.
 *
 * Attributes are asked once per entry of the dictionary, resources once per model. */
#pragma once
#include "base/err.h"
#include "base/hash.h"
#include "model/model.h"

typedef struct thread_who {
    str name;                      /* "" when not known */
    int64_t thread_id, process_id; /* -1: not known; the process may be known by its resource */
    uint32_t resource;             /* thread_table.resources */
} thread_who;

typedef struct thread_table {
    arena *a;
    VEC(thread_who) v;               /* in order of first use */
    VEC(const resource *) resources; /* distinct ones */
    VEC(str) states;                 /* values of thread.state; [0] is "" */
    hash_index by_who, by_state, by_resource;
    /* of the model at hand */
    const model *m;
    uint8_t *roles;        /* by attribute */
    uint32_t *resource_of; /* by resource: index + 1 */
} thread_table;

/* An empty table; everything it will hold lives in `a`. */
NODISCARD bool thread_table_init(thread_table *t, arena *a, err *e);

/* The thread of a sample of a checked model, and its state (0: not known).  ERR_LIMIT. */
NODISCARD bool thread_table_find(thread_table *t, const model *m, const profile *p, const sample *s,
                                 uint32_t *who, uint32_t *state, err *e);

/* By name, process, thread, resource. */
int thread_who_cmp(const thread_who *a, const thread_who *b);
