/* A -> D -> A, B -> D -> B, C -> D -> C and the alternatives: the result is equal, or differs exactly as
 * the ledger records.
 *
 *   random models   after writing and reading they differ only by the entries of the ledger
 *                   (support/ledger_judge.h); a model that was read is written without a loss, is read
 *                   as the same model, and gives the same bytes again
 *   tame models     everything that the ledger does not list is restored */
#include "../support/random_model.h"
#include "../support/test.h"
#include "../support/ledger_judge.h"

#include "format/dialects.h"
#include "format/format.h"
#include "model/builder.h"
#include "wire/carried.h"

enum { MODELS = 400 };

static uint64_t seed_now;

#define fail_here(...)                                                                             \
    do {                                                                                           \
        print_message("# KILN_SEED=%llu\n", (unsigned long long)seed_now);                         \
        fail_msg(__VA_ARGS__);                                                                     \
    } while (0)

static const format *const dialects[] = {&format_arrays,  &format_normalized, &format_denormalized,
                                         &format_otep239, &format_events,     &format_events_text};

/* ---- steps ---- */

static buf write_as(const format *f, const model *m, ledger *l)
{
    buf b = {0};
    err e = {0};
    if (!f->write(f, m, &(write_opts){.ledger = l}, &b, &e)) fail_here("%s: %s", f->name, e.msg);
    return b;
}

static model read_as(const format *f, const buf *b, arena *a, ledger *l)
{
    model m;
    err e = {0};
    char text[512];
    layout_verdict v = {0};
    if (!f->read(f, buf_view(b), &(read_opts){.ledger = l}, a, &m, &v, &e))
        fail_here("%s: %s", f->name, err_text(&e, text, sizeof text));
    if (m.n_unknown) fail_here("%s: Kiln wrote a field that it does not know", f->name);
    return m;
}

static const loss *first_lost(const ledger *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (!l->v[i].carried_as) return &l->v[i];
    return NULL;
}

static bool has_loss(const ledger *l, loss_concept c)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].concept == c) return true;
    return false;
}

/* ---- random models ---- */

/* Adds attributes whose keys represent fields of some dialect, also with values that do not fit. */
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
                                        KILN_ATTR_DROPPED_ATTRIBUTES,
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
    size_t nth = 0;
    for (size_t i = 0; i < m->profiles.n; i++) { /* several types of one measurement */
        nth++;
        if (i && one_in(r, 2) && m->profiles.v[i].scope == m->profiles.v[i - 1].scope) {
            value_type type = m->profiles.v[i].sample_type;
            m->profiles.v[i] = m->profiles.v[i - 1];
            m->profiles.v[i].sample_type = type;
            m->profiles.v[i].original_payload = m->profiles.v[i].original_payload_format = (str){0};
            if (!one_in(r, 4)) /* otherwise two profiles have the same id and stay separate */
                profile_id_derive(m->profiles.v[i - nth].profile_id, nth,
                                  m->profiles.v[i].profile_id);
        } else {
            nth = 0;
        }
    }
}

/* Limits times to a range that all dialects can represent. */
static void calm(model *m)
{
    for (size_t i = 0; i < m->times.n; i++) m->times.v[i] >>= 2;
    for (size_t i = 0; i < m->profiles.n; i++) {
        profile *p = &m->profiles.v[i];
        p->time_unix_nano >>= 2;
        p->duration_nano >>= 2;
    }
}

/* With `seasoned`, some attributes may represent fields, including the order of types. */
static void check_format(const format *f, const model *m, bool seasoned)
{
    arena a = {0};
    ledger first = {0}, second = {0};
    buf x1 = write_as(f, m, &first);
    model d1 = read_as(f, &x1, &a, &first);
    /* Events without a container are one profile, even if it is empty. */
    if (m->profiles.n && !equal_by_ledger(m, &d1, &first))
        fail_here("%s: differs by more than the ledger records", f->name);
    buf x2 = write_as(f, &d1, &second);
    const loss *lost = first_lost(&second);
    /* If two attributes have the name of an event's duration, one of them is used, and the ledger
     * records it. */
    bool twice = lost && seasoned && lost->concept == LOSS_EVENT_DURATION;
    if (lost && !twice)
        fail_here("%s: data that was read is lost when it is written: %s at %s (%s)", f->name,
                  loss_name(lost->concept), lost->path, lost->value);
    model d2 = read_as(f, &x2, &a, NULL);
    /* Profiles that are read as types of one profile then have an order, which the ledger records.
     * In seasoned models, another attribute may have represented that order. */
    bool ordered = has_loss(&second, LOSS_SAMPLE_TYPE_ORDER);
    bool same = digest_all(&d1) == digest_all(&d2) || twice ||
                (ordered && (seasoned || equal_by_ledger(&d1, &d2, &second)));
    if (!same) fail_here("%s: came back as something else", f->name);
    buf x3 = write_as(f, &d2, NULL);
    if (!twice && !str_eq(buf_view(&x2), buf_view(&x3)))
        fail_here("%s: not a fixed point", f->name);
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
        for (size_t k = 0; k < ARRAY_LEN(dialects); k++)
            check_format(dialects[k], &m, seed_now % 2);
        arena_free(&a);
    }
}

/* ---- tame models: everything can be represented, so nothing may be lost ---- */

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
            /* denormalized has no attributes of locations, and reports it */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_tame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
