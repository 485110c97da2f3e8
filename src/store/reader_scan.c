/* Scans the blocks and items that a selector may select, for all kinds of results: finds series by
 * their rows, blocks by time and marks, and passes decoded chunks to the visitor. Stops at the
 * limits of the read; skips and counts damaged data. */
#include "store/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include "wire/otlp.h"
#include "base/stopper.h"
#include "base/ban.h"

bool scan_open(scan *k, const store_selector *q, const store_budget *b, store_read_result *result,
               const world *w, err *e)
{
    k->result = result ? result : &k->own;
    *k->result = (store_read_result){0};
    if (b) k->budget = *b;
    k->started = world_now(w);
    k->deadline = k->budget.max_ns ? k->started + k->budget.max_ns : UINT64_MAX;
    return filter_open(&k->f, q, e);
}

void scan_close(scan *k, const world *w)
{
    k->result->n_compared += k->f.series.n_compared;
    filter_close(&k->f);
    k->result->n_samples = k->n_found;
    if (k->n_large && !k->result->partial) {
        k->result->partial = true;
        snprintf(k->result->why, sizeof k->result->why,
                 "%" PRIu64 " items did not fit the memory of the query", k->n_large);
    }
    if (k->result->n_damaged && !k->result->partial) {
        k->result->partial = true;
        if (k->missing[0])
            snprintf(k->result->why, sizeof k->result->why, "%s", k->missing);
        else
            snprintf(k->result->why, sizeof k->result->why,
                     "%" PRIu64 " damaged blocks or items were skipped", k->result->n_damaged);
    }
    k->result->ns = world_now(w) - k->started;
}

bool scan_is_over(scan *k, const world *w)
{
    store_read_result *x = k->result;
    if (x->partial) return true;
    const char *why = NULL;
    if (k->budget.max_samples && k->n_found >= k->budget.max_samples)
        why = "the limit of samples was reached";
    if (k->a && k->budget.max_bytes && k->a->used >= k->budget.max_bytes)
        why = "the limit of bytes was reached";
    if (world_now(w) >= k->deadline) why = "the time limit was reached";
    err given_up = {0};
    if (!stopper_now(k->budget.stop, &given_up)) why = given_up.msg;
    if (!why) return false;
    x->partial = true;
    snprintf(x->why, sizeof x->why, "%s", why);
    return true;
}

/* Returns whether the block may have the profile. Profiles with one id but different types are in
 * separate blocks, each marked with an id derived from it. */
static bool marks_have_profile(str marks, const uint8_t whole[16])
{
    uint8_t id[16];
    for (size_t k = 0; k < PROFILE_ID_TYPES; k++) {
        profile_id_derive(whole, k, id);
        if (marks_have(marks, mark_of(MARK_PROFILE, id, 16))) return true;
    }
    return false;
}

static bool marks_fit(const store_selector *q, str marks)
{
    return (!q->profile_id || marks_have_profile(marks, q->profile_id)) &&
           (!q->trace_id || marks_have(marks, mark_of(MARK_TRACE, q->trace_id, 16))) &&
           (!q->span_id || marks_have(marks, mark_of(MARK_SPAN, q->span_id, 8)));
}

static bool add_payloads(reader *r, day *d, block *b, err *e)
{
    for (size_t i = 0; i < b->m.profiles.n; i++)
        if (b->payload[i] && !day_payload(d, b->payload[i], &r->z, &r->block,
                                          &b->m.profiles.v[i].original_payload, e))
            return false;
    return true;
}

static void report_damaged(reader *r, const day *d, uint64_t block_id)
{
    char name[DAY_NAME], what[96];
    day_name_text(d->name, name);
    snprintf(what, sizeof what, "%s: block %" PRIu64, name, block_id);
    if (r->damaged) r->damaged(r->ctx, what);
}

static bool scan_block(reader *r, scan *k, day *d, sqlite3_stmt *s, const day_block *b,
                       filter_open_rules open, err *e)
{
    bool done = false;
    if (k->quick &&
        !k->quick(k->ctx, b, &d->t, open, filter_covers(&k->f, b->first, b->last), &done, e))
        return false;
    k->result->n_blocks++;
    if (done) return true;
    if (k->dict && !k->begun) { /* files without a matching block need no dictionary */
        if (!k->dict(k->ctx, &d->t.m, e)) return false;
        k->begun = true;
    }
    block x;
    str data;
    arena_reset(&r->block);
    unsigned columns = k->columns;
    if (!filter_covers(&k->f, b->first, b->last)) columns |= BLOCK_TIMES | BLOCK_VALUES;
    if (k->f.needs_links) columns |= BLOCK_LINKS | BLOCK_TIMES;
    if (open) columns |= BLOCK_ATTRS | BLOCK_TIMES;
    if (!day_data(s, b, &data) ||
        !block_take(data, &d->t, &b->series->s, columns, &r->z, &r->block, &x) ||
        (k->payloads && !add_payloads(r, d, &x, NULL))) {
        k->result->n_damaged++;
        report_damaged(r, d, b->id);
        return true;
    }
    k->result->n_bytes += data.n;
    x.c.last = b->last;
    return k->chunk(k->ctx, &x.c, e);
}

