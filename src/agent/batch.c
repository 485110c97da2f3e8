/* Fills a batch: interns stacks, threads, links and attributes in the memory of the batch.  A
 * failed addition leaves the batch as it was, so that a full batch is always consistent. */
#include "agent/batch.h"

#include "base/ban.h"

static bool begin(batch *b)
{
    return vec_push(&b->mem, &b->links) && vec_push(&b->mem, &b->attrs) &&
           hash_index_room(&b->stack_index, &b->mem) &&
           hash_index_room(&b->thread_index, &b->mem) && hash_index_room(&b->link_index, &b->mem) &&
           hash_index_room(&b->attrs_index, &b->mem);
}

batch *batch_open(size_t max_bytes, uint32_t pid)
{
    batch *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->pid = pid;
    b->mem.budget = max_bytes;
    if (begin(b)) return b;
    batch_close(b);
    return NULL;
}

void batch_close(batch *b)
{
    if (!b) return;
    arena_free(&b->mem);
    free(b);
}

/* ---- stacks ---- */

static bool same_stack(const batch *b, uint32_t at, const uintptr_t *pcs, const agent_stack *s)
{
    const agent_stack *t = &b->stacks.v[at];
    return t->n == s->n && t->end == s->end && t->taken == s->taken &&
           (!s->n || memcmp(&b->pcs.v[t->first], pcs, s->n * sizeof *pcs) == 0);
}

/* Reserves space first, so that a failure leaves no partial stack. */
static bool add_stack(batch *b, const uintptr_t *pcs, agent_stack *s)
{
    if (!vec_reserve(&b->mem, &b->pcs, s->n)) return false;
    agent_stack *added = vec_push(&b->mem, &b->stacks);
    if (!added) return false;
    s->first = (uint32_t)b->pcs.n;
    *added = *s;
    if (s->n) memcpy(&b->pcs.v[b->pcs.n], pcs, s->n * sizeof *pcs);
    b->pcs.n += s->n;
    return true;
}

bool batch_stack(batch *b, const uintptr_t *pcs, size_t n, uint8_t end, bool taken, uint32_t *at)
{
    agent_stack s = {.n = (uint16_t)n, .end = end, .taken = taken};
    if (!hash_index_room(&b->stack_index, &b->mem)) return false;
    uint64_t h = hash_bytes(pcs, n * sizeof *pcs, b->stack_index.seed);
    uint32_t i = hash_first(&b->stack_index, h);
    for (; hash_next(&b->stack_index, &i, h, at); i++)
        if (same_stack(b, *at, pcs, &s)) return true;
    if (!add_stack(b, pcs, &s)) return false;
    *at = (uint32_t)b->stacks.n - 1;
    hash_put(&b->stack_index, i, h, *at);
    return true;
}

/* ---- threads, links, attributes ---- */

bool batch_thread(batch *b, const agent_thread *t, uint32_t *at)
{
    if (!hash_index_room(&b->thread_index, &b->mem)) return false;
    uint64_t h = hash_mix(b->thread_index.seed, t->index);
    uint32_t i = hash_first(&b->thread_index, h);
    for (; hash_next(&b->thread_index, &i, h, at); i++)
        if (b->threads.v[*at].index == t->index) return true;
    agent_thread *added = vec_push(&b->mem, &b->threads);
    if (!added) return false;
    *added = *t;
    *at = (uint32_t)b->threads.n - 1;
    hash_put(&b->thread_index, i, h, *at);
    return true;
}

bool batch_link(batch *b, const agent_link *l, uint32_t *at)
{
    if (!hash_index_room(&b->link_index, &b->mem)) return false;
    uint64_t h = hash_bytes(l, sizeof *l, b->link_index.seed);
    uint32_t i = hash_first(&b->link_index, h);
    for (; hash_next(&b->link_index, &i, h, at); i++)
        if (memcmp(&b->links.v[*at], l, sizeof *l) == 0) return true;
    agent_link *added = vec_push(&b->mem, &b->links);
    if (!added) return false;
    *added = *l;
    *at = (uint32_t)b->links.n - 1;
    hash_put(&b->link_index, i, h, *at);
    return true;
}

bool batch_attrs(batch *b, const uint8_t *bytes, size_t n, uint32_t *at)
{
    *at = 0;
    if (!n) return true;
    if (!hash_index_room(&b->attrs_index, &b->mem)) return false;
    uint64_t h = hash_bytes(bytes, n, b->attrs_index.seed);
    uint32_t i = hash_first(&b->attrs_index, h);
    for (; hash_next(&b->attrs_index, &i, h, at); i++) {
        const agent_attrs *x = &b->attrs.v[*at];
        if (x->n == n && memcmp(&b->attr_bytes.v[x->first], bytes, n) == 0) return true;
    }
    if (!vec_reserve(&b->mem, &b->attr_bytes, n)) return false;
    agent_attrs *added = vec_push(&b->mem, &b->attrs);
    if (!added) return false;
    *added = (agent_attrs){(uint32_t)b->attr_bytes.n, (uint32_t)n};
    memcpy(&b->attr_bytes.v[b->attr_bytes.n], bytes, n);
    b->attr_bytes.n += n;
    *at = (uint32_t)b->attrs.n - 1;
    hash_put(&b->attrs_index, i, h, *at);
    return true;
}

bool batch_context(const raw_sample *raw, batch *b, agent_sample *out)
{
    agent_link l;
    if (!raw->in_context) return true;
    if (raw->span.has_ids) {
        memcpy(l.trace_id, raw->span.trace_id, sizeof l.trace_id);
        memcpy(l.span_id, raw->span.span_id, sizeof l.span_id);
        if (!batch_link(b, &l, &out->link)) return false;
    }
    /* `kiln run` reads raw samples from memory that the probe can overwrite. */
    if (raw->span.n_attrs > sizeof raw->span.attrs) return true;
    return batch_attrs(b, raw->span.attrs, raw->span.n_attrs, &out->attrs);
}
