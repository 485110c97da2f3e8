/* SelectMergeStacktraces, SelectMergeSpanProfile and Diff: flame graphs. */
#include "server/pyroscope_stacks.h"

#include "draw/dot.h"
#include "server/pyroscope_methods.h"
#include "wire/base64.h"
#include "wire/pb.h"
#include "base/ban.h"

enum { PROFILES_MAX = 100 };

bool pyro_max_nodes(const pyro_request *r, uint64_t *out, err *e)
{
    *out = r->has_max_nodes && r->max_nodes ? (uint64_t)r->max_nodes : PYRO_MAX_NODES;
    if (r->max_nodes < 0) return err_set(e, ERR_USAGE, "max_nodes is negative");
    return *out <= PYRO_MAX_NODES_LIMIT ||
           err_set(e, ERR_USAGE, "max_nodes is at most %d", PYRO_MAX_NODES_LIMIT);
}

/* ---- ids ---- */

static bool check_hex(str id, size_t digits, const char *what, err *e)
{
    uint8_t bytes[32];
    return (id.n == digits && hex_decode(id, bytes)) ||
           err_set(e, ERR_USAGE, "%s must have %zu hex digits: `%.*s`", what, digits,
                   (int)(id.n < 40 ? id.n : 40), id.p);
}

/* One id is compared by the store's index; several become a pattern. */
static bool add_ids(pyro_selection *s, const pyro_texts *ids, const char *key, size_t digits,
                    const char *what, err *e)
{
    if (!ids->n) return true;
    buf b = {0};
    for (size_t i = 0; i < ids->n; i++) {
        if (!check_hex(ids->v[i], digits, what, e)) return buf_free(&b), false;
        if (i) buf_putc(&b, '|');
        for (size_t j = 0; j < digits; j++) {
            char c = ids->v[i].p[j];
            buf_putc(&b, c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c);
        }
    }
    str all = pyro_copy(s->k, buf_view(&b));
    bool ok = !b.failed && all.p;
    buf_free(&b);
    if (!ok) return err_memory(e);
    return pyro_selection_add(s, str_of(key), ids->n > 1 ? STORE_LIKE : STORE_IS, all, e);
}

/* Reads a UUID, with or without hyphens. */
static bool uuid_of(str text, uint8_t out[16], err *e)
{
    char hex[32];
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '-') continue;
        if (n == sizeof hex) n = SIZE_MAX;
        if (n == SIZE_MAX) break;
        hex[n++] = text.p[i];
    }
    return (n == sizeof hex && hex_decode((str){hex, n}, out)) ||
           err_set(e, ERR_USAGE, "profile_id_selector must have UUIDs: `%.*s`",
                   (int)(text.n < 40 ? text.n : 40), text.p);
}

/* Replaces each read by one for each profile. */
static bool split_by_profile(pyro_selection *s, const pyro_texts *ids, err *e)
{
    query *k = s->k;
    pyro_selection by = *s;
    if (!ids->n) return true;
    if (ids->n > PROFILES_MAX)
        return err_set(e, ERR_USAGE, "profile_id_selector has more than %d ids", PROFILES_MAX);
    memset(&by.reads, 0, sizeof by.reads);
    for (size_t j = 0; j < ids->n; j++) {
        uint8_t *id = arena_alloc(k->a, 16);
        if (!id) return err_memory(e);
        if (!uuid_of(ids->v[j], id, e)) return false;
        for (size_t i = 0; i < s->reads.n; i++) {
            pyro_read *r = vec_push(k->a, &by.reads);
            if (!r) return err_memory(e);
            *r = s->reads.v[i];
            r->q.profile_id = id;
        }
    }
    s->reads.v = by.reads.v, s->reads.n = by.reads.n, s->reads.cap = by.reads.cap;
    return true;
}

bool pyro_select_ids(query *k, const pyro_request *r, pyro_selection *out, err *e)
{
    pyro_texts selector = {.v = (str[]){r->selector}, .n = 1};
    *out = (pyro_selection){.k = k};
    if (!r->profile_type.n) return err_set(e, ERR_USAGE, "missing profile_typeID");
    return pyro_select(k, &selector, r->profile_type, r->start, r->end, out, e) &&
           add_ids(out, &r->span_ids, "span_id", 16, "span_selector", e) &&
           add_ids(out, &r->trace_ids, "trace_id", 32, "trace_id_selector", e) &&
           split_by_profile(out, &r->profile_ids, e);
}

