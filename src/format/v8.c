/* Reads V8's tree of call frames and its lists of samples, and resolves the references between
 * them. */
#include "format/v8.h"

#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

/* ---- nodes ---- */

/* A call frame while its fields are read. */
typedef struct call_frame {
    uint32_t name, url; /* strings */
    int64_t line, column;
    bool is_root;
} call_frame;

static bool text_field(json *j, v8_profile *v, uint32_t *out)
{
    if (json_next(j) == JSON_NULL) return true;
    if (j->tok != JSON_STRING) return json_expected(j, "text");
    *out = builder_string(v->b, j->text);
    return true;
}

/* Reads a line or column. V8 counts from 0 and writes -1 for none; the model counts from 1. */
static bool place_field(json *j, int64_t *out)
{
    int64_t v;
    if (json_next(j) == JSON_NULL) return true;
    if (!json_to_i64(j, -1, INT32_MAX, &v)) return false;
    *out = v + 1;
    return true;
}

/* Reads a field of a call frame. Sets *known to whether it is one. */
static bool frame_field(json *j, v8_profile *v, call_frame *f, bool *known)
{
    *known = true;
    if (json_is(j, "functionName")) {
        if (!text_field(j, v, &f->name)) return false;
        f->is_root = j->tok == JSON_STRING && str_eq(j->text, STR("(root)"));
        return true;
    }
    if (json_is(j, "url")) return text_field(j, v, &f->url);
    if (json_is(j, "lineNumber")) return place_field(j, &f->line);
    if (json_is(j, "columnNumber")) return place_field(j, &f->column);
    if (json_is(j, "scriptId")) {
        json_next(j);
        bool none = j->tok == JSON_NULL || str_eq(j->text, STR("0"));
        v->n_scripts += !none;
        return json_skip_open(j);
    }
    *known = false;
    return true;
}

static bool call_frame_object(json *j, v8_profile *v, call_frame *f)
{
    if (!json_expect_object(j)) return false;
    while (json_key(j)) {
        bool known;
        if (!frame_field(j, v, f, &known) || (!known && !json_skip_value(j))) return false;
    }
    return !j->bad;
}

static uint32_t frame_location(v8_profile *v, const call_frame *f)
{
    builder *b = v->b;
    function fn = {
        .name = f->name ? f->name : builder_string(b, STR("(anonymous)")),
        .filename = f->url,
        .start_line = f->line,
    };
    line l = {.function = builder_function(b, &fn), .line = f->line, .column = f->column};
    uint32_t type = builder_attribute_str(b, STR(ATTR_FRAME_TYPE), STR("v8js"));
    return builder_location(b, 0, 0, &l, 1, &type, 1);
}

static bool array_length(json *j, uint64_t *n)
{
    if (json_next(j) != JSON_ARRAY) return json_skip_open(j);
    while (json_element(j)) {
        ++*n;
        if (!json_skip_open(j)) return false;
    }
    return !j->bad;
}

static bool child_ids(json *j, v8_profile *v, uint32_t parent)
{
    while (json_element(j)) {
        v8_child *c = vec_push(v->work, &v->children);
        if (!c) return err_memory(j->e);
        c->parent = parent;
        if (!json_to_u64(j, UINT64_MAX, &c->id)) return false;
    }
    return !j->bad;
}

static bool node_object(json *j, v8_profile *v, uint32_t parent, bool nested);

static bool child_nodes(json *j, v8_profile *v, uint32_t parent)
{
    while (json_element(j))
        if (!node_object(j, v, parent + 1, true)) return false;
    return !j->bad;
}

static bool reason(json *j, v8_profile *v)
{
    if (json_next(j) == JSON_STRING && j->text.n && !str_eq(j->text, STR("no reason")))
        v->n_reasons++;
    return json_skip_open(j);
}

