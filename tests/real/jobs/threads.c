/* A program for gdb and strace to run: threads, a function to stop in, waits. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static long sums[3];

__attribute__((noinline)) static long step(long s, long i) { return (s * 31 + i) % 1000003; }

static void *work(void *p)
{
    long *s = p;
    for (long i = 0; i < 15000000; i++) *s = step(*s, i);
    return NULL;
}

__attribute__((noinline)) void report(int k) { printf("%d: %ld\n", k, sums[k]); }

int main(void)
{
    pthread_t t[3];
    struct timespec wait = {0, 300000000};
    for (int k = 0; k < 3; k++) pthread_create(&t[k], NULL, work, &sums[k]);
    nanosleep(&wait, NULL);
    for (int k = 0; k < 3; k++) {
        pthread_join(t[k], NULL);
        report(k);
    }
    return 6;
}
