/* Reads lines, tries and trees of stacks. Equal stacks are added up. The work is bounded apart from
 * memory: a trie of 64 MiB can contain a long stack millions of times. */
#include "pyroscope/stacks_read.h"

#include "base/buf.h"
#include "base/text.h"
#include "base/utf8.h"
#include "model/builder.h"
#include "wire/pb.h"
#include "base/ban.h"
#include <inttypes.h>

typedef struct open_node { /* a node whose children follow */
    uint64_t left;         /* children that are still to come */
    size_t n;              /* trie: bytes of the key without this node */
} open_node;

typedef struct reading {
    builder b;
    arena *a;
    arena work;
    pb_cur c;
    uint64_t done; /* of STACKS_MAX_WORK */
    u32s path;     /* locations, root first; for a tree without the root */
    u32s reversed;
    i64s values; /* by stack */
    VEC(open_node) open;
    buf key; /* trie: bytes from the root */
    ledger *l;
    err *e;
} reading;

/* ---- stacks ---- */

static bool spend(reading *r, uint64_t n)
{
    r->done += n;
    return r->done <= STACKS_MAX_WORK ||
           err_at(r->e, ERR_LIMIT, pb_offset(&r->c, r->c.p),
                  "the stacks have more than %d MiB together", (int)(STACKS_MAX_WORK >> 20));
}

/* Replaces the bytes that are not UTF-8. */
static str repaired(reading *r, str name)
{
    char *p = arena_alloc(&r->work, name.n * 3), *w = p;
    if (!p) return r->b.failed = true, (str){0};
    for (str left = name; left.n;) {
        size_t good = utf8_valid(left.p, left.n);
        memcpy(w, left.p, good);
        w += good;
        if (good < left.n) memcpy(w, "\xef\xbf\xbd", 3), w += 3, good++;
        left = (str){left.p + good, left.n - good};
    }
    str out = {p, (size_t)(w - p)};
    ledger_add(r->l, STAGE_READ, LOSS_TEXT, NULL, "stack", out);
    return out;
}

static uint32_t location_of(reading *r, str name)
{
    if (!name.n) name = STR("[unknown]");
    if (!utf8_ok(name.p, name.n)) name = repaired(r, name);
    function f = {.name = builder_string(&r->b, name)};
    line one = {.function = builder_function(&r->b, &f)};
    return builder_location(&r->b, 0, 0, &one, 1, NULL, 0);
}

static bool push(reading *r, str frame)
{
    uint32_t *slot = vec_push(&r->work, &r->path);
    if (!slot) return arena_spent(&r->work, r->e);
    *slot = location_of(r, frame);
    return !r->b.failed || arena_spent(r->a, r->e);
}

/* Adds a value to the stack in r->path. */
static bool add(reading *r, int64_t value)
{
    r->reversed.n = 0;
    if (!spend(r, r->path.n * sizeof *r->path.v)) return false;
    if (!vec_reserve(&r->work, &r->reversed, r->path.n)) return arena_spent(&r->work, r->e);
    for (size_t i = r->path.n; i-- > 0;) r->reversed.v[r->reversed.n++] = r->path.v[i];
    uint32_t stack = builder_stack(&r->b, r->reversed.v, r->reversed.n);
    if (r->b.failed) return arena_spent(r->a, r->e);
    while (r->values.n <= stack)
        if (!vec_push(&r->work, &r->values)) return arena_spent(&r->work, r->e);
    bool saturated = false;
    r->values.v[stack] = add_saturating(r->values.v[stack], value, &saturated);
    if (saturated)
        ledger_add(r->l, STAGE_READ, LOSS_VALUE_SATURATED, NULL, "samples[].values", (str){0});
    return true;
}

/* Adds a value to the stack `a;b;c`. */
static bool add_text(reading *r, str list, int64_t value)
{
    r->path.n = 0;
    if (!spend(r, list.n)) return false;
    for (size_t at = 0; at <= list.n;) {
        const char *end = at < list.n ? memchr(list.p + at, ';', list.n - at) : NULL;
        size_t n = end ? (size_t)(end - list.p) - at : list.n - at;
        if (!push(r, (str){list.p + at, n})) return false;
        at += n + 1;
    }
    return add(r, value);
}

/* ---- the forms ---- */

