/* Two processes pass a byte back and forth on one CPU, below DEPTH calls: pingpong DEPTH ROUNDS.
 * Begins when a line arrives on stdin.  Prints the CPU time per switch, in ns. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int in, out;

static __attribute__((noinline)) unsigned pass(unsigned depth, unsigned rounds, int first)
{
    volatile unsigned room[4] = {depth, rounds};
    char c = 'x';
    if (depth) return pass(depth - 1, rounds, first) + room[0];
    for (unsigned i = 0; i < rounds; i++) {
        if (first && write(out, &c, 1) != 1) abort();
        if (read(in, &c, 1) != 1) abort();
        if (!first && write(out, &c, 1) != 1) abort();
    }
    return room[1];
}

static double cpu_ns(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return ((double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec) * 1e9 +
           ((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) * 1e3;
}

int main(int argc, char **argv)
{
    int a[2], b[2];
    char line[16];
    cpu_set_t one;
    if (argc < 3 || pipe(a) || pipe(b)) return 2;
    unsigned depth = (unsigned)strtoul(argv[1], NULL, 10), n = (unsigned)strtoul(argv[2], NULL, 10);
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    if (sched_setaffinity(0, sizeof one, &one)) return 1;
    if (!fgets(line, sizeof line, stdin)) return 1;
    double before = cpu_ns(RUSAGE_SELF);
    pid_t child = fork();
    in = child ? a[0] : b[0], out = child ? b[1] : a[1];
    pass(depth, n, child != 0);
    if (!child) _exit(0);
    waitpid(child, NULL, 0);
    double spent = cpu_ns(RUSAGE_SELF) - before + cpu_ns(RUSAGE_CHILDREN);
    printf("ns_switch %.1f\n", spent / (2.0 * n));
    return 0;
}
