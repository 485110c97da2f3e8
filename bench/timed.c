/* timed.c - runs one command and prints its cost, for bench/peers.
 *
 *     timed [-k] COMMAND [ARG]...     prints "wall_s cpu_s peak_kb status" on standard output
 *
 * The command's output goes to /dev/null; with -k its standard output comes before that line. This
 * is a separate program because the peak memory that wait4 reports is at least that of the parent
 * at the fork: started from Python, every command seems to take 14 MB. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec * 1e-6; }

static void become(char **command, int keep)
{
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        if (!keep) dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    execvp(command[0], command);
    _exit(127);
}

int main(int argc, char **argv)
{
    int keep = argc > 1 && strcmp(argv[1], "-k") == 0, status = 0;
    char **command = argv + 1 + keep;
    if (!command[0]) {
        fprintf(stderr, "usage: timed [-k] COMMAND [ARG]...\n");
        return 2;
    }
    struct rusage used;
    double start = now();
    pid_t pid = fork();
    if (pid == 0) become(command, keep);
    if (pid < 0 || wait4(pid, &status, 0, &used) < 0) {
        fprintf(stderr, "timed: %s\n", strerror(errno));
        return 3;
    }
    double took = now() - start;
    printf("%.6f %.6f %ld %d\n", took, seconds(used.ru_utime) + seconds(used.ru_stime),
           used.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