static bool read_lines(reading *r, str bytes)
{
    for (str row, rest = bytes; str_line(&rest, &row);) {
        r->c.p = r->c.end - rest.n;
        row = str_trim(row);
        if (row.n && !add_text(r, row, 1)) return false;
    }
    return true;
}

/* The head of a node: its bytes, its value, and the number of its children. */
static bool node(reading *r, str *name, int64_t *value, uint64_t *children)
{
    uint64_t n = 0, v = 0;
    const uint8_t *at = r->c.p;
    *name = (str){0}, *value = 0, *children = 0;
    if (!pb_varint(&r->c, &n)) return false;
    if (n > (uint64_t)(r->c.end - r->c.p))
        return pb_fail(&r->c, at, "a name of %" PRIu64 " bytes, but %zu are left", n,
                       (size_t)(r->c.end - r->c.p));
    *name = (str){(const char *)r->c.p, (size_t)n};
    r->c.p += n;
    at = r->c.p;
    if (!pb_varint(&r->c, &v)) return false;
    if (v > INT64_MAX) return pb_fail(&r->c, at, "the value does not fit in 63 bits");
    *value = (int64_t)v;
    return pb_varint(&r->c, children);
}

static bool enter(reading *r, uint64_t children, size_t n)
{
    open_node *o = vec_push(&r->work, &r->open);
    if (!o) return arena_spent(&r->work, r->e);
    *o = (open_node){children, n};
    return true;
}

static bool read_trie(reading *r)
{
    while (r->c.p < r->c.end) {
        str name;
        int64_t value;
        uint64_t children;
        size_t before = r->key.n;
        if (!node(r, &name, &value, &children)) return false;
        buf_str(&r->key, name);
        if (r->key.failed)
            return err_at(r->e, ERR_LIMIT, pb_offset(&r->c, r->c.p),
                          "a stack is longer than %zu bytes", r->key.limit);
        if (value && !add_text(r, r->key.n ? buf_view(&r->key) : STR(""), value)) return false;
        if (!enter(r, children, before)) return false;
        while (r->open.n && !r->open.v[r->open.n - 1].left) r->key.n = r->open.v[--r->open.n].n;
        if (!r->open.n) break;
        r->open.v[r->open.n - 1].left--;
    }
    return !r->open.n || pb_fail(&r->c, r->c.end, "the trie ends before its last node");
}

static bool read_tree(reading *r)
{
    for (bool root = true;; root = false) {
        str name;
        int64_t value;
        uint64_t children;
        if (root && r->c.p == r->c.end) return true; /* an empty tree has no bytes */
        if (!node(r, &name, &value, &children)) return false;
        if (!root && !push(r, name)) return false;
        if (value && r->path.n && !add(r, value)) return false;
        if (!enter(r, children, 0)) return false;
        while (r->open.n && !r->open.v[r->open.n - 1].left) {
            r->open.n--;
            r->path.n -= r->path.n != 0;
        }
        if (!r->open.n) return true;
        r->open.v[r->open.n - 1].left--;
    }
}

/* ---- the profile ---- */

static void put_profile(reading *r, str type, str unit)
{
    builder_resource(&r->b, NULL)->present = true;
    builder_scope(&r->b, NULL)->present = true;
    profile *p = builder_profile(&r->b);
    p->sample_type = (value_type){builder_string(&r->b, type), builder_string(&r->b, unit)};
    for (uint32_t i = 0; i < r->values.n; i++)
        if (r->values.v[i])
            builder_sample(&r->b, &(sample){.stack = i, .values = &r->values.v[i], .n_values = 1});
}

bool stacks_read(stacks_form form, str bytes, str type, str unit, ledger *l, arena *a, model *out,
                 err *e)
{
    reading r = {.a = a,
                 .work = arena_beside(a),
                 .c = pb_open(bytes.p, bytes.n, e),
                 .key.limit = (size_t)1 << 20,
                 .l = l,
                 .e = e};
    bool ok = builder_init(&r.b, a) || arena_spent(a, e);
    ok = ok && (form == STACKS_LINES  ? read_lines(&r, bytes)
                : form == STACKS_TRIE ? read_trie(&r)
                                      : read_tree(&r));
    if (ok && r.c.p < r.c.end && form != STACKS_LINES)
        ok = pb_fail(&r.c, r.c.p, "bytes after the last node");
    if (ok) put_profile(&r, type, unit);
    ok = ok && builder_finish(&r.b, out, e);
    buf_free(&r.key);
    arena_free(&r.work);
    return ok;
}
