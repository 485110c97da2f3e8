/* Types and how many samples each has, without looking at what else a series is. */
#include "store/answer.h"

#include "base/ban.h"

typedef struct typing {
    look k;
    arena *a;
    builder copy;
    store_type_list *out;
    hash_index by_type;
} typing;

static bool no_room(err *e)
{
    return err_set(e, ERR_LIMIT, "the answer does not fit the memory budget");
}

static bool add(typing *x, const model *m, const profile *p, uint64_t n_samples, err *e)
{
    str type = m->dict.strings.v[p->sample_type.type],
        unit = m->dict.strings.v[p->sample_type.unit];
    if (!hash_index_room(&x->by_type, x->a)) return no_room(e);
    uint64_t h = hash_bytes(type.p, type.n, hash_bytes(unit.p, unit.n, x->by_type.seed));
    uint32_t i = hash_first(&x->by_type, h);
    x->k.n_found += n_samples;
    for (uint32_t at; hash_next(&x->by_type, &i, h, &at); i++) {
        store_type *t = &x->out->v[at];
        if (str_eq(t->type, type) && str_eq(t->unit, unit)) return t->n_samples += n_samples, true;
    }
    store_type *t = vec_push(x->a, x->out);
    if (!t) return no_room(e);
    *t =
        (store_type){builder_copy_str(&x->copy, type), builder_copy_str(&x->copy, unit), n_samples};
    hash_put(&x->by_type, i, h, (uint32_t)(x->out->n - 1));
    return !x->copy.failed || no_room(e);
}

static bool on_block(void *who, const day_block *b, const tables *t, filter_open_rules open,
                     bool covered, bool *done, err *e)
{
    typing *x = who;
    (void)covered;
    const store_selector *q = &x->k.f.q;
    if (open || q->trace_id || q->span_id || q->profile_id) return true;
    *done = true;
    return add(x, &t->m, &b->series->s.head, b->n_samples, e);
}

static bool on_chunk(void *who, const chunk *c, err *e)
{
    typing *x = who;
    for (size_t i = 0; i < c->m->profiles.n; i++) {
        const profile *p = &c->m->profiles.v[i];
        chosen y;
        bool yes;
        if (!choose_any(&x->k, c, i, &y, &yes, e)) return false;
        if (yes && !add(x, c->m, p, p->n_samples, e)) return false;
    }
    return true;
}

bool answer_types(reader *r, const store_selector *q, const store_budget *b, arena *a,
                  store_type_list *out, store_answer *answer, err *e)
{
    *out = (store_type_list){0};
    typing x = {.a = a, .copy = {.a = a}, .out = out};
    if (!look_open(&x.k, q, b, answer, r->world, e)) return false;
    x.k.a = a;
    x.k.who = &x;
    x.k.quick = on_block;
    x.k.chunk = on_chunk;
    x.k.columns = BLOCK_TIMES | BLOCK_VALUES;
    bool ok = reader_begin(r, e) && reader_look(r, &x.k, e);
    reader_end(r);
    look_close(&x.k, r->world);
    return ok;
}