static bool node_field(json *j, v8_profile *v, uint32_t at, call_frame *f, bool nested)
{
    bool known;
    if (!frame_field(j, v, f, &known)) return false;
    if (known) return true;
    v8_node *n = &v->nodes.v[at];
    if (json_is(j, "callFrame")) return call_frame_object(j, v, f);
    if (json_is(j, "id")) return json_next(j), n->has_id = json_to_u64(j, UINT64_MAX, &n->id);
    if (json_is(j, "hitCount")) return json_next(j), json_to_i64(j, 0, INT64_MAX, &n->hits);
    if (json_is(j, "selfSize"))
        return json_next(j), json_to_scaled(j, 0, &n->self_size, &v->rounded);
    if (json_is(j, "parent"))
        return json_next(j), n->has_parent_id = json_to_u64(j, UINT64_MAX, &n->parent_id);
    if (json_is(j, "children")) {
        if (!json_expect_array(j)) return false;
        return nested ? child_nodes(j, v, at) : child_ids(j, v, at);
    }
    if (json_is(j, "positionTicks")) return array_length(j, &v->n_line_ticks);
    if (json_is(j, "deoptReason") || json_is(j, "bailoutReason")) return reason(j, v);
    return json_skip_value(j);
}

/* Reads a node whose { has been read. The tokenizer limits the depth of nested nodes. */
static bool node_object(json *j, v8_profile *v, uint32_t parent, bool nested)
{
    if (j->tok != JSON_OBJECT) return json_expected(j, "a node");
    v8_node *n = v->nodes.n < UINT32_MAX - 2 ? vec_push(v->work, &v->nodes) : NULL;
    if (!n) return err_memory(j->e);
    n->parent = parent;
    uint32_t at = (uint32_t)(v->nodes.n - 1);
    call_frame f = {0};
    while (json_key(j))
        if (!node_field(j, v, at, &f, nested)) return false;
    if (j->bad) return false;
    v->nodes.v[at].is_root = f.is_root;
    if (!f.is_root) v->nodes.v[at].loc = frame_location(v, &f);
    return true;
}

bool v8_nodes(v8_profile *v, json *j)
{
    if (!json_expect_array(j)) return false;
    for (size_t i = 0; json_element(j); i++)
        if (!node_object(j, v, 0, false)) return err_in(j->e, "nodes[%zu]", i);
    return !j->bad;
}

bool v8_tree(v8_profile *v, json *j)
{
    json_next(j);
    return node_object(j, v, 0, true) || err_in(j->e, "head");
}

/* ---- lists ---- */

bool v8_samples(v8_profile *v, json *j)
{
    if (!json_expect_array(j)) return false;
    while (json_element(j)) {
        uint64_t *id = vec_push(v->work, &v->samples);
        if (!id) return err_memory(j->e);
        if (!json_to_u64(j, UINT64_MAX, id)) return err_in(j->e, "samples[%zu]", v->samples.n - 1);
    }
    return !j->bad;
}

bool v8_micros(v8_profile *v, json *j, i64s *to)
{
    if (!json_expect_array(j)) return false;
    while (json_element(j)) {
        int64_t *x = vec_push(v->work, to);
        if (!x) return err_memory(j->e);
        if (!json_to_scaled(j, 3, x, &v->rounded)) return false;
    }
    return !j->bad;
}

bool v8_micro(v8_profile *v, json *j, int64_t *to)
{
    json_next(j);
    return json_to_scaled(j, 3, to, &v->rounded);
}

/* ---- the tree ---- */

typedef struct id_index {
    hash_index x;
    const v8_profile *v;
} id_index;

static bool id_find(const id_index *ids, uint64_t id, uint32_t *at)
{
    if (!ids->x.slot) return false;
    uint64_t h = hash_mix(ids->x.seed, id);
    uint32_t i = hash_first(&ids->x, h);
    for (; hash_next(&ids->x, &i, h, at); i++)
        if (ids->v->nodes.v[*at].id == id) return true;
    return false;
}

