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

static bool service_of(query *k, const store_series *s, str *out, err *e)
{
    str executable;
    if (!stored_label(k, s, SERVICE, out, e)) return false;
    if (out->n) return true;
    if (!stored_label(k, s, EXECUTABLE, &executable, e)) return false;
    *out = PYRO_UNKNOWN;
    if (!executable.n) return true;
    size_t n = PYRO_UNKNOWN.n + 1 + executable.n;
    char *p = arena_array(k->a, n + 1, 1);
    if (!p) return err_memory(e);
    snprintf(p, n + 1, "unknown_service:%.*s", STR_ARG(executable));
    *out = (str){p, n};
    return true;
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
    if (str_eq(written, SERVICE_LABEL)) return service_of(s->k, r->s, out, e);
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

/* Series without service.name are listed as unknown_service, with their executable. */
static bool push_unknown(pyro_selection *s, const pyro_matcher *m, err *e)
{
    str rest = {m->value.p + PYRO_UNKNOWN.n, m->value.n - PYRO_UNKNOWN.n};
    if (m->op == PYRO_IS_NOT && !rest.n) return push_matcher(s, SERVICE, STORE_IS_NOT, STR(""), e);
    if (rest.n) rest.p++, rest.n--; /* the colon */
    return push_matcher(s, SERVICE, STORE_IS, STR(""), e) &&
           push_matcher(s, EXECUTABLE, STORE_IS, rest, e);
}

static bool is_unknown(const pyro_matcher *m)
{
    str v = m->value;
    if (!str_eq(m->key, SERVICE_LABEL) || !str_starts(v, PYRO_UNKNOWN)) return false;
    return (m->op == PYRO_IS && (v.n == PYRO_UNKNOWN.n || v.p[PYRO_UNKNOWN.n] == ':')) ||
           (m->op == PYRO_IS_NOT && v.n == PYRO_UNKNOWN.n);
}

static bool take_matchers(pyro_selection *s, const pyro_texts *texts, err *e)
{
    for (size_t i = 0; i < texts->n; i++)
        if (!pyro_selector_add(&s->matchers, texts->v[i], s->k->a, e))
            return pyro_request_name(&s->k->call->r, texts, i, e);
    for (size_t i = 0; i < s->matchers.matchers.n; i++) {
        const pyro_matcher *m = &s->matchers.matchers.v[i];
        str key;
        if (pyro_key_is_private(m->key)) continue;
        if (is_unknown(m)
                ? !push_unknown(s, m, e)
                : !pyro_key(s, m->key, &key, e) || !push_matcher(s, key, op_of(m->op), m->value, e))
            return false;
    }
    return true;
}

bool pyro_names_type(const pyro_matcher *m)
{
    if (m->op != PYRO_IS) return false;
    return str_eq(m->key, STR("__profile_type__")) ||
           (str_eq(m->key, PYRO_METRIC_NAME) && m->value.n && memchr(m->value.p, ':', m->value.n));
}

/* Evaluates the matchers on labels that the type determines. */
static bool accepts(pyro_selection *s, const pyro_type *t, bool *yes, err *e)
{
    *yes = true;
    for (size_t i = 0; *yes && i < s->matchers.matchers.n; i++) {
        const pyro_matcher *m = &s->matchers.matchers.v[i];
        str value;
        if (!pyro_key_is_private(m->key)) continue;
        if (!private_label(s->k, t, pyro_names_type(m) ? STR("__profile_type__") : m->key, &value,
                           e) ||
            !pyro_matcher_accepts(m, value, yes, e))
            return false;
    }
    return true;
}

/* ---- types of series ---- */

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* Sets v[0 .. *n) to the services that have CPU time, sorted: their samples stay a count. */
static bool cpu_services(pyro_selection *s, const store_series_list *all, str *v, size_t *n, err *e)
{
    for (size_t i = 0; i < all->n; i++) {
        const store_series *x = &all->v[i];
        if (!str_eq(x->type, STR("cpu")) || !str_eq(x->unit, STR("nanoseconds"))) continue;
        if (!service_of(s->k, x, &v[*n], e)) return false;
        ++*n;
    }
    if (*n) qsort(v, *n, sizeof *v, by_text);
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
    str *cpu = arena_new(k->a, str, all->n + 1);
    if (!cpu) return err_memory(e);
    if (!cpu_services(s, all, cpu, &n_cpu, e)) return false;
    for (size_t i = 0; i < all->n; i++) {
        const store_series *x = &all->v[i];
        str service;
        pyro_source from = {.type = x->type,
                            .unit = x->unit,
                            .period_type = x->period_type,
                            .period_unit = x->period_unit,
                            .period = x->period,
                            .scope = x->scope->name};
        v[i].row.s = x;
        if (!service_of(k, x, &service, e) || !stored_label(k, x, PYRO_METRIC_NAME, &from.name, e))
            return false;
        from.has_cpu_time = bsearch(&service, cpu, n_cpu, sizeof *cpu, by_text) != NULL;
        if (!pyro_type_of(&from, k->a, &v[i].row.type, &v[i].row.scale, e)) return false;
        bool same = !s->type.name.n || pyro_type_eq(&v[i].row.type, &s->type);
        if (!accepts(s, &v[i].row.type, &v[i].selected, e)) return false;
        v[i].selected &= same;
    }
    return true;
}

/* ---- reads ---- */

static bool same_stored_type(const store_series *a, const store_series *b)
{
    return str_eq(a->type, b->type) && str_eq(a->unit, b->unit);
}

static bool is_ours(const typed *x, const typed *first)
{
    return x->selected && x->row.scale == first->row.scale;
}

static void put_quoted(buf *b, str s)
{
    static const str special = STR("\\^$.|?*+()[]{}");
    for (size_t i = 0; i < s.n; i++) {
        if (memchr(special.p, s.p[i], special.n)) buf_putc(b, '\\');
        buf_putc(b, s.p[i]);
    }
}

/* Returns whether the name that the sender gave distinguishes the selected series from the others of
 * the stored type. */
static bool is_named(pyro_selection *s, const typed *v, size_t n, const typed *first, str *name,
                     bool *yes, err *e)
{
    *yes = true;
    if (!stored_label(s->k, first->row.s, PYRO_METRIC_NAME, name, e)) return false;
    for (size_t i = 0; i < n; i++) {
        str other;
        if (!same_stored_type(v[i].row.s, first->row.s)) continue;
        if (!stored_label(s->k, v[i].row.s, PYRO_METRIC_NAME, &other, e)) return false;
        *yes &= str_eq(*name, other) == is_ours(&v[i], first);
    }
    return true;
}

/* Some series of the stored type do not belong to the read: restricts it to the name that all
 * selected series have, or else to their services. */
static bool restrict_read(pyro_selection *s, const typed *v, size_t n, const typed *first,
                          store_matcher *out, err *e)
{
    buf services = {0};
    str name, service;
    bool named, ok = true, more = false;
    if (!is_named(s, v, n, first, &name, &named, e)) return false;
    *out = (store_matcher){PYRO_METRIC_NAME, STORE_IS, name};
    if (named) return true;
    for (size_t i = 0; ok && i < n; i++) {
        if (!same_stored_type(v[i].row.s, first->row.s) || !is_ours(&v[i], first)) continue;
        ok = stored_label(s->k, v[i].row.s, SERVICE, &service, e);
        if (more) buf_putc(&services, '|');
        more = true;
        if (ok) put_quoted(&services, service);
    }
    *out = (store_matcher){SERVICE, STORE_LIKE, pyro_copy(s->k, buf_view(&services))};
    ok = ok && !services.failed && out->value.p;
    buf_free(&services);
    return ok || err_memory(e);
}

static bool push_read(pyro_selection *s, const typed *v, size_t n, const typed *first, err *e)
{
    query *k = s->k;
    const store_series *x = first->row.s;
    bool mixed = false;
    for (size_t i = 0; i < n; i++)
        mixed |= same_stored_type(v[i].row.s, x) && !is_ours(&v[i], first);
    store_matcher *own = arena_new(k->a, store_matcher, s->own.n + 1);
    char *type = arena_array(k->a, x->type.n + x->unit.n + 2, 1);
    pyro_read *r = vec_push(k->a, &s->reads);
    if (!own || !type || !r) return err_memory(e);
    if (s->own.n) memcpy(own, s->own.v, s->own.n * sizeof *own);
    snprintf(type, x->type.n + x->unit.n + 2, "%.*s/%.*s", STR_ARG(x->type), STR_ARG(x->unit));
    r->q = (store_selector){.matchers = own,
                            .n_matchers = s->own.n,
                            .type = {type, x->type.n + x->unit.n + 1},
                            .start = s->start,
                            .end = s->end};
    r->scale = first->row.scale;
    r->first = x;
    return !mixed || restrict_read(s, v, n, first, &own[r->q.n_matchers++], e);
}

static bool is_read(const pyro_selection *s, const pyro_series_row *r)
{
    for (size_t i = 0; i < s->reads.n; i++)
        if (s->reads.v[i].scale == r->scale && same_stored_type(s->reads.v[i].first, r->s))
            return true;
    return false;
}

static bool take_reads(pyro_selection *s, const typed *v, size_t n, err *e)
{
    for (size_t i = 0; i < n; i++) {
        if (!v[i].selected) continue;
        pyro_series_row *r = vec_push(s->k->a, &s->series);
        if (!r) return err_memory(e);
        *r = v[i].row;
        if (!is_read(s, r) && !push_read(s, v, n, &v[i], e)) return false;
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
    store_read_result scanned;
    store_budget b = query_budget(k, 4);
    *out = (pyro_selection){.k = k};
    if ((type_id.n && !pyro_type_parse(type_id, &out->type, e)) || !pyro_check_range(start, end, e))
        return false;
    out->start = (uint64_t)start * NS_PER_MS;
    out->end = (uint64_t)end * NS_PER_MS;
    if (!take_matchers(out, texts, e)) return false;
    store_selector q = {
        .matchers = out->own.v, .n_matchers = out->own.n, .start = out->start, .end = out->end};
    if (out->start == out->end) return true; /* an empty range */
    if (!store_list_series(k->store, &q, &b, k->a, &all, &scanned, e)) return false;
    query_spent(k, &scanned);
    typed *v = arena_new(k->a, typed, all.n + 1);
    if (!v) return err_memory(e);
    return type_series(out, &all, v, e) && take_reads(out, v, all.n, e);
}
