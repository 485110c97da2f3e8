/* The endpoint diff: compares two selections as `kiln diff` does, and returns both as one tree with
 * columns for before and after.  Both sides share one frame table. */
#include "server/query.h"

#include "draw/verdict.h"
#include "query/diff.h"
#include "query/samples.h"
#include "server/graph.h"
#include "server/endpoints.h"
#include "store/selection.h"
#include "base/ban.h"
#include <math.h>
#include <string.h>

enum { ROW = 160 }; /* approximate bytes of a row */

typedef struct comparing {
    query *k;
    select_opts o;
    frame_table frames;
    store_selector base;
    model m_before, m_after;
    view before, after;
    double seconds[2]; /* recorded time of before and after */
    per per;
    diff d;
    tree t_before, t_after, t_all;
    uint32_t *at_before, *at_after; /* by node of t_all */
    fitted fit;
} comparing;

/* ---- parameters ---- */

/* Builds the base selection: base_query replaces query, and so on. Parameters without a base_
 * version apply to both sides. */
static bool take_base(comparing *x, err *e)
{
    static const char *const keys[][2] = {
        {"query", "base_query"}, {"start", "base_start"}, {"end", "base_end"}};
    static const char *const ids[] = {"trace_id", "span_id", "profile_id"};
    query *k = x->k;
    params p = {.path = k->p.path};
    bool given = false;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        str own = params_get(&k->p, keys[i][1]),
            value = own.p ? own : params_get(&k->p, keys[i][0]);
        given |= own.p != NULL;
        if (value.p && !params_set(&p, keys[i][0], value, k->a)) return err_memory(e);
    }
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        str value = params_get(&k->p, ids[i]);
        if (value.p && !params_set(&p, ids[i], value, k->a)) return err_memory(e);
    }
    if (!given) return err_set(e, ERR_USAGE, "diff requires base_query, base_start or base_end");
    return selection_of(&p, k->now, k->a, &x->base, e) || err_in(e, "base_");
}

static bool take_options(comparing *x, diff_opts *o, tree_opts *t, granularity *by, err *e)
{
    query *k = x->k;
    bool absolute = false; /* older name of per=second */
    *o = (diff_opts){.fdr = DIFF_FDR, .noise = 1, .spread = RECORDINGS_SPREAD};
    *t = (tree_opts){.order = TREE_BY_TOTAL};
    if (!params_flag(&k->p, "absolute", &absolute, e) ||
        !params_flag(&k->p, "inverted", &t->inverted, e) ||
        !params_real(&k->p, "fdr", &o->fdr, e) || !params_real(&k->p, "noise", &o->noise, e) ||
        !params_real(&k->p, "spread", &o->spread, e) || !query_select(k, &x->o, by, e))
        return false;
    if (!(o->spread >= 0 && o->spread <= 1))
        return err_set(e, ERR_USAGE, "spread must be a number from 0 to 1");
    if (!(o->fdr > 0 && o->fdr < 1))
        return err_set(e, ERR_USAGE, "fdr must be a number between 0 and 1");
    return o->noise >= 1 || err_set(e, ERR_USAGE, "noise must be at least 1");
}

/* ---- types ---- */

static bool has_unit(const store_selector *q)
{
    return q->type.n && memchr(q->type.p, '/', q->type.n);
}

/* Gives a side without a type or unit those of the other side, unless it names another type. */
static void adopt_type(store_selector *to, const store_selector *from)
{
    size_t n = to->type.n;
    if (has_unit(to) || !has_unit(from)) return;
    if (!n || (str_starts(from->type, to->type) && from->type.p[n] == '/')) to->type = from->type;
}

static bool take_types(comparing *x, err *e)
{
    store_selector *after = &x->k->q;
    if (!query_type(x->k, after, e)) return false;
    adopt_type(&x->base, after);
    if (!query_type(x->k, &x->base, e)) return false;
    adopt_type(after, &x->base);
    return true;
}

/* ---- reading ---- */

/* Reads by series, because the period of a series shows how many observations a value
 * represents. */
static bool read_side(comparing *x, const store_selector *q, unsigned share, model *m, view *v,
                      err *e)
{
    query *k = x->k;
    store_read_result scanned;
    bool tags = x->o.tagfocus.n || x->o.tagignore.n || x->o.tagroot.n || x->o.tagleaf.n;
    store_read_opts o = {
        .budget = query_budget(k, share), .names = true, .by_series = true, .by_attributes = tags};
    if (!store_read_sums(k->store, q, &o, k->a, m, &scanned, e) || !stopper_now(k->stop, e))
        return false;
    query_scanned(k, &scanned);
    view_init(v, &x->frames, k->a);
    v->stop = k->stop;
    return query_view(m, &x->o, v, e);
}

