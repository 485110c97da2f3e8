/* No silent loss, field by field: the tables of every layout and dialect (wire/schema.h, format/dialects.h) and of
 * pprof define the fields; files that protoc wrote set them.  Each is changed in turn, and then
 *
 *   read      the change appears in the model or in the ledger, or the file is rejected
 *   written   the model is read back unchanged, or the writer's ledger names the difference
 *
 * The test fails if no file sets a field of the tables, so a new field cannot be forgotten. */
#include "../support/test.h"
#include "../support/ledger_judge.h"

#include "format/dialects.h"
#include "format/format.h"
#include "format/pprof.h"
#include "wire/pb.h"

enum { MAX_FIELDS = 256, MAX_FILES = 8 };

/* The fields of one table that were changed somewhere. */
typedef struct coverage {
    const field_desc *v[MAX_FIELDS];
    size_t n;
} coverage;

static bool covered(const coverage *c, const field_desc *f)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i] == f) return true;
    return false;
}

static void cover(coverage *c, const field_desc *f)
{
    if (covered(c, f)) return;
    assert_true(c->n < MAX_FIELDS);
    c->v[c->n++] = f;
}

static size_t missing(const coverage *met, const message_desc *m, const char *name, coverage *done)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_fields; i++) {
        const field_desc *f = &m->fields[i];
        if (covered(done, f)) continue;
        cover(done, f);
        if (!covered(met, f)) {
            print_message("# %s: no file has %s.%s\n", name, m->name, f->name);
            n++;
        }
        if (f->message) n += missing(met, f->message, name, done);
    }
    return n;
}

typedef struct subject {
    const char *name;
    const format *format;
    layout layout; /* of OTLP */
    const message_desc *schema;
    const char *files[MAX_FILES];
} subject;

typedef struct mutation {
    coverage *met;
    const subject *of;
    const char *file;
    char *bytes; /* a copy; each change is undone */
    size_t n;
    uint64_t all;
    ledger lost;
    size_t tried, silent, unlike;
} mutation;

static bool try_read(const subject *s, str in, arena *a, model *m, ledger *l, err *e)
{
    layout_verdict v = {0};
    return s->format->read(s->format, in, &(read_opts){.ledger = l, .layout = s->layout}, a, m, &v,
                           e);
}

static bool same_losses(const ledger *a, const ledger *b)
{
    uint64_t n[2][LOSS_CONCEPT_COUNT] = {0};
    for (size_t i = 0; i < a->n; i++) n[0][a->v[i].concept] += a->v[i].count;
    for (size_t i = 0; i < b->n; i++) n[1][b->v[i].concept] += b->v[i].count;
    return memcmp(n[0], n[1], sizeof n[0]) == 0;
}

/* Writes the model in its format and reads it again: it is unchanged, or a ledger or an error gives
 * the reason. */
static bool comes_back(const subject *s, const model *m)
{
    arena a = {0};
    model back;
    err e = {0};
    ledger l = {0};
    buf out = {0};
    layout_verdict v = {0};
    assert_ok(s->format->write(s->format, m, &(write_opts){.ledger = &l}, &out, &e), &e);
    assert_ok(
        s->format->read(s->format, buf_view(&out), &(read_opts){.ledger = &l}, &a, &back, &v, &e),
        &e);
    bool good = equal_by_ledger(m, &back, &l);
    buf_free(&out);
    arena_free(&a);
    return good;
}

static void try_change(mutation *x, size_t at, const char *path)
{
    char was = x->bytes[at];
    bool seen = false, back = true;
    for (unsigned bit = 0; bit < 3 && !seen; bit++) { /* another number, another letter */
        arena a = {0};
        model m;
        err e = {0};
        ledger l = {0};
        x->bytes[at] = (char)(was ^ (1 << bit));
        bool ok = try_read(x->of, (str){x->bytes, x->n}, &a, &m, &l, &e);
        seen = !ok || digest_all(&m) != x->all || !same_losses(&l, &x->lost);
        back = back && (!ok || comes_back(x->of, &m));
        arena_free(&a);
    }
    x->bytes[at] = was;
    x->tried++;
    x->silent += !seen;
    x->unlike += !back;
    if (!seen) print_message("# %s: changing byte %zu, %s, shows nowhere\n", x->file, at, path);
    if (!back) print_message("# %s: byte %zu, %s, comes back otherwise\n", x->file, at, path);
}

static void change_fields(mutation *x, const message_desc *m, pb_cur c, const char *path)
{
    for (pb_field f; pb_next(&c, &f);) {
        char here[256];
        const field_desc *d = message_field(m, f.number);
        assert_non_null(d);
        snprintf(here, sizeof here, "%s.%s", path, d->name);
        cover(x->met, d);
        size_t end = (size_t)(c.p - c.base);
        if (d->type == FT_MESSAGE)
            change_fields(x, d->message, pb_message(&c, &f), here);
        else if (f.wire != 2 || f.value)
            try_change(x, end - 1,
                       here); /* changes the last byte, so that no varint changes its length */
        if (f.wire == 2 && field_packable(d))
            for (const uint8_t *p = f.data; p + 1 < f.data + f.value; p++)
                if (*p < 0x80) try_change(x, (size_t)(p - c.base), here);
    }
    assert_true(pb_ok(&c));
}

