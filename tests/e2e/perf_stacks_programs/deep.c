/* Deep recursion without frame pointers, in the main thread and in a second one. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static volatile unsigned long sink;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static unsigned long spin(unsigned n)
{
    unsigned long h = n;
    for (unsigned i = 0; i < 20000; i++) h = h * 31 + i;
    return sink = h;
}

__attribute__((noinline)) static unsigned long down(unsigned n)
{
    volatile char pad[40];
    pad[n % sizeof pad] = (char)n;
    unsigned long r = n ? down(n - 1) : spin(n);
    return r + (unsigned long)pad[n % sizeof pad];
}

static void *work(void *until)
{
    for (unsigned i = 0; seconds() < *(double *)until; i++) down(i % 300);
    return NULL;
}

int main(void)
{
    pthread_t t;
    double until = seconds() + 0.6;
    if (pthread_create(&t, NULL, work, &until)) return 1;
    work(&until);
    pthread_join(t, NULL);
    return printf("%lu\n", sink) < 0;
}
