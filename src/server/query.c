/* Runs one query: checks its parameters, calls the endpoint, encodes and compresses the response.
 * Also has the helpers that several endpoints share. */
#include "server/query.h"

#include "server/pyroscope.h"
#include "store/selection.h"
#include "wire/compress.h"
#include "base/ban.h"
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* ---- parameters ---- */

bool query_check_params(const api_route *r, const params *p, err *e)
{
    for (size_t i = 0; i < p->v.n; i++) {
        str key = p->v.v[i].key;
        int n = key.n < 60 ? (int)key.n : 60;
        if (!api_route_param(r, key))
            return err_set(e, ERR_USAGE, "%s has no parameter `%.*s`", r->path, n, key.p);
        for (size_t j = 0; j < i; j++)
            if (str_eq(p->v.v[j].key, key))
                return err_set(e, ERR_USAGE, "parameter %.*s is given twice", n, key.p);
    }
    return true;
}

static bool take_encoding(query *k, err *e)
{
    str name = params_get(&k->p, "encoding");
    k->as = k->accepted ? k->accepted : &response_encodings[0];
    for (size_t i = 0; name.n && i < RESPONSE_ENCODINGS; i++)
        if (str_eq(name, str_of(response_encodings[i].name)))
            return k->as = &response_encodings[i], true;
    return !name.p || err_set(e, ERR_USAGE, "encoding must be json or binary");
}

static bool take_budget(query *k, err *e)
{
    uint64_t bytes = QUERY_MAX_BYTES, most = k->budget.max_ns;
    if (!params_number(&k->p, "max_bytes", QUERY_MAX_BYTES, &bytes, e) ||
        !params_duration(&k->p, "max_time", &k->budget.max_ns, e))
        return false;
    if (!bytes) return err_set(e, ERR_USAGE, "max_bytes must be at least 1");
    if (!k->budget.max_ns || (most && k->budget.max_ns > most)) k->budget.max_ns = most;
    k->max_bytes = bytes;
    return true;
}

/* ---- the response ---- */

static void put_scanned(query *k)
{
    const store_read_result *w = &k->scanned;
    response_node *o = &k->w.root;
    response_bool(o, "partial", w->partial);
    if (w->partial) response_text(o, "why", str_of(w->why));
    response_node *x = response_object(o, "looked_at");
    response_u64(x, "samples", w->n_samples);
    response_u64(x, "profiles", w->n_profiles);
    response_u64(x, "series", w->n_series);
    response_u64(x, "blocks", w->n_blocks);
    response_u64(x, "items", w->n_items);
    response_u64(x, "bytes", w->n_bytes);
    response_u64(x, "damaged", w->n_damaged);
    response_u64(x, "ns", w->ns);
}

static bool encode(query *k, err *e)
{
    size_t shown;
    for (;;) {
        err why = {0};
        response_node *last = k->w.root.last;
        put_scanned(k);
        if (k->w.failed) return err_memory(e);
        buf_reset(&k->body);
        k->body.failed = false;
        k->body.limit = k->max_bytes;
        if (k->as->encode(&k->w, &k->body, &why)) break;
        if (k->w.why.code) return *e = k->w.why, false;
        response_drop_after(&k->w.root, last);
        if (!response_shorten(&k->w, &shown)) return *e = why, false;
        k->scanned.partial = false; /* this reason replaces an earlier one */
        query_cut(k, "max_bytes: only the first %zu rows are included", shown);
    }
    k->type = k->as->type;
    return true;
}

/* Compresses the body, because columns of numbers compress well. Files are compressed only on
 * request (gzip=1), because clients store them as received. */
static bool pack_body(query *k, err *e)
{
    buf out = {0};
    if (!k->takes_gzip || k->name.n || k->body.n < QUERY_PACK) return true;
    if (!pack_quick(CODEC_GZIP, buf_view(&k->body), &out, e)) {
        buf_free(&out);
        return false;
    }
    buf_free(&k->body);
    k->body = out;
    k->packed = true;
    return true;
}

bool query_prepare(query *k, err *e)
{
    k->file = SPILL_NONE;
    return query_check_params(k->route, &k->p, e) && take_encoding(k, e) && take_budget(k, e);
}

