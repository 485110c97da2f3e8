/* Reads single samples: as one model, in pieces with one dictionary, or as one model for each
 * block. Also has the functions that decide whether a profile or sample is selected. */
#include "store/result.h"

#include "model/importer.h"
#include "base/ban.h"

#define PIECE_BYTES ((size_t)4 << 20) /* memory of a piece; a piece may exceed it by one profile */

/* ---- selecting ---- */

bool choose_profile(scan *k, const chunk *c, size_t i, chosen *out, bool *yes, err *e)
{
    const profile *p = &c->m->profiles.v[i];
    const profile_facts *f = &c->facts[i];
    const scope *s = &c->m->scopes.v[p->scope];
    uint8_t id[16];
    *yes = false;
    if (f->skip) return true;
    profile_identity(p, f, id);
    if (k->f.q.profile_id && !profile_id_leads(id, k->f.q.profile_id)) return true;
    if (!filter_envelope(&k->f, &c->m->resources.v[s->resource], s, &out->open, e)) return false;
    if (out->open == FILTER_NO) return true;
    if (!filter_profile(&k->f, p, &out->open, e)) return false;
    if (out->open == FILTER_NO) return true;
    out->moment = profile_moment(p, f->received);
    out->covered = filter_covers(&k->f, c->first, c->last);
    out->links = k->f.q.trace_id || k->f.q.span_id;
    *yes = true;
    return true;
}

bool choose_sample(scan *k, const chosen *x, cutter *cut, const model *m, sample *s, bool *yes,
                   err *e)
{
    const link_ids *l = s->link ? &m->dict.links.v[s->link] : NULL;
    *yes = !x->links || filter_link(&k->f, l);
    if (*yes && x->open && !filter_sample(&k->f, s, l, x->open, yes, e)) return false;
    bool failed = false;
    if (*yes && !x->covered) *yes = filter_cut(&k->f, cut, x->moment, s, &failed);
    return !failed || err_memory(e);
}

bool choose_empty(scan *k, const chosen *x, bool *yes, err *e)
{
    *yes = !x->links && filter_has_time(&k->f, x->moment);
    return !*yes || !x->open || filter_sample(&k->f, NULL, NULL, x->open, yes, e);
}

bool choose_any(scan *k, const chunk *c, size_t i, chosen *out, bool *yes, err *e)
{
    const profile *p = &c->m->profiles.v[i];
    cutter cut = {.a = k->a};
    if (!choose_profile(k, c, i, out, yes, e)) return false;
    if (!*yes) return true;
    if (!p->n_samples) return choose_empty(k, out, yes, e);
    *yes = false;
    for (size_t j = 0; j < p->n_samples && !*yes; j++) {
        sample s = sample_at(c->m, p, j);
        if (!choose_sample(k, out, &cut, c->m, &s, yes, e)) return false;
    }
    return true;
}

/* ---- models ---- */

typedef struct reading {
    scan k;
    reader *r;
    builder b;         /* with the dictionary */
    builder *profiles; /* b, unless the result is passed in pieces */
    arena work;        /* maps of the current dictionary */
    importer g;
    cutter cut;
    u32s attrs;
    /* result_each, result_pieces */
    arena *a; /* of the current piece */
    store_each *each;
    void *ctx;
} reading;

static bool on_dict(void *ctx, const model *m, err *e)
{
    reading *x = ctx;
    if (!m) return true;
    arena_reset(&x->work);
    x->attrs = (u32s){0};
    x->cut = (cutter){.a = &x->work};
    if (!importer_init(&x->g, &x->b, m, &x->work)) return err_memory(e);
    x->g.profiles = x->profiles;
    return true;
}

/* Adds the profile's resource and scope to the result, unless they are its newest. */
static void open_envelope(reading *x, const resource *r, const scope *s)
{
    model *m = &x->profiles->m;
    const resource *last = m->resources.n ? &m->resources.v[m->resources.n - 1] : NULL;
    const scope *last_scope = m->scopes.n ? &m->scopes.v[m->scopes.n - 1] : NULL;
    bool same = last && resource_equal(last, r);
    if (!same) builder_resource(x->profiles, r);
    if (!same || !last_scope || !scope_equal(last_scope, s)) builder_scope(x->profiles, s);
}

/* Adds a sample with its link. Links belong to a block, so they are not in the imported
 * dictionary. */
static bool put_sample(reading *x, const link_ids *l, sample s)
{
    s.stack = importer_stack(&x->g, s.stack);
    s.link = builder_link(&x->b, l->trace_id, l->span_id);
    x->attrs.n = 0;
    if (!vec_reserve(&x->work, &x->attrs, s.n_attrs)) return false;
    for (uint32_t i = 0; i < s.n_attrs; i++) x->attrs.v[i] = importer_attribute(&x->g, s.attrs[i]);
    s.attrs = x->attrs.v;
    builder_sample(x->profiles, &s);
    return !x->b.failed && !x->profiles->failed;
}

