/* The endpoint services: one row for each service and type, with its amount, its top function and
 * its amounts over time.  It reads the selected samples once as sums, where stacks are only their
 * leaves, and once for the amounts over time, whatever the number of services. */
#include "server/query.h"

#include "server/endpoints.h"
#include "base/hash.h"
#include "model/builder.h"
#include "query/flat.h"
#include "store/filter.h"
#include "base/ban.h"
#include <stdlib.h>

#define SERVICE STR("service.name")
enum { FEWER = 4, POINTS_MAX = 10000 }; /* a quarter as many points as a chart has */

typedef struct service_row {
    str service, type, unit;
    uint64_t first, last; /* time that its profiles cover within the range */
    uint32_t newest;      /* the latest profile of the sums: index + 1 */
    uint32_t n;           /* profiles of the sums */
    bool level;
    bool held; /* has no samples in the range, only a level of an earlier time */
    int64_t sum;
    int64_t flat;
    str function, file, mapping; /* of the top function; empty: there is none */
    const store_row *points;
} service_row;

typedef struct services {
    query *k;
    VEC(service_row) v;
    hash_index by_name;
    uint32_t *before; /* by profile of the sums: the previous one of its row, index + 1 */
    uint64_t step;    /* between points */
    size_t n_points;
    buf scratch;
} services;

/* Returns the row of a service and type; NULL when out of memory. */
static service_row *row_of(services *x, str service, str type, str unit)
{
    arena *a = x->k->a;
    if (!hash_index_room(&x->by_name, a)) return NULL;
    uint64_t h = hash_bytes(service.p, service.n, x->by_name.seed);
    h = hash_bytes(unit.p, unit.n, hash_bytes(type.p, type.n, h));
    uint32_t i = hash_first(&x->by_name, h);
    for (uint32_t at; hash_next(&x->by_name, &i, h, &at); i++) {
        service_row *r = &x->v.v[at];
        if (str_eq(r->service, service) && str_eq(r->type, type) && str_eq(r->unit, unit)) return r;
    }
    char *own = arena_alloc(a, service.n);
    service_row *r = own ? vec_push(a, &x->v) : NULL;
    if (!r) return NULL;
    if (service.n) memcpy(own, service.p, service.n);
    *r = (service_row){.service = {own, service.n}, .type = type, .unit = unit};
    hash_put(&x->by_name, i, h, (uint32_t)(x->v.n - 1));
    return r;
}

/* Returns the name of the service; a view of the resource or of x->scratch. */
static str service_of(services *x, const resource *r, const scope *s)
{
    any made;
    const any *v = envelope_label(r, s, SERVICE, &made);
    return v ? label_text(v, &x->scratch) : (str){0};
}

/* ---- amounts and top functions ---- */

/* Assigns the profiles of the sums to rows. */
static bool assign(services *x, const model *m, err *e)
{
    x->before = arena_new(x->k->a, uint32_t, m->profiles.n + 1);
    if (!x->before) return err_memory(e);
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        const scope *s = &m->scopes.v[p->scope];
        const str *text = m->dict.strings.v;
        str name = service_of(x, &m->resources.v[s->resource], s);
        service_row *r = row_of(x, name, text[p->sample_type.type], text[p->sample_type.unit]);
        if (!r || x->scratch.failed) return err_memory(e);
        x->before[i] = r->newest;
        r->newest = (uint32_t)i + 1;
        r->n++;
        r->level |= profile_is_level(m, p);
        uint64_t last = p->time_unix_nano + p->duration_nano;
        r->first = r->n == 1 || p->time_unix_nano < r->first ? p->time_unix_nano : r->first;
        r->last = last > r->last ? last : r->last;
    }
    return true;
}

/* Computes amount and top function of a row from its profiles.  Only the texts outlive `work`. */
static bool put_top(services *x, service_row *r, const model *m, arena *work, err *e)
{
    model own = *m;
    frame_table f;
    view v;
    flat rows;
    own.profiles.v = arena_array(work, r->n, sizeof *own.profiles.v);
    own.profiles.n = own.profiles.cap = r->n;
    if (!own.profiles.v) return err_memory(e);
    for (uint32_t i = r->newest, at = r->n; i; i = x->before[i - 1])
        own.profiles.v[--at] = m->profiles.v[i - 1];
    if (!frame_table_init(&f, BY_FUNCTION, work, e)) return false;
    view_init(&v, &f, work);
    v.stop = x->k->stop;
    if (!query_view(&own, &(select_opts){.all = true}, &v, e) ||
        !flat_of(&v, &(flat_opts){.node_count = 1}, work, &rows, e))
        return false;
    r->sum = v.sum;
    if (!rows.n) return true;
    const frame *top = &f.v.v[rows.v[0].frame];
    builder copy = {.a = x->k->a};
    r->flat = rows.v[0].flat;
    r->function = builder_copy_str(&copy, top->label);
    r->file = builder_copy_str(&copy, frame_text(&f, top->in_file));
    r->mapping = builder_copy_str(&copy, frame_text(&f, top->in_mapping));
    return !copy.failed || err_memory(e);
}

static bool put_sums(services *x, err *e)
{
    query *k = x->k;
    model m;
    store_read_result scanned;
    store_read_opts o = {.budget = query_budget(k, 2),
                         .names = true,
                         .by_series = true,
                         .by_reading = true,
                         .by_label = SERVICE,
                         .leaves = true};
    if (!store_read_sums(k->store, &k->q, &o, k->a, &m, &scanned, e)) return false;
    query_scanned(k, &scanned);
    if (!assign(x, &m, e)) return false;
    arena work = {.budget = (k->a->budget - k->a->used) / 2, .seed = k->a->seed};
    bool ok = true;
    for (size_t i = 0; ok && i < x->v.n; i++) {
        ok = stopper_now(k->stop, e) && (!x->v.v[i].n || put_top(x, &x->v.v[i], &m, &work, e));
        arena_reset(&work);
    }
    arena_free(&work);
    return ok;
}

