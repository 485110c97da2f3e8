/* Kiln detects and reads what it writes, in every such format, for random models and models
 * with empty tables.
 *
 *     write ─► detect (bytes, and the suffix that convert gives the file) ─► the same format, the same model as when it is forced
 *
 * The format otlp-1.9 is read back as otlp with layout 1.9. */
#include "../support/digest.h"
#include "../support/random_model.h"
#include "../support/test.h"

#include "format/format.h"

enum { MODELS = 150, PAGES = 3 /* with a report of a few hundred kilobytes each */ };

static uint64_t seed_now;

#define fail_here(...)                                                                             \
    do {                                                                                           \
        print_message("# KILN_SEED=%llu\n", (unsigned long long)seed_now);                         \
        fail_msg(__VA_ARGS__);                                                                     \
    } while (0)

static str name_of(const format *f, char out[64])
{
    size_t n = f->suffixes ? strcspn(f->suffixes, " ") : 0;
    snprintf(out, 64, "x%.*s", (int)n, f->suffixes ? f->suffixes : "");
    return str_of(out);
}

static bool same_format(const format *wrote, const document *d)
{
    if (wrote != &format_otlp_1_9) return d->format == wrote;
    return d->format == &format_otlp && d->parts.v[0].verdict.layout == LAYOUT_1_9;
}

static bool forced(const format *f, str bytes, arena *a, document *d, err *e)
{
    return format_read(bytes, &(read_opts){.from = f}, a, d, e);
}

static void check(const format *f, const model *m)
{
    arena a = {0};
    buf b = {0};
    err e = {0};
    char name[64], text[400];
    if (!f->write(f, m, &(write_opts){0}, &b, &e)) {
        buf_free(&b);
        return; /* other tests cover what a format cannot write */
    }
    document want, got;
    if (b.n && forced(f, buf_view(&b), &a, &want, &e)) {
        read_opts o = {.name = name_of(f, name)};
        if (!format_read(buf_view(&b), &o, &a, &got, &e))
            fail_here("%s: %s", f->name, err_text(&e, text, sizeof text));
        bool ambiguous =
            f == &format_otlp_1_9 && got.format == &format_otlp; /* the same format, or ambiguous */
        if (!same_format(f, &got) && !ambiguous)
            fail_here("%s came back as %s %s", f->name, got.format->name,
                      layout_name(got.parts.v[0].verdict.layout));
        if (same_format(f, &got) && digest_all(&want.model) != digest_all(&got.model))
            fail_here("%s: another model than --from gives", f->name);
    }
    buf_free(&b);
    arena_free(&a);
}

/* Removes one table; its indices become 0. */
static void empty_one(rng *r, model *m)
{
    dict *d = &m->dict;
    uint32_t which = below(r, 5);
    if (which == 0)
        for (size_t i = 0; i < d->locations.n; i++) d->locations.v[i].mapping = 0;
    if (which == 1)
        for (size_t i = 0; i < d->locations.n; i++) d->locations.v[i].lines.n = 0;
    if (which == 2)
        for (size_t i = 0; i < m->profiles.n; i++) m->profiles.v[i].time_unix_nano = 0;
    if (which == 3)
        for (size_t i = 0; i < m->profiles.n; i++) m->profiles.v[i].n_samples = 0;
    if (which == 4)
        for (size_t i = 0; i < m->profiles.n; i++)
            m->profiles.v[i].attrs.n = 0, m->profiles.v[i].duration_nano = 0;
}

static void calm(model *m)
{
    for (size_t i = 0; i < m->times.n; i++) m->times.v[i] >>= 2;
    for (size_t i = 0; i < m->profiles.n; i++) {
        m->profiles.v[i].time_unix_nano >>= 2;
        m->profiles.v[i].duration_nano >>= 2;
    }
}

static void test_random(void **state)
{
    (void)state;
    uint64_t seed = rnd_seed(20261116);
    size_t n = getenv("KILN_SEED") ? 1 : MODELS, n_formats;
    const format *const *all = formats(&n_formats);
    for (size_t i = 0; i < n; i++) {
        seed_now = seed + i;
        rng r = {seed_now};
        arena a = {0};
        random_opts o = {.zero_first = true, .plain_doubles = true, .max_samples = 20};
        model m = random_model(&r, &a, &o);
        calm(&m);
        if (seed_now % 3 == 0) empty_one(&r, &m);
        for (size_t k = 0; k < n_formats && m.profiles.n; k++) {
            bool page = all[k] == &format_html || all[k] == &format_html_base;
            if (!all[k]->write || !all[k]->read || (page && i >= PAGES) ||
                all[k] == &format_html_base || all[k] == &format_original)
                continue;
            check(all[k], &m);
        }
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
