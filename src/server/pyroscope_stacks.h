/* server/pyroscope_stacks.h - the stacks that a call selects, summed.  For flame graphs, comparisons
 * and pprof. */
#pragma once
#include "pyroscope/flame.h"
#include "server/pyroscope_select.h"

typedef struct pyro_stacks {
    pyro_selection s;
    model *models; /* that the view refers to */
    view v;
} pyro_stacks;

/* Reads what `r` selects: type, selector, range, ids and call site.  `f` is initialised by function;
 * several reads may share it.  Each read may take 1/share of the query's memory.  The caller calls
 * pyro_selection_free(&out->s), also after a failure. */
NODISCARD bool pyro_stacks_read(query *k, const pyro_request *r, frame_table *f, unsigned share,
                                pyro_stacks *out, err *e);
/* Sets *out to the number of nodes that the request asks for.  ERR_USAGE. */
NODISCARD bool pyro_max_nodes(const pyro_request *r, uint64_t *out, err *e);
/* Resolves what `r` selects, with its ids; the reads of *out are complete. */
NODISCARD bool pyro_select_ids(query *k, const pyro_request *r, pyro_selection *out, err *e);
/* Removes the stacks of the parts from first_part on that do not begin with the call site. */
NODISCARD bool pyro_keep_call_site(view *v, size_t first_part, const pyro_texts *site, err *e);
/* Appends the selection as pprof (pyroscope_merge.c). */
NODISCARD bool pyro_pprof_put(query *k, const pyro_request *r, buf *out, err *e);
/* Compares what two requests select.  The result refers to the arena of the query. */
NODISCARD bool pyro_diff_of(query *k, const pyro_request *left, const pyro_request *right,
                            pyro_flame *out, err *e);
