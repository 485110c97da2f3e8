/* The choice of the waits that are kept above the rate: each duration counts without bias. */
#include "bpf/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* The random numbers are spread evenly, so the share that is kept must be exact. */
static double share_kept(uint64_t d, uint64_t keep_ns)
{
    const uint32_t n = 1 << 20;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) kept += bpf_keeps(d, keep_ns, i << 12) != 0;
    return (double)kept / n;
}

static void values_are_unbiased(void **state)
{
    (void)state;
    static const uint64_t limits[] = {1000, 1250, 2500, 5000, 125 * 1000, 1ull << 30, BPF_KEEP_MAX};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (unsigned k = 1; k < 10; k++) {
            uint64_t d = limits[i] * k / 10;
            double true_share = (double)d / (double)limits[i];
            assert_in_range((uint64_t)(1e6 * share_kept(d, limits[i]) / true_share), 999900,
                            1000100);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_unbiased)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
