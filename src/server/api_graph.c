/* Flame graphs and tables: sums by stack. */
#include "server/ask.h"

#include "query/flat.h"
#include "query/tree.h"
#include "base/ban.h"

enum { ROWS = 100, ROWS_MAX = 100000 };

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

bool ask_sums(ask *k, model *m, frame_table *f, view *v, err *e)
{
    select_opts o;
    granularity by;
    if (!ask_select(k, &o, &by, e)) return false;
    bool tags = o.tagfocus.n || o.tagignore.n || o.tagroot.n || o.tagleaf.n;
    store_read_opts read = {.budget = k->budget, .names = true, .by_attributes = tags};
    if (!store_read_sums(k->store, &k->q, &read, k->a, m, &k->answer, e)) return false;
    if (!m->profiles.n) { /* nothing selected: an empty view, no error */
        if (!frame_table_init(f, by, k->a, e)) return false;
        view_init(v, f, k->a);
        return true;
    }
    return view_of(m, &o, by, k->a, f, v, e);
}

static void put_head(json_out *o, const view *v)
{
    json_put_key(o, STR("type"));
    json_put_str(o, v->type);
    json_put_key(o, STR("unit"));
    json_put_str(o, v->unit);
    json_put_key(o, STR("sum"));
    json_put_i64(o, v->sum);
}

static void put_frames(json_out *o, const frame_table *f)
{
    json_put_key(o, STR("frames"));
    json_put_array(o);
    for (size_t i = 0; i < f->v.n; i++) {
        const frame *x = &f->v.v[i];
        json_put_object(o);
        json_put_key(o, STR("label"));
        json_put_str(o, x->label);
        if (x->in_file) json_put_key(o, STR("file")), json_put_str(o, frame_text(f, x->in_file));
        if (x->line) json_put_key(o, STR("line")), json_put_i64(o, x->line);
        if (x->in_mapping)
            json_put_key(o, STR("mapping")), json_put_str(o, frame_text(f, x->in_mapping));
        json_put_object_end(o);
    }
    json_put_array_end(o);
}

static void put_u32s(json_out *o, str key, const uint32_t *v, size_t n)
{
    json_put_key(o, key);
    json_put_array(o);
    for (size_t i = 0; i < n; i++) json_put_i64(o, v[i] == UINT32_MAX ? -1 : (int64_t)v[i]);
    json_put_array_end(o);
}

static void put_i64s(json_out *o, str key, const int64_t *v, size_t n)
{
    json_put_key(o, key);
    json_put_array(o);
    for (size_t i = 0; i < n; i++) json_put_i64(o, v[i]);
    json_put_array_end(o);
}

bool api_tree(ask *k, err *e)
{
    model m;
    frame_table f;
    view v;
    tree t;
    tree_opts o = {.order = TREE_BY_TOTAL};
    if (!params_flag(&k->p, "inverted", &o.inverted, e) || !ask_sums(k, &m, &f, &v, e) ||
        !tree_of(&v, &o, k->a, &t, e))
        return false;
    json_out out = ask_begin(k);
    put_head(&out, &v);
    put_frames(&out, &f);
    json_put_key(&out, STR("nodes"));
    json_put_object(&out);
    put_u32s(&out, STR("parent"), t.parent, t.n);
    put_u32s(&out, STR("frame"), t.frame, t.n);
    put_i64s(&out, STR("self"), t.self, t.n);
    put_i64s(&out, STR("total"), t.total, t.n);
    json_put_object_end(&out);
    ask_end(k, &out);
    return true;
}

bool api_top(ask *k, err *e)
{
    model m;
    frame_table f;
    view v;
    flat rows;
    uint64_t limit = ROWS;
    flat_opts o = {0};
    if (!params_number(&k->p, "limit", ROWS_MAX, &limit, e) ||
        !params_flag(&k->p, "cum", &o.by_cum, e) || !ask_sums(k, &m, &f, &v, e))
        return false;
    o.node_count = limit;
    if (!flat_of(&v, &o, k->a, &rows, e)) return false;
    json_out out = ask_begin(k);
    put_head(&out, &v);
    json_put_key(&out, STR("rows"));
    json_put_array(&out);
    for (size_t i = 0; i < rows.n; i++) {
        const frame *x = &f.v.v[rows.v[i].frame];
        json_put_object(&out);
        json_put_key(&out, STR("label"));
        json_put_str(&out, x->label);
        if (x->in_file)
            json_put_key(&out, STR("file")), json_put_str(&out, frame_text(&f, x->in_file));
        if (x->in_mapping)
            json_put_key(&out, STR("mapping")), json_put_str(&out, frame_text(&f, x->in_mapping));
        json_put_key(&out, STR("flat"));
        json_put_i64(&out, rows.v[i].flat);
        json_put_key(&out, STR("cum"));
        json_put_i64(&out, rows.v[i].cum);
        json_put_object_end(&out);
    }
    json_put_array_end(&out);
    json_put_key(&out, STR("all"));
    json_put_u64(&out, rows.n_all);
    ask_end(k, &out);
    return true;
}
