/* SelectMergeProfile: the selection as one pprof profile with one sample type, summed by stack. */
#include "server/pyroscope_stacks.h"

#include "format/pprof.h"
#include "model/executable.h"
#include "model/merge.h"
#include "server/pyroscope_methods.h"
#include "wire/pb.h"
#include "base/ban.h"

/* Adds a string to the dictionary of a model. */
static bool put_string(query *k, model *m, str s, uint32_t *out, err *e)
{
    str *v = vec_push(k->a, &m->dict.strings);
    if (!v) return err_memory(e);
    *v = s;
    *out = (uint32_t)(m->dict.strings.n - 1);
    return true;
}

/* The time that the profiles of all models cover. */
typedef struct covered {
    uint64_t first, last;
} covered;

static void cover(covered *c, const model *m)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (p->time_unix_nano && p->time_unix_nano < c->first) c->first = p->time_unix_nano;
        if (p->time_unix_nano + p->duration_nano > c->last)
            c->last = p->time_unix_nano + p->duration_nano;
    }
}

/* Returns the period that all series have, or 0. */
static int64_t period_of(const pyro_selection *s)
{
    for (size_t i = 1; i < s->series.n; i++)
        if (s->series.v[i].s->period != s->series.v[0].s->period) return 0;
    return s->series.n ? s->series.v[0].s->period : 0;
}

/* Removes all that distinguishes profiles (resource, scope, attributes, period), so that joining
 * makes one profile of them. */
static bool make_equal(const pyro_selection *s, model *m, int64_t scale, const covered *c, err *e)
{
    query *k = s->k;
    const pyro_type *t = &s->type;
    value_type type, period;
    if (!put_string(k, m, t->type, &type.type, e) || !put_string(k, m, t->unit, &type.unit, e) ||
        !put_string(k, m, t->period_type, &period.type, e) ||
        !put_string(k, m, t->period_unit, &period.unit, e))
        return false;
    const int64_t rate = period_of(s);
    for (size_t i = 0; i < m->profiles.n; i++) {
        profile *p = &m->profiles.v[i];
        p->period = rate;
        p->sample_type = type;
        p->period_type = period;
        p->scope = 0;
        p->attrs = (span){0};
        p->attr_span = (spans){0};
        p->link = NULL;
        p->time_unix_nano = c->first;
        p->duration_nano = c->last - c->first;
        memset(p->profile_id, 0, sizeof p->profile_id);
    }
    for (size_t i = 0; scale != 1 && i < m->values.n; i++)
        if (__builtin_mul_overflow(m->values.v[i], scale, &m->values.v[i]))
            m->values.v[i] = INT64_MAX;
    m->scopes.n = m->resources.n = 1;
    m->scopes.v[0] = (scope){.n_profiles = (uint32_t)m->profiles.n};
    m->resources.v[0] = (resource){.n_scopes = 1};
    return true;
}

/* Keeps the samples whose stacks begin with the call site. */
static bool keep_call_site(query *k, model *m, const pyro_request *r, err *e)
{
    frame_table f;
    view v;
    const select_opts o = {.all = true, .by_sample = true};
    if (!r->call_site.n || !m->profiles.n) return true;
    if (!frame_table_init(&f, BY_FUNCTION, k->a, e)) return false;
    view_init(&v, &f, k->a);
    v.stop = k->stop;
    if (!view_add(&v, m, &o, 1, e) || !pyro_keep_call_site(&v, 0, &r->call_site, e)) return false;
    uint32_t *stacks = arena_new(k->a, uint32_t, v.rows.n + 1);
    if (!stacks || !vec_reserve(k->a, &m->values, v.rows.n)) return err_memory(e);
    profile *p = &m->profiles.v[0];
    const uint32_t base = (uint32_t)m->values.n;
    for (size_t i = 0; i < v.rows.n; i++) {
        stacks[i] = p->stack[v.rows.v[i].sample];
        m->values.v[m->values.n++] = v.rows.v[i].value;
    }
    p->stack = stacks;
    p->n_samples = v.rows.n;
    p->value_span = (spans){.base = base, .stride = 1};
    return true;
}

static bool read_models(query *k, const pyro_selection *s, model **out, err *e)
{
    covered c = {UINT64_MAX, 0};
    model *m = arena_new(k->a, model, s->reads.n + 1);
    if (!m) return err_memory(e);
    *out = m;
    for (size_t i = 0; i < s->reads.n; i++) {
        store_read_result scanned;
        store_read_opts o = {
            .budget = query_budget(k, 2), .names = true, .by_series = true, .by_reading = true};
        if (!store_read_sums(k->store, &s->reads.v[i].q, &o, k->a, &m[i], &scanned, e) ||
            !stopper_now(k->stop, e))
            return false;
        query_scanned(k, &scanned);
        cover(&c, &m[i]);
    }
    if (c.first == UINT64_MAX) c.first = c.last;
    for (size_t i = 0; i < s->reads.n; i++)
        if (m[i].profiles.n && !make_equal(s, &m[i], s->reads.v[i].scale, &c, e)) return false;
    return true;
}

static bool join(query *k, const pyro_selection *s, model *in, model *out, err *e)
{
    const model **parts = arena_new(k->a, const model *, s->reads.n + 1);
    size_t n = 0;
    if (!parts) return err_memory(e);
    for (size_t i = 0; i < s->reads.n; i++)
        if (in[i].profiles.n) parts[n++] = &in[i];
    return model_merge(parts, n, &(merge_opts){.join = true}, k->a, out, e);
}

/* A profile without samples: readers require the empty string and a sample type. */
static void put_empty(const pyro_type *t, buf *b)
{
    const str texts[] = {STR(""), t->type, t->unit};
    buf type = {0};
    pb_put_uint(&type, 1, 1);
    pb_put_uint(&type, 2, 2);
    pb_put_bytes(b, 1, buf_view(&type));
    b->failed |= type.failed;
    buf_free(&type);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) pb_put_bytes(b, 6, texts[i]);
}

/* A comment has the reason why the profile is partial.  It is an index of a string. */
static void put_comment(const query *k, buf *b)
{
    err e = {0};
    uint64_t strings = 0;
    char text[160];
    if (!k->scanned.partial) return;
    pb_cur c = pb_open(b->p, b->n, &e);
    for (pb_field f; pb_next(&c, &f);) strings += f.number == 6;
    snprintf(text, sizeof text, "partial: %s", k->scanned.why);
    pb_put_bytes(b, 6, str_of(text));
    pb_put_uint(b, 13, strings);
}

bool pyro_pprof_put(query *k, const pyro_request *r, buf *out, err *e)
{
    pyro_selection s;
    model *in = NULL, m = {0};
    bool ok = pyro_select_ids(k, r, &s, e) && read_models(k, &s, &in, e) &&
              join(k, &s, in, &m, e) && keep_call_site(k, &m, r, e);
    if (ok && m.profiles.n) {
        model_executables_first(&m);
        ok = pprof_encode(&m, &(pprof_write_opts){0}, out, e);
    } else if (ok) {
        put_empty(&s.type, out);
    }
    if (ok) put_comment(k, out);
    pyro_selection_free(&s);
    return ok && (!out->failed || err_memory(e));
}

bool pyro_merge_profile_of(query *k, err *e)
{
    const pyro_request *r = &k->call->r;
    uint64_t max_nodes;
    return pyro_max_nodes(r, &max_nodes, e) && pyro_pprof_put(k, r, &k->body, e);
}
