#include "server/ask.h"

#include "server/selection.h"
#include "wire/compress.h"
#include "base/ban.h"
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* ---- what was asked ---- */

static bool check_params(const ask *k, err *e)
{
    const params *p = &k->p;
    for (size_t i = 0; i < p->v.n; i++) {
        str key = p->v.v[i].key;
        int n = key.n < 60 ? (int)key.n : 60;
        if (!ask_route_param(k->route, key))
            return err_set(e, ERR_USAGE, "%s has no parameter `%.*s`", k->route->path, n, key.p);
        for (size_t j = 0; j < i; j++)
            if (str_eq(p->v.v[j].key, key))
                return err_set(e, ERR_USAGE, "%.*s is there twice", n, key.p);
    }
    return true;
}

static bool take_encoding(ask *k, err *e)
{
    str name = params_get(&k->p, "encoding");
    k->as = k->accepted ? k->accepted : &answer_encodings[0];
    for (size_t i = 0; name.n && i < ANSWER_ENCODINGS; i++)
        if (str_eq(name, str_of(answer_encodings[i].name)))
            return k->as = &answer_encodings[i], true;
    return !name.p || err_set(e, ERR_USAGE, "encoding wants json or binary");
}

static bool take_budget(ask *k, err *e)
{
    uint64_t bytes = ASK_MAX_BYTES, most = k->budget.max_ns;
    if (!params_number(&k->p, "max_bytes", ASK_MAX_BYTES, &bytes, e) ||
        !params_duration(&k->p, "max_time", &k->budget.max_ns, e))
        return false;
    if (!bytes) return err_set(e, ERR_USAGE, "max_bytes wants 1 or more");
    if (!k->budget.max_ns || (most && k->budget.max_ns > most)) k->budget.max_ns = most;
    k->max_bytes = bytes;
    return true;
}

/* ---- the answer ---- */

static void put_looked(ask *k)
{
    const store_answer *w = &k->looked;
    answer_node *o = &k->w.root;
    answer_bool(o, "partial", w->partial);
    if (w->partial) answer_text(o, "why", str_of(w->why));
    answer_node *x = answer_object(o, "looked_at");
    answer_u64(x, "samples", w->n_samples);
    answer_u64(x, "profiles", w->n_profiles);
    answer_u64(x, "series", w->n_series);
    answer_u64(x, "blocks", w->n_blocks);
    answer_u64(x, "items", w->n_items);
    answer_u64(x, "bytes", w->n_bytes);
    answer_u64(x, "damaged", w->n_damaged);
    answer_u64(x, "ns", w->ns);
}

static bool encode(ask *k, err *e)
{
    size_t shown;
    for (;;) {
        err why = {0};
        answer_node *last = k->w.root.last;
        put_looked(k);
        if (k->w.failed) return ask_no_memory(e);
        buf_reset(&k->body);
        k->body.failed = false;
        k->body.limit = k->max_bytes;
        if (k->as->encode(&k->w, &k->body, &why)) break;
        if (k->w.why.code) return *e = k->w.why, false;
        answer_drop_after(&k->w.root, last);
        if (!answer_shorten(&k->w, &shown)) return *e = why, false;
        k->looked.partial = false; /* the last word on it */
        ask_cut(k, "max_bytes: the first %zu rows are here", shown);
    }
    k->type = k->as->type;
    return true;
}

/* Columns of numbers shrink to a fraction.  Files are packed where that is asked for: they stay as they are sent. */
static bool pack_body(ask *k, err *e)
{
    buf out = {0};
    if (!k->takes_gzip || k->name.n || k->body.n < ASK_PACK) return true;
    if (!pack_quick(CODEC_GZIP, buf_view(&k->body), &out, e)) {
        buf_free(&out);
        return false;
    }
    buf_free(&k->body);
    k->body = out;
    k->packed = true;
    return true;
}

bool ask_prepare(ask *k, err *e)
{
    k->file = SPILL_NONE;
    return check_params(k, e) && take_encoding(k, e) && take_budget(k, e);
}

bool ask_answer(ask *k, err *e)
{
    answer_init(&k->w, k->a);
    k->w.stop = k->budget.stop = k->stop;
    answer_i64(&k->w.root, "schema", k->route->params & ASK_SCHEMA_2 ? 2 : 1);
    if (!selection_of(&k->p, k->now, k->a, &k->q, e)) return false;
    if (!k->route->answer(k, e)) return e->code ? false : ask_no_memory(e);
    if (!stopper_now(k->stop, e)) return false;
    return (k->type || encode(k, e)) && pack_body(k, e);
}

/* ---- for answers ---- */

bool ask_type(ask *k, store_selector *q, err *e)
{
    store_answer looked;
    store_budget b = ask_budget(k, 2);
    if (!store_main_type(k->store, q, &b, k->a, &looked, e)) return false;
    ask_spent(k, &looked);
    return true;
}

bool ask_limit(const ask *k, uint64_t most, uint64_t *out, err *e)
{
    return params_number(&k->p, "limit", most, out, e) &&
           (*out || err_set(e, ERR_USAGE, "limit wants 1 or more"));
}

bool ask_select(const ask *k, select_opts *o, granularity *by, err *e)
{
    const params *p = &k->p;
    *o = (select_opts){.all = true,
                       .focus = params_get(p, "focus"),
                       .ignore = params_get(p, "ignore"),
                       .hide = params_get(p, "hide"),
                       .show = params_get(p, "show"),
                       .show_from = params_get(p, "show_from"),
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
                   "by wants functions, filefunctions, files, lines, addresses or mappings");
}

store_budget ask_budget(const ask *k, unsigned share)
{
    store_budget b = k->budget;
    b.max_bytes = k->a->used + (k->a->budget - k->a->used) / share;
    if (b.max_ns) b.max_ns = b.max_ns > k->looked.ns ? b.max_ns - k->looked.ns : 1;
    return b;
}

