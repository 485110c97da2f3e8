/* A -> D -> A, B -> D -> B, C -> D -> C and the alternatives: equal, or unequal exactly by what the
 * ledger says.
 *
 *   random models   whatever a dialect made of one is read, written without a loss, and read as the
 *                   same; writing that once more gives the same bytes
 *   tame models     what the ledger does not name comes back
 *   every field     of a message, changed: that shows in the model, or in the ledger, or is refused */
#include "../support/digest.h"
#include "../support/random_model.h"
#include "../support/test.h"

#include "format/dialects.h"
#include "format/format.h"
#include "model/builder.h"
#include "wire/carried.h"
#include "wire/pb.h"

enum { MODELS = 400 };

static uint64_t seed_now;

#define fail_here(...)                                                                             \
    do {                                                                                           \
        print_message("# KILN_SEED=%llu\n", (unsigned long long)seed_now);                         \
        fail_msg(__VA_ARGS__);                                                                     \
    } while (0)

static const format *const dialects[] = {&format_arrays,  &format_normalized, &format_denormalized,
                                         &format_otep239, &format_events,     &format_events_text};

/* ---- all that a model says ---- */

static uint64_t digest_profile(const model *m, const profile *p)
{
    const dict *d = &m->dict;
    uint64_t h = hash_mix(hash_mix(7, p->time_unix_nano), p->duration_nano);
    h = hash_bytes(p->profile_id, 16, hash_mix(h, p->dropped_attributes_count));
    h = digest_str(digest_str(h, p->original_payload), p->original_payload_format);
    h = hash_mix(digest_str(digest_str(h, dict_str(d, p->period_type.type)),
                            dict_str(d, p->period_type.unit)),
                 (uint64_t)p->period);
    h = digest_str(digest_str(h, dict_str(d, p->sample_type.type)),
                   dict_str(d, p->sample_type.unit));
    h = digest_attr_list(d, p->attrs, h);
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        h = hash_mix(h, digest_stack(d, s.stack));
        h = hash_bytes(&d->links.v[s.link], sizeof(link_ids), h);
        for (uint32_t k = 0; k < s.n_attrs; k++) h = hash_mix(h, digest_attribute(d, s.attrs[k]));
        for (uint32_t k = 0; k < s.n_values; k++) h = hash_mix(h, (uint64_t)s.values[k] + 1);
        for (uint32_t k = 0; k < s.n_times; k++) h = hash_mix(h, s.times[k] + 2);
        h = hash_mix(h, (uint64_t)s.n_attrs << 40 | (uint64_t)s.n_values << 20 | s.n_times);
    }
    return hash_mix(h, p->n_samples);
}

static uint64_t digest_all(const model *m)
{
    uint64_t h = 8;
    for (size_t i = 0; i < m->resources.n; i++) {
        const resource *r = &m->resources.v[i];
        h = digest_str(digest_keyvalues(&r->attrs, hash_mix(h, r->n_scopes)), r->schema_url);
        h = hash_mix(h, (uint64_t)r->dropped_attributes_count << 1 | r->present);
    }
    for (size_t i = 0; i < m->scopes.n; i++) {
        const scope *s = &m->scopes.v[i];
        h = digest_str(digest_keyvalues(&s->attrs, hash_mix(h, s->n_profiles)), s->schema_url);
        h = digest_str(digest_str(h, s->name), s->version);
        h = hash_mix(h, (uint64_t)s->dropped_attributes_count << 1 | s->present);
    }
    for (size_t i = 0; i < m->profiles.n; i++)
        h = hash_mix(h, digest_profile(m, &m->profiles.v[i]));
    return h;
}

/* ---- steps ---- */

static buf write_as(const format *f, const model *m, ledger *l)
{
    buf b = {0};
    err e = {0};
    if (!f->write(f, m, &(write_opts){.ledger = l}, &b, &e)) fail_here("%s: %s", f->name, e.msg);
    return b;
}

static bool try_read(const format *f, str in, arena *a, model *m, ledger *l, err *e)
{
    layout_verdict v = {0};
    return f->read(f, in, &(read_opts){.ledger = l}, a, m, &v, e);
}

static model read_as(const format *f, const buf *b, arena *a, ledger *l)
{
    model m;
    err e = {0};
    char text[512];
    if (!try_read(f, buf_view(b), a, &m, l, &e))
        fail_here("%s: %s", f->name, err_text(&e, text, sizeof text));
    if (m.n_unknown) fail_here("%s: a field of ours that we do not know", f->name);
    return m;
}

static const loss *first_lost(const ledger *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (!l->v[i].carried_as) return &l->v[i];
    return NULL;
}

static bool says(const ledger *l, loss_concept c)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].concept == c) return true;
    return false;
}

/* ---- random models ---- */

