/* Makes a view of samples from command-line options and inputs.  Relative times (--start +1.5s)
 * need the first input, so times are parsed after the inputs are open.  A store or a server has
 * already applied a part of the selection. */
#include "cli/query.h"
#include "base/time.h"

#include "cli/naming.h"
#include "cli/number.h"
#include "cli/supply.h"
#include "net/world.h"
#include "query/cumulative.h"
#include "query/unit.h"

#include "base/ban.h"

/* ---- options ---- */

static granularity chosen_granularity(const cli_options *o, granularity by)
{
    for (int g = 0; o->granularity && g < GRANULARITY_COUNT; g++)
        if (!strcmp(o->granularity, granularity_name((granularity)g))) by = (granularity)g;
    if (o->by_functions) by = BY_FUNCTION;
    if (o->by_filefunctions) by = BY_FILE_FUNCTION;
    if (o->by_files) by = BY_FILE;
    if (o->by_lines) by = BY_LINE;
    if (o->by_addresses) by = BY_ADDRESS;
    return by;
}

static bool take_resources(query *q, err *e)
{
    const option_list *l = &q->c->o.resource;
    if (l->n > SELECT_RESOURCES)
        return err_set(e, ERR_USAGE, "--resource was given more than %d times", SELECT_RESOURCES);
    for (size_t i = 0; i < l->n; i++) q->o.resource[i] = l->v[i];
    q->o.n_resources = l->n;
    return true;
}

/* Returns whether --sample-type is the number of a profile. */
static bool is_number(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9') return false;
    return s.n > 0;
}

static bool take_options(query *q, err *e)
{
    const cli_options *o = &q->c->o;
    select_opts *s = &q->o;
    s->sample_type = o->wanted_type && !*o->wanted_type ? STR("/") : str_of(o->wanted_type);
    s->profile_id = str_of(o->wanted_id);
    s->all = o->all || !is_number(s->sample_type);
    s->tagfocus = str_of(o->tagfocus);
    s->tagignore = str_of(o->tagignore);
    s->thread = str_of(o->thread);
    s->trace_id = str_of(o->trace_id);
    s->span_id = str_of(o->span_id);
    s->focus = str_of(o->focus);
    s->ignore = str_of(o->ignore_frames);
    s->hide = str_of(o->hide);
    s->show = str_of(o->show);
    s->show_from = str_of(o->show_from);
    s->collapse = str_of(o->collapse);
    s->collapse_library = str_of(o->collapse_library);
    s->collapse_recursion = str_of(o->collapse_recursion);
    s->collapse_direct_recursion = str_of(o->collapse_direct_recursion);
    s->focus_category = str_of(o->focus_category);
    s->begins_with = str_of(o->begins_with);
    s->ends_with = str_of(o->ends_with);
    s->tagroot = str_of(o->tagroot);
    s->tagleaf = str_of(o->tagleaf);
    s->literal = o->literal;
    s->no_inlines = o->noinlines;
    s->keep_pruned = o->keep_pruned;
    if (o->weights.n && o->weights.n != q->n_in)
        return err_set(e, ERR_USAGE, "--weight has %zu numbers for %zu inputs", o->weights.n,
                       q->n_in);
    if (o->unit && !unit_of(str_of(o->unit)).name)
        return err_set(e, ERR_USAGE, "--unit must be one of ns, us, ms, s, B, kB, MB, GB, not `%s`",
                       o->unit);
    return take_resources(q, e);
}

flat_opts cli_flat_opts(const cli *c, size_t count)
{
    const cli_options *o = &c->o;
    flat_opts f = {.by_cum = o->by_cum && !o->by_flat};
    if (o->no_trim) return f;
    f.node_count = o->nodecount.given ? o->nodecount.n : count;
    f.node_fraction = o->nodefraction.given ? o->nodefraction.v : 0.005;
    f.edge_fraction = o->edgefraction.given ? o->edgefraction.v : 0.001;
    return f;
}

/* ---- the time range ---- */

/* Sets *start to the start of the selected profile, or to its first timestamp if it does not record
 * a start. */