/* Gives an empty side the type of the other side. */
static void adopt(view *empty, const view *other)
{
    if (empty->parts.n) return;
    empty->type = other->type;
    empty->unit = other->unit;
}

/* Selections differ in length, so amounts are compared per second, or undivided when no times are
 * recorded. */
static bool take_per(comparing *x, err *e)
{
    str given = params_get(&x->k->p, "per");
    if (!view_seconds(&x->before, &x->seconds[0], e) || !view_seconds(&x->after, &x->seconds[1], e))
        return false;
    bool timed = x->seconds[0] > 0 && x->seconds[1] > 0;
    return per_parse(given.n ? given : timed ? STR("second") : STR("run"), &x->per, e);
}

static bool divide(comparing *x, bool after, recording *out, err *e)
{
    per_recording r = {.v = after ? &x->after : &x->before, .after = after, .at = after, .n = 2};
    per_amount amount;
    if (!per_of(&x->per, &r, &amount, e)) return false;
    *out = (recording){r.v, amount.v, amount.samples};
    return true;
}

static bool judge(comparing *x, const diff_opts *o, err *e)
{
    recording before, after;
    return take_per(x, e) && divide(x, false, &before, e) && divide(x, true, &after, e) &&
           diff_of(&before, 1, &after, 1, o, x->k->a, &x->d, e);
}

static bool compare(comparing *x, const diff_opts *o, const tree_opts *t, err *e)
{
    query *k = x->k;
    if (!take_types(x, e) || !read_side(x, &k->q, 4, &x->m_after, &x->after, e) ||
        !read_side(x, &x->base, 3, &x->m_before, &x->before, e))
        return false;
    adopt(&x->before, &x->after);
    adopt(&x->after, &x->before);
    if (!judge(x, o, e) || !tree_of(&x->before, t, k->a, &x->t_before, e) ||
        !tree_of(&x->after, t, k->a, &x->t_after, e))
        return false;
    return query_view(&x->m_before, &x->o, &x->after, e) && /* `after` now has both sides */
           tree_of(&x->after, t, k->a, &x->t_all, e) &&
           tree_match(&x->t_all, &x->t_before, k->a, &x->at_before, e) &&
           tree_match(&x->t_all, &x->t_after, k->a, &x->at_after, e);
}

/* ---- response ---- */

static void put_side(query *k, const char *key, int64_t sum, double samples, double seconds)
{
    response_node *o = response_object(&k->w.root, key);
    response_i64(o, "sum", sum);
    response_f64(o, "samples", samples);
    response_f64(o, "seconds", seconds);
}

static const str verdicts[] = {[DIFF_NOISE] = STR("noise"),
                               [DIFF_GREW] = STR("grew"),
                               [DIFF_SHRANK] = STR("shrank"),
                               [DIFF_UNTESTED] = STR("untested")};

static void put_real(response_node *o, const char *key, bool known, double v)
{
    if (known && isfinite(v)) response_f64(o, key, v);
}

static void put_total(query *k, const diff *d)
{
    response_node *o = response_object(&k->w.root, "total");
    diff_growth g = diff_growth_of(d, (double)d->sum_before, (double)d->sum_after);
    response_f64(o, "change", d->total.cum_change * d->per_after);
    response_f64(o, "q", d->total.cum_q);
    response_text(o, "verdict", verdicts[d->total.cum]);
    put_real(o, "growth", true, g.v);
    put_real(o, "low", g.known, g.low);
    put_real(o, "high", g.known, g.high);
    response_bool(o, "uniform", d->uniform);
}

static bool put_sentence(comparing *x, err *e)
{
    buf b = {0};
    verdict_sentence(&b, &x->d, &x->per, x->after.type, x->after.unit);
    char *text = arena_array(x->k->a, b.n + 1, 1);
    if (text) memcpy(text, b.p, b.n);
    str s = {text, b.n};
    bool failed = b.failed;
    buf_free(&b);
    if (failed || !text) return err_memory(e);
    response_text(&x->k->w.root, "sentence", s);
    return true;
}