/* Keys and values that mean a field of some dialect, where they may be meant or not. */
static void season(rng *r, model *m)
{
    static const char *const words[] = {KILN_ATTR_AGGREGATION_TEMPORALITY,
                                        KILN_ATTR_TIMESTAMP_UNIT,
                                        KILN_ATTR_TIMESTAMP_VALUES,
                                        KILN_ATTR_SAMPLE_TYPE_ORDER,
                                        KILN_ATTR_DEFAULT_SAMPLE_TYPE,
                                        KILN_ATTR_SAMPLE_RATE,
                                        KILN_ATTR_SAMPLE_SIZE,
                                        PPROF_ATTR_COMMENT,
                                        PPROF_ATTR_DROP_FRAMES,
                                        KILN_ATTR_STACK_ID,
                                        ATTR_BUILD_ID_GNU,
                                        ATTR_BUILD_ID_GO,
                                        KILN_ATTR_BUILD_ID_HASH,
                                        KILN_ATTR_BUILD_ID_KIND,
                                        PPROF_ATTR_HAS_FUNCTIONS,
                                        PPROF_ATTR_HAS_FILENAMES,
                                        PPROF_ATTR_IS_FOLDED,
                                        ATTR_FRAME_TYPE,
                                        KILN_ATTR_EVENT_CLOCK,
                                        KILN_ATTR_EVENT_DEFAULT,
                                        KILN_ATTR_EVENT_UNIT,
                                        KILN_ATTR_EVENT_INTERVAL,
                                        KILN_ATTR_EVENT_DURATION,
                                        "ns",
                                        "nanoseconds",
                                        "1",
                                        "cpu"};
    static const char *const values[] = {"delta", "hash",   "us",     "ms",  "ns",
                                         "each",  "spread", "python", "jvm", "a/b"};
    for (size_t i = 1; i < m->dict.strings.n; i++)
        if (one_in(r, 2)) m->dict.strings.v[i] = str_of(words[below(r, ARRAY_LEN(words))]);
    for (size_t i = 1; i < m->dict.attributes.n; i++) {
        attribute *t = &m->dict.attributes.v[i];
        if (one_in(r, 2)) t->unit = 0;
        str v = str_of(values[below(r, ARRAY_LEN(values))]);
        if (t->value.kind == ANY_STRING && one_in(r, 2))
            t->value = (any){.kind = ANY_STRING, .n = (uint32_t)v.n, .s = v.p};
    }
    for (size_t i = 0; i < m->profiles.n; i++) /* several types of one measurement */
        if (i && one_in(r, 2) && m->profiles.v[i].scope == m->profiles.v[i - 1].scope) {
            value_type type = m->profiles.v[i].sample_type;
            m->profiles.v[i] = m->profiles.v[i - 1];
            m->profiles.v[i].sample_type = type;
            m->profiles.v[i].original_payload = m->profiles.v[i].original_payload_format = (str){0};
        }
}

/* A time that clocks can hold. */
static void calm(model *m)
{
    for (size_t i = 0; i < m->times.n; i++) m->times.v[i] >>= 2;
    for (size_t i = 0; i < m->profiles.n; i++) {
        profile *p = &m->profiles.v[i];
        p->time_unix_nano >>= 2;
        p->duration_nano >>= 2;
    }
}

static void check_format(const format *f, const model *m)
{
    arena a = {0};
    ledger second = {0};
    buf x1 = write_as(f, m, NULL);
    model d1 = read_as(f, &x1, &a, NULL);
    buf x2 = write_as(f, &d1, &second);
    const loss *lost = first_lost(&second);
    if (lost)
        fail_here("%s: what was read from it is lost on the way back: %s at %s (%s)", f->name,
                  loss_name(lost->concept), lost->path, lost->value);
    model d2 = read_as(f, &x2, &a, NULL);
    bool same = digest_all(&d1) == digest_all(&d2);
    /* Profiles that turn out to be types of one have an order from then on, and the ledger says so. */
    if (!same && !says(&second, LOSS_SAMPLE_TYPE_ORDER))
        fail_here("%s: came back as something else", f->name);
    buf x3 = write_as(f, &d2, NULL);
    if (!str_eq(buf_view(&x2), buf_view(&x3))) fail_here("%s: not a fixed point", f->name);
    buf_free(&x1);
    buf_free(&x2);
    buf_free(&x3);
    arena_free(&a);
}

static void test_random(void **state)
{
    (void)state;
    uint64_t seed = rnd_seed(20230627);
    size_t n = getenv("KILN_SEED") ? 1 : MODELS;
    for (size_t i = 0; i < n; i++) {
        seed_now = seed + i;
        rng r = {seed_now};
        arena a = {0};
        random_opts o = {.zero_first = true, .plain_doubles = true, .max_samples = 40};
        model m = random_model(&r, &a, &o);
        calm(&m);
        if (seed_now % 2) season(&r, &m);
        for (size_t k = 0; k < ARRAY_LEN(dialects); k++) check_format(dialects[k], &m);
        arena_free(&a);
    }
}

