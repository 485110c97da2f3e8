/* The formats .cpuprofile and .heapprofile: docs/v8-profile.md. */
#include "format/format.h"

#include "format/v8.h"
#include "base/ban.h"

typedef struct file {
    v8_profile v;
    bool heap, seen;      /* seen: the file has a tree */
    uint64_t n_allocated; /* samples of a heap profile */
    int depth;            /* nesting depth of wrappers {"profile": ...} */
} file;

static bool allocations(json *j, file *f)
{
    if (!json_expect_array(j)) return false;
    while (json_element(j)) {
        f->n_allocated++;
        if (!json_skip_open(j)) return false;
    }
    return !j->bad;
}

/* Adds the path of the failed element, which is the last of the list. */
static bool list_error(json *j, const char *name, size_t n)
{
    return n ? err_in(j->e, "%s[%zu]", name, n - 1) : err_in(j->e, "%s", name);
}

static bool object(json *j, file *f);

static bool field(json *j, file *f)
{
    v8_profile *v = &f->v;
    if (json_is(j, "nodes")) return f->seen = true, v8_nodes(v, j);
    if (json_is(j, "head")) return f->seen = true, v8_tree(v, j);
    if (json_is(j, "samples")) return f->heap ? allocations(j, f) : v8_samples(v, j);
    if (json_is(j, "timeDeltas"))
        return v8_micros(v, j, &v->deltas) || list_error(j, "timeDeltas", v->deltas.n);
    if (json_is(j, "timestamps"))
        return v8_micros(v, j, &v->times) || list_error(j, "timestamps", v->times.n);
    if (json_is(j, "startTime")) return v->has_start = v8_micro(v, j, &v->start);
    if (json_is(j, "endTime")) return v->has_end = v8_micro(v, j, &v->end);
    if (json_is(j, "profile") && f->depth++ == 0) {
        json_next(j);
        return object(j, f);
    }
    ledger_add(v->l, STAGE_READ, LOSS_METADATA, NULL, "", j->text);
    return json_skip_value(j);
}

/* Reads an object whose { has been read. */
static bool object(json *j, file *f)
{
    if (j->tok != JSON_OBJECT) return json_expected(j, "an object");
    while (json_key(j))
        if (!field(j, f)) return false;
    return !j->bad;
}

static bool read_file(file *f, str bytes, err *e)
{
    json j = json_open_text(bytes, f->v.work, e);
    json_next(&j);
    if (!object(&j, f) || !json_finish(&j)) return false;
    if (!f->seen) return err_set(e, ERR_MALFORMED, "the profile has neither nodes nor a head");
    if (!v8_resolve(&f->v, e)) return false;
    builder_resource(f->v.b, NULL), builder_scope(f->v.b, NULL);
    v8_losses(&f->v);
    ledger_add_n(f->v.l, STAGE_READ, LOSS_STACK_DEPTH, NULL, f->v.tree->n_cut, "nodes", (str){0});
    if (f->heap) {
        ledger_add_n(f->v.l, STAGE_READ, LOSS_EVENT, NULL, f->n_allocated, "samples",
                     STR("allocations"));
        return v8_put_heap(&f->v, e);
    }
    bool timed = f->v.samples.n && (f->v.deltas.n || f->v.times.n);
    uint32_t epoch = timed ? observe_epoch(f->v.b, f->v.l) : 0;
    return v8_put_cpu(&f->v, NULL, 0, &epoch, timed, e);
}

static bool read_kind(str bytes, bool heap, const read_opts *o, arena *a, model *out, err *e)
{
    arena work = arena_beside(a);
    builder b;
    nest_tree tree;
    file f = {.heap = heap, .v = {.b = &b, .tree = &tree, .work = &work, .l = o->ledger}};
    bool ok = builder_init(&b, a) && nest_tree_init(&tree, &b, &work);
    ok = ok ? read_file(&f, bytes, e) : err_memory(e);
    ok = ok && builder_finish(&b, out, e);
    arena_free(&work);
    return ok;
}

/* ---- the formats ---- */

static bool read_cpu(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                     layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    return read_kind(bytes, false, o, a, out, e);
}

static bool read_heap(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                      layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    return read_kind(bytes, true, o, a, out, e);
}

static unsigned detect_cpu(str bytes)
{
    return json_kind_of(bytes) == JSON_KIND_CPUPROFILE ? JSON_KIND_SURE : 0;
}

static unsigned detect_heap(str bytes)
{
    return json_kind_of(bytes) == JSON_KIND_HEAPPROFILE ? JSON_KIND_SURE : 0;
}

const format format_cpuprofile = {
    .name = "cpuprofile",
    .what = "V8 CPU profile: node --cpu-prof, DevTools",
    .suffixes = ".cpuprofile",
    .carries = CARRIES(TIMESTAMPS) | CARRIES(TIME) | CARRIES(LINES) | CARRIES(COLUMNS),
    .detect = detect_cpu,
    .read = read_cpu,
};

const format format_heapprofile = {
    .name = "heapprofile",
    .what = "V8 sampling heap profile: node --heap-prof, DevTools",
    .suffixes = ".heapprofile",
    .carries = CARRIES(LINES) | CARRIES(COLUMNS),
    .detect = detect_heap,
    .read = read_heap,
};