void ask_spent(ask *k, const store_answer *more)
{
    if (more->partial) ask_cut(k, "%s", more->why);
    k->looked.n_bytes += more->n_bytes;
    k->looked.ns += more->ns;
}

void ask_looked(ask *k, const store_answer *more)
{
    store_answer *w = &k->looked;
    ask_spent(k, more);
    w->n_samples += more->n_samples;
    w->n_profiles += more->n_profiles;
    w->n_series += more->n_series;
    w->n_blocks += more->n_blocks;
    w->n_items += more->n_items;
    w->n_damaged += more->n_damaged;
}

void ask_cut(ask *k, const char *fmt, ...)
{
    va_list ap;
    if (k->looked.partial) return;
    k->looked.partial = true;
    va_start(ap, fmt);
    vsnprintf(k->looked.why, sizeof k->looked.why, fmt, ap);
    va_end(ap);
}

bool ask_view(const model *m, const select_opts *o, view *v, err *e)
{
    return !m->profiles.n || view_add(v, m, o, 1, e);
}

bool ask_has_view(const ask *k)
{
    for (size_t i = 0; i < ASK_N_PARAMS; i++)
        if (ASK_VIEW >> i & 1 && params_get(&k->p, ask_params[i].name).n) return true;
    return false;
}

static bool read_view(ask *k, bool sums, model *m, frame_table *f, view *v, err *e)
{
    select_opts o;
    granularity by;
    store_answer looked;
    if (!ask_select(k, &o, &by, e) || !ask_type(k, &k->q, e)) return false;
    bool tags = o.tagfocus.n || o.tagignore.n || o.tagroot.n || o.tagleaf.n;
    store_read_opts read = {.budget = ask_budget(k, sums ? 2 : 4),
                            .names = true,
                            .by_series = true, /* they say which frames to drop */
                            .by_reading = true,
                            .by_attributes = tags};
    bool ok = sums ? store_read_sums(k->store, &k->q, &read, k->a, m, &looked, e)
                   : store_read(k->store, &k->q, &read, k->a, m, &looked, e);
    if (!ok || !stopper_now(k->stop, e)) return false;
    ask_looked(k, &looked);
    o.by_sample = !sums;
    if (!frame_table_init(f, by, k->a, e)) return false;
    view_init(v, f, k->a);
    v->stop = k->stop;
    return ask_view(m, &o, v, e);
}

bool ask_sums(ask *k, model *m, frame_table *f, view *v, err *e)
{
    return read_view(k, true, m, f, v, e);
}

bool ask_samples(ask *k, model *m, frame_table *f, view *v, err *e)
{
    return read_view(k, false, m, f, v, e);
}

void ask_put_view(ask *k, const view *v)
{
    answer_text(&k->w.root, "type", v->type);
    answer_text(&k->w.root, "unit", v->unit);
    answer_i64(&k->w.root, "sum", v->sum);
}

bool ask_put_frames(ask *k, const frame_table *f, const uint32_t *ids, size_t n, err *e)
{
    str *label = arena_new(k->a, str, n + 1), *file = arena_new(k->a, str, n + 1),
        *binary = arena_new(k->a, str, n + 1);
    int64_t *number = arena_new(k->a, int64_t, n + 1);
    if (!label || !file || !binary || !number) return ask_no_memory(e);
    for (size_t i = 0; i < n; i++) {
        const frame *x = &f->v.v[ids ? ids[i] : i];
        label[i] = x->label;
        file[i] = frame_text(f, x->in_file);
        number[i] = x->line;
        binary[i] = frame_text(f, x->in_mapping);
    }
    answer_node *o = answer_object(&k->w.root, "frames");
    answer_texts(o, "label", label, n);
    answer_texts(o, "file", file, n);
    answer_i64s(o, "line", number, n);
    answer_texts(o, "mapping", binary, n);
    return true;
}

void ask_put_series(answer_node *in, const store_series *s)
{
    answer_text(in, "type", s->type);
    answer_text(in, "unit", s->unit);
    answer_text(in, "period_type", s->period_type);
    answer_text(in, "period_unit", s->period_unit);
    answer_i64(in, "period", s->period);
    answer_attributes(in, "resource", s->resource->attrs.v, s->resource->attrs.n);
    answer_text(in, "scope", s->scope->name);
    answer_text(in, "scope_version", s->scope->version);
}

void ask_put_profile(answer_node *in, const store_profile *p)
{
    answer_hex(in, "id", p->id, sizeof p->id);
    answer_u64(in, "time", p->time);
    answer_u64(in, "duration", p->duration);
    answer_u64(in, "received", p->received);
    answer_text(in, "sender", p->sender);
    answer_text(in, "recognised", p->recognised);
}

void ask_put_resources(ask *k, const resource *const *v, size_t n)
{
    answer_node *o = answer_list(&k->w.root, "resources");
    for (size_t i = 0; i < n; i++) answer_attributes(o, NULL, v[i]->attrs.v, v[i]->attrs.n);
}

/* As answer_binary chooses: signed columns have 4 bytes at least. */
size_t ask_width(const ask *k, int64_t low, int64_t high)
{
    char text[64];
    if (k->as->encode != answer_binary) {
        int a = snprintf(text, sizeof text, "%" PRId64, low),
            b = snprintf(text, sizeof text, "%" PRId64, high);
        return (size_t)(a > b ? a : b) + 1; /* and a comma */
    }
    if (low < 0) return low >= INT32_MIN && high <= INT32_MAX ? 4 : 8;
    return high <= UINT8_MAX ? 1 : high <= UINT16_MAX ? 2 : high <= UINT32_MAX ? 4 : 8;
}
