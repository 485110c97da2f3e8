/* Resolves selectors and type ids (pyroscope_select.h). */
#include "server/pyroscope_select.h"

#include "pyroscope/label.h"
#include "store/filter.h"
#include "wire/pb.h"
#include "base/ban.h"
#include <stdlib.h>

#define SERVICE STR("service.name")
#define SERVICE_LABEL STR("service_name")
#define EXECUTABLE STR("process.executable.name")
#define UNKNOWN STR("unknown_service") /* begins the name of a service without one */

str pyro_copy(query *k, str s)
{
    char *p = arena_array(k->a, s.n + 1, 1);
    if (!p) return (str){0};
    if (s.n) memcpy(p, s.p, s.n);
    return (str){p, s.n};
}

void pyro_selection_free(pyro_selection *s) { pyro_selector_free(&s->matchers); }

/* ---- times ---- */

bool pyro_check_range(int64_t start, int64_t end, err *e)
{
    const int64_t most = INT64_MAX / (int64_t)NS_PER_MS;
    if (!start || !end) return err_set(e, ERR_USAGE, "missing time range in the query");
    if (start < 0 || end < 0 || start > most || end > most)
        return err_set(e, ERR_USAGE, "start and end are Unix times in milliseconds");
    return start <= end || err_set(e, ERR_USAGE, "start is after end");
}

/* ---- keys ---- */

bool pyro_key_is_private(str key) { return pyro_label_is_private(key); }

bool pyro_key_is_service(str key) { return str_eq(key, SERVICE_LABEL) || str_eq(key, SERVICE); }

static bool load_keys(pyro_selection *s, err *e)
{
    query *k = s->k;
    store_read_result scanned;
    store_budget b = query_budget(k, 4);
    store_selector q = {.start = s->start, .end = s->end};
    if (s->has_keys) return true;
    if (!store_list_labels(k->store, &q, &b, (str){0}, k->a, &s->keys, &scanned, e)) return false;
    query_spent(k, &scanned);
    s->has_keys = true;
    return true;
}

bool pyro_key(pyro_selection *s, str written, str *out, err *e)
{
    *out = written;
    if (str_eq(written, SERVICE_LABEL)) return *out = SERVICE, true;
    if (!written.n || !memchr(written.p, '_', written.n) || pyro_key_is_private(written))
        return true;
    if (!load_keys(s, e)) return false;
    const store_label *first = NULL;
    for (size_t i = 0; i < s->keys.n; i++) {
        const store_label *x = &s->keys.v[i];
        if (str_eq(x->text, written)) return true;
        if (!first && pyro_label_same(written, x->text)) first = x;
    }
    if (first) *out = first->text;
    return true;
}

/* ---- labels of series ---- */

static bool stored_label(query *k, const store_series *s, str key, str *out, err *e)
{
    any made;
    buf scratch = {0};
    const any *v = envelope_label(s->resource, s->scope, key, &made);
    *out = v ? pyro_copy(k, label_text(v, &scratch)) : STR("");
    bool ok = out->p && !scratch.failed;
    buf_free(&scratch);
    return ok || err_memory(e);
}

bool pyro_service_name(query *k, str service_key, str value, str *out, err *e)
{
    *out = value;
    if (str_eq(service_key, SERVICE)) return true;
    *out = UNKNOWN;
    if (!value.n) return true;
    size_t n = UNKNOWN.n + 1 + value.n;
    char *p = arena_array(k->a, n + 1, 1);
    if (!p) return err_memory(e);
    snprintf(p, n + 1, "unknown_service:%.*s", STR_ARG(value));
    *out = (str){p, n};
    return true;
}

/* Sets *out to the service_name of a series and *key to the label from which it follows. */
static bool service_of(query *k, const store_series *s, str *key, str *out, err *e)
{
    static const str keys[] = {SERVICE, EXECUTABLE};
    str value = {0};
    *key = (str){0};
    for (size_t i = 0; !value.n && i < ARRAY_LEN(keys); i++) {
        if (!stored_label(k, s, keys[i], &value, e)) return false;
        if (value.n) *key = keys[i];
    }
    return pyro_service_name(k, *key, value, out, e);
}

