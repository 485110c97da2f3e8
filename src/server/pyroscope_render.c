/* GET /pyroscope/render and render-diff: flame graphs as flamebearer JSON, and amounts over time. */
#include "server/pyroscope_points.h"
#include "server/pyroscope_stacks.h"

#include "draw/dot.h"
#include "pyroscope/at_time.h"
#include "server/pyroscope_methods.h"
#include "base/ban.h"

/* Reads a time in ms; an absent parameter keeps *out. */
static bool take_time(query *k, const char *name, int64_t *out, err *e)
{
    uint64_t ns;
    str text = params_get(&k->p, name);
    if (!text.n) return true;
    if (!pyro_at_time(text, k->now, &ns))
        return err_set(e, ERR_USAGE, "%s must be a time such as now-1h or 1687841520, not `%.*s`",
                       name, (int)(text.n < 40 ? text.n : 40), text.p);
    *out = (int64_t)(ns / NS_PER_MS);
    return true;
}

/* Sets *out to the type id that a selector names. */
static bool type_in(query *k, const char *named, str text, str *out, err *e)
{
    pyro_selector s = {0};
    bool ok = pyro_selector_add(&s, text, k->a, e) || err_in(e, "%s", named);
    *out = (str){0};
    for (size_t i = 0; ok && i < s.matchers.n; i++)
        if (pyro_names_type(&s.matchers.v[i])) *out = s.matchers.v[i].value;
    pyro_selector_free(&s);
    if (!ok) return false;
    return out->n || err_set(e, ERR_USAGE,
                             "%s must begin with a profile type, such as "
                             "process_cpu:cpu:nanoseconds:cpu:nanoseconds{}, or have a matcher "
                             "__profile_type__=\"...\"",
                             named);
}

typedef struct side {
    const char *query, *from, *until;
} side;

static bool take_side(query *k, const side *names, pyro_request *out, err *e)
{
    const int64_t hour = 3600 * 1000;
    uint64_t nodes = 0;
    *out = (pyro_request){.selector = params_get(&k->p, names->query),
                          .end = (int64_t)(k->now / NS_PER_MS)};
    if (!out->selector.n) return err_set(e, ERR_USAGE, "missing parameter %s", names->query);
    if (!take_time(k, names->until, &out->end, e)) return false;
    out->start = out->end > hour ? out->end - hour : 1;
    if (!take_time(k, names->from, &out->start, e) ||
        !type_in(k, names->query, out->selector, &out->profile_type, e) ||
        !params_number(&k->p, "max-nodes", INT64_MAX, &nodes, e) ||
        !params_number(&k->p, "maxNodes", INT64_MAX, &nodes, e))
        return false;
    out->has_max_nodes = nodes > 0;
    out->max_nodes = (int64_t)nodes;
    return pyro_check_range(out->start, out->end, e);
}

/* ---- amounts over time ---- */

static bool timeline_of(query *k, const pyro_steps *t, const pyro_line *from, str group,
                        pyro_timeline *out, err *e)
{
    int64_t *v = arena_new(k->a, int64_t, t->n + 1);
    if (!v) return err_memory(e);
    for (size_t i = 0; from && i < t->n; i++) v[i] = (int64_t)from->sum[i];
    *out = (pyro_timeline){.group = group,
                           .start = (int64_t)(t->first / NS_PER_S),
                           .step = t->step / NS_PER_S,
                           .samples = v,
                           .n = t->n};
    return true;
}

/* Returns the only value in a set of labels; "" for the empty set. */
static str value_of(const pyro_labels *l)
{
    const char *zero = l->key.n ? memchr(l->key.p, '\0', l->key.n) : NULL;
    if (!zero) return STR("");
    return (str){zero + 1, l->key.n - (size_t)(zero - l->key.p) - 2};
}

static bool take_steps(const pyro_request *r, pyro_steps *out, err *e)
{
    uint64_t start = (uint64_t)r->start * NS_PER_MS, end = (uint64_t)r->end * NS_PER_MS;
    uint64_t step = query_round_step(end - start);
    if (step < NS_PER_S) step = NS_PER_S;
    start -= start % step;
    if (!start) start = step;
    *out = (pyro_steps){.first = start, .step = step, .n = (size_t)((end - start) / step) + 1};
    return out->n <= PYRO_POINTS_MAX || err_set(e, ERR_USAGE, "the time range is too long");
}

