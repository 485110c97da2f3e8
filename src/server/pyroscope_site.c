/* What SelectSeries needs single observations for: amounts at a call site, and exemplars. */
#include "server/pyroscope_observe.h"

#include "base/ban.h"

/* The times of all steps: (first - step, last]. */
static uint64_t begin_of(const pyro_steps *t) { return t->first - t->step + 1; }
static uint64_t end_of(const pyro_steps *t) { return t->first + (t->n - 1) * t->step + 1; }

static size_t step_of(const pyro_steps *t, uint64_t time)
{
    return (size_t)((time - begin_of(t)) / t->step);
}

/* ---- amounts ---- */

typedef struct adding {
    query *k;
    const pyro_steps *t;
    const pyro_groups *groups;
    pyro_lines *out; /* by group */
} adding;

static bool add(void *ctx, const pyro_observation *o, err *e)
{
    adding *x = ctx;
    while (x->out->n <= o->group) {
        pyro_line *l = vec_push(x->k->a, x->out);
        double *sum = l ? arena_new(x->k->a, double, x->t->n) : NULL;
        uint64_t *count = sum ? arena_new(x->k->a, uint64_t, x->t->n) : NULL;
        if (!count) return err_memory(e);
        *l = (pyro_line){.labels = x->groups->v.v[x->out->n - 1], .sum = sum, .count = count};
    }
    pyro_line *l = &x->out->v[o->group];
    size_t at = step_of(x->t, o->time);
    l->sum[at] += (double)o->value;
    l->total += (double)o->value;
    l->count[at]++;
    return true;
}

bool pyro_lines_at(pyro_selection *s, const pyro_steps *t, const pyro_texts *by,
                   const pyro_texts *site, pyro_lines *out, err *e)
{
    pyro_groups groups = {0};
    adding x = {.k = s->k, .t = t, .groups = &groups, .out = out};
    if (!t->n) return true;
    if (!pyro_observe(s, begin_of(t), end_of(t), by, site, &groups, add, &x, e)) return false;
    pyro_lines_sort(out);
    return true;
}

/* ---- exemplars ---- */

bool pyro_exemplars_of(pyro_selection *s, const pyro_steps *t, const pyro_texts *by,
                       const pyro_texts *site, bool of_spans, pyro_lines *l, err *e)
{
    pyro_groups groups = {0};
    pyro_items items = {.k = s->k, .spans = of_spans};
    if (!t->n || !l->n) return true;
    if (!pyro_observe(s, begin_of(t), end_of(t), by, site, &groups, pyro_collect, &items, e))
        return false;
    for (size_t i = 0; i < items.v.n; i++) {
        const pyro_item *x = &items.v.v[i];
        pyro_line *to = pyro_line_of(l, &groups.v.v[x->group]);
        if (!to) continue;
        if (!to->top && !(to->top = arena_new(s->k->a, const pyro_item *, t->n)))
            return err_memory(e);
        size_t at = step_of(t, x->time);
        if (!to->top[at] || x->value > to->top[at]->value) to->top[at] = x;
    }
    return true;
}