static bool start_of(query *q, uint64_t *start, err *e)
{
    const model *m = &q->in[0].doc.model;
    u32s chosen;
    *start = 0;
    select_opts o = query_options_for(q, &q->in[0]);
    if (!select_profiles(m, &o, &q->arena, &chosen, e)) return false;
    const profile *p = &m->profiles.v[chosen.v[0]];
    *start = p->time_unix_nano;
    for (size_t i = 0; !p->time_unix_nano && i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        for (uint32_t k = 0; k < s.n_times; k++)
            if (!*start || s.times[k] < *start) *start = s.times[k];
    }
    return true;
}

static bool take_time(query *q, const char *name, const char *text, uint64_t *out, err *e)
{
    if (!text) return true;
    const world *w = world_system();
    uint64_t ns, start;
    if (text[0] != '+') {
        if (time_parse_at(str_of(text), w->wall(w->ctx), out)) return true;
    } else if (duration_parse(str_of(text + 1), &ns)) {
        if (!start_of(q, &start, e)) return false;
        return !ckd_add(out, start, ns) || err_set(e, ERR_USAGE, "--%s is too large", name);
    }
    return err_set(e, ERR_USAGE,
                   "--%s must be a time such as 2023-06-27T04:52:00Z, now-1h or +1.5s, not `%s`",
                   name, text);
}

/* Fails if --start or --end is given and no sample has timestamps, because nothing would be
 * selected. */
static bool has_times(const query *q, err *e)
{
    if (!q->o.start && !q->o.end) return true;
    if (q->v.n_selected) return true;
    for (size_t k = 0; k < q->v.parts.n; k++) {
        const view_part *p = &q->v.parts.v[k];
        for (size_t i = 0; i < p->p->n_samples; i++)
            if (spans_at(&p->p->time_span, i).n) return true;
    }
    return err_set(e, ERR_USAGE, "--start and --end require timestamps, and the samples have none");
}

/* ---- inputs ---- */

/* Empties cumulative profiles that a newer one includes (query/cumulative.h). */
static bool empty_replaced(input *in, size_t n, arena *a, err *e)
{
    model **m = arena_new(a, model *, n);
    if (!m) return err_memory(e);
    for (size_t i = 0; i < n; i++) m[i] = &in[i].doc.model;
    return cumulative_empty_replaced(m, n, a, e);
}

bool query_open_input(const query *q, cli *c, const char *path, input *in)
{
    stored_need least = q->o.by_sample ? STORED_ALL : STORED_SUMS;
    err e = {0};
    if (!input_open_model(c, path, stored_need_of(&c->o, least), in)) return false;
    if (!naming_add(c, in)) return input_close(in), false;
    if (!in->stored || q->keep_replaced) return true;
    if (empty_replaced(in, 1, &in->arena, &e) && levels_keep_newest(&in->doc.model, &in->arena, &e))
        return true;
    cli_fail_err(c, path, &e);
    input_close(in);
    return false;
}

select_opts query_options_for(const query *q, const input *in)
{
    select_opts o = q->o;
    if (in->stored) stored_select(&q->c->o, &o);
    /* The type of the first input applies to all, because only values of one type are added up. */
    const input *first = q->n_in && q->in[0].main_type[0] ? &q->in[0] : in;
    if (in->stored && !o.sample_type.n) o.sample_type = str_of(first->main_type);
    return o;
}

static bool open_inputs(query *q, const char **paths, size_t n)
{
    q->in = calloc(n, sizeof *q->in);
    if (!q->in) {
        cli_fail(q->c, EXIT_ENVIRONMENT, "out of memory");
        return false;
    }
    for (; q->n_in < n; q->n_in++)
        if (!query_open_input(q, q->c, paths[q->n_in], &q->in[q->n_in])) return false;
    return true;
}

static bool weight_of(const query *q, size_t i, double *w, err *e)
{
    const option_list *l = &q->c->o.weights;
    *w = 1;
    return !l->n || weight_parse(l->v[i], w, e);
}

/* Empties profiles of n inputs that must not be added up because a newer one includes or replaces
 * them. */
static bool keep_newest(const query *q, input *in, size_t n, arena *a, err *e)
{
    if (q->keep_replaced) return true;
    if ((n > 1 || q->o.all || q->o.n_resources) && !empty_replaced(in, n, a, e)) return false;
    for (size_t i = 0; q->o.all && i < n; i++)
        if (!levels_keep_newest(&in[i].doc.model, a, e)) return false;
    return true;
}

static bool has_type(const model *m, str type, str unit)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        const value_type *t = &m->profiles.v[i].sample_type;
        if (str_eq(dict_str(&m->dict, t->type), type) && str_eq(dict_str(&m->dict, t->unit), unit))
            return true;
    }
    return false;
}