/* ---- tame models: nothing that a dialect cannot hold, so nothing may go ---- */

static uint32_t tame_location(rng *r, builder *b, uint32_t mapping_i)
{
    static const char *const names[] = {"main", "serve", "work", "read", "\xc3\xa4"};
    line l[2] = {{.line = below(r, 100)}, {.line = below(r, 9)}};
    size_t n = 1 + below(r, 2);
    for (size_t i = 0; i < n; i++)
        l[i].function = builder_function(
            b, &(function){.name = builder_string(b, str_of(names[below(r, ARRAY_LEN(names))])),
                           .filename = builder_string(b, STR("a.c")),
                           .start_line = below(r, 3)});
    uint64_t address = 0x1000 + below(r, 64);
    uint32_t attr = builder_attribute_str(b, STR("profile.frame.type"), STR("native"));
    return builder_location(b, mapping_i, one_in(r, 3) ? 0 : address, l, n, &attr, one_in(r, 4));
}

static model tame_model(rng *r, arena *a)
{
    builder b;
    if (!builder_init(&b, a)) abort();
    keyvalue kv = {.key = STR("service.name"), .value = {.kind = ANY_STRING, .n = 1, .s = "x"}};
    builder_resource(&b, &(resource){.present = true, .attrs = {&kv, 1}});
    builder_scope(&b, &(scope){.present = true, .name = STR("kiln.test")});
    uint32_t maps[2] = {0, 0};
    uint32_t id = builder_attribute_str(&b, STR("process.executable.build_id.gnu"), STR("ab12"));
    maps[1] = builder_mapping(&b,
                              &(mapping){.memory_start = 0x1000,
                                         .memory_limit = 0x1020,
                                         .filename = builder_string(&b, STR("/bin/x"))},
                              &id, 1);
    profile *p = builder_profile(&b);
    p->time_unix_nano = UINT64_C(1700000000000000000);
    p->duration_nano = UINT64_C(10000000000);
    memset(p->profile_id, 7, 16);
    p->sample_type = (value_type){builder_string(&b, STR("cpu")), builder_string(&b, STR("ns"))};
    bool timed = one_in(r, 2), linked = one_in(r, 2);
    size_t n = 1 + below(r, 30);
    uint8_t trace[16], span_id[8];
    memset(trace, 1, 16);
    memset(span_id, 2, 8);
    for (size_t i = 0; i < n; i++) {
        uint32_t frames_of[6], depth = 1 + below(r, 5);
        for (uint32_t k = 0; k < depth; k++) frames_of[k] = tame_location(r, &b, maps[below(r, 2)]);
        int64_t v = 1 + below(r, 1000);
        uint64_t t =
            UINT64_C(1700000000000000000) + (uint64_t)below(r, 1000) * 1000000 + below(r, 3);
        uint32_t attr = builder_attribute_int(&b, STR("thread.id"), below(r, 4));
        builder_sample(
            &b, &(sample){.stack = builder_stack(&b, frames_of, depth),
                          .link = linked && one_in(r, 2) ? builder_link(&b, trace, span_id) : 0,
                          .attrs = &attr,
                          .n_attrs = one_in(r, 2),
                          .values = &v,
                          .n_values = 1,
                          .times = &t,
                          .n_times = timed});
    }
    model m;
    err e = {0};
    if (!builder_finish(&b, &m, &e)) abort();
    return m;
}

static void test_tame(void **state)
{
    (void)state;
    uint64_t seed = rnd_seed(42);
    for (size_t i = 0; i < MODELS; i++) {
        seed_now = seed + i;
        rng r = {seed_now};
        arena a = {0};
        model m = tame_model(&r, &a);
        digest_rows want = digest_model(&m, true);
        for (size_t k = 0; k < ARRAY_LEN(dialects); k++) {
            const format *f = dialects[k];
            ledger l = {0};
            buf x = write_as(f, &m, &l);
            model d = read_as(f, &x, &a, &l);
            const loss *lost = first_lost(&l);
            /* denormalized has no attributes of locations, and says so */
            if (lost && !(f == &format_denormalized && lost->concept == LOSS_ATTRIBUTE))
                fail_here("%s: %s at %s", f->name, loss_name(lost->concept), lost->path);
            digest_rows got = digest_model(&d, true);
            bool same = got.n == want.n && memcmp(got.v, want.v, want.n * sizeof *want.v) == 0;
            if (same == (lost != NULL))
                fail_here("%s: rows %s", f->name, same ? "equal" : "differ");
            free(got.v);
            buf_free(&x);
        }
        free(want.v);
        arena_free(&a);
    }
}

