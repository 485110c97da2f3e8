/* The first observation of an event is due at a random time: the sum of the observations is the CPU time
 * on average, however little that is. */
#include "record/phase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { PERIOD = 10000, STARTS = 1000 };

/* Returns the time that the observations of an event represent that counts `ns`, and whose recorder
 * sets the full period when the thread has used `delay` since the first sample. */
static uint64_t observed(uint64_t random, uint64_t ns, uint64_t delay)
{
    phase p = phase_begin(PERIOD, random);
    uint64_t sum = 0, at = 0, change = p.first + delay;
    for (uint64_t next = p.first; next <= ns;) {
        if (p.changed == UINT64_MAX && change < next) {
            phase_change(&p, at = change, change);
            next = at + PERIOD;
            continue;
        }
        sum += phase_take(&p, next, phase_period(&p, next));
        at = next;
        next += phase_period(&p, at);
    }
    return sum;
}

static void sums_are_the_time_on_average(void **state)
{
    (void)state;
    static const uint64_t delays[] = {0, 900, 5000, 33333, 100000};
    static const uint64_t times[] = {1250, 2000, 5000, 9999, 10000, 12345, 25000, 99000, 500000};
    for (size_t d = 0; d < sizeof delays / sizeof *delays; d++)
        for (size_t t = 0; t < sizeof times / sizeof *times; t++) {
            double sum = 0;
            for (uint64_t i = 0; i < STARTS; i++)
                sum += (double)observed(i * PERIOD / STARTS, times[t], delays[d]);
            double error = sum / STARTS - (double)times[t];
            /* Up to a period after the change, the rest of the short periods has no sample yet. */
            bool settled = times[t] <= PERIOD || times[t] > delays[d] + 2 * PERIOD;
            assert_true(error < .01 * PERIOD && error > (settled ? -.01 : -.5) * PERIOD);
        }
}

static void the_first_period_is_not_too_short(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < PERIOD; i++) {
        phase p = phase_begin(PERIOD, i);
        assert_true(p.first >= PERIOD / PHASE_STEPS && p.first <= PERIOD && p.behind < PERIOD);
        assert_int_equal(phase_take(&p, p.first, p.first),
                         PERIOD); /* the first sample is an observation */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_the_time_on_average),
                                       cmocka_unit_test(the_first_period_is_not_too_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
