/* Rules on samples: shape, window, lists, identity.  Whole columns are checked first, single samples only
 * after a violation. */
#include "check/internal.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- indices ---- */

static void column_rule(checker *c, size_t pi, const uint32_t *v, size_t n, size_t bound,
                        const char *field)
{
    uint32_t max = u32_max(v, n);
    if (max == 0 || max < bound) return;
    for (size_t i = 0; i < n; i++)
        if (v[i] && v[i] >= bound && violated(c, RULE_P06))
            bad_index(c, at_profile(c, pi, ".samples[%zu].%s", i, field), v[i], bound);
}

static void list_rules(checker *c, const profile *p, size_t pi)
{
    const model *m = c->m;
    if (!p->attr_span.off && !p->attr_span.stride) return;
    if (!c->on[RULE_P06] && !c->on[RULE_P21] && !c->on[RULE_P28]) return;
    size_t n_attrs = m->dict.attributes.n;
    for (size_t i = 0; i < p->n_samples; i++) {
        span s = spans_at(&p->attr_span, i);
        const uint32_t *v = pool_at(&m->sample_attrs, s.at);
        if (s.n == 0 || (s.n == 1 && v[0] && v[0] < n_attrs)) continue;
        check_attr_list(c, (owner){OWNER_SAMPLE, pi, i}, v, s.n);
    }
}

/* ---- shapes ---- */

typedef enum shape { SHAPE_NONE, SHAPE_VALUES, SHAPE_TIMES, SHAPE_BOTH } shape;

static const char *shape_name(shape s)
{
    static const char *const names[] = {"nothing", "values only", "timestamps only",
                                        "values and timestamps"};
    return names[s];
}

/* Checks one sample; *first is the shape of the profile so far. */
static void shape_rules(checker *c, size_t pi, size_t i, uint32_t nv, uint32_t nt, shape *first)
{
    shape s = nv && nt ? SHAPE_BOTH : nv ? SHAPE_VALUES : nt ? SHAPE_TIMES : SHAPE_NONE;
    if (s == SHAPE_NONE) {
        if (violated(c, RULE_P60))
            report(c, RULE_P60, at_profile(c, pi, ".samples[%zu]", i),
                   "no values and no timestamps", "at least one of the two");
        return;
    }
    if (s == SHAPE_BOTH && nv != nt && violated(c, RULE_P61))
        report(c, RULE_P61, at_profile(c, pi, ".samples[%zu].values", i),
               found_text(c, "%u values, %u timestamps", nv, nt), "as many values as timestamps");
    if (s == SHAPE_VALUES && nv > 1 && violated(c, RULE_P64))
        report(c, RULE_P64, at_profile(c, pi, ".samples[%zu].values", i),
               found_text(c, "%u values", nv), "one value, the total");
    if (*first == SHAPE_NONE) *first = s;
    if (s != *first && violated(c, RULE_P65))
        report(c, RULE_P65, at_profile(c, pi, ".samples[%zu]", i), shape_name(s),
               expected_text(c, "%s, like the samples before", shape_name(*first)));
}

static void shapes(checker *c, const profile *p, size_t pi)
{
    shape first = SHAPE_NONE;
    const spans *v = &p->value_span, *t = &p->time_span;
    bool same = !v->off && !t->off; /* all samples have the same shape: check it once */
    if (same && ((v->stride == 1 && t->stride <= 1) || (!v->stride && t->stride))) return;
    for (size_t i = 0; i < p->n_samples; i++)
        shape_rules(c, pi, i, spans_at(v, i).n, spans_at(t, i).n, &first);
}

/* ---- P-67 ---- */

static bool in_window(uint64_t t, const profile *p)
{
    return t >= p->time_unix_nano && t - p->time_unix_nano < p->duration_nano;
}

static void window(checker *c, const profile *p, size_t pi)
{
    const uint64_t *times = c->m->times.v;
    if (!c->on[RULE_P67] || (!p->time_span.off && !p->time_span.stride)) return;
    span first = spans_at(&p->time_span, 0), last = spans_at(&p->time_span, p->n_samples - 1);
    uint64_t start = p->time_unix_nano, bad = 0;
    for (uint32_t k = first.at; k < last.at + last.n; k++)
        bad += (times[k] < start) | (times[k] - start >= p->duration_nano);
    for (size_t i = 0; bad && i < p->n_samples; i++) {
        span s = spans_at(&p->time_span, i);
        for (uint32_t k = 0; k < s.n; k++) {
            uint64_t t = times[s.at + k];
            if (in_window(t, p)) continue;
            bad--;
            if (violated(c, RULE_P67))
                report(c, RULE_P67,
                       at_profile(c, pi, ".samples[%zu].timestamps_unix_nano[%u]", i, k),
                       found_text(c, "%" PRIu64, t),
                       expected_text(c, "a time in [%" PRIu64 ", %" PRIu64 " + %" PRIu64 ")", start,
                                     start, p->duration_nano));
        }
    }
}

