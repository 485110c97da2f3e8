/* Computes the numbers that describe each profile in one pass over its samples. Distinct stacks
 * and the names of leaves are found once per model. */
#include "query/facts.h"

#include "base/hash.h"
#include "query/observed.h"
#include "query/summed.h"
#include "base/ban.h"
#include <inttypes.h>

/* Arrays that all profiles share.  They are not cleared between profiles: entries are valid if
 * their stamp is current. */
typedef struct work {
    const model *m;
    arena *a;
    uint32_t *same_stack; /* stack -> first stack with the same locations */
    uint32_t *seen_stack; /* stamp */
    uint32_t *name_of;    /* leaf location -> name + 1; [0] belongs to the empty stack */
    str *names;           /* name -> text */
    int64_t *self;        /* name -> sum */
    uint32_t *seen_name;  /* stamp */
    uint32_t *used;       /* names of this profile, in order of first use */
    size_t n_names, n_used;
    hash_index by_name;
    uint32_t stamp;
} work;

/* Index 0 is valid even if the table is empty: it means "none". */
static span stack_of(const dict *d, uint32_t stack)
{
    return stack < dict_n_stacks(d) ? dict_stack(d, stack) : (span){0};
}

static str address_name(uint64_t address, arena *a)
{
    char *p = arena_alloc(a, 20);
    if (!p) return (str){0};
    int n = snprintf(p, 20, "0x%" PRIx64, address);
    return (str){p, (size_t)n};
}

static str location_name(const dict *d, uint32_t i, arena *a)
{
    const location *l = &d->locations.v[i];
    uint32_t i_function = l->lines.n ? d->lines.v[l->lines.at].function : 0;
    if (i_function < d->functions.n) {
        const function *f = &d->functions.v[i_function];
        str name = dict_str(d, f->name), system = dict_str(d, f->system_name);
        if (name.n) return name;
        if (system.n) return system;
    }
    return address_name(l->address, a);
}

str leaf_name(const dict *d, uint32_t stack, arena *a)
{
    span s = stack_of(d, stack);
    return s.n ? location_name(d, d->frames.v[s.at], a) : STR("?");
}

/* ---- distinct stacks ---- */

static bool find_same_stacks(work *w)
{
    const dict *d = &w->m->dict;
    size_t n = dict_n_stacks(d);
    hash_index index = {0};
    for (uint32_t i = 0; i < n; i++) {
        span s = dict_stack(d, i);
        const uint32_t *frames = d->frames.v ? d->frames.v + s.at : NULL;
        size_t bytes = s.n * sizeof *frames;
        if (!hash_index_room(&index, w->a)) return false;
        uint64_t h = hash_bytes(frames, bytes, index.seed);
        uint32_t k = hash_first(&index, h), at;
        w->same_stack[i] = i;
        bool found = false;
        for (; !found && hash_next(&index, &k, h, &at); k++) {
            span t = dict_stack(d, at);
            found = t.n == s.n && (!s.n || !memcmp(d->frames.v + t.at, frames, bytes));
            if (found) w->same_stack[i] = at;
        }
        if (!found) hash_put(&index, k, h, i);
    }
    return true;
}

/* ---- names of leaves ---- */

static bool intern(work *w, str name, uint32_t *out)
{
    if (!name.p || !hash_index_room(&w->by_name, w->a)) return false;
    uint64_t h = hash_bytes(name.p, name.n, w->by_name.seed);
    uint32_t k = hash_first(&w->by_name, h), at;
    for (; hash_next(&w->by_name, &k, h, &at); k++)
        if (str_eq(w->names[at], name)) return *out = at, true;
    *out = (uint32_t)w->n_names++;
    w->names[*out] = name;
    hash_put(&w->by_name, k, h, *out);
    return true;
}

/* Sets *out to the name of the leaf of a stack, computed once per location. */
static bool name_of_leaf(work *w, uint32_t stack, uint32_t *out)
{
    const dict *d = &w->m->dict;
    span s = stack_of(d, stack);
    uint32_t *slot = &w->name_of[s.n ? d->frames.v[s.at] + 1 : 0];
    if (!*slot) {
        uint32_t name;
        if (!intern(w, leaf_name(d, stack, w->a), &name)) return false;
        *slot = name + 1;
    }
    *out = *slot - 1;
    return true;
}

static bool add_self(work *w, uint32_t stack, int64_t value)
{
    uint32_t name;
    if (!name_of_leaf(w, stack, &name)) return false;
    if (w->seen_name[name] != w->stamp) {
        w->seen_name[name] = w->stamp;
        w->self[name] = 0;
        w->used[w->n_used++] = name;
    }
    w->self[name] = add_saturating(w->self[name], value, NULL);
    return true;
}

static void find_top(const work *w, profile_facts *f)
{
    for (size_t i = 0; i < w->n_used; i++) {
        uint32_t name = w->used[i];
        int64_t self = w->self[name];
        bool better = !f->has_top || self > f->top_self ||
                      (self == f->top_self && str_cmp(w->names[name], f->top_function) < 0);
        if (better) f->has_top = true, f->top_self = self, f->top_function = w->names[name];
    }
}

static bool profile_facts_of(work *w, const profile *p, profile_facts *f)
{
    *f = (profile_facts){.samples = p->n_samples};
    observed counts = {0};
    w->n_used = 0;
    w->stamp++;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        int64_t total = sample_total(&s, &f->saturated);
        observed_add(&counts, &s);
        f->timestamps += s.n_times;
        f->links += s.link != 0;
        f->total = add_saturating(f->total, total, &f->saturated);
        uint32_t *seen = &w->seen_stack[w->same_stack[s.stack]];
        f->distinct_stacks += *seen != w->stamp;
        *seen = w->stamp;
        uint32_t depth = stack_of(&w->m->dict, s.stack).n;
        if (depth > f->max_depth) f->max_depth = depth;
        if (!add_self(w, s.stack, total)) return false;
    }
    f->observations = observed_total(&counts, &w->m->dict, p);
    find_top(w, f);
    summed of = profile_summed(w->m, p);
    if (of.is) f->samples = of.n_samples, f->observations = of.n_observations;
    return true;
}

bool facts_of(const model *m, arena *a, profile_facts **out, err *e)
{
    size_t n_stacks = dict_n_stacks(&m->dict) + 1, n_leaves = m->dict.locations.n + 1;
    work w = {
        .m = m,
        .a = a,
        .same_stack = arena_new(a, uint32_t, n_stacks),
        .seen_stack = arena_new(a, uint32_t, n_stacks),
        .name_of = arena_new(a, uint32_t, n_leaves),
        .names = arena_new(a, str, n_leaves),
        .self = arena_new(a, int64_t, n_leaves),
        .seen_name = arena_new(a, uint32_t, n_leaves),
        .used = arena_new(a, uint32_t, n_leaves),
    };
    *out = arena_new(a, profile_facts, m->profiles.n);
    if (!w.same_stack || !w.seen_stack || !w.name_of || !w.names || !w.self || !w.seen_name ||
        !w.used || !*out)
        return err_memory(e);
    if (!find_same_stacks(&w)) return err_memory(e);
    for (size_t i = 0; i < m->profiles.n; i++)
        if (!profile_facts_of(&w, &m->profiles.v[i], &(*out)[i])) return err_memory(e);
    return true;
}
