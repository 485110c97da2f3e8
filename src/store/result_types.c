/* Lists types with the number of samples of each, which decides between types. When the series of
 * all files have one type, the first samples that are found are enough, and the other blocks are
 * not looked up: with many series that saves half of the work of a query. Items of the journal are
 * always read; when they have another type, all blocks are counted in a second pass. */
#include "store/result.h"

#include "base/ban.h"

typedef struct typing {
    scan k;
    arena *a;
    builder copy;
    store_type_list *out;
    hash_index by_type;
    bool one; /* the series of all files have one type */
} typing;

static bool add(typing *x, const model *m, value_type of, uint64_t n_samples, err *e)
{
    str type = m->dict.strings.v[of.type], unit = m->dict.strings.v[of.unit];
    if (!hash_index_room(&x->by_type, x->a)) return err_memory(e);
    uint64_t h = hash_bytes(type.p, type.n, hash_bytes(unit.p, unit.n, x->by_type.seed));
    uint32_t i = hash_first(&x->by_type, h);
    x->k.n_found += n_samples;
    x->k.blocks_done |= x->one && n_samples;
    for (uint32_t at; hash_next(&x->by_type, &i, h, &at); i++) {
        store_type *t = &x->out->v[at];
        if (str_eq(t->type, type) && str_eq(t->unit, unit)) return t->n_samples += n_samples, true;
    }
    store_type *t = vec_push(x->a, x->out);
    if (!t) return err_memory(e);
    *t =
        (store_type){builder_copy_str(&x->copy, type), builder_copy_str(&x->copy, unit), n_samples};
    hash_put(&x->by_type, i, h, (uint32_t)(x->out->n - 1));
    return !x->copy.failed || err_memory(e);
}

static bool on_block(void *ctx, const day_block *b, const tables *t, filter_open_rules open,
                     bool covered, bool *done, err *e)
{
    typing *x = ctx;
    (void)covered;
    const store_selector *q = &x->k.f.q;
    if (open || q->trace_id || q->span_id || q->profile_id) return true;
    *done = true;
    return add(x, &t->m, b->series->s.head.sample_type, b->n_samples, e);
}

static bool on_chunk(void *ctx, const chunk *c, err *e)
{
    typing *x = ctx;
    for (size_t i = 0; i < c->m->profiles.n; i++) {
        const profile *p = &c->m->profiles.v[i];
        chosen y;
        bool yes;
        if (!choose_any(&x->k, c, i, &y, &yes, e)) return false;
        if (yes && !add(x, c->m, p->sample_type, p->n_samples, e)) return false;
    }
    return true;
}

/* Returns whether the series that the selector's type matches have one type. */
static bool have_one_type(const reader *r, const filter *f)
{
    str type = {0}, unit = {0};
    bool found = false;
    for (size_t i = 0; i < r->n_days; i++) {
        const day *d = r->days[i];
        const str *text = d->t.m.dict.strings.v;
        value_type last = {0};
        for (size_t k = 0; k < d->series.n; k++) {
            value_type t = d->series.v[k].s.head.sample_type;
            if (k && t.type == last.type && t.unit == last.unit) continue;
            last = t;
            if (!filter_type(f, text[t.type], text[t.unit])) continue;
            if (found && (!str_eq(type, text[t.type]) || !str_eq(unit, text[t.unit]))) return false;
            found = true;
            type = text[t.type];
            unit = text[t.unit];
        }
    }
    return found;
}

/* Counts the types. Sets *again when blocks were skipped but there are several types. */
static bool count_types(typing *x, reader *r, const store_selector *q, const store_budget *b,
                        bool all, store_read_result *result, bool *again, err *e)
{
    *x->out = (store_type_list){0};
    x->by_type = (hash_index){0};
    x->k = (scan){0};
    if (!scan_open(&x->k, q, b, result, r->world, e)) return false;
    x->k.a = x->a;
    x->k.ctx = x;
    x->k.quick = on_block;
    x->k.chunk = on_chunk;
    x->k.columns = BLOCK_TIMES | BLOCK_VALUES;
    bool ok = reader_begin(r, e);
    x->one = ok && !all && have_one_type(r, &x->k.f);
    ok = ok && reader_scan(r, &x->k, e);
    reader_end(r);
    scan_close(&x->k, r->world);
    *again = ok && x->k.blocks_done && x->out->n > 1;
    return ok;
}

bool result_types(reader *r, const store_selector *q, const store_budget *b, arena *a,
                  store_type_list *out, store_read_result *result, err *e)
{
    typing x = {.a = a, .copy = {.a = a}, .out = out};
    store_read_result own = {0};
    store_budget left = b ? *b : (store_budget){0};
    bool again;
    if (!result) result = &own;
    if (!count_types(&x, r, q, &left, false, result, &again, e)) return false;
    if (!again) return true;
    uint64_t spent = result->ns;
    if (left.max_ns) left.max_ns = left.max_ns > spent ? left.max_ns - spent : 1;
    if (!count_types(&x, r, q, &left, true, result, &again, e)) return false;
    result->ns += spent;
    return true;
}
