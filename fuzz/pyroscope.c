/* Arbitrary selectors, label names and type ids of Pyroscope's clients, and flame graphs of arbitrary
 * trees.  Accepted texts have a canonical form with the same meaning; every box of a flame graph lies
 * within its parent. */
#include "base/utf8.h"
#include "pyroscope/flame.h"
#include "pyroscope/label.h"
#include "pyroscope/selector.h"
#include "pyroscope/type_id.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

enum { MEMORY = 16 << 20, NODES = 512 };

/* ---- selectors ---- */

static void put_quoted(buf *b, str s)
{
    buf_putc(b, '"');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"' || s.p[i] == '\\') buf_putc(b, '\\');
        buf_z(b, s.p[i] == '\n' ? "\\n" : "");
        if (s.p[i] != '\n') buf_putc(b, s.p[i]);
    }
    buf_putc(b, '"');
}

static void put_selector(buf *b, const pyro_selector *s)
{
    static const char *const ops[] = {"=", "!=", "=~", "!~"};
    buf_putc(b, '{');
    for (size_t i = 0; i < s->matchers.n; i++) {
        put_quoted(b, s->matchers.v[i].key);
        buf_z(b, ops[s->matchers.v[i].op]);
        put_quoted(b, s->matchers.v[i].value);
        buf_putc(b, ',');
    }
    buf_putc(b, '}');
}

static void selector(str text, arena *a)
{
    err e = {0};
    pyro_selector s = {0}, again = {0};
    bool ok = pyro_selector_add(&s, text, a, &e);
    MUST(ok == (e.code == ERR_OK));
    MUST(ok || (e.msg[0] && (e.offset == NO_OFFSET || e.offset <= text.n)));
    MUST(s.matchers.n <= PYRO_MATCHERS_MAX);
    buf b = {0};
    put_selector(&b, &s);
    if (ok && b.n <= PYRO_SELECTOR_BYTES) {
        MUST(pyro_selector_add(&again, buf_view(&b), a, &e) || e.code == ERR_MEMORY);
        for (size_t i = 0; e.code == ERR_OK && i < s.matchers.n; i++) {
            const pyro_matcher *x = &s.matchers.v[i], *y = &again.matchers.v[i];
            bool yes = false;
            MUST(again.matchers.n == s.matchers.n);
            MUST(str_eq(x->key, y->key) && x->op == y->op && str_eq(x->value, y->value));
            MUST(utf8_ok(x->key.p, x->key.n) && utf8_ok(x->value.p, x->value.n));
            e = (err){0};
            MUST(pyro_matcher_accepts(x, x->value, &yes, &e) || e.code == ERR_LIMIT);
            MUST(x->pattern || yes == (x->op == PYRO_IS));
            e = (err){0};
        }
    }
    pyro_selector_free(&s);
    pyro_selector_free(&again);
    buf_free(&b);
}

/* ---- names ---- */

static void names(str text, arena *a)
{
    err e = {0};
    str plain, again;
    pyro_type t, same;
    if (pyro_label_plain(text, a, &plain, &e)) {
        MUST(!text.n || pyro_label_is_plain(plain));
        MUST(pyro_label_same(plain, text));
        MUST(pyro_label_find(plain, &text, 1) == 0);
    }
    (void)pyro_label_utf8_accepted(text);
    e = (err){0};
    if (!pyro_type_parse(text, &t, &e)) return;
    if (!pyro_type_format(&t, a, &again, &e)) return;
    MUST(str_starts(text, again) && pyro_type_parse(again, &same, &e) && pyro_type_eq(&t, &same));
}

/* ---- flame graphs ---- */