/* ---- reading ---- */

/* Returns whether the outermost frames of a stack, which has its leaf first, are the call site. */
static bool begins(const frame_table *f, const uint32_t *frames, size_t n, const pyro_texts *site)
{
    if (n < site->n) return false;
    for (size_t i = 0; i < site->n; i++)
        if (!str_eq(frame_label(f, frames[n - 1 - i]), site->v[i])) return false;
    return true;
}

bool pyro_keep_call_site(view *v, size_t first_part, const pyro_texts *site, err *e)
{
    if (!site->n || first_part >= v->parts.n) return true;
    size_t kept = v->parts.v[first_part].first_row;
    uint32_t *frames = view_scratch(v, e);
    if (!frames) return false;
    for (size_t i = first_part; i < v->parts.n; i++) {
        view_part *p = &v->parts.v[i];
        size_t from = p->first_row, n = p->n_rows;
        p->first_row = kept;
        for (size_t j = from; j < from + n; j++) {
            const view_row row = v->rows.v[j];
            if (begins(v->frames, frames, view_frames(v, p, &row, frames), site))
                v->rows.v[kept++] = row;
            else
                v->sum -= row.value;
        }
        p->n_rows = kept - p->first_row;
    }
    v->rows.n = kept;
    return true;
}

static bool read_one(query *k, const pyro_read *r, unsigned share, model *m, view *v, err *e)
{
    store_read_result scanned;
    store_read_opts o = {
        .budget = query_budget(k, share), .names = true, .by_series = true, .by_reading = true};
    if (!store_read_sums(k->store, &r->q, &o, k->a, m, &scanned, e) || !stopper_now(k->stop, e))
        return false;
    query_scanned(k, &scanned);
    if (!m->profiles.n) return true;
    str unit = v->unit;
    const profile *p = &m->profiles.v[0];
    v->unit = dict_str(&m->dict, p->sample_type.unit); /* stored types of one id are added */
    bool ok = view_add(v, m, &(select_opts){.all = true}, (double)r->scale, e);
    if (unit.n) v->unit = unit;
    return ok;
}

bool pyro_stacks_read(query *k, const pyro_request *r, frame_table *f, unsigned share,
                      pyro_stacks *out, err *e)
{
    *out = (pyro_stacks){0};
    view_init(&out->v, f, k->a);
    out->v.stop = k->stop;
    if (!pyro_select_ids(k, r, &out->s, e)) return false;
    out->models = arena_new(k->a, model, out->s.reads.n + 1);
    if (!out->models) return err_memory(e);
    for (size_t i = 0; i < out->s.reads.n; i++)
        if (!read_one(k, &out->s.reads.v[i], share, &out->models[i], &out->v, e)) return false;
    return pyro_keep_call_site(&out->v, 0, &r->call_site, e);
}

/* ---- SelectMergeStacktraces ---- */

static bool put_flame(query *k, const tree *t, uint64_t max_nodes, err *e)
{
    pyro_flame f;
    buf b = {0};
    if (!pyro_flame_of(t, max_nodes, k->a, &f, e)) return false;
    pyro_flame_put(&f, &b);
    pb_put_bytes(&k->body, 1, buf_view(&b));
    bool ok = !b.failed;
    buf_free(&b);
    return ok || err_memory(e);
}

static bool put_tree(query *k, const tree *t, uint64_t max_nodes, err *e)
{
    buf b = {0};
    bool ok = pyro_tree_put(t, max_nodes, k->a, &b, e) && (!b.failed || err_memory(e));
    if (ok && b.n) pb_put_bytes(&k->body, 2, buf_view(&b));
    buf_free(&b);
    return ok;
}

static bool put_dot(query *k, const view *v, err *e)
{
    buf b = {0};
    bool ok = dot_put(v, 0, k->a, &b, e);
    if (ok) pb_put_bytes(&k->body, 3, buf_view(&b));
    buf_free(&b);
    return ok;
}