static bool put_time(query *k, const pyro_request *r, pyro_flamebearer *out, err *e)
{
    pyro_steps t;
    pyro_selection s = {0};
    pyro_lines all = {0}, groups = {0};
    str by = params_get(&k->p, "groupBy"), how = params_get(&k->p, "aggregation");
    pyro_texts selector = {.v = (str[]){r->selector}, .n = 1}, none = {0},
               keys = {.v = &by, .n = by.n > 0};
    bool average = str_eq(how, STR("avg"));
    if (how.n && !average && !str_eq(how, STR("sum")))
        return err_set(e, ERR_USAGE, "aggregation must be sum or avg");
    if (!take_steps(r, &t, e)) return false;
    bool ok = pyro_select(k, &selector, r->profile_type,
                          (int64_t)((t.first - t.step) / NS_PER_MS) + 1, r->end + 1, &s, e) &&
              pyro_lines_of(&s, &t, &none, &all, e) &&
              (!average || pyro_average(&s, &t, &none, &all, e)) &&
              (!by.n || (pyro_lines_of(&s, &t, &keys, &groups, e) &&
                         (!average || pyro_average(&s, &t, &keys, &groups, e))));
    pyro_timeline *v = arena_new(k->a, pyro_timeline, groups.n + 1);
    ok = ok && (v || err_memory(e));
    ok = ok && timeline_of(k, &t, all.n ? all.v : NULL, STR(""), &v[0], e);
    for (size_t i = 0; ok && i < groups.n; i++)
        ok = timeline_of(k, &t, &groups.v[i], value_of(&groups.v[i].labels), &v[i + 1], e);
    pyro_selection_free(&s);
    out->timeline = v;
    out->groups = by.n && v ? v + 1 : NULL;
    out->n_groups = groups.n;
    return ok;
}

/* ---- render ---- */

static str partial_of(const query *k)
{
    return k->scanned.partial ? str_of(k->scanned.why) : (str){0};
}

static bool put_dot(query *k, const view *v, err *e)
{
    k->type = "text/plain; charset=utf-8";
    return dot_put(v, 0, k->a, &k->body, e);
}

static bool put_single(query *k, const pyro_request *r, const view *v, uint64_t max_nodes, err *e)
{
    tree t;
    pyro_flame flame;
    pyro_flamebearer out = {.flame = &flame};
    if (!tree_of(v, &(tree_opts){.order = TREE_BY_LABEL}, k->a, &t, e) ||
        !pyro_flame_of(&t, max_nodes, k->a, &flame, e) ||
        !pyro_type_parse(r->profile_type, &out.type, e) || !put_time(k, r, &out, e))
        return false;
    out.partial = partial_of(k);
    pyro_flamebearer_put(&out, &k->body);
    return true;
}

bool pyro_render(query *k, err *e)
{
    static const side names = {"query", "from", "until"};
    pyro_request r;
    frame_table f;
    pyro_stacks s = {0};
    uint64_t max_nodes;
    str format = params_get(&k->p, "format");
    bool dot = str_eq(format, STR("dot"));
    if (format.n && !dot && !str_eq(format, STR("json")))
        return err_set(e, ERR_USAGE, "format must be json or dot");
    if (!take_side(k, &names, &r, e) || !pyro_max_nodes(&r, &max_nodes, e) ||
        !frame_table_init(&f, BY_FUNCTION, k->a, e))
        return false;
    bool ok = pyro_stacks_read(k, &r, &f, 2, &s, e) &&
              (dot ? put_dot(k, &s.v, e) : put_single(k, &r, &s.v, max_nodes, e));
    pyro_selection_free(&s.s);
    return ok;
}

bool pyro_render_diff(query *k, err *e)
{
    static const side left = {"leftQuery", "leftFrom", "leftUntil"},
                      right = {"rightQuery", "rightFrom", "rightUntil"};
    pyro_request a, b;
    pyro_flame flame;
    pyro_flamebearer out = {.flame = &flame};
    if (!take_side(k, &left, &a, e) || !take_side(k, &right, &b, e)) return false;
    if (!str_eq(a.profile_type, b.profile_type))
        return err_set(e, ERR_USAGE, "both sides must have the same profile type");
    if (!pyro_type_parse(a.profile_type, &out.type, e) || !pyro_diff_of(k, &a, &b, &flame, e))
        return false;
    out.partial = partial_of(k);
    pyro_flamebearer_put(&out, &k->body);
    return true;
}
