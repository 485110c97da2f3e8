/* Threads that change their span constantly, for record_spans: two do so at least 100 000 times a second of CPU time, and one does
 * little else, so that it is often interrupted in a change.
 *
 *     record_spans_host MS [LIBRARY]
 * Prints `ready PID`.  A line on stdin starts the threads; then `changed TID LAST WORK` for each, with the number of its last span, and
 * `done 0`.  With -DLOADED it is not linked with libkiln-span, but loads LIBRARY, so that the thread context is in dynamic TLS.
 *
 * The ids of a span are functions of `a`, which consists of the thread id and the number of the span (ids_of), so a mixture of two
 * spans is detected. */
#include <kiln/span.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
    void (*enter)(kiln_span_scope *, const uint8_t *, const uint8_t *, uint8_t);
    void (*exit)(const kiln_span_scope *);
    int (*key)(const char *);
    bool (*attr)(int, const char *, size_t);
    kiln_span_code (*publish)(const kiln_span_process *);
} api;

#ifdef LOADED
static void *must_find(void *lib, const char *name)
{
    void *p = dlsym(lib, name);
    if (!p) puts(dlerror()), exit(3);
    return p;
}

static void open_api(const char *path)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) puts(dlerror()), exit(3);
    *(void **)&api.enter = must_find(lib, "kiln_span_enter");
    *(void **)&api.exit = must_find(lib, "kiln_span_exit");
    *(void **)&api.key = must_find(lib, "kiln_span_key");
    *(void **)&api.attr = must_find(lib, "kiln_span_attr");
    *(void **)&api.publish = must_find(lib, "kiln_span_publish");
}
#else
static void open_api(const char *path)
{
    (void)path;
    api.enter = kiln_span_enter, api.exit = kiln_span_exit, api.key = kiln_span_key;
    api.attr = kiln_span_attr, api.publish = kiln_span_publish;
}
#endif

static uint64_t clock_ns(clockid_t c)
{
    struct timespec t;
    clock_gettime(c, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void ids_of(uint64_t a, uint8_t trace[16], uint8_t span[8])
{
    uint64_t b = ~a, c = a * 0x9e3779b97f4a7c15u;
    memcpy(trace, &a, 8);
    memcpy(trace + 8, &b, 8);
    memcpy(span, &c, 8);
}

enum { WORKERS = 3, WORK = 1000 };

typedef struct worker {
    uint64_t ms, last;
    unsigned work; /* in each span */
    volatile uint64_t sink;
    long tid;
    pthread_t thread;
} worker;

static void enter(kiln_span_scope *s, uint64_t a)
{
    uint8_t trace[16], span[8];
    ids_of(a, trace, span);
    api.enter(s, trace, span, KILN_SPAN_SAMPLED);
}

static void change_once(worker *w, int key)
{
    kiln_span_scope s;
    uint64_t a = (uint64_t)w->tid << 32 | ++w->last;
    char letter = (char)('A' + a % 16);
    enter(&s, a);
    if (w->work) (void)api.attr(key, &letter, 1);
    for (unsigned i = 0; i < w->work; i++) w->sink = w->sink * 3 + i;
    api.exit(&s);
}

/* Changes the span inside span 0. */
static void *change(void *arg)
{
    worker *w = arg;
    kiln_span_scope outer;
    unsigned per_clock = w->work ? 1 : 100;
    int key = api.key("letter");
    w->tid = syscall(SYS_gettid);
    enter(&outer, (uint64_t)w->tid << 32);
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < w->ms * 1000000)
        for (unsigned i = 0; i < per_clock; i++) change_once(w, key);
    api.exit(&outer);
    return NULL;
}

static void wait_for_line(void)
{
    char c;
    while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n') continue;
}

int main(int argc, char **argv)
{
    worker v[WORKERS] = {{.work = WORK}, {.work = WORK}, {.work = 0}};
    kiln_span_process p = {.size = sizeof p, .service_name = "spans", .service_version = "7"};
    open_api(argc > 2 ? argv[2] : "");
    if (api.publish(&p)) return 4;
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    wait_for_line();
    for (int i = 0; i < WORKERS; i++) v[i].ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&v[i].thread, NULL, change, &v[i])) return 5;
    for (int i = 0; i < WORKERS; i++) pthread_join(v[i].thread, NULL);
    for (int i = 0; i < WORKERS; i++)
        printf("changed %ld %" PRIu64 " %u\n", v[i].tid, v[i].last, v[i].work);
    printf("done 0\n");
    fflush(stdout);
    wait_for_line();
    return 0;
}