/* ---- every field of a message ---- */

enum { MAX_FIELDS = 256 };

/* The fields of one dialect that were changed somewhere. */
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

/* Every field that the tables have must have been met: the list is theirs, not the test's. */
static void check_coverage(coverage *c, const message_desc *m, dialect d, size_t *missing,
                           coverage *done)
{
    for (size_t i = 0; i < m->n_fields; i++) {
        const field_desc *f = &m->fields[i];
        if (covered(done, f)) continue;
        cover(done, f);
        if (!covered(c, f)) {
            print_message("# %s: no file has %s.%s\n", dialect_name(d), m->name, f->name);
            ++*missing;
        }
        if (f->message) check_coverage(c, f->message, d, missing, done);
    }
}

typedef struct mutation {
    coverage *met;
    const format *format;
    const char *file;
    char *bytes; /* a copy that is changed and put back */
    size_t n;
    uint64_t all;
    ledger lost;
    size_t tried, silent;
    char where[256];
} mutation;

static bool same_losses(const ledger *a, const ledger *b)
{
    uint64_t n[2][LOSS_CONCEPT_COUNT] = {0};
    for (size_t i = 0; i < a->n; i++) n[0][a->v[i].concept] += a->v[i].count;
    for (size_t i = 0; i < b->n; i++) n[1][b->v[i].concept] += b->v[i].count;
    return memcmp(n[0], n[1], sizeof n[0]) == 0;
}

static void try_change(mutation *x, size_t at, const char *path)
{
    char was = x->bytes[at];
    bool seen = false;
    for (unsigned bit = 0; bit < 3 && !seen; bit++) { /* another number, another letter */
        arena a = {0};
        model m;
        err e = {0};
        ledger l = {0};
        x->bytes[at] = (char)(was ^ (1 << bit));
        seen = !try_read(x->format, (str){x->bytes, x->n}, &a, &m, &l, &e) ||
               digest_all(&m) != x->all || !same_losses(&l, &x->lost);
        arena_free(&a);
    }
    x->bytes[at] = was;
    x->tried++;
    if (seen) return;
    x->silent++;
    print_message("# %s: changing byte %zu, %s, shows nowhere\n", x->file, at, path);
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
            try_change(x, end - 1, here); /* the last byte: no varint changes its length */
        if (f.wire == 2 && field_packable(d))
            for (const uint8_t *p = f.data; p + 1 < f.data + f.value; p++)
                if (*p < 0x80) try_change(x, (size_t)(p - c.base), here);
    }
    assert_true(pb_ok(&c));
}

static void change_file(coverage *met, const char *file, const format *f, dialect d)
{
    char name[80];
    snprintf(name, sizeof name, "dialects/%s.bin", file);
    buf b = test_vector(name);
    mutation x = {.met = met, .format = f, .file = file, .bytes = b.p, .n = b.n};
    arena a = {0};
    model m;
    err e = {0};
    assert_ok(try_read(x.format, buf_view(&b), &a, &m, &x.lost, &e), &e);
    x.all = digest_all(&m);
    change_fields(&x, dialect_schema(d), pb_open(b.p, b.n, NULL), "");
    if (x.silent) fail_msg("%s: %zu of %zu changes show nowhere", file, x.silent, x.tried);
    arena_free(&a);
    buf_free(&b);
}

static void test_every_field(void **state)
{
    (void)state;
    static const struct {
        dialect dialect;
        const format *format;
        const char *files[8];
    } cases[] = {
        {DIALECT_A, &format_arrays, {"a-basic", "a-fields"}},
        {DIALECT_A1, &format_arrays, {"a1-basic", "a1-fields"}},
        {DIALECT_A2, &format_arrays, {"a2-basic", "a2-fields"}},
        {DIALECT_A0,
         &format_normalized,
         {"a0-arrays", "a0-normalized", "a0-denormalized", "a0-fields_arrays",
          "a0-fields_normalized", "a0-fields_denormalized"}},
        {DIALECT_BENCH,
         &format_normalized,
         {"bench-arrays", "bench-normalized", "bench-denormalized", "bench-fields_arrays",
          "bench-fields_normalized", "bench-fields_denormalized"}},
        {DIALECT_C, &format_events, {"c-basic", "c-fields"}},
    };
    size_t missing = 0;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        coverage met = {0}, done = {0};
        for (size_t k = 0; cases[i].files[k]; k++)
            change_file(&met, cases[i].files[k], cases[i].format, cases[i].dialect);
        check_coverage(&met, dialect_schema(cases[i].dialect), cases[i].dialect, &missing, &done);
    }
    coverage box = {0};
    change_file(&box, "c_box-basic", &format_events, DIALECT_C_BOX);
    if (missing) fail_msg("%zu fields of the tables are in no file", missing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_tame),
        cmocka_unit_test(test_every_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