static bool put_pprof(query *k, const pyro_request *r, err *e)
{
    buf b = {0}, result = {0};
    bool ok = pyro_pprof_put(k, r, &b, e);
    if (ok) {
        pb_put_bytes(&result, 1, buf_view(&b));
        pb_put_bytes(&k->body, 5, buf_view(&result));
        ok = !result.failed || err_memory(e);
    }
    buf_free(&b);
    buf_free(&result);
    return ok;
}

static bool put_graph(query *k, const pyro_request *r, uint64_t max_nodes, err *e)
{
    frame_table f;
    pyro_stacks s;
    tree t;
    if (!frame_table_init(&f, BY_FUNCTION, k->a, e)) return false;
    bool ok = pyro_stacks_read(k, r, &f, 2, &s, e);
    if (ok && r->format == PYRO_FORMAT_DOT) {
        ok = put_dot(k, &s.v, e);
    } else if (ok) {
        ok = tree_of(&s.v, &(tree_opts){.order = TREE_BY_LABEL}, k->a, &t, e) &&
             (r->format == PYRO_FORMAT_TREE ? put_tree(k, &t, max_nodes, e)
                                            : put_flame(k, &t, max_nodes, e));
    }
    pyro_selection_free(&s.s);
    return ok;
}

bool pyro_merge_stacktraces(query *k, err *e)
{
    const pyro_request *r = &k->call->r;
    uint64_t max_nodes;
    if (!pyro_max_nodes(r, &max_nodes, e)) return false;
    if (r->format > PYRO_FORMAT_PPROF) return err_set(e, ERR_USAGE, "unknown format");
    return r->format == PYRO_FORMAT_PPROF ? put_pprof(k, r, e) : put_graph(k, r, max_nodes, e);
}

/* ---- Diff ---- */

static bool compare(query *k, const pyro_stacks *left, pyro_stacks *right, const pyro_texts *site,
                    uint64_t max_nodes, pyro_flame *out, err *e)
{
    const size_t own = right->v.parts.n;
    const tree_opts o = {.order = TREE_BY_LABEL};
    tree *t = arena_new(k->a, tree, 3); /* the flame graph refers to them */
    if (!t) return err_memory(e);
    if (!tree_of(&left->v, &o, k->a, &t[0], e) || !tree_of(&right->v, &o, k->a, &t[1], e))
        return false;
    for (size_t i = 0; i < left->s.reads.n; i++) { /* the right view now has both sides */
        const model *m = &left->models[i];
        if (!m->profiles.n) continue;
        right->v.unit = dict_str(&m->dict, m->profiles.v[0].sample_type.unit);
        if (!view_add(&right->v, m, &(select_opts){.all = true}, (double)left->s.reads.v[i].scale,
                      e))
            return false;
    }
    return pyro_keep_call_site(&right->v, own, site, e) && tree_of(&right->v, &o, k->a, &t[2], e) &&
           pyro_flame_diff_of(&t[2], &t[0], &t[1], max_nodes, k->a, out, e);
}

bool pyro_diff_of(query *k, const pyro_request *left, const pyro_request *right, pyro_flame *out,
                  err *e)
{
    frame_table f;
    pyro_stacks a = {0}, b = {0};
    uint64_t most, other;
    if (!pyro_max_nodes(left, &most, e) || !pyro_max_nodes(right, &other, e) ||
        !frame_table_init(&f, BY_FUNCTION, k->a, e))
        return false;
    if (other > most) most = other;
    bool ok = pyro_stacks_read(k, left, &f, 4, &a, e) && pyro_stacks_read(k, right, &f, 3, &b, e) &&
              compare(k, &a, &b, &left->call_site, most, out, e);
    pyro_selection_free(&a.s);
    pyro_selection_free(&b.s);
    return ok;
}

bool pyro_get_diff(query *k, err *e)
{
    const pyro_request *r = &k->call->r;
    pyro_flame f;
    buf b = {0};
    if (!r->left || !r->right) return err_set(e, ERR_USAGE, "left and right are required");
    if (!pyro_diff_of(k, r->left, r->right, &f, e)) return false;
    pyro_flame_put(&f, &b);
    pb_put_bytes(&k->body, 1, buf_view(&b));
    bool ok = !b.failed;
    buf_free(&b);
    return ok || err_memory(e);
}