bool query_run(query *k, err *e)
{
    response_init(&k->w, k->a);
    k->w.stop = k->budget.stop = k->stop;
    if (k->call) return pyroscope_run(k, e) && pack_body(k, e);
    response_i64(&k->w.root, "schema", k->route->params & API_SCHEMA_2 ? 2 : 1);
    if (!selection_of(&k->p, k->now, k->a, &k->q, e)) return false;
    if (!k->route->run(k, e)) return e->code ? false : err_memory(e);
    if (!stopper_now(k->stop, e)) return false;
    return (k->type || encode(k, e)) && pack_body(k, e);
}

/* ---- for endpoints ---- */

bool query_type(query *k, store_selector *q, err *e)
{
    store_read_result scanned;
    store_budget b = query_budget(k, 2);
    if (!store_main_type(k->store, q, &b, k->a, &scanned, e)) return false;
    query_spent(k, &scanned);
    return true;
}

bool query_limit(const query *k, uint64_t most, uint64_t *out, err *e)
{
    return params_number(&k->p, "limit", most, out, e) &&
           (*out || err_set(e, ERR_USAGE, "limit must be at least 1"));
}

bool query_select(const query *k, select_opts *o, granularity *by, err *e)
{
    const params *p = &k->p;
    *o = (select_opts){.all = true,
                       .focus = params_get(p, "focus"),
                       .ignore = params_get(p, "ignore"),
                       .hide = params_get(p, "hide"),
                       .show = params_get(p, "show"),
                       .show_from = params_get(p, "show_from"),
                       .collapse = params_get(p, "collapse"),
                       .collapse_library = params_get(p, "collapse_library"),
                       .collapse_recursion = params_get(p, "collapse_recursion"),
                       .collapse_direct_recursion = params_get(p, "collapse_direct_recursion"),
                       .focus_category = params_get(p, "focus_category"),
                       .begins_with = params_get(p, "begins_with"),
                       .ends_with = params_get(p, "ends_with"),
                       .tagfocus = params_get(p, "tagfocus"),
                       .tagignore = params_get(p, "tagignore"),
                       .tagroot = params_get(p, "tagroot"),
                       .tagleaf = params_get(p, "tagleaf")};
    *by = BY_FUNCTION;
    str name = params_get(p, "by");
    for (int g = 0; name.n && g < GRANULARITY_COUNT; g++)
        if (str_eq(name, str_of(granularity_name((granularity)g))))
            return *by = (granularity)g, true;
    return !name.n ||
           err_set(e, ERR_USAGE,
                   "by must be functions, filefunctions, files, lines, addresses or mappings");
}

store_budget query_budget(const query *k, unsigned share)
{
    store_budget b = k->budget;
    b.max_bytes = k->a->used + (k->a->budget - k->a->used) / share;
    if (b.max_ns) b.max_ns = b.max_ns > k->scanned.ns ? b.max_ns - k->scanned.ns : 1;
    return b;
}

void query_spent(query *k, const store_read_result *more)
{
    if (more->partial) query_cut(k, "%s", more->why);
    k->scanned.n_bytes += more->n_bytes;
    k->scanned.ns += more->ns;
}

void query_scanned(query *k, const store_read_result *more)
{
    store_read_result *w = &k->scanned;
    query_spent(k, more);
    w->n_samples += more->n_samples;
    w->n_profiles += more->n_profiles;
    w->n_series += more->n_series;
    w->n_blocks += more->n_blocks;
    w->n_items += more->n_items;
    w->n_damaged += more->n_damaged;
}

void query_cut(query *k, const char *fmt, ...)
{
    va_list ap;
    if (k->scanned.partial) return;
    k->scanned.partial = true;
    va_start(ap, fmt);
    vsnprintf(k->scanned.why, sizeof k->scanned.why, fmt, ap);
    va_end(ap);
}

bool query_view(const model *m, const select_opts *o, view *v, err *e)
{
    return !m->profiles.n || view_add(v, m, o, 1, e);
}

bool query_has_view(const query *k)
{
    for (size_t i = 0; i < API_N_PARAMS; i++)
        if (API_VIEW >> i & 1 && params_get(&k->p, api_params[i].name).n) return true;
    return false;
}

