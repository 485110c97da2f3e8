/* Queries: a selection of samples as a table of frames or as a call tree. */
#include "api/internal.h"

#include "query/flat.h"
#include "query/tree.h"

#include "base/ban.h"
#include <stdlib.h>

/* Immutable. Refers to the profiles only by views of their text. */
struct kiln_answer {
    arena a;
    frame_table frames;
    view v;
    flat top;
    tree tree;       /* n = 0: the result is a table */
    uint32_t *order; /* nodes from the root, children after their parent */
    uint32_t *place; /* by node: its position in order */
    uint32_t *depth; /* by node */
};

_Static_assert((int)KILN_BY_FUNCTION == BY_FUNCTION && (int)KILN_BY_FILE == BY_FILE &&
                   (int)KILN_BY_FILE_FUNCTION == BY_FILE_FUNCTION && (int)KILN_BY_LINE == BY_LINE &&
                   (int)KILN_BY_ADDRESS == BY_ADDRESS && (int)KILN_BY_MAPPING == BY_MAPPING,
               "kiln_granularity is granularity");

static select_opts selection(const kiln_query_options *o)
{
    select_opts s = {
        .sample_type = str_of(o->sample_type),
        .profile_id = str_of(o->profile_id),
        .all = o->all,
        .start = o->start,
        .end = o->end,
        .tagfocus = str_of(o->tagfocus),
        .tagignore = str_of(o->tagignore),
        .thread = str_of(o->thread),
        .trace_id = str_of(o->trace_id),
        .span_id = str_of(o->span_id),
        .focus = str_of(o->focus),
        .ignore = str_of(o->ignore),
        .hide = str_of(o->hide),
        .show = str_of(o->show),
        .show_from = str_of(o->show_from),
        .collapse = str_of(o->collapse),
        .collapse_library = str_of(o->collapse_library),
        .collapse_recursion = str_of(o->collapse_recursion),
        .collapse_direct_recursion = str_of(o->collapse_direct_recursion),
        .focus_category = str_of(o->focus_category),
        .tagroot = str_of(o->tagroot),
        .tagleaf = str_of(o->tagleaf),
        .literal = o->literal,
        .no_inlines = o->no_inlines,
        .keep_pruned = o->all_frames,
    };
    if (o->resource) s.resource[s.n_resources++] = str_of(o->resource);
    return s;
}

static bool take(const kiln_query_options *from, kiln_query_options *to, err *e)
{
    if (!API_TAKE(to, from, "kiln_query_options", e) || !API_UNUSED(to, "kiln_query_options", e))
        return false;
    if ((unsigned)to->granularity >= GRANULARITY_COUNT)
        return err_set(e, ERR_USAGE, "kiln_query_options.granularity is not a kiln_granularity");
    return true;
}

/* Sorts the nodes depth first: a node, then its callees. */
static bool put_in_order(kiln_answer *x, err *e)
{
    const tree *t = &x->tree;
    x->order = arena_new(&x->a, uint32_t, t->n);
    x->place = arena_new(&x->a, uint32_t, t->n);
    x->depth = arena_new(&x->a, uint32_t, t->n);
    if (!x->order || !x->place || !x->depth) return err_memory(e);
    for (uint32_t i = 0, n = 0;;) {
        x->place[i] = n;
        x->order[n++] = i;
        if (t->first_child[i]) {
            x->depth[t->first_child[i]] = x->depth[i] + 1;
            i = t->first_child[i];
            continue;
        }
        while (i && !t->next_sibling[i]) i = t->parent[i];
        if (!i) return true;
        x->depth[t->next_sibling[i]] = x->depth[i];
        i = t->next_sibling[i];
    }
}

typedef bool (*answering)(kiln_answer *x, const kiln_query_options *o, err *e);

static bool answer_top(kiln_answer *x, const kiln_query_options *o, err *e)
{
    flat_opts f = {
        .by_cum = o->by_total, .node_count = o->max_rows, .node_fraction = o->min_fraction};
    return flat_of(&x->v, &f, &x->a, &x->top, e);
}

static bool answer_tree(kiln_answer *x, const kiln_query_options *o, err *e)
{
    tree_opts t = {.inverted = o->inverted, .max_depth = o->max_depth, .order = TREE_BY_TOTAL};
    return tree_of(&x->v, &t, &x->a, &x->tree, e) && put_in_order(x, e);
}

static kiln_answer *ask(const kiln_profiles *p, const kiln_query_options *options, answering how,
                        kiln_error *out)
{
    err e = {0};
    kiln_query_options o;
    kiln_answer *x = NULL;
    bool ok = (p || api_null("profiles", &e)) && take(options, &o, &e);
    if (ok) {
        x = calloc(1, sizeof *x);
        ok = x || err_memory(&e);
    }
    if (ok) {
        x->a = (arena){.budget = api_budget(o.max_memory), .seed = o.seed};
        select_opts s = selection(&o);
        ok = view_of(&p->m, &s, (granularity)o.granularity, &x->a, &x->frames, &x->v, &e) &&
             how(x, &o, &e);
    }
    if (!api_result(ok, &e, out)) {
        kiln_answer_free(x);
        return NULL;
    }
    return x;
}

kiln_answer *kiln_query_top(const kiln_profiles *p, const kiln_query_options *o, kiln_error *e)
{
    return ask(p, o, answer_top, e);
}

kiln_answer *kiln_query_tree(const kiln_profiles *p, const kiln_query_options *o, kiln_error *e)
{
    return ask(p, o, answer_tree, e);
}

void kiln_answer_free(kiln_answer *x)
{
    if (!x) return;
    arena_free(&x->a);
    free(x);
}

bool kiln_answer_facts_of(const kiln_answer *x, kiln_answer_facts *out)
{
    if (!x) return false;
    kiln_answer_facts f = {
        .sample_type = api_str(x->v.type),
        .sample_unit = api_str(x->v.unit),
        .total = x->v.total,
        .selected = x->v.sum,
        .n_samples = x->v.n_samples,
        .n_rows = x->tree.n ? x->tree.n : x->top.n,
        .unmatched = x->v.unmatched,
    };
    return API_GIVE(out, &f);
}

static void name_row(const kiln_answer *x, uint32_t i, kiln_row *r)
{
    const frame *f = &x->frames.v.v[i];
    r->label = api_str(f->label);
    r->function = api_str(frame_text(&x->frames, f->name));
    r->file = api_str(frame_text(&x->frames, f->file));
    r->mapping_file = api_str(frame_text(&x->frames, f->mapping));
    r->line = f->line;
    r->address = f->address;
    r->inlined = (f->flags & FRAME_INLINED) && !(f->flags & FRAME_CALLED);
}

bool kiln_row_at(const kiln_answer *x, size_t i, kiln_row *out)
{
    kiln_row r = {0};
    if (!x || i >= (x->tree.n ? x->tree.n : x->top.n)) return false;
    if (x->tree.n) {
        uint32_t node = x->order[i];
        r.self = x->tree.self[node];
        r.total = x->tree.total[node];
        r.depth = x->depth[node];
        r.parent = x->place[x->tree.parent[node]];
        if (node) name_row(x, x->tree.frame[node], &r);
    } else {
        r.self = x->top.v[i].flat;
        r.total = x->top.v[i].cum;
        name_row(x, x->top.v[i].frame, &r);
    }
    return API_GIVE(out, &r);
}