/* Returns the type of the query's view ("cpu/nanoseconds"), or empty text if the memory budget is
 * exhausted. */
static str type_of_view(const query *q, arena *a)
{
    size_t n = q->v.type.n + 1 + q->v.unit.n;
    char *text = arena_array(a, n, 1);
    if (!text) return (str){0};
    if (q->v.type.n) memcpy(text, q->v.type.p, q->v.type.n);
    text[q->v.type.n] = '/';
    if (q->v.unit.n) memcpy(text + q->v.type.n + 1, q->v.unit.p, q->v.unit.n);
    return (str){text, q->v.unit.n || !q->v.type.n ? n : q->v.type.n};
}

bool query_add_input(const query *q, input *in, view *v, err *e)
{
    select_opts o = query_options_for(q, in);
    if (!o.sample_type.n && q->v.parts.n && has_type(&in->doc.model, q->v.type, q->v.unit))
        o.sample_type = type_of_view(q, &in->arena);
    return keep_newest(q, in, 1, &in->arena, e) && view_add(v, &in->doc.model, &o, 1, e);
}

static bool make_view(query *q, granularity by, err *e)
{
    size_t together = q->apart ? 1 : q->n_in;
    for (size_t i = 0; i < q->n_in; i += together)
        if (!keep_newest(q, &q->in[i], together, &q->arena, e)) return false;
    q->by = chosen_granularity(&q->c->o, by);
    if (!frame_table_init(&q->frames, q->by, &q->arena, e)) return false;
    view_init(&q->v, &q->frames, &q->arena);
    for (size_t i = 0; i < q->n_in; i++) {
        double w;
        q->at = i;
        if (!weight_of(q, i, &w, e)) return false;
        select_opts o = query_options_for(q, &q->in[i]);
        if (!view_add(&q->v, &q->in[i].doc.model, &o, w, e)) return false;
    }
    q->at = q->n_in == 1 ? 0 : q->n_in;
    return has_times(q, e);
}

static bool has_samples(query *q, err *e)
{
    if (q->v.n_samples) return true;
    return err_set(e, ERR_MALFORMED, "the profile has no samples of %.*s",
                   q->v.type.n ? (int)q->v.type.n : 8, q->v.type.n ? q->v.type.p : "any type");
}

static void begin(query *q, cli *c)
{
    *q = (query){.c = c,
                 .o = {.by_sample = q->o.by_sample},
                 .brief = q->brief,
                 .keep_replaced = q->keep_replaced,
                 .apart = q->apart,
                 .schema = q->schema};
    q->arena.budget = input_budget(c);
    q->arena.seed = c->seed;
}

/* Makes the view over the open inputs.  Returns false after reporting a failure. */
static bool select_samples(query *q, granularity by)
{
    const cli_options *o = &q->c->o;
    err e = {0};
    q->at = q->n_in;
    if (take_options(q, &e) && take_time(q, "start", o->since, &q->o.start, &e) &&
        take_time(q, "end", o->until, &q->o.end, &e) && make_view(q, by, &e) && has_samples(q, &e))
        return true;
    query_fail(q, &e);
    return false;
}

bool query_open(query *q, cli *c, const char **paths, size_t n, granularity by)
{
    begin(q, c);
    bool ok = open_inputs(q, paths, n);
    if (ok) naming_report(c);
    ok = ok && select_samples(q, by);
    if (!ok) query_close(q);
    c->pages = ok && !c->o.json && !c->o.no_pager && c->term.moves;
    if (ok && q->v.unmatched[0]) cli_note(c, "no match for the pattern of %s", q->v.unmatched);
    return ok;
}

bool query_borrow(query *q, cli *c, input *in, granularity by)
{
    begin(q, c);
    q->in = in;
    q->n_in = 1;
    q->borrowed = true;
    bool ok = select_samples(q, by);
    if (!ok) query_close(q);
    return ok;
}

void query_fail(query *q, const err *e)
{
    cli_fail_err(q->c, q->at < q->n_in ? q->in[q->at].path : NULL, e);
}

void query_close(query *q)
{
    while (!q->borrowed && q->n_in) input_close(&q->in[--q->n_in]);
    if (!q->borrowed) free(q->in);
    arena_free(&q->arena);
}
