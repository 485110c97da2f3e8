#include "store/store.h"

#include "base/ban.h"

/* Samples of all series of the type of v[i], which is the first of them; 0: it is not. */
static uint64_t weight_of(const store_series_list *l, size_t i)
{
    const store_series *s = &l->v[i];
    uint64_t n = 0;
    for (size_t k = 0; k < l->n; k++) {
        if (!str_eq(l->v[k].type, s->type) || !str_eq(l->v[k].unit, s->unit)) continue;
        if (k < i) return 0;
        n += l->v[k].n_samples;
    }
    return n;
}

/* Of equals the first by name: what comes from one recording has as many of each. */
static bool leads(const store_series *a, uint64_t n_a, const store_series *b, uint64_t n_b)
{
    if (!b || n_a != n_b) return !b || n_a > n_b;
    int by_type = str_cmp(a->type, b->type);
    return by_type ? by_type < 0 : str_cmp(a->unit, b->unit) < 0;
}

bool store_main_type(store *s, store_selector *q, const store_budget *b, arena *a,
                     store_answer *answer, err *e)
{
    store_series_list l = {0};
    const store_series *main = NULL;
    uint64_t most = 0;
    if (answer) *answer = (store_answer){0};
    if (q->type.n && memchr(q->type.p, '/', q->type.n)) return true;
    if (!store_list_series(s, q, b, a, &l, answer, e)) return false;
    for (size_t i = 0; i < l.n; i++) {
        uint64_t n = weight_of(&l, i);
        if (n && leads(&l.v[i], n, main, most)) main = &l.v[i], most = n;
    }
    /* What a selector cannot say stays open. */
    if (!main || !main->type.n || memchr(main->type.p, '/', main->type.n)) return true;
    size_t n = main->type.n + 1 + main->unit.n;
    char *text = arena_alloc(a, n);
    if (!text) return err_set(e, ERR_LIMIT, "the memory budget is spent");
    memcpy(text, main->type.p, main->type.n);
    text[main->type.n] = '/';
    if (main->unit.n) memcpy(text + main->type.n + 1, main->unit.p, main->unit.n);
    q->type = (str){text, n};
    return true;
}
