/* Merges small blocks of a series. Each compaction writes a small block for a sender of few
 * samples. Merging in groups of growing size limits both the number of blocks and the amount of
 * rewriting. */
#include "store/day_write.h"

#include <sqlite3.h>
#include <stdlib.h>
#include "base/ban.h"

/* A merge takes at least MERGE_FAN blocks, so that a sample is rewritten only a few times. Blocks
 * of MERGE_FULL and more stay as they are, which also limits the memory of a merge. */
enum { MERGE_FAN = 8, MERGE_FULL = 4096 };
enum {
    MERGE_LAST = 4 * MERGE_FULL
}; /* size of blocks after the last merge, by day_writer_finish */

bool day_writer_note_block(day_writer *w, uint32_t series_i, int64_t id, uint64_t weight)
{
    writer_series *s = &w->series.v[series_i];
    if (weight >= MERGE_FULL) {
        s->small.n = 0; /* nothing is merged across a large block, to keep the order of arrival */
        return true;
    }
    small_block *slot = vec_push(&w->a, &s->small);
    if (slot) *slot = (small_block){id, weight};
    return slot != NULL;
}

/* Returns how many of the newest small blocks to merge: each that is not larger than all newer ones
 * together, up to a full block. */
static size_t how_many(const writer_series *s)
{
    size_t n = 0;
    uint64_t behind = 0;
    while (n < s->small.n && behind < MERGE_FULL &&
           (!n || s->small.v[s->small.n - 1 - n].weight <= behind))
        behind += s->small.v[s->small.n - 1 - n++].weight;
    return n >= MERGE_FAN ? n : 0;
}

/* Returns the facts of a profile in a block, with texts as numbers in the tables. */
static block_profile facts_of(day_writer *w, const block *x, size_t i)
{
    const profile *p = &x->m.profiles.v[i];
    const profile_facts *f = &x->facts[i];
    builder *b = &w->x.b;
    return (block_profile){
        .seq = f->seq,
        .received = f->received,
        .n_bytes = f->n_bytes,
        .attrs = interner_list(&w->x, refs_at(&x->m.dict.attr_refs, p->attrs), p->attrs.n),
        .format = builder_string(b, p->original_payload_format),
        .sender = builder_string(b, f->sender),
        .recognised = builder_string(b, f->recognised),
        .ledger = builder_string(b, f->ledger),
        .payload = x->payload[i],
        .key = f->key};
}

bool day_writer_copy_profile(day_writer *w, uint32_t series_i, const block *x, size_t i,
                             block_builder *to)
{
    const profile *p = &x->m.profiles.v[i];
    block_profile f = facts_of(w, x, i);
    if (w->x.b.failed || !block_add_profile(to, &w->item, &x->m, p, &f)) return false;
    for (size_t k = 0; k < p->n_samples; k++) {
        span attrs = spans_at(&p->attr_span, k);
        uint32_t list = interner_list(&w->x, refs_at(&x->m.sample_attrs, attrs), attrs.n),
                 near = day_writer_local(w, series_i, LOCAL_STACK, p->stack[k]),
                 local = day_writer_local(w, series_i, LOCAL_LIST, list);
        if (near == UINT32_MAX || local == UINT32_MAX || w->x.b.failed) return false;
        block_add_stack(to, near == LOCAL_FAR ? 0 : near + 1, p->stack[k]);
        block_add_list(to, local);
    }
    return true;
}

bool day_writer_take_block(day_writer *w, uint32_t series_i, int64_t id, unsigned columns,
                           block *out, bool *good, err *e)
{
    const writer_series *s = &w->series.v[series_i];
    block_series numbers = {.stacks = s->local[LOCAL_STACK], .lists = s->local[LOCAL_LIST]};
    bool row;
    sqlite3_reset(w->get_block);
    sqlite3_bind_int64(w->get_block, 1, id);
    if (!database_step(&w->db, w->get_block, &row, e)) return false;
    str data = row ? column_bytes(w->get_block, 0) : (str){0};
    *good = row && unseal_bytes(&data, SEAL_BLOCK + ((uint64_t)id << 8)) &&
            block_take(data, interner_tables(&w->x), &numbers, columns, &w->z, &w->item, out);
    return true;
}

/* Adds the profiles of a block to `to`. Sets *good to whether the block could be read. */
static bool add_block(day_writer *w, uint32_t series_i, int64_t id, block_builder *to, bool *good,
                      err *e)
{
    block x;
    if (!day_writer_take_block(w, series_i, id, BLOCK_ALL, &x, good, e)) return false;
    bool ok = true;
    for (size_t i = 0; *good && ok && i < x.m.profiles.n; i++)
        ok = day_writer_copy_profile(w, series_i, &x, i, to);
    sqlite3_reset(w->get_block);
    return ok || err_set(e, ERR_MEMORY, "no memory to merge blocks");
}