/* Each node takes 4 bytes: its parent, its name, its self. */
static bool grow(str in, frame_table *f, arena *a, tree *t)
{
    static const str labels[] = {STR("a"), STR("b"), STR("other"), STR("total"), STR("z")};
    err e = {0};
    uint32_t n = 1 + (uint32_t)(in.n / 4 < NODES ? in.n / 4 : NODES), *depth, *last;
    *t = (tree){.frames = f, .n = n};
    t->parent = arena_new(a, uint32_t, n);
    t->frame = arena_new(a, uint32_t, n);
    t->first_child = arena_new(a, uint32_t, n);
    t->next_sibling = arena_new(a, uint32_t, n);
    t->self = arena_new(a, int64_t, n);
    t->total = arena_new(a, int64_t, n);
    depth = arena_new(a, uint32_t, n);
    last = arena_new(a, uint32_t, n);
    t->frame[0] = NO_FRAME;
    for (uint32_t i = 1; i < n; i++) {
        const uint8_t *p = (const uint8_t *)in.p + (size_t)(i - 1) * 4;
        uint32_t up = t->parent[i] = p[0] < 128 ? i - 1 : p[0] % i;
        frame_parts parts = {0};
        char *own = arena_alloc(a, 16);
        MUST(own && snprintf(own, 16, "f%u", i) > 0);
        MUST(frame_table_text(f, p[1] < 100 ? labels[p[1] % ARRAY_LEN(labels)] : str_of(own),
                              &parts.name, &e));
        MUST(frame_table_add(f, &parts, &t->frame[i], &e));
        for (uint32_t c = t->first_child[up]; c; c = t->next_sibling[c])
            if (t->frame[c] == t->frame[i]) return false; /* siblings are different frames */
        t->self[i] = (int64_t)p[2] << (p[3] % 48);
        *(last[up] ? &t->next_sibling[last[up]] : &t->first_child[up]) = i;
        last[up] = i;
        depth[i] = depth[up] + 1;
        if (depth[i] > t->max_depth) t->max_depth = depth[i];
    }
    for (size_t i = n; i--;) {
        if (ckd_add(&t->total[i], t->total[i], t->self[i])) return false;
        if (i && ckd_add(&t->total[t->parent[i]], t->total[t->parent[i]], t->total[i]))
            return false;
    }
    return true;
}

/* Checks one side (columns from `first`) of level d against the level above. */
static void level(const pyro_flame *f, size_t d, size_t columns, size_t first)
{
    const int64_t *v = f->values, *end = v + f->level[d + 1], *up = v + f->level[d - 1],
                  *up_end = v + f->level[d];
    int64_t x = 0, up_x = up[first];
    for (v += f->level[d]; v < end; x += v[first + 1], v += columns) {
        MUST(v[first] >= 0 && v[first + 1] >= v[first + 2] && v[first + 2] >= 0);
        MUST(f->diff || v[first + 1] > 0);
        MUST((uint64_t)v[columns - 1] < f->n_names);
        x += v[first];
        if (!v[first + 1]) continue;
        while (x >= up_x + up[first + 1]) {
            up_x += up[first + 1];
            up += columns;
            MUST(up < up_end);
            up_x += up[first];
        }
        MUST(x >= up_x + up[first + 2] && x + v[first + 1] <= up_x + up[first + 1]);
    }
}

static void boxes(const pyro_flame *f)
{
    size_t columns = f->diff ? PYRO_FLAME_DIFF_COLUMNS : PYRO_FLAME_COLUMNS;
    MUST(f->n_levels && f->level[1] == columns && str_eq(f->names[0], STR("total")));
    for (size_t d = 1; d < f->n_levels; d++) {
        MUST(f->level[d + 1] > f->level[d] && (f->level[d + 1] - f->level[d]) % columns == 0);
        level(f, d, columns, 0);
        if (f->diff) level(f, d, columns, 3);
    }
}

static void flames(str in, arena *a)
{
    err e = {0};
    frame_table f;
    tree t;
    pyro_flame out;
    buf b = {0};
    uint64_t most = in.n ? (uint8_t)in.p[0] : 0;
    if (!frame_table_init(&f, BY_FUNCTION, a, &e) || !grow(in, &f, a, &t)) return;
    MUST(pyro_flame_of(&t, most, a, &out, &e) || e.code == ERR_MEMORY);
    if (e.code == ERR_OK) boxes(&out);
    if (e.code == ERR_OK && pyro_flame_diff_of(&t, &t, &t, most, a, &out, &e)) boxes(&out);
    MUST(e.code == ERR_OK || e.code == ERR_MEMORY || e.code == ERR_LIMIT);
    e = (err){0};
    MUST(pyro_tree_put(&t, most, a, &b, &e) || e.code == ERR_MEMORY);
    buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    arena a = {.budget = MEMORY};
    str in = {(const char *)data, n};
    selector(in, &a);
    names(in, &a);
    flames(in, &a);
    arena_free(&a);
    return 0;
}