static bool private_label(query *k, const pyro_type *t, str key, str *out, err *e)
{
    bool is;
    if (str_eq(key, STR("__delta__"))) return *out = STR("false"), true;
    return pyro_type_label(t, key, k->a, &is, out, e);
}

bool pyro_series_label(pyro_selection *s, const pyro_series_row *r, str written, str *out, err *e)
{
    str key;
    if (pyro_key_is_private(written)) return private_label(s->k, &r->type, written, out, e);
    if (pyro_key_is_service(written)) return service_of(s->k, r->s, &key, out, e);
    return pyro_key(s, written, &key, e) && stored_label(s->k, r->s, key, out, e);
}

void pyro_labels_put(pyro_labels_out *b, str name, str value)
{
    buf pair = {0};
    pb_put_bytes(&pair, 1, name);
    pb_put_bytes(&pair, 2, value);
    pb_put_bytes(&b->pairs, 1, buf_view(&pair));
    b->pairs.failed |= pair.failed;
    buf_free(&pair);
    buf_str(&b->key, name);
    buf_putc(&b->key, '\0');
    buf_str(&b->key, value);
    buf_putc(&b->key, '\0');
}

bool pyro_labels_end(pyro_labels_out *b, query *k, pyro_labels *out, err *e)
{
    *out = (pyro_labels){pyro_copy(k, buf_view(&b->pairs)), pyro_copy(k, buf_view(&b->key))};
    bool ok = out->pairs.p && out->key.p && !b->pairs.failed && !b->key.failed;
    buf_free(&b->pairs);
    buf_free(&b->key);
    return ok || err_memory(e);
}

/* ---- matchers ---- */

static bool push_matcher(pyro_selection *s, str key, store_op op, str value, err *e)
{
    store_matcher *m = vec_push(s->k->a, &s->own);
    if (!m) return err_memory(e);
    *m = (store_matcher){.key = key, .op = op, .value = value};
    return true;
}

static store_op op_of(pyro_op op)
{
    return op == PYRO_IS       ? STORE_IS
           : op == PYRO_IS_NOT ? STORE_IS_NOT
           : op == PYRO_LIKE   ? STORE_LIKE
                               : STORE_NOT_LIKE;
}

/* Sets *yes to whether the store can evaluate the matcher: it does not know the names of series
 * without service.name, which begin with unknown_service. */
static bool is_stored(pyro_selection *s, const pyro_matcher *m, bool *yes, err *e)
{
    bool unknown = m->op != PYRO_IS || !m->value.n || str_starts(m->value, UNKNOWN);
    *yes = !pyro_key_is_private(m->key);
    if (!pyro_key_is_service(m->key)) return true;
    if (m->op == PYRO_LIKE &&
        !pattern_may_begin(m->value, UNKNOWN, "selector", s->k->a, &unknown, e))
        return false;
    return *yes = !unknown, true;
}

static bool push_matchers(pyro_selection *s, bool of_service, err *e)
{
    for (size_t i = 0; i < s->matchers.matchers.n; i++) {
        const pyro_matcher *m = &s->matchers.matchers.v[i];
        bool yes;
        str key;
        if (pyro_key_is_service(m->key) != of_service) continue;
        if (!is_stored(s, m, &yes, e)) return false;
        if (!yes) continue;
        if (!pyro_key(s, m->key, &key, e) || !push_matcher(s, key, op_of(m->op), m->value, e))
            return false;
    }
    return true;
}

static bool take_matchers(pyro_selection *s, const pyro_texts *texts, err *e)
{
    for (size_t i = 0; i < texts->n; i++)
        if (!pyro_selector_add(&s->matchers, texts->v[i], s->k->a, e))
            return pyro_request_name(&s->k->call->r, texts, i, e);
    if (!push_matchers(s, true, e)) return false;
    s->n_service = s->own.n;
    return push_matchers(s, false, e);
}