static bool scan_series(reader *r, scan *k, day *d, const day_series *s, err *e)
{
    const str *text = d->t.m.dict.strings.v;
    filter_open_rules open;
    if (!filter_type(&k->f, text[s->s.head.sample_type.type], text[s->s.head.sample_type.unit]))
        return true;
    if (!filter_envelope(&k->f, &s->s.resource, &s->s.scope, &open, e)) return false;
    if (open == FILTER_NO) return true;
    bool may;
    const profile head = series_head_profile(&s->s.head);
    if (!filter_has_series(&k->f, &d->t.m.dict, &s->s.resource, &s->s.scope, &head, &may, e))
        return false;
    if (may && !filter_series(&k->f, d->t.lists.v, &s->s.profile_lists, &s->s.lists, open, &may, e))
        return false;
    if (!may) return true;
    sqlite3_stmt *q = day_blocks(d, s, k->f.q.start, k->f.q.end, e);
    bool ok = q != NULL, more = true;
    while (ok && !k->blocks_done && !scan_is_over(k, r->world)) {
        day_block b;
        ok = day_next(d, q, &b, &more, e);
        if (!ok || !more) break;
        if (marks_fit(&k->f.q, day_marks(q))) ok = scan_block(r, k, d, q, &b, open, e);
    }
    if (q) sqlite3_reset(q);
    return ok;
}

static bool scan_day(reader *r, scan *k, day *d, err *e)
{
    k->begun = false;
    if (!filter_dict(&k->f, &d->t.m, e)) return false;
    for (size_t i = 0; i < d->series.n && !k->blocks_done && !scan_is_over(k, r->world); i++)
        if (!scan_series(r, k, d, &d->series.v[i], e)) return false;
    return true;
}

/* Decodes an item within the memory limit of the read. */
static bool decode(reader *r, scan *k, const item *x, model *m)
{
    err why = {0};
    arena_reset(&r->block);
    r->block.budget = k->a ? k->a->budget : 0;
    bool ok = otlp_decode(x->bytes.p, x->bytes.n, &(otlp_decode_opts){.layout = x->layout},
                          &r->block, m, &why);
    r->block.budget = 0;
    if (!ok && err_exhausted(&why)) return k->n_large++, false;
    if (ok && m->profiles.n == x->n_profiles) return true;
    k->result->n_damaged++;
    return false;
}

/* Marks the profiles of an item whose series are not selected. Those of a block have one series,
 * which scan_series checks. */
static bool skip_series(scan *k, const model *m, profile_facts *f, err *e)
{
    for (size_t i = 0; k->f.q.series && i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        const scope *s = &m->scopes.v[p->scope];
        bool yes;
        if (!filter_has_series(&k->f, &m->dict, &m->resources.v[s->resource], s, p, &yes, e))
            return false;
        f[i].skip |= !yes;
    }
    return true;
}

static bool scan_item(reader *r, scan *k, const raw_item *x, err *e)
{
    model m;
    k->result->n_items++;
    k->result->n_bytes += x->bytes.n;
    if (!decode(r, k, &x->x, &m)) return true;
    profile_facts *f = arena_new(&r->block, profile_facts, m.profiles.n);
    if (!f) return err_sys(e, ENOMEM, "no memory for items that are not compacted");
    for (size_t i = 0; i < m.profiles.n; i++)
        f[i] = (profile_facts){.seq = x->seq,
                               .received = x->x.received,
                               .n_bytes = x->x.n_bytes,
                               .sender = x->x.sender,
                               .recognised = x->x.recognised,
                               .ledger = x->x.ledger,
                               .key = item_key(&x->x, i),
                               .skip = item_skips(&x->x, i)};
    return skip_series(k, &m, f, e) && filter_dict(&k->f, &m, e) &&
           (!k->dict || k->dict(k->ctx, &m, e)) &&
           k->chunk(k->ctx, &(chunk){.m = &m, .facts = f, .first = x->x.first, .last = x->x.last},
                    e) &&
           (!k->dict || k->dict(k->ctx, NULL, e));
}

typedef struct scanning {
    reader *r;
    scan *k;
} scanning;

static bool on_item(void *ctx, const raw_item *x, bool *stop, err *e)
{
    scanning *l = ctx;
    *stop = scan_is_over(l->k, l->r->world);
    if (*stop || (x->x.first <= x->x.last && !filter_meets(&l->k->f, x->x.first, x->x.last)))
        return true;
    return scan_item(l->r, l->k, x, e);
}

static bool scan_raw(reader *r, scan *k, day *d, err *e)
{
    k->begun = false;
    return reader_raw(r, d, on_item, &(scanning){r, k}, &k->result->n_damaged, e);
}

static void on_missing(void *ctx, const manifest_file *entry, uint64_t items, const char *why)
{
    scan *k = ctx;
    if (entry && entry->first <= entry->last && !filter_meets(&k->f, entry->first, entry->last))
        return;
    k->result->n_damaged += entry ? 1 : items;
    if (!entry) k->n_missing += items;
    if (!k->missing[0]) snprintf(k->missing, sizeof k->missing, "%s", why);
}

bool reader_scan(reader *r, scan *k, err *e)
{
    if (!filter_index_series(&k->f, r->o.seed, e)) return false;
    reader_missing(r, on_missing, k);
    if (r->listed.lost_items)
        on_missing(k, NULL, r->listed.lost_items, "items of the journal are lost");
    for (size_t i = 0; i < r->n_days && !scan_is_over(k, r->world); i++) {
        err why = {0};
        if (scan_day(r, k, r->days[i], &why) && (!k->begun || k->dict(k->ctx, NULL, &why)) &&
            scan_raw(r, k, r->days[i], &why))
            continue;
        if (why.code != ERR_MALFORMED) {
            if (e) *e = why;
            return false;
        }
        reader_broken(r, r->days[i]->name, &why); /* the other files are still read */
        k->result->n_damaged++;
        if (k->begun && !k->dict(k->ctx, NULL, e)) return false;
    }
    bool ok = scan_is_over(k, r->world) || reader_items(r, on_item, &(scanning){r, k}, e);
    if (r->n_damaged > k->n_missing) k->result->n_damaged += r->n_damaged - k->n_missing;
    return ok;
}
