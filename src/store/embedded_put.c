/* Puts items: decodes and hashes without the lock, adds a record to the next group, then writes and
 * syncs the whole group at once. While a group is written, the next one is filled. */
#include "store/embedded.h"

#include <errno.h>
#include "wire/otlp.h"
#include "base/ban.h"

void group_free(group *g)
{
    journal_group_free(&g->records);
    free(g->v);
    free(g->keys);
    *g = (group){0};
}

#define KEEP_GROUP ((size_t)16 << 20)

static void group_reset(group *g)
{
    journal_group_reset(&g->records, KEEP_GROUP);
    g->n = g->n_keys = 0;
    g->n_items = g->n_bytes = g->oldest = g->newest = 0;
}

static bool add_pending(group *g, const pending *p)
{
    if (g->n == g->cap) {
        size_t cap = g->cap ? g->cap * 2 : 64;
        pending *v = realloc(g->v, cap * sizeof *v);
        if (!v) return false;
        g->v = v;
        g->cap = cap;
    }
    g->v[g->n++] = *p;
    return true;
}

static bool add_key(group *g, content_key k)
{
    if (g->n_keys == g->cap_keys) {
        size_t cap = g->cap_keys ? g->cap_keys * 2 : 64;
        content_key *v = realloc(g->keys, cap * sizeof *v);
        if (!v) return false;
        g->keys = v;
        g->cap_keys = cap;
    }
    g->keys[g->n_keys++] = k;
    return true;
}

/* Requires `lock`. */
static bool check_admission(embedded *x, size_t bytes, err *e)
{
    if (x->broken_until && world_now(x->world) < x->broken_until) {
        x->n.refused_disk++;
        if (e) *e = x->broken;
        return false;
    }
    size_t wait = journal_group_bytes(&x->next.records) + x->in_flight;
    /* When no item waits, an item of any size is accepted: otherwise it would never fit. */
    if (wait && wait + bytes > x->o.store.max_queue) {
        x->n.refused_full++;
        return err_set(e, ERR_BUSY, "the queue of the store is full (%zu bytes wait)", wait);
    }
    return embedded_admit(x, bytes, e);
}

/* ---- before the lock: decoding and hashing ---- */

/* An item that is ready to be put. It points to memory of the caller, x->scratch and x->encoded. */
typedef struct prepared {
    model decoded;
    const model *m;
    content_key *keys; /* by profile */
    item to;
} prepared;

static bool no_memory(err *e) { return err_sys(e, ENOMEM, "no memory for an item"); }

/* Decodes the bytes or encodes the model, whichever is missing. */
static bool complete(embedded *x, const store_item *i, prepared *p, err *e)
{
    p->m = i->model;
    p->to.bytes = i->bytes;
    p->to.layout = i->layout;
    if (!p->m) {
        layout_verdict verdict = {0};
        if (!otlp_decode(i->bytes.p, i->bytes.n,
                         &(otlp_decode_opts){.layout = i->layout, .verdict = &verdict}, &x->scratch,
                         &p->decoded, e))
            return false;
        p->m = &p->decoded;
        if (!i->layout) p->to.layout = verdict.layout;
    } else if (!i->bytes.n) {
        buf_reset(&x->encoded);
        p->to.layout = LAYOUT_CURRENT;
        if (!otlp_encode(p->m, &(otlp_encode_opts){.layout = p->to.layout}, &x->encoded, e))
            return false;
        p->to.bytes = buf_view(&x->encoded);
    }
    return true;
}

static bool prepare(embedded *x, const store_item *i, prepared *p, err *e)
{
    arena_reset(&x->scratch);
    if (!complete(x, i, p, e)) return false;
    p->keys = arena_new(&x->scratch, content_key, p->m->profiles.n);
    return p->keys ? content_keys(p->m, &x->scratch, p->keys, e) : no_memory(e);
}

/* ---- put, under the lock ---- */

/* Marks duplicates and adds the keys of the other profiles. Sets *fresh to the number of new
 * ones. */
static bool find_duplicates(embedded *x, const content_key *k, size_t n, uint8_t *skip,
                            size_t *fresh)
{
    size_t before = x->next.n_keys;
    *fresh = 0;
    for (size_t i = 0; i < n; i++) {
        if (keys_has(&x->keys, k[i])) {
            skip[i / 8] |= (uint8_t)(1u << (i & 7));
            continue;
        }
        if (!add_key(&x->next, k[i]) || !keys_add(&x->keys, k[i])) {
            while (x->next.n_keys > before) keys_remove(&x->keys, x->next.keys[--x->next.n_keys]);
            return false;
        }
        ++*fresh;
    }
    return true;
}

