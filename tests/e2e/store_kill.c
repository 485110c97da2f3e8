/* store_kill [KILLS] - a process puts numbered profiles and is killed again and again, at any
 * moment and at critical points: after the sync and before the acknowledgement, before and after
 * the commit of a compaction. Acknowledged profiles are stored exactly once, also when they were
 * put again. Every third kill also simulates a power failure. */
#include "../support/numbered.h"
#include "../support/power.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { WINDOW = 32, MAX_NUMBERS = 1 << 20 };

static int to_parent;

typedef struct waiting {
    uint64_t number;
    bool used;
} waiting;

static void on_done(void *cookie, const store_put_result *r)
{
    waiting *w = cookie;
    uint64_t n = w->number;
    if (!r->refused && write(to_parent, &n, sizeof n) != sizeof n) _exit(3);
    __atomic_store_n(&w->used, false, __ATOMIC_RELEASE);
}

/* The point at which the process kills itself, after this many passes. */
typedef struct doom {
    const char *point;
    unsigned after;
} doom;

static void at_point(void *ctx, const char *point)
{
    doom *d = ctx;
    if (d->point && strcmp(d->point, point) == 0 && d->after-- == 0) kill(getpid(), SIGKILL);
}

static void on_log(void *ctx, store_event what, const char *text)
{
    (void)ctx;
    if (what) fprintf(stderr, "# %s\n", text);
}

/* Puts profiles with numbers from `next` on until the process is killed. */
static void child(const char *dir, uint64_t next, doom d)
{
    static waiting window[WINDOW];
    err e = {0};
    store *s = embedded_open(dir,
                             &(embedded_opts){.store.compact_bytes = 64 << 10,
                                              .vfs = "bad",
                                              .at = at_point,
                                              .store.log = on_log,
                                              .store.ctx = &d},
                             &e);
    if (!s) {
        fprintf(stderr, "# open: %s\n", e.msg);
        _exit(3);
    }
    for (;; next++) {
        waiting *w = &window[next % WINDOW];
        arena a = {0};
        model m;
        while (__atomic_load_n(&w->used, __ATOMIC_ACQUIRE)) usleep(50);
        *w = (waiting){next, true};
        if (!numbered_model(&a, next, &m)) _exit(3);
        if (!store_put(s, &(store_item){.model = &m, .done = on_done, .cookie = w}, &e)) {
            fprintf(stderr, "# put: %s\n", e.msg);
            _exit(3);
        }
        arena_free(&a);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Reads acknowledgements until the time is over and the child is dead. */
static void follow(int fd, pid_t pid, double until, bool *acknowledged, uint64_t *n)
{
    bool killed = false;
    for (;;) {
        struct pollfd p = {fd, POLLIN, 0};
        double left = until - now();
        if (!killed && left <= 0) {
            kill(pid, SIGKILL);
            killed = true;
        }
        if (poll(&p, 1, killed ? 1000 : (int)(left * 1000) + 1) < 0) continue;
        if (!(p.revents & (POLLIN | POLLHUP))) continue;
        uint64_t number;
        ssize_t got = read(fd, &number, sizeof number);
        if (got != sizeof number) break;
        if (number < MAX_NUMBERS) acknowledged[number] = true, ++*n;
    }
    int status;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status)) printf("# the child ended with %d\n", WEXITSTATUS(status));
}

/* A power failure may leave any part of a group that was never synced, also a good record after a
 * torn one, which looks like damage. Acknowledged profiles are checked by their
 * numbers. */
static void on_problem(void *ctx, const char *text)
{
    if (strncmp(text, "journal: ", 9) == 0 && strstr(text, "items are damaged")) return;
    ++*(uint64_t *)ctx;
    printf("# %s\n", text);
}

static bool verify(const char *dir, const bool *acknowledged, uint64_t n_acknowledged, char *why,
                   size_t size)
{
    err e = {0};
    store_check c;
    uint32_t *count = calloc(MAX_NUMBERS, sizeof *count);
    store *s = embedded_open(dir, &(embedded_opts){.no_threads = true, .vfs = "bad"}, &e);
    uint64_t torn, problems = 0;
    bool ok = s && numbered_read(store_own_reader(s), count, MAX_NUMBERS, &torn, &e) &&
              store_verify(store_own_reader(s), on_problem, &problems, &c, &e);
    if (!ok) snprintf(why, size, "%s", e.msg);
    if (ok && problems)
        ok = snprintf(why, size, "verify has %llu problems", (unsigned long long)problems) < 0;
    for (size_t i = 0; ok && i < MAX_NUMBERS; i++) {
        if (count[i] > 1) ok = snprintf(why, size, "number %zu is there %u times", i, count[i]) < 0;
        if (acknowledged[i] && !count[i])
            ok = snprintf(why, size, "number %zu of %llu is lost", i,
                          (unsigned long long)n_acknowledged) < 0;
    }
    store_close(s);
    free(count);
    return ok;
}

int main(int argc, char **argv)
{
    static const char *const points[] = {NULL, NULL, "synced", "compacting", "compacted"};
    unsigned kills = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 110, seed = 20261115;
    bool *acknowledged = calloc(MAX_NUMBERS, 1);
    uint64_t n = 0, last = 0, idle = 0;
    char why[256] = "";
    place p = place_new(), kept = place_new();
    bool good = true;
    bad_vfs_register(false);
    bad_power = kept.dir;
    printf("1..2\n");
    for (unsigned i = 0; i < kills && good; i++) {
        int fd[2];
        uint64_t next = 0;
        while (next < MAX_NUMBERS && acknowledged[next]) next++;
        next -= next < 5 ? next : 5; /* puts some again, as retries */
        doom d = {points[i % ARRAY_LEN(points)], (unsigned)rand_r(&seed) % 12};
        *bad_now = (bad_plan){.kind = i % 4 == 1 ? BAD_DIE_UNSYNCED : BAD_NONE,
                              .after = rand_r(&seed) % 12};
        if (pipe(fd) != 0) return 1;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            close(fd[0]);
            to_parent = fd[1];
            child(p.dir, next, d);
        }
        close(fd[1]);
        *bad_now = (bad_plan){0};
        last = n;
        /* Long enough to make progress on a busy machine: an eighth of the rounds dies before. */
        follow(fd[0], pid, now() + (i % 8 == 0 ? 0.002 : 0.03 + rand_r(&seed) % 150 * 1e-3),
               acknowledged, &n);
        close(fd[0]);
        if (i % 3 == 2 && !power_cut(p.dir, &seed)) return 1;
        idle += n == last;
        if (i % 10 == 9) good = verify(p.dir, acknowledged, n, why, sizeof why);
    }
    good = good && verify(p.dir, acknowledged, n, why, sizeof why);
    printf("# %u kills, %llu acknowledgements, %llu rounds without one\n", kills,
           (unsigned long long)n, (unsigned long long)idle);
    printf("%s 1 - every acknowledged profile is there once%s%s\n", good ? "ok" : "not ok",
           good ? "" : ": ", why);
    printf("%s 2 - some profiles were acknowledged\n", n > kills ? "ok" : "not ok");
    place_free(&p);
    place_free(&kept);
    free(acknowledged);
    return 0;
}