bool pyro_names_type(const pyro_matcher *m)
{
    if (m->op != PYRO_IS) return false;
    return str_eq(m->key, STR("__profile_type__")) ||
           (str_eq(m->key, PYRO_METRIC_NAME) && m->value.n && memchr(m->value.p, ':', m->value.n));
}

/* Evaluates the matchers on labels that are derived from a series. */
static bool accepts(pyro_selection *s, const pyro_type *t, str service, bool *yes, err *e)
{
    *yes = true;
    for (size_t i = 0; *yes && i < s->matchers.matchers.n; i++) {
        const pyro_matcher *m = &s->matchers.matchers.v[i];
        str value = service, key = pyro_names_type(m) ? STR("__profile_type__") : m->key;
        if (pyro_key_is_private(key)) {
            if (!private_label(s->k, t, key, &value, e)) return false;
        } else if (!pyro_key_is_service(key)) {
            continue;
        }
        if (!pyro_matcher_accepts(m, value, yes, e)) return false;
    }
    return true;
}

/* ---- types of series ---- */

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static bool list_series(pyro_selection *s, size_t n_matchers, str type, store_series_list *out,
                        err *e)
{
    query *k = s->k;
    store_read_result scanned;
    store_budget b = query_budget(k, 4);
    store_selector q = {.matchers = s->own.v,
                        .n_matchers = n_matchers,
                        .type = type,
                        .start = s->start,
                        .end = s->end};
    if (!store_list_series(k->store, &q, &b, k->a, out, &scanned, e)) return false;
    query_spent(k, &scanned);
    return true;
}

/* Sets *v and *n to the services that have CPU time, sorted: their samples stay a count.  Matchers on
 * other labels do not count, because they must not change the ids of the series that they select. */
static bool cpu_services(pyro_selection *s, const store_series_list *all, str **v, size_t *n,
                         err *e)
{
    static const str type = STR("cpu"), unit = STR("nanoseconds");
    store_series_list cpu = *all;
    bool sampled = false;
    for (size_t i = 0; i < all->n; i++) sampled |= str_eq(all->v[i].type, STR("samples"));
    if (sampled && s->own.n > s->n_service &&
        !list_series(s, s->n_service, STR("cpu/nanoseconds"), &cpu, e))
        return false;
    *v = arena_new(s->k->a, str, cpu.n + 1);
    if (!*v) return err_memory(e);
    for (size_t i = 0; i < cpu.n; i++) {
        const store_series *x = &cpu.v[i];
        str key;
        if (!str_eq(x->type, type) || !str_eq(x->unit, unit)) continue;
        if (!service_of(s->k, x, &key, *v + (*n)++, e)) return false;
    }
    if (*n) qsort(*v, *n, sizeof **v, by_text);
    return true;
}

typedef struct typed {
    pyro_series_row row;
    bool selected;
} typed;

static bool type_series(pyro_selection *s, const store_series_list *all, typed *v, err *e)
{
    query *k = s->k;
    size_t n_cpu = 0;
    str *cpu;
    if (!cpu_services(s, all, &cpu, &n_cpu, e)) return false;
    for (size_t i = 0; i < all->n; i++) {
        const store_series *x = &all->v[i];
        pyro_series_row *r = &v[i].row;
        str service;
        pyro_source from = {.type = x->type,
                            .unit = x->unit,
                            .period_type = x->period_type,
                            .period_unit = x->period_unit,
                            .period = x->period,
                            .scope = x->scope->name};
        r->s = x;
        if (!service_of(k, x, &r->service_key, &service, e) ||
            !stored_label(k, x, PYRO_METRIC_NAME, &from.name, e))
            return false;
        from.has_cpu_time = bsearch(&service, cpu, n_cpu, sizeof *cpu, by_text) != NULL;
        if (!pyro_type_of(&from, k->a, &r->type, &r->scale, e)) return false;
        bool same = !s->type.name.n || pyro_type_eq(&r->type, &s->type);
        if (!accepts(s, &r->type, service, &v[i].selected, e)) return false;
        v[i].selected &= same;
    }
    return true;
}

/* ---- reads ---- */

static bool same_stored_type(const store_series *a, const store_series *b)
{
    return str_eq(a->type, b->type) && str_eq(a->unit, b->unit);
}