static bool put_head(comparing *x, err *e)
{
    query *k = x->k;
    const diff *d = &x->d;
    response_text(&k->w.root, "type", x->after.type);
    response_text(&k->w.root, "unit", x->after.unit);
    put_side(k, "before", d->sum_before, d->samples_before, x->seconds[0]);
    put_side(k, "after", d->sum_after, d->samples_after, x->seconds[1]);
    response_f64(&k->w.root, "scale", d->per_after / d->per_before);
    response_f64(&k->w.root, "fdr", d->fdr);
    response_u64(&k->w.root, "tests", d->n_tests);
    response_text(&k->w.root, "untested", str_of(d->untested ? d->untested : ""));
    response_text(&k->w.root, "per", x->per.text);
    response_f64(&k->w.root, "per_before", d->per_before);
    response_f64(&k->w.root, "per_after", d->per_after);
    response_f64(&k->w.root, "spread", d->spread);
    put_total(k, d);
    return put_sentence(x, e);
}

static bool put_tree(comparing *x, err *e)
{
    query *k = x->k;
    const tree *sides[] = {&x->t_before, &x->t_after};
    const uint32_t *at[] = {x->at_before, x->at_after};
    const fitted *f = &x->fit;
    if (!graph_fit(k, &x->t_all, NULL, sides, at, 2, ROW, &x->fit, e)) return false;
    response_node *o = response_object(&k->w.root, "nodes");
    response_u32s(o, "parent", f->parent, f->n);
    response_u32s(o, "frame", f->frame, f->n);
    return graph_put(k, o, "self_before", x->t_before.self, x->at_before, f, e) &&
           graph_put(k, o, "self_after", x->t_after.self, x->at_after, f, e) &&
           graph_put(k, o, "total_before", x->t_before.total, x->at_before, f, e) &&
           graph_put(k, o, "total_after", x->t_after.total, x->at_after, f, e);
}

/* Sets *out to the *n rows whose frames are in the fitted tree, with new frame numbers. */
static bool fitting_rows(comparing *x, diff_row **out, size_t *n, size_t *changed, err *e)
{
    query *k = x->k;
    uint32_t *at = arena_new(k->a, uint32_t, x->frames.v.n + 1);
    *out = arena_new(k->a, diff_row, x->d.n + 1);
    if (!at || !*out) return err_memory(e);
    for (uint32_t i = 0; i < x->fit.n_frames; i++) at[x->fit.frames[i]] = i + 1;
    for (size_t i = 0; i < x->d.n; i++) {
        diff_row r = x->d.v[i];
        if (!at[r.frame]) continue;
        r.frame = at[r.frame] - 1;
        *changed += i < x->d.n_changed;
        (*out)[(*n)++] = r;
    }
    return true;
}

static bool put_rows(comparing *x, err *e)
{
    query *k = x->k;
    diff_row *v;
    size_t n = 0, changed = 0;
    if (!fitting_rows(x, &v, &n, &changed, e)) return false;
    response_node *o = response_object(&k->w.root, "rows");
#define COLUMN(put, type, key, member)                                                             \
    do {                                                                                           \
        type *column = arena_new(k->a, type, n + 1);                                               \
        if (!column) return err_memory(e);                                                         \
        for (size_t i = 0; i < n; i++) column[i] = (type)v[i].member;                              \
        put(o, key, column, n);                                                                    \
    } while (0)
    COLUMN(response_u32s, uint32_t, "frame", frame);
    COLUMN(response_i64s, int64_t, "flat_before", before.flat);
    COLUMN(response_i64s, int64_t, "flat_after", after.flat);
    COLUMN(response_i64s, int64_t, "cum_before", before.cum);
    COLUMN(response_i64s, int64_t, "cum_after", after.cum);
    COLUMN(response_f64s, double, "flat_change", flat_change * x->d.per_after);
    COLUMN(response_f64s, double, "cum_change", cum_change * x->d.per_after);
    COLUMN(response_f64s, double, "flat_q", flat_q);
    COLUMN(response_f64s, double, "cum_q", cum_q);
    COLUMN(response_u32s, uint32_t, "flat", flat);
    COLUMN(response_u32s, uint32_t, "cum", cum);
    COLUMN(response_u32s, uint32_t, "moved", moved);
#undef COLUMN
    response_u64(&k->w.root, "changed", changed);
    response_u64(&k->w.root, "grew", x->d.n_grew);
    return true;
}

bool api_diff(query *k, err *e)
{
    comparing x = {.k = k};
    diff_opts o;
    tree_opts t;
    granularity by;
    if (!take_options(&x, &o, &t, &by, e) || !take_base(&x, e) ||
        !frame_table_init(&x.frames, by, k->a, e) || !compare(&x, &o, &t, e))
        return false;
    if (!put_head(&x, e) || !put_tree(&x, e) || !put_rows(&x, e)) return false;
    response_texts(&k->w.root, "verdicts", verdicts, ARRAY_LEN(verdicts));
    return true;
}
