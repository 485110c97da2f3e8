#include "store/store.h"

#include "query/lead.h"
#include "base/ban.h"

/* By the rule of query/lead.h.  Of equals the one with more samples, then the first by name. */
static bool leads(const store_type *a, const store_type *b)
{
    unsigned x = lead_rank(a->type), y = b ? lead_rank(b->type) : 0;
    if (b && x != y) return x < y;
    if (!b || a->n_samples != b->n_samples) return !b || a->n_samples > b->n_samples;
    int by_type = str_cmp(a->type, b->type);
    return by_type ? by_type < 0 : str_cmp(a->unit, b->unit) < 0;
}

bool store_main_type(store *s, store_selector *q, const store_budget *b, arena *a,
                     store_answer *answer, err *e)
{
    store_type_list l = {0};
    const store_type *main = NULL;
    if (answer) *answer = (store_answer){0};
    if (q->type.n && memchr(q->type.p, '/', q->type.n)) return true;
    if (!store_list_types(s, q, b, a, &l, answer, e)) return false;
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].n_samples && leads(&l.v[i], main)) main = &l.v[i];
    /* What a selector cannot say stays open.  A profile without a type is "/unit", or "/". */
    if (!main || (main->type.n && memchr(main->type.p, '/', main->type.n))) return true;
    size_t n = main->type.n + 1 + main->unit.n;
    char *text = arena_alloc(a, n);
    if (!text) return err_set(e, ERR_LIMIT, "the memory budget is spent");
    if (main->type.n) memcpy(text, main->type.p, main->type.n);
    text[main->type.n] = '/';
    if (main->unit.n) memcpy(text + main->type.n + 1, main->unit.p, main->unit.n);
    q->type = (str){text, n};
    return true;
}