/* Finds the duplicates and times of the item. Its keys then belong to the group. */
static bool scan_profiles(embedded *x, prepared *w, pending *p, err *e)
{
    const model *m = w->m;
    item *to = &w->to;
    uint8_t *skip = arena_zero(&x->scratch, m->profiles.n / 8 + 1);
    if (!skip || !find_duplicates(x, w->keys, m->profiles.n, skip, &p->n_stored))
        return no_memory(e);
    p->n_duplicates = p->n_profiles - p->n_stored;
    to->keys = (const uint8_t *)w->keys;
    to->skip = skip;
    to->n_profiles = p->n_profiles;
    for (size_t i = 0; i < m->profiles.n; i++) {
        if (item_skips(to, i)) continue;
        profile_times(m, &m->profiles.v[i], to->received, &to->first, &to->last);
        p->n_samples += m->profiles.v[i].n_samples;
    }
    to->n_samples = p->n_samples;
    return true;
}

enum { LEND = 64 << 10 }; /* bytes; smaller items are copied and written together */

/* Builds the record around the bytes in the caller's memory. Returns the size of the record; 0 when
 * the memory is too small. */
static size_t lend_record(embedded *x, const store_item *i, const item *to)
{
    if (!i->room || to->bytes.n < LEND) return 0;
    buf_reset(&x->encoded); /* free, because the caller supplied the bytes */
    put_item_head(&x->encoded, to);
    size_t head = JOURNAL_RECORD + x->encoded.n, n = to->bytes.n;
    uintptr_t at = (uintptr_t)to->bytes.p, from = (at - head) & ~(uintptr_t)(JOURNAL_EVEN - 1);
    if (x->encoded.failed || at - from > i->room->before ||
        journal_even(at + n) - (at + n) > i->room->after)
        return 0;
    uint16_t gap = (uint16_t)(at - from - head);
    char *p = (char *)from;
    memcpy(p + JOURNAL_RECORD, x->encoded.p, x->encoded.n);
    memcpy(p + head - ITEM_GAP, &gap, ITEM_GAP);
    memset(p + head, 0, gap);
    size_t all = (size_t)(at - from) + n;
    return journal_lend(&x->next.records, p, all - JOURNAL_RECORD) ? all : 0;
}

static void add_record(embedded *x, const store_item *i, const item *to)
{
    size_t bytes = lend_record(x, i, to);
    if (!bytes) {
        size_t at = journal_begin(&x->next.records);
        put_item(&x->next.records.copied, to);
        bytes = x->next.records.copied.n - at;
        journal_end(&x->next.records, at);
    }
    x->next.n_bytes += bytes;
    x->next.n_items++;
    if (!x->next.oldest) x->next.oldest = to->received;
    if (to->received > x->next.newest) x->next.newest = to->received;
}

static bool put_locked(embedded *x, const store_item *i, prepared *w, err *e)
{
    if (!check_admission(x, w->to.bytes.n, e)) return false;
    pending p = {.done = i->done, .cookie = i->cookie, .n_profiles = w->m->profiles.n};
    if (!add_pending(&x->next, &p)) return no_memory(e);
    if (!scan_profiles(x, w, &p, e)) {
        x->next.n--;
        return false;
    }
    x->next.v[x->next.n - 1] = p;
    x->n_put++;
    if (!p.n_stored) return true; /* nothing to write; the item is acknowledged with the group */
    buf losses = {0};
    put_ledger(&losses, i->ledger);
    w->to.ledger = buf_view(&losses);
    add_record(x, i, &w->to); /* a group that lacks memory is refused when it is written */
    buf_free(&losses);
    return true;
}

/* Returns false when the item would be refused after decoding anyway. */
static bool may_put(embedded *x, const store_item *i, err *e)
{
    pthread_mutex_lock(&x->lock);
    bool ok = check_admission(x, i->bytes.n, e);
    pthread_mutex_unlock(&x->lock);
    return ok;
}

bool embedded_put(store *s, const store_item *i, err *e)
{
    embedded *x = (embedded *)s;
    if (!may_put(x, i, e)) return false;
    prepared w = {.to = {.received = i->received ? i->received : x->world->wall(x->world->ctx),
                         .first = UINT64_MAX,
                         .n_bytes = i->n_bytes,
                         .sender = i->sender,
                         .recognised = i->recognised}};
    pthread_mutex_lock(&x->preparing);
    bool ok = prepare(x, i, &w, e), wake = false;
    if (ok) {
        embedded_at(x, "prepared");
        pthread_mutex_lock(&x->lock);
        ok = put_locked(x, i, &w, e);
        wake = ok && !i->more && x->writer_waits;
        if (wake) x->writer_waits = false;
        pthread_mutex_unlock(&x->lock);
    }
    pthread_mutex_unlock(&x->preparing);
    if (wake) pthread_cond_signal(&x->filled);
    return ok;
}

