/* A program that spends its time in libc, called from threads: neither leaf nor root of its stacks is in
 * the program. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char room[2][1 << 20];
static double end;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *work(void *at)
{
    for (int i = 0; now() < end; i++) memset(at, i, sizeof room[0]);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[2];
    end = now() + (argc > 1 ? atof(argv[1]) : 1);
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, work, room[i]);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