/* ---- amounts over time ---- */

/* Lists the types of the rows with samples.  A selector cannot express a type with a slash. */
static bool list_types(services *x, store_type_list *out)
{
    for (size_t i = 0; i < x->v.n; i++) {
        const service_row *r = &x->v.v[i];
        size_t at = 0;
        while (at < out->n &&
               !(str_eq(out->v[at].type, r->type) && str_eq(out->v[at].unit, r->unit)))
            at++;
        if (!r->n || at < out->n || (r->type.n && memchr(r->type.p, '/', r->type.n))) continue;
        store_type *t = vec_push(x->k->a, out);
        if (!t) return false;
        *t = (store_type){.type = r->type, .unit = r->unit};
    }
    return true;
}

/* Samples and profiles may name a service, too; their resource is another or none. */
static void sum_points(const services *x, service_row *r)
{
    r->first = x->k->q.start;
    for (size_t i = 0; i < x->n_points; i++) {
        if (r->points->count[i] || r->points->sum[i]) r->last = r->first + (i + 1) * x->step;
        r->sum = add_saturating(r->sum, r->points->sum[i], NULL);
    }
    if (r->last > x->k->q.end) r->last = x->k->q.end;
}

/* Reads the points of one type for all services. */
static bool count_type(services *x, const store_type *t, err *e)
{
    query *k = x->k;
    store_buckets b = {0};
    store_read_result scanned;
    store_budget limits = query_budget(k, 4);
    store_selector q = k->q;
    buf_reset(&x->scratch);
    buf_put(&x->scratch, t->type.p, t->type.n);
    buf_putc(&x->scratch, '/');
    buf_put(&x->scratch, t->unit.p, t->unit.n);
    q.type = buf_view(&x->scratch);
    if (x->scratch.failed) return err_memory(e);
    store_counts_opts o = {.step = x->step, .by = SERVICE, .hold = true};
    if (!store_counts(k->store, &q, &limits, &o, k->a, &b, &scanned, e)) return false;
    query_spent(k, &scanned);
    x->n_points = b.n;
    for (size_t i = 0; i < b.rows.n; i++) {
        service_row *r = row_of(x, b.rows.v[i].label, t->type, t->unit);
        if (!r) return err_memory(e);
        r->points = &b.rows.v[i];
        r->held = !r->n && b.levels; /* from before the range */
        if (!r->n && !r->held) sum_points(x, r);
    }
    return true;
}

static bool put_points(services *x, err *e)
{
    store_type_list types = {0};
    if (!list_types(x, &types)) return err_memory(e);
    for (size_t i = 0; i < types.n; i++)
        if (!count_type(x, &types.v[i], e)) return false;
    return true;
}

/* ---- the response ---- */

static int by_name(const void *a, const void *b)
{
    const service_row *x = a, *y = b;
    int c = str_cmp(x->service, y->service);
    if (!c) c = str_cmp(x->type, y->type);
    return c ? c : str_cmp(x->unit, y->unit);
}

static void put_row(const services *x, response_node *list, const service_row *r)
{
    response_node *o = response_object(list, NULL);
    response_text(o, "service", r->service);
    response_text(o, "type", r->type);
    response_text(o, "unit", r->unit);
    response_u64(o, "first", r->first);
    response_u64(o, "last", r->last);
    response_bool(o, "level", r->level);
    response_i64(o, "sum", r->sum);
    response_text(o, "function", r->function);
    response_text(o, "file", r->file);
    response_text(o, "mapping", r->mapping);
    response_i64(o, "flat", r->flat);
    response_i64s(o, "sums", r->points ? r->points->sum : NULL, r->points ? x->n_points : 0);
    response_u64s(o, "counts", r->points ? r->points->count : NULL, r->points ? x->n_points : 0);
}

static bool take_step(services *x, err *e)
{
    query *k = x->k;
    if (!params_duration(&k->p, "step", &x->step, e) || !query_range(k, e)) return false;
    if (!x->step && params_get(&k->p, "step").p)
        return err_set(e, ERR_USAGE, "step must be a duration greater than 0");
    uint64_t range = k->q.end - k->q.start;
    if (!x->step)
        x->step = query_round_step(range < UINT64_MAX / FEWER ? range * FEWER : UINT64_MAX);
    if (range / x->step > POINTS_MAX)
        return err_set(e, ERR_USAGE, "step is too short: there would be more than %d points",
                       POINTS_MAX);
    return true;
}

bool api_services(query *k, err *e)
{
    services x = {.k = k};
    bool ok = take_step(&x, e) && put_sums(&x, e) && put_points(&x, e);
    buf_free(&x.scratch);
    if (!ok) return false;
    if (x.v.n) qsort(x.v.v, x.v.n, sizeof *x.v.v, by_name);
    response_u64(&k->w.root, "start", k->q.start);
    response_u64(&k->w.root, "end", k->q.end);
    response_u64(&k->w.root, "step", x.step);
    response_node *rows = response_list(&k->w.root, "rows");
    response_may_cut(rows);
    for (size_t i = 0; i < x.v.n; i++)
        if (!x.v.v[i].held) put_row(&x, rows, &x.v.v[i]);
    return true;
}
