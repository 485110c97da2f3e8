/* Reads tests/support/flame_cases.txt: packages, labels, trees and colours that the C code and the
 * viewer must both produce. */
#include "draw/flame.h"
#include "draw/label.h"
#include "draw/package.h"
#include "draw/palette.h"
#include "draw/text.h"
#include "format/format.h"

#include "../../support/test.h"
#include <string.h>

enum { FIELDS = 8 };

/* The case that is being read. */
typedef struct flame_case {
    bool by_name;
    buf stacks, base, want;
} flame_case;

/* Splits a line at its tabs. */
static size_t split(char *text, const char *field[FIELDS])
{
    size_t n = 0;
    while (n < FIELDS && text) {
        field[n++] = text;
        text = strchr(text, '\t');
        if (text) *text++ = '\0';
    }
    for (size_t i = n; i < FIELDS; i++) field[i] = text ? text : "";
    return n;
}

static void check_view(const char *what, const char *of, str got, const char *want)
{
    if (!str_eq(got, str_of(want)))
        fail_msg("%s of %s is '%.*s', expected '%s'", what, of, STR_ARG(got), want);
}

static void check_cut(const char *name, size_t width, const char *want)
{
    buf b = {0};
    size_t n = name_cut(&b, str_of(name), width);
    check_view("cut", name, buf_view(&b), want);
    assert_int_equal(n, text_columns(buf_view(&b)));
    buf_free(&b);
}

static void read_folded(str text, arena *a, document *out)
{
    err e = {0};
    read_opts r = {.from = format_named(STR("folded"))};
    *out = (document){0};
    assert_ok(format_read(text, &r, a, out, &e), &e);
}

static void put_node(const flame *f, const flame_walk *w, buf *out)
{
    const tree *t = f->t;
    unsigned row, shade;
    str name = flame_name(f, w->node);
    if (f->before) {
        uint32_t before = f->before[w->node], after = f->after[w->node];
        buf_printf(out, "change\t%u\t%.*s\t%lld\t%lld\t%d\n", w->depth, STR_ARG(name),
                   (long long)(after == NO_NODE ? 0 : f->o.after->total[after]),
                   (long long)(before == NO_NODE ? 0 : f->o.before->total[before]),
                   flame_step(f, w->node));
        return;
    }
    str group = w->node ? f->groups[f->group_of[t->frame[w->node]]].name : STR("");
    flame_shade(f, w->node, &row, &shade);
    buf_printf(out, "node\t%u\t%.*s\t%lld\t%lld\t%.*s\t%u\t%u\n", w->depth, STR_ARG(name),
               (long long)t->total[w->node], (long long)t->self[w->node], STR_ARG(group), row,
               shade);
}

/* Writes the nodes of a case as lines of the file. */
static void draw_case(const flame_case *c, buf *out)
{
    arena a = {0};
    err e = {0};
    document doc, base;
    frame_table table;
    view v, before;
    tree all, sides[2];
    flame f;
    flame_walk w;
    flame_opts o = {0};
    select_opts all_samples = {0};
    tree_opts to = {.order = c->by_name ? TREE_BY_LABEL : TREE_BY_TOTAL};
    read_folded(buf_view(&c->stacks), &a, &doc);
    assert_ok(view_of(&doc.model, &all_samples, BY_FUNCTION, &a, &table, &v, &e), &e);
    if (c->base.n) {
        read_folded(buf_view(&c->base), &a, &base);
        view_init(&before, &table, &a);
        assert_ok(view_add(&before, &base.model, &all_samples, 1, &e), &e);
        assert_ok(tree_of(&before, &to, &a, &sides[0], &e), &e);
        assert_ok(tree_of(&v, &to, &a, &sides[1], &e), &e);
        assert_ok(view_add(&v, &base.model, &all_samples, 1, &e), &e);
        o = (flame_opts){.color = FLAME_DIFF, .before = &sides[0], .after = &sides[1]};
    }
    assert_ok(tree_of(&v, &to, &a, &all, &e), &e);
    assert_ok(flame_of(&all, &o, &a, &f, &e), &e);
    assert_ok(flame_walk_new(&f, 0, &a, &w, &e), &e);
    while (flame_walk_next(&w)) put_node(&f, &w, out);
    arena_free(&a);
}

static void end_case(flame_case *c)
{
    buf got = {0};
    draw_case(c, &got);
    buf_putc(&got, '\0');
    buf_putc(&c->want, '\0');
    assert_string_equal(got.p, c->want.p);
    buf_free(&got);
    buf_free(&c->stacks);
    buf_free(&c->base);
    buf_free(&c->want);
    *c = (flame_case){0};
}

static void take_line(flame_case *c, char *text)
{
    const char *field[FIELDS];
    if (!strncmp(text, "node\t", 5) || !strncmp(text, "change\t", 7)) {
        buf_z(&c->want, text);
        buf_putc(&c->want, '\n');
        return;
    }
    if (!*text || *text == '#') return;
    split(text, field);
    if (!strcmp(field[0], "package")) {
        str package = package_at(str_of(field[1]), str_of(field[2]), str_of(field[3]));
        check_view("package", field[1], package, field[4]);
    } else if (!strcmp(field[0], "library")) {
        check_view("library", field[1], library_of(str_of(field[1])), field[2]);
    } else if (!strcmp(field[0], "short")) {
        check_view("short name", field[1], name_short(str_of(field[1])), field[2]);
    } else if (!strcmp(field[0], "cut")) {
        check_cut(field[1], (size_t)atoi(field[2]), field[3]);
    } else if (!strcmp(field[0], "step")) {
        double v[4];
        for (size_t i = 0; i < 4; i++) v[i] = strtod(field[1 + i], NULL);
        assert_int_equal(palette_step(v[0], v[1], v[2], v[3]), atoi(field[5]));
    } else if (!strcmp(field[0], "tree")) {
        c->by_name = !strcmp(field[1], "name");
    } else if (!strcmp(field[0], "stack") || !strcmp(field[0], "base")) {
        buf *to = *field[0] == 's' ? &c->stacks : &c->base;
        buf_z(to, field[1]);
        buf_putc(to, '\n');
    } else if (!strcmp(field[0], "end")) {
        end_case(c);
    } else {
        fail_msg("unknown line `%s`", field[0]);
    }
}

static void test_cases(void **state)
{
    (void)state;
    const char *root = getenv("KILN_SRC");
    char path[512];
    buf text = {0};
    flame_case c = {0};
    snprintf(path, sizeof path, "%s/tests/support/flame_cases.txt", root ? root : ".");
    if (!test_read(path, &text)) fail_msg("cannot read %s: set KILN_SRC to the source root", path);
    buf_putc(&text, '\0');
    for (char *at = text.p, *end; *at; at = end) {
        end = at + strcspn(at, "\n");
        if (*end) *end++ = '\0';
        take_line(&c, at);
    }
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