/* Records one more undefined or invalid reference. */
static void repaired(const v8_profile *v, const char *path, uint64_t id, const char *why)
{
    char value[64];
    snprintf(value, sizeof value, "node %" PRIu64 " %s", id, why);
    ledger_add(v->l, STAGE_READ, LOSS_INDEX_REPAIRED, NULL, path, str_of(value));
}

static bool id_add(id_index *ids, arena *a, uint32_t at, err *e)
{
    uint64_t id = ids->v->nodes.v[at].id;
    uint32_t other;
    if (id_find(ids, id, &other))
        return repaired(ids->v, "nodes[].id", id, "is defined twice"), true;
    if (!hash_index_room(&ids->x, a)) return err_memory(e);
    uint64_t h = hash_mix(ids->x.seed, id);
    uint32_t i = hash_first(&ids->x, h);
    for (uint32_t x; hash_next(&ids->x, &i, h, &x); i++) continue;
    hash_put(&ids->x, i, h, at);
    return true;
}

static void adopt(v8_profile *v, uint32_t child, uint32_t parent)
{
    v8_node *n = &v->nodes.v[child];
    if (n->parent && n->parent != parent + 1)
        repaired(v, "nodes[].parent", n->id, "has two parents");
    else
        n->parent = parent + 1;
}

static void link_nodes(v8_profile *v, const id_index *ids)
{
    uint32_t at;
    for (size_t i = 0; i < v->children.n; i++) {
        const v8_child *c = &v->children.v[i];
        if (id_find(ids, c->id, &at))
            adopt(v, at, c->parent);
        else
            repaired(v, "nodes[].children", c->id, "is undefined");
    }
    for (uint32_t i = 0; i < v->nodes.n; i++) {
        const v8_node *n = &v->nodes.v[i];
        if (!n->has_parent_id) continue;
        if (id_find(ids, n->parent_id, &at))
            adopt(v, i, at);
        else
            repaired(v, "nodes[].parent", n->parent_id, "is undefined");
    }
}

/* Resolves a node: walks up to a resolved ancestor, then down again. */
static bool resolve_node(v8_profile *v, uint32_t at, u32s *path, err *e)
{
    path->n = 0;
    uint32_t up = at + 1;
    for (; up && !v->nodes.v[up - 1].node; up = v->nodes.v[up - 1].parent) {
        v8_node *n = &v->nodes.v[up - 1];
        if (n->busy) {
            repaired(v, "nodes[].parent", n->id, "is its own ancestor");
            up = 0;
            break;
        }
        n->busy = true;
        uint32_t *slot = vec_push(v->work, path);
        if (!slot) return err_memory(e);
        *slot = up - 1;
    }
    uint32_t node = up ? v->nodes.v[up - 1].node - 1 : 0;
    while (path->n) {
        v8_node *n = &v->nodes.v[path->v[--path->n]];
        if (!n->is_root) node = nest_child(v->tree, node, n->loc);
        n->node = node + 1;
    }
    return true;
}

static void resolve_samples(v8_profile *v, const id_index *ids)
{
    for (size_t i = 0; i < v->samples.n; i++) {
        uint32_t at;
        bool there = id_find(ids, v->samples.v[i], &at);
        if (!there) repaired(v, "samples", v->samples.v[i], "is undefined");
        v->samples.v[i] = there ? at : (uint64_t)V8_NO_NODE;
    }
}

bool v8_resolve(v8_profile *v, err *e)
{
    id_index ids = {.v = v};
    u32s path = {0};
    for (uint32_t i = 0; i < v->nodes.n; i++)
        if (v->nodes.v[i].has_id && !id_add(&ids, v->work, i, e)) return false;
    link_nodes(v, &ids);
    for (uint32_t i = 0; i < v->nodes.n; i++)
        if (!resolve_node(v, i, &path, e)) return false;
    resolve_samples(v, &ids);
    return true;
}