static size_t change_file(coverage *met, const subject *s, const char *file)
{
    char name[80];
    snprintf(name, sizeof name, "%s.bin", file);
    buf b = test_vector(name);
    mutation x = {.met = met, .of = s, .file = file, .bytes = b.p, .n = b.n};
    arena a = {0};
    model m;
    err e = {0};
    assert_ok(try_read(s, buf_view(&b), &a, &m, &x.lost, &e), &e);
    x.all = digest_all(&m);
    change_fields(&x, s->schema, pb_open(b.p, b.n, NULL), "");
    arena_free(&a);
    buf_free(&b);
    return x.silent + x.unlike;
}

/* With `all`, each field of the tables must be set by one of the files. */
static void check(const subject *s, bool all)
{
    coverage met = {0}, done = {0};
    size_t bad = 0;
    for (size_t k = 0; k < MAX_FILES && s->files[k]; k++) bad += change_file(&met, s, s->files[k]);
    size_t n = all ? missing(&met, s->schema, s->name, &done) : 0;
    if (bad || n)
        fail_msg("%s: %zu changes are silent, %zu fields are in no file", s->name, bad, n);
}

static void test_dialects(void **state)
{
    (void)state;
    static const struct {
        dialect dialect;
        const format *format;
        const char *files[MAX_FILES];
    } cases[] = {
        {DIALECT_A, &format_arrays, {"dialects/a-basic", "dialects/a-fields"}},
        {DIALECT_A1, &format_arrays, {"dialects/a1-basic", "dialects/a1-fields"}},
        {DIALECT_A2, &format_arrays, {"dialects/a2-basic", "dialects/a2-fields"}},
        {DIALECT_A0,
         &format_normalized,
         {"dialects/a0-arrays", "dialects/a0-normalized", "dialects/a0-denormalized",
          "dialects/a0-fields_arrays", "dialects/a0-fields_normalized",
          "dialects/a0-fields_denormalized"}},
        {DIALECT_BENCH,
         &format_normalized,
         {"dialects/bench-arrays", "dialects/bench-normalized", "dialects/bench-denormalized",
          "dialects/bench-fields_arrays", "dialects/bench-fields_normalized",
          "dialects/bench-fields_denormalized"}},
        {DIALECT_C, &format_events, {"dialects/c-basic", "dialects/c-fields"}},
        {DIALECT_C_BOX, &format_events, {"dialects/c_box-basic"}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        subject s = {.name = dialect_name(cases[i].dialect),
                     .format = cases[i].format,
                     .schema = dialect_schema(cases[i].dialect)};
        memcpy(s.files, cases[i].files, sizeof s.files);
        check(&s, cases[i].dialect != DIALECT_C_BOX);
    }
}

/* `more` is a file that only this layout has. */
static void check_layout(const format *f, layout l, const char *dir, const char *more)
{
    const char *const names[] = {"basic", "anyvalue", "multi", "payload", more};
    char paths[ARRAY_LEN(names)][40];
    subject s = {.name = dir, .format = f, .layout = l, .schema = schema_profiles_data(l)};
    for (size_t i = 0; i < ARRAY_LEN(names) && names[i]; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", dir, names[i]);
        s.files[i] = paths[i];
    }
    check(&s, true);
}

static void test_otlp(void **state)
{
    (void)state;
    check_layout(&format_otlp, LAYOUT_CURRENT, "v1_10", NULL);
    check_layout(&format_otlp_1_9, LAYOUT_1_9, "v1_9", NULL);
}

/* Older layouts are read directly and written in the current layout. */
static void test_older_layouts(void **state)
{
    (void)state;
    check_layout(&format_otlp, LAYOUT_1_8, "v1_8", NULL);
    check_layout(&format_otlp, LAYOUT_1_7, "v1_7", NULL);
    check_layout(&format_otlp, LAYOUT_1_6, "v1_6", NULL);
    check_layout(&format_otlp, LAYOUT_1_5, "v1_5", NULL);
    check_layout(&format_otlp, LAYOUT_1_4, "v1_4", NULL);
}

/* Dialect B in its container is layout 1.3. */
static void test_otep239(void **state)
{
    (void)state;
    check_layout(&format_otep239, LAYOUT_1_3, "v1_3", "ids");
}

static void test_pprof(void **state)
{
    (void)state;
    check(&(subject){.name = "pprof",
                     .format = &format_pprof,
                     .schema = &pprof_profile,
                     .files = {"pprof/fields"}},
          true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dialects),      cmocka_unit_test(test_otlp),
        cmocka_unit_test(test_older_layouts), cmocka_unit_test(test_otep239),
        cmocka_unit_test(test_pprof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