/* ---- P-66 ---- */

typedef struct identity {
    const checker *c;
    const profile *p;
    arena *a;
    uint32_t *list[2]; /* attribute sets, sorted */
} identity;

/* Returns the sorted attributes of sample i; they are in the pool if they are sorted there,
 * otherwise in list[k]. */
static const uint32_t *attr_set(const identity *x, size_t i, int k, size_t *n)
{
    const model *m = x->c->m;
    const uint32_t *map = x->c->canon->attributes;
    span s = spans_at(&x->p->attr_span, i);
    *n = s.n;
    if (s.n == 0) return NULL;
    const uint32_t *v = pool_at(&m->sample_attrs, s.at);
    bool sorted = !map;
    for (uint32_t j = 1; sorted && j < s.n; j++) sorted = v[j - 1] < v[j];
    if (sorted) return v;
    for (uint32_t j = 0; j < s.n; j++) x->list[k][j] = canon_of(map, v[j], m->dict.attributes.n);
    *n = sort_unique(x->list[k], s.n);
    return x->list[k];
}

static uint32_t stack_of(const identity *x, size_t i)
{
    return canon_of(x->c->canon->stacks, x->p->stack[i], dict_n_stacks(&x->c->m->dict));
}

static uint32_t link_of(const identity *x, size_t i)
{
    return x->p->link ? canon_of(x->c->canon->links, x->p->link[i], x->c->m->dict.links.n) : 0;
}

static bool same_identity(const identity *x, size_t i, size_t j)
{
    size_t n, k;
    if (stack_of(x, i) != stack_of(x, j) || link_of(x, i) != link_of(x, j)) return false;
    const uint32_t *a = attr_set(x, i, 0, &n), *b = attr_set(x, j, 1, &k);
    return n == k && (n == 0 || memcmp(a, b, n * sizeof *a) == 0);
}

static uint64_t identity_hash(const identity *x, size_t i)
{
    size_t n;
    const uint32_t *v = attr_set(x, i, 0, &n);
    uint64_t h = hash_mix(x->a->seed, (uint64_t)stack_of(x, i) << 32 | link_of(x, i));
    for (size_t k = 0; k < n; k++) h = h * 0x9e3779b97f4a7c15u ^ v[k];
    return hash_mix(h, n);
}

static bool open_identity(identity *x, hash_index *ix)
{
    size_t most = 1, slots = 16, n = x->p->n_samples;
    for (size_t i = 0; i < n; i++) {
        span s = spans_at(&x->p->attr_span, i);
        if (s.n > most) most = s.n;
        if (!x->p->attr_span.off) break;
    }
    while (slots * 3 / 4 <= n) slots *= 2;
    if (slots > UINT32_MAX / 2) return false;
    *ix = (hash_index){arena_new(x->a, hash_slot, slots), (uint32_t)(slots - 1), 0, x->a->seed};
    x->list[0] = arena_array(x->a, most, sizeof(uint32_t));
    x->list[1] = arena_array(x->a, most, sizeof(uint32_t));
    return ix->slot && x->list[0] && x->list[1];
}

static void identities(checker *c, const profile *p, size_t pi, arena *tmp)
{
    if (!c->on[RULE_P66] || p->n_samples < 2) return;
    arena_reset(tmp);
    identity x = {.c = c, .p = p, .a = tmp};
    hash_index ix;
    if (!open_identity(&x, &ix)) {
        c->failed = true;
        return;
    }
    uint64_t ahead[HASH_AHEAD];
    for (size_t i = 0; i < p->n_samples; i++) {
        for (size_t k = 0; i % HASH_AHEAD == 0 && k < HASH_AHEAD && i + k < p->n_samples; k++) {
            ahead[k] = identity_hash(&x, i + k);
            hash_prefetch(&ix, ahead[k]);
        }
        uint64_t h = ahead[i % HASH_AHEAD];
        uint32_t slot = hash_first(&ix, h), first = 0;
        bool found = false;
        for (; !found && hash_next(&ix, &slot, h, &first); slot++)
            found = same_identity(&x, first, i);
        if (!found)
            hash_put(&ix, slot, h, (uint32_t)i);
        else if (violated(c, RULE_P66))
            report(c, RULE_P66, at_profile(c, pi, ".samples[%zu]", i),
                   found_text(c, "stack, attributes and link of samples[%u]", first),
                   "one sample with all values and timestamps");
    }
}

void check_samples(checker *c)
{
    const model *m = c->m;
    arena tmp = arena_beside(&c->tmp);
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (!p->n_samples) continue;
        if (c->on[RULE_P06] && !m->checked) {
            column_rule(c, i, p->stack, p->n_samples, dict_n_stacks(&m->dict), "stack_index");
            if (p->link) column_rule(c, i, p->link, p->n_samples, m->dict.links.n, "link_index");
        }
        list_rules(c, p, i);
        shapes(c, p, i);
        window(c, p, i);
        identities(c, p, i, &tmp);
    }
    arena_free(&tmp);
}