void embedded_push(store *s)
{
    embedded *x = (embedded *)s;
    pthread_mutex_lock(&x->lock);
    bool wake = x->next.n && x->writer_waits;
    if (wake) x->writer_waits = false;
    pthread_mutex_unlock(&x->lock);
    if (wake) pthread_cond_signal(&x->filled);
}

/* ---- writing a group ---- */

/* Removes the keys of a refused group, so that a retry of its items does not count as a
 * duplicate. */
static void forget(embedded *x, const group *g)
{
    for (size_t i = 0; i < g->n_keys; i++) keys_remove(&x->keys, g->keys[i]);
    x->n.refused_disk += g->n;
}

static void count_group(embedded *x, const group *g, size_t bytes, uint64_t first_seq)
{
    x->n.items += g->n;
    x->n.groups += g->n_items > 0;
    x->n.bytes += bytes;
    for (size_t i = 0; i < g->n; i++) {
        x->n.profiles += g->v[i].n_stored;
        x->n.duplicates += g->v[i].n_duplicates;
        x->n.samples += g->v[i].n_samples;
    }
    if (!g->n_items) return;
    x->durable = first_seq + g->n_items - 1;
    x->raw_bytes += g->n_bytes;
    x->raw_items += g->n_items;
    if (!x->oldest_raw) x->oldest_raw = g->oldest;
    if (g->newest > x->newest) x->newest = g->newest;
}

static void call_done(const group *g, const err *refused)
{
    for (size_t i = 0; i < g->n; i++) {
        const pending *p = &g->v[i];
        store_put_result r = {.n_profiles = p->n_profiles, .refused = refused};
        if (!refused) {
            r.n_stored = p->n_stored;
            r.n_duplicates = p->n_duplicates;
        }
        if (p->done) p->done(p->cookie, &r);
    }
}

/* Writes the waiting group and calls every `done`. Requires `lock`, but releases it while it
 * writes. Returns false when the group was refused. */
static bool write_group(embedded *x, err *e)
{
    group g = x->next;
    x->next = x->busy;
    x->busy = g;
    x->in_flight = journal_group_bytes(&x->busy.records);
    pthread_mutex_unlock(&x->lock);

    err why = {0};
    uint64_t first = 0;
    pthread_mutex_lock(&x->writing);
    bool ok = !x->busy.n_items || journal_write(&x->j, &x->busy.records, &first, &why);
    x->journal_bytes = journal_disk_bytes(&x->j);
    pthread_mutex_unlock(&x->writing);
    embedded_at(x, ok ? "synced" : "refused");

    pthread_mutex_lock(&x->lock);
    group late = {0};
    size_t bytes = x->in_flight; /* the journal may have added padding */
    x->in_flight = 0;
    if (ok) {
        count_group(x, &x->busy, bytes, first);
        x->broken_until = 0;
    } else {
        late = x->next; /* put during the write: may have duplicates of the refused items */
        x->next = (group){0};
        forget(x, &x->busy);
        forget(x, &late);
        bool again = x->broken_until != 0;
        x->broken = why;
        x->broken_until = world_now(x->world) + RETRY_NS;
        if (!again) embedded_log(x, STORE_FAILURE, "store: new data is refused: %s", why.msg);
    }
    uint64_t settled = x->busy.n + late.n;
    pthread_mutex_unlock(&x->lock);

    call_done(&x->busy, ok ? NULL : &why);
    call_done(&late, &why);
    group_reset(&x->busy);
    group_free(&late);

    pthread_mutex_lock(&x->lock);
    x->n_settled += settled;
    if (!ok && !x->group_error.code) x->group_error = why;
    pthread_cond_broadcast(&x->settled);
    if (ok && x->raw_bytes >= x->max_raw) pthread_cond_signal(&x->worked);
    if (!ok && e) *e = why;
    return ok;
}

bool embedded_commit(store *s, err *e)
{
    embedded *x = (embedded *)s;
    bool ok = true;
    pthread_mutex_lock(&x->lock);
    if (!x->threads) {
        while (x->next.n && ok) ok = write_group(x, e);
    } else {
        uint64_t want = x->n_put;
        x->group_error = (err){0};
        while (x->n_settled < want) {
            pthread_cond_signal(&x->filled);
            pthread_cond_wait(&x->settled, &x->lock);
        }
        ok = x->group_error.code == ERR_OK;
        if (!ok && e) *e = x->group_error;
    }
    pthread_mutex_unlock(&x->lock);
    return ok;
}

void *embedded_writer(void *ctx)
{
    embedded *x = ctx;
    pthread_mutex_lock(&x->lock);
    for (;;) {
        while (!x->next.n && !x->closing) {
            x->writer_waits = true;
            pthread_cond_wait(&x->filled, &x->lock);
        }
        x->writer_waits = false;
        if (!x->next.n) break;
        (void)write_group(x, NULL);
    }
    pthread_mutex_unlock(&x->lock);
    return NULL;
}