/* Returns whether a series belongs to the read. */
static bool is_read(const pyro_read *r, const pyro_series_row *x)
{
    return r->scale == x->scale && str_eq(r->service_key, x->service_key) &&
           same_stored_type(r->first, x->s);
}

/* Restricts the read to its series, unless its type selects them and no others. */
static bool restrict_read(pyro_selection *s, const typed *v, size_t n, pyro_read *r, err *e)
{
    store_series_list *only = arena_new(s->k->a, store_series_list, 1);
    bool mixed = !r->q.type.n;
    if (!only) return err_memory(e);
    for (size_t i = 0; i < n; i++) {
        if (!same_stored_type(v[i].row.s, r->first)) continue;
        if (!v[i].selected || !is_read(r, &v[i].row)) {
            mixed = true;
            continue;
        }
        store_series *x = vec_push(s->k->a, only);
        if (!x) return err_memory(e);
        *x = *v[i].row.s;
    }
    if (mixed) r->q.series = only;
    return true;
}

static bool push_read(pyro_selection *s, const typed *v, size_t n, const pyro_series_row *first,
                      err *e)
{
    query *k = s->k;
    const store_series *x = first->s;
    const size_t size = x->type.n + x->unit.n + 2;
    char *type = arena_array(k->a, size, 1);
    pyro_read *r = vec_push(k->a, &s->reads);
    if (!type || !r) return err_memory(e);
    snprintf(type, size, "%.*s/%.*s", STR_ARG(x->type), STR_ARG(x->unit));
    *r = (pyro_read){.q = {.matchers = s->own.v,
                           .n_matchers = s->own.n,
                           .type = {type, size - 1},
                           .start = s->start,
                           .end = s->end},
                     .scale = first->scale,
                     .service_key = first->service_key,
                     .first = x};
    if (x->type.n && memchr(x->type.p, '/', x->type.n))
        r->q.type = (str){0}; /* it would end there */
    return restrict_read(s, v, n, r, e);
}

static bool has_read(const pyro_selection *s, const pyro_series_row *x)
{
    for (size_t i = 0; i < s->reads.n; i++)
        if (is_read(&s->reads.v[i], x)) return true;
    return false;
}

static bool take_reads(pyro_selection *s, const typed *v, size_t n, err *e)
{
    for (size_t i = 0; i < n; i++) {
        if (!v[i].selected) continue;
        pyro_series_row *r = vec_push(s->k->a, &s->series);
        if (!r) return err_memory(e);
        *r = v[i].row;
        if (!has_read(s, r) && !push_read(s, v, n, r, e)) return false;
    }
    return true;
}

bool pyro_selection_add(pyro_selection *s, str key, store_op op, str value, err *e)
{
    for (size_t i = 0; i < s->reads.n; i++) {
        store_selector *q = &s->reads.v[i].q;
        store_matcher *own = arena_new(s->k->a, store_matcher, q->n_matchers + 1);
        if (!own) return err_memory(e);
        if (q->n_matchers) memcpy(own, q->matchers, q->n_matchers * sizeof *own);
        own[q->n_matchers++] = (store_matcher){key, op, value};
        q->matchers = own;
    }
    return true;
}

bool pyro_select(query *k, const pyro_texts *texts, str type_id, int64_t start, int64_t end,
                 pyro_selection *out, err *e)
{
    store_series_list all = {0};
    *out = (pyro_selection){.k = k};
    if ((type_id.n && !pyro_type_parse(type_id, &out->type, e)) || !pyro_check_range(start, end, e))
        return false;
    out->start = (uint64_t)start * NS_PER_MS;
    out->end = (uint64_t)end * NS_PER_MS;
    if (!take_matchers(out, texts, e)) return false;
    if (out->start == out->end) return true; /* an empty range */
    if (!list_series(out, out->own.n, (str){0}, &all, e)) return false;
    typed *v = arena_new(k->a, typed, all.n + 1);
    if (!v) return err_memory(e);
    return type_series(out, &all, v, e) && take_reads(out, v, all.n, e);
}
