/* kiln.h: every function with every small memory budget.  Calls only public functions. */
#include "../../support/api_made.h"

enum { SWEEP_STEP = 64, SWEEP_MAX = 1 << 20 };

static bool build_within(size_t budget, kiln_error *e)
{
    kiln_builder_options o = {.size = sizeof o, .max_memory = budget};
    kiln_builder *b = kiln_builder_new(&o, e);
    if (!b) return false;
    fill(b);
    kiln_profiles *p = kiln_builder_finish(b, e);
    if (p) looks_right(p);
    kiln_profiles_free(p);
    return p != NULL;
}

static kiln_bytes sweep_bytes;

static bool read_within(size_t budget, kiln_error *e)
{
    kiln_read_options o = {.size = sizeof o, .max_memory = budget};
    kiln_profiles *p = kiln_read(sweep_bytes.p, sweep_bytes.n, &o, e);
    if (p) looks_right(p);
    kiln_profiles_free(p);
    return p != NULL;
}

static bool read_leniently_within(size_t budget, kiln_error *e)
{
    kiln_read_options o = {.size = sizeof o, .max_memory = budget, .lenient = true};
    kiln_profiles *p = kiln_read(sweep_bytes.p, sweep_bytes.n, &o, e);
    kiln_profiles_free(p);
    return p != NULL;
}

static bool check_within(size_t budget, kiln_error *e)
{
    kiln_check_options o = {.size = sizeof o, .max_memory = budget};
    kiln_report *r = kiln_check(sweep_bytes.p, sweep_bytes.n, &o, e);
    kiln_report_free(r);
    return r != NULL;
}

static bool write_within(size_t budget, kiln_error *e)
{
    kiln_profiles *p = kiln_read(sweep_bytes.p, sweep_bytes.n, NULL, e);
    kiln_write_options o = {
        .size = sizeof o, .max_memory = budget, .canonical = true, .compression = "gzip"};
    kiln_bytes b;
    bool ok = kiln_write(p, &o, &b, e);
    kiln_free_bytes(&b);
    kiln_profiles_free(p);
    return ok;
}

static bool merge_within(size_t budget, kiln_error *e)
{
    kiln_profiles *p = kiln_read(sweep_bytes.p, sweep_bytes.n, NULL, e);
    const kiln_profiles *in[] = {p, p};
    kiln_merge_options o = {.size = sizeof o, .max_memory = budget, .join = true};
    kiln_profiles *q = kiln_merge(in, 2, &o, e);
    kiln_profiles_free(q);
    kiln_profiles_free(p);
    return q != NULL;
}

/* Every budget succeeds or fails with KILN_LIMIT, and every budget larger than a sufficient one
 * succeeds. */
static void sweep(bool (*within)(size_t, kiln_error *), const char *what)
{
    bool worked = false;
    kiln_error e;
    for (size_t budget = 1; budget < SWEEP_MAX; budget += worked ? SWEEP_MAX / 16 : SWEEP_STEP) {
        bool ok = within(budget, &e);
        if (!ok && e.code != KILN_LIMIT) {
            char text[600];
            fail_msg("%s with %zu bytes: %s", what, budget, kiln_error_text(&e, text, sizeof text));
        }
        if (worked && !ok)
            fail_msg("%s fails with %zu bytes although less was enough", what, budget);
        worked |= ok;
    }
    if (!worked) fail_msg("%s never worked: %s", what, e.message);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    sweep(build_within, "building");
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        kiln_profiles *p = made();
        kiln_error e;
        assert_fine(kiln_write(p, &writes[i], &sweep_bytes, &e), &e);
        kiln_profiles_free(p);
        sweep(read_within, "reading");
        sweep(check_within, "checking");
        sweep(write_within, "writing");
        sweep(merge_within, "merging");
        kiln_free_bytes(&sweep_bytes);
    }
}

static void test_out_of_memory_while_repairing(void **state)
{
    (void)state;
    static const char json[] =
        "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"samples\":[{\"stackIndex\":7,"
        "\"values\":[5]}]}]}]}]}";
    sweep_bytes = (kiln_bytes){.p = json, .n = sizeof json - 1};
    sweep(read_leniently_within, "repairing");
    sweep(check_within, "checking");
    sweep_bytes = (kiln_bytes){0};
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_out_of_memory_while_repairing),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