bool day_writer_drop_block(day_writer *w, int64_t id, err *e)
{
    bool row;
    sqlite3_reset(w->drop_block);
    sqlite3_bind_int64(w->drop_block, 1, id);
    bool ok = database_step(&w->db, w->drop_block, &row, e);
    sqlite3_reset(w->drop_block);
    return ok;
}

/* Merges n blocks under the number of the first. Sets *good to whether they could be read; if not,
 * they stay as they are. */
static bool merge(day_writer *w, uint32_t series_i, const small_block *from, size_t n, bool *good,
                  err *e)
{
    block_builder to = {0};
    arena_reset(&w->item);
    *good = true;
    for (size_t i = 0; *good && i < n; i++)
        if (!add_block(w, series_i, from[i].id, &to, good, e)) return false;
    if (!*good) return true;
    int64_t id = from[0].id;
    for (size_t i = 0; i < n; i++)
        if (!day_writer_drop_block(w, from[i].id, e)) return false;
    return day_writer_save_block(w, series_i, &to, id, e);
}

bool day_writer_merge(day_writer *w, uint32_t series_i, err *e)
{
    writer_series *s = &w->series.v[series_i];
    for (size_t n; (n = how_many(s)) > 0;) {
        bool good;
        s->small.n -= n;
        if (!merge(w, series_i, s->small.v + s->small.n, n, &good, e)) return false;
        if (!good) s->small.n = 0; /* a damaged block stays, and so do its neighbours */
    }
    return true;
}

/* Lists the blocks of a series, in order; the caller frees *v. */
static bool blocks_of(day_writer *w, uint32_t series_i, small_block **v, size_t *n, err *e)
{
    sqlite3_stmt *q = database_prepare(&w->db,
                                       "SELECT id, n_profiles + n_samples + n_observations FROM "
                                       "block WHERE series = ? ORDER BY id",
                                       e);
    bool ok = q != NULL, row;
    size_t cap = 0;
    if (ok) sqlite3_bind_int64(q, 1, series_i + 1);
    for (*v = NULL, *n = 0; ok && (ok = database_step(&w->db, q, &row, e)) && row; ++*n) {
        if (*n == cap) {
            small_block *more = realloc(*v, (cap = cap * 2 + 16) * sizeof **v);
            if (!more) {
                ok = err_set(e, ERR_MEMORY, "no memory to merge blocks");
                break;
            }
            *v = more;
        }
        (*v)[*n] = (small_block){sqlite3_column_int64(q, 0), (uint64_t)sqlite3_column_int64(q, 1)};
    }
    sqlite3_finalize(q);
    return ok;
}

/* Returns how many of the first blocks to merge. */
static size_t until_last(const small_block *v, size_t n)
{
    uint64_t weight = v[0].weight;
    size_t k = 1;
    while (k < n && weight < MERGE_LAST && v[k].weight < MERGE_LAST) weight += v[k++].weight;
    return k;
}

bool day_writer_merge_rest(day_writer *w, uint32_t series_i, err *e)
{
    small_block *v;
    size_t n;
    bool ok = blocks_of(w, series_i, &v, &n, e), good;
    for (size_t at = 0, k; ok && at < n; at += k) {
        k = until_last(v + at, n - at);
        if (k > 1) ok = merge(w, series_i, v + at, k, &good, e);
    }
    free(v);
    w->series.v[series_i].small.n = 0; /* nothing is merged after this */
    return ok;
}

bool day_writer_find_small(day_writer *w, err *e)
{
    sqlite3_stmt *q = database_prepare(
        &w->db, "SELECT id, series, n_profiles + n_samples + n_observations FROM block ORDER BY id",
        e);
    bool ok = q != NULL, row;
    while (ok && (ok = database_step(&w->db, q, &row, e)) && row) {
        uint64_t series = (uint64_t)sqlite3_column_int64(q, 1);
        if (series == 0 || series > w->series.n) continue;
        ok = day_writer_note_block(w, (uint32_t)series - 1, sqlite3_column_int64(q, 0),
                                   (uint64_t)sqlite3_column_int64(q, 2)) ||
             err_set(e, ERR_MEMORY, "the dictionary does not fit the memory budget");
    }
    sqlite3_finalize(q);
    return ok;
}
