/* tests/torture/plugin.c - a library that loader.c loads: code, data and a thread-local variable. */
#include <stdint.h>
#include <time.h>

static __thread unsigned calls_here;

static uint64_t thread_ns(void)
{
    struct timespec s;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &s);
    return (uint64_t)s.tv_sec * 1000000000 + (uint64_t)s.tv_nsec;
}

__attribute__((noinline)) static void plugin_spins(unsigned us)
{
    volatile uint64_t x = 1;
    for (uint64_t end = thread_ns() + us * 1000ull; thread_ns() < end;)
        for (int i = 0; i < 500; i++) x = x * 31 + 1;
}

__attribute__((visibility("default"))) unsigned torture_plugin(unsigned us);
unsigned torture_plugin(unsigned us)
{
    plugin_spins(us);
    return ++calls_here;
}
