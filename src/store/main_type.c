/* store_main_type for all engines: lists the types of the selection and applies the rule of
 * query/default_type.h. */
#include "store/store.h"

#include "query/default_type.h"
#include "base/ban.h"

/* Returns whether a comes before b: by the rule of query/default_type.h, then by samples, then by
 * name. */
static bool leads(const store_type *a, const store_type *b)
{
    unsigned x = default_type_rank(a->type), y = b ? default_type_rank(b->type) : 0;
    if (b && x != y) return x < y;
    if (!b || a->n_samples != b->n_samples) return !b || a->n_samples > b->n_samples;
    int by_type = str_cmp(a->type, b->type);
    return by_type ? by_type < 0 : str_cmp(a->unit, b->unit) < 0;
}

bool store_main_type(store_reader *r, store_selector *q, const store_budget *b, arena *a,
                     store_read_result *result, err *e)
{
    store_type_list l = {0};
    const store_type *main = NULL;
    if (result) *result = (store_read_result){0};
    if (q->type.n && memchr(q->type.p, '/', q->type.n)) return true;
    if (!store_list_types(r, q, b, a, &l, result, e)) return false;
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].n_samples && leads(&l.v[i], main)) main = &l.v[i];
    /* A type that a selector cannot express is not set. A profile without a type has "/unit" or
     * "/". */
    if (!main || (main->type.n && memchr(main->type.p, '/', main->type.n))) return true;
    size_t n = main->type.n + 1 + main->unit.n;
    char *text = arena_alloc(a, n);
    if (!text) return err_memory(e);
    if (main->type.n) memcpy(text, main->type.p, main->type.n);
    text[main->type.n] = '/';
    if (main->unit.n) memcpy(text + main->type.n + 1, main->unit.p, main->unit.n);
    q->type = (str){text, n};
    return true;
}