static bool read_view(query *k, bool sums, model *m, frame_table *f, view *v, err *e)
{
    select_opts o;
    granularity by;
    store_read_result scanned;
    if (!query_select(k, &o, &by, e) || !query_type(k, &k->q, e)) return false;
    bool tags = o.tagfocus.n || o.tagignore.n || o.tagroot.n || o.tagleaf.n;
    store_read_opts read = {.budget = query_budget(k, sums ? 2 : 4),
                            .names = true,
                            .by_series = true, /* series state which frames to drop */
                            .by_reading = true,
                            .by_attributes = tags};
    bool ok = sums ? store_read_sums(k->store, &k->q, &read, k->a, m, &scanned, e)
                   : store_read(k->store, &k->q, &read, k->a, m, &scanned, e);
    if (!ok || !stopper_now(k->stop, e)) return false;
    query_scanned(k, &scanned);
    o.by_sample = !sums;
    if (!frame_table_init(f, by, k->a, e)) return false;
    view_init(v, f, k->a);
    v->stop = k->stop;
    return query_view(m, &o, v, e);
}

bool query_sums(query *k, model *m, frame_table *f, view *v, err *e)
{
    return read_view(k, true, m, f, v, e);
}

bool query_samples(query *k, model *m, frame_table *f, view *v, err *e)
{
    return read_view(k, false, m, f, v, e);
}

void query_put_view(query *k, const view *v)
{
    response_text(&k->w.root, "type", v->type);
    response_text(&k->w.root, "unit", v->unit);
    response_i64(&k->w.root, "sum", v->sum);
}

bool query_put_frames(query *k, const frame_table *f, const uint32_t *ids, size_t n, err *e)
{
    str *label = arena_new(k->a, str, n + 1), *file = arena_new(k->a, str, n + 1),
        *binary = arena_new(k->a, str, n + 1);
    int64_t *number = arena_new(k->a, int64_t, n + 1);
    if (!label || !file || !binary || !number) return err_memory(e);
    for (size_t i = 0; i < n; i++) {
        const frame *x = &f->v.v[ids ? ids[i] : i];
        label[i] = x->label;
        file[i] = frame_text(f, x->in_file);
        number[i] = x->line;
        binary[i] = frame_text(f, x->in_mapping);
    }
    response_node *o = response_object(&k->w.root, "frames");
    response_texts(o, "label", label, n);
    response_texts(o, "file", file, n);
    response_i64s(o, "line", number, n);
    response_texts(o, "mapping", binary, n);
    return true;
}

void query_put_series(response_node *in, const store_series *s)
{
    response_text(in, "type", s->type);
    response_text(in, "unit", s->unit);
    response_text(in, "period_type", s->period_type);
    response_text(in, "period_unit", s->period_unit);
    response_i64(in, "period", s->period);
    response_attributes(in, "resource", s->resource->attrs.v, s->resource->attrs.n);
    response_text(in, "scope", s->scope->name);
    response_text(in, "scope_version", s->scope->version);
}

void query_put_profile(response_node *in, const store_profile *p)
{
    response_hex(in, "id", p->id, sizeof p->id);
    response_u64(in, "time", p->time);
    response_u64(in, "duration", p->duration);
    response_u64(in, "received", p->received);
    response_text(in, "sender", p->sender);
    response_text(in, "recognised", p->recognised);
}

void query_put_resources(query *k, const resource *const *v, size_t n)
{
    response_node *o = response_list(&k->w.root, "resources");
    for (size_t i = 0; i < n; i++) response_attributes(o, NULL, v[i]->attrs.v, v[i]->attrs.n);
}

/* Uses the widths that response_binary chooses: signed columns have at least 4 bytes. */
size_t query_width(const query *k, int64_t low, int64_t high)
{
    char text[64];
    if (k->as->encode != response_binary) {
        int a = snprintf(text, sizeof text, "%" PRId64, low),
            b = snprintf(text, sizeof text, "%" PRId64, high);
        return (size_t)(a > b ? a : b) + 1; /* plus a comma */
    }
    if (low < 0) return low >= INT32_MIN && high <= INT32_MAX ? 4 : 8;
    return high <= UINT8_MAX ? 1 : high <= UINT16_MAX ? 2 : high <= UINT32_MAX ? 4 : 8;
}
