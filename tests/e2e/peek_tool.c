/* Calls span_peek in signal handlers of threads whose context another library has set; for
 * ctx_oracle. peek_tool LIB loads the library with dlopen, peek_tool - expects it preloaded.
 * Prints how the variable was found, then a line for each of three threads, of which the first has
 * never used it: "none" or its trace id, span id and attribute bytes. */
#include "span/peek.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static span_place place;
static span_record seen[3];
static bool has[3];
static void (*attach)(uint8_t *, uint8_t);
static _Thread_local volatile unsigned me __attribute__((tls_model("initial-exec")));
static pthread_barrier_t step;

static void look(int sig)
{
    (void)sig;
    has[me] = span_peek(&place, &seen[me]);
}

static void *worker(void *arg)
{
    static uint8_t records[3][640];
    me = (unsigned)(uintptr_t)arg;
    if (me) attach(records[me], (uint8_t)(0xa0 + me));
    pthread_barrier_wait(&step); /* has a context */
    pthread_barrier_wait(&step); /* the location is known */
    raise(SIGUSR1);
    return NULL;
}

static void hex(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) printf("%02x", p[i]);
    printf(" ");
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"nowhere", "static", "dynamic"};
    struct sigaction act = {.sa_handler = look};
    pthread_t t[3];
    void *lib =
        argc > 1 && strcmp(argv[1], "-") ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : RTLD_DEFAULT;
    void *f = dlsym(lib, "publisher_attach");
    memcpy(&attach, &f, sizeof f);
    if (!attach) return 3;
    sigaction(SIGUSR1, &act, NULL);
    pthread_barrier_init(&step, NULL, 4);
    for (uintptr_t i = 0; i < 3; i++) pthread_create(&t[i], NULL, worker, (void *)i);
    pthread_barrier_wait(&step);
    place = span_locate();
    printf("%s\n", kinds[place.kind]);
    pthread_barrier_wait(&step);
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
        if (has[i]) {
            hex(seen[i].trace_id, 16);
            hex(seen[i].span_id, 8);
            hex(seen[i].attrs, seen[i].n_attrs);
        }
        printf("%s\n", has[i] ? "" : "none");
    }
    return 0;
}