/* Passes the profiles to `each` and reuses their memory. */
static bool hand_out(reading *x, err *e)
{
    model m;
    if (!x->profiles->m.profiles.n) return true;
    if (!builder_finish(x->profiles, &m, e) || !x->each(x->ctx, &m, e)) return false;
    arena_reset(x->a);
    return builder_init(x->profiles, x->a) || err_memory(e);
}

static bool read_profile(reading *x, const chunk *c, size_t i, err *e)
{
    const model *m = c->m;
    const profile *p = &m->profiles.v[i];
    const scope *s = &m->scopes.v[p->scope];
    chosen y;
    bool yes, begun = false;
    if (!choose_profile(&x->k, c, i, &y, &yes, e)) return false;
    if (!yes) return true;
    if (!p->n_samples) {
        if (!choose_empty(&x->k, &y, &begun, e)) return false;
        if (!begun) return true;
        open_envelope(x, &m->resources.v[s->resource], s);
        importer_profile_head(&x->g, p);
    }
    for (size_t j = 0; j < p->n_samples; j++) {
        sample t = sample_at(m, p, j);
        if (!choose_sample(&x->k, &y, &x->cut, m, &t, &yes, e)) return false;
        if (!yes) continue;
        if (!begun) {
            open_envelope(x, &m->resources.v[s->resource], s);
            importer_profile_head(&x->g, p);
            begun = true;
        }
        if (!put_sample(x, &m->dict.links.v[t.link], t)) return err_memory(e);
        x->k.n_found++;
    }
    x->k.result->n_profiles += begun;
    if (x->b.failed || x->profiles->failed) return err_memory(e);
    return x->profiles == &x->b || x->a->used < PIECE_BYTES || hand_out(x, e);
}

static bool on_chunk(void *ctx, const chunk *c, err *e)
{
    reading *x = ctx;
    for (size_t i = 0; i < c->m->profiles.n; i++)
        if (!read_profile(x, c, i, e)) return false;
    return true;
}

static bool run(reading *x, err *e)
{
    x->k.ctx = x;
    x->k.dict = on_dict;
    x->k.columns = BLOCK_ALL;
    x->k.payloads = true;
    bool ok = reader_begin(x->r, e) && reader_scan(x->r, &x->k, e);
    reader_end(x->r);
    return ok;
}

bool result_read(reader *r, const store_selector *q, const store_read_opts *o, arena *a, model *out,
                 store_read_result *result, err *e)
{
    reading x = {.r = r};
    x.profiles = &x.b;
    x.work.seed = a->seed;
    if (!scan_open(&x.k, q, o ? &o->budget : NULL, result, r->world, e)) return false;
    x.k.a = a;
    x.k.chunk = on_chunk;
    bool ok = builder_init(&x.b, a) || err_memory(e);
    ok = ok && run(&x, e);
    ok = ok && reader_name(r, o && o->names, &x.b, e) && builder_finish(&x.b, out, e);
    scan_close(&x.k, r->world);
    arena_free(&x.work);
    return ok;
}

/* ---- pieces that share a dictionary ---- */

bool result_pieces(reader *r, const store_selector *q, const store_read_opts *o, arena *a,
                   store_each *each, void *ctx, model *shared, store_read_result *result, err *e)
{
    arena piece = arena_beside(a);
    builder profiles;
    reading x = {.r = r, .profiles = &profiles, .a = &piece, .each = each, .ctx = ctx};
    x.work.seed = a->seed;
    if (!scan_open(&x.k, q, o ? &o->budget : NULL, result, r->world, e)) return false;
    x.k.a = a;
    x.k.chunk = on_chunk;
    bool ok = (builder_init(&x.b, a) && builder_init(&profiles, &piece)) || err_memory(e);
    ok = ok && run(&x, e) && hand_out(&x, e);
    ok = ok && reader_name(r, o && o->names, &x.b, e) && builder_finish(&x.b, shared, e);
    scan_close(&x.k, r->world);
    arena_free(&x.work);
    arena_free(&piece);
    return ok;
}

/* ---- one model for each chunk ---- */

/* Every model starts with an empty dictionary. */
static bool each_chunk(void *ctx, const chunk *c, err *e)
{
    reading *x = ctx;
    model m;
    arena_reset(x->a);
    if (!builder_init(&x->b, x->a) || !on_dict(x, c->m, e)) return err_memory(e);
    if (!on_chunk(x, c, e)) return false;
    if (!x->b.m.profiles.n) return true;
    return builder_finish(&x->b, &m, e) && x->each(x->ctx, &m, e);
}

bool result_each(reader *r, const store_selector *q, store_each *each, void *ctx,
                 store_read_result *result, err *e)
{
    arena a = {0};
    reading x = {.r = r, .a = &a, .each = each, .ctx = ctx};
    x.profiles = &x.b;
    if (!scan_open(&x.k, q, NULL, result, r->world, e)) return false;
    x.k.chunk = each_chunk;
    bool ok = (builder_init(&x.b, &a) || err_memory(e)) && run(&x, e);
    scan_close(&x.k, r->world);
    arena_free(&x.work);
    arena_free(&a);
    return ok;
}
