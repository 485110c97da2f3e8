/* tests/torture/loader.c - libraries that are loaded and unloaded. */
#include "torture.h"
#ifndef TORTURE_STATIC /* static programs have no loader */

#include <dlfcn.h>
#include <libgen.h>
#include <stdatomic.h>

static const char *plugin(const torture *t, char *path, size_t n)
{
    char *dir = strdup(t->self);
    snprintf(path, n, "%s/libtorture_plugin.so", dirname(dir));
    free(dir);
    return path;
}

static unsigned calls(const char *path, int flags, unsigned us)
{
    void *h = dlopen(path, flags);
    if (!h) fprintf(stderr, "%s\n", dlerror());
    MUST(h);
    unsigned (*f)(unsigned);
    *(void **)&f = dlsym(h, "torture_plugin");
    MUST(f);
    unsigned sum = f(us);
    MUST(!dlclose(h));
    return sum;
}

/* Loads, uses and unloads a library, so that the code of a sample no longer exists. */
static int loads(torture *t)
{
    char path[4096];
    uint64_t sum = 0;
    plugin(t, path, sizeof path);
    for (unsigned i = 0; torture_round(t, &i, 150);)
        sum += calls(path, i & 1 ? RTLD_NOW : RTLD_LAZY, (unsigned)(torture_random(t) % 1500));
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

static atomic_bool ends;
static const char *thread_path;
static void *loads_in_thread(void *p)
{
    while (!atomic_load(&ends)) calls(thread_path, RTLD_NOW, 300);
    return p;
}

/* Several threads load at once, with C++ exceptions in between, which take the loader's lock. */
static int loads_at_once(torture *t)
{
    char path[4096];
    thread_path = plugin(t, path, sizeof path);
    for (unsigned i = 0; torture_round(t, &i, 4);) {
        pthread_t threads[4];
        atomic_store(&ends, false);
        for (size_t k = 0; k < 4; k++)
            MUST(!pthread_create(&threads[k], NULL, loads_in_thread, NULL));
        torture_sleep_us(100000);
        atomic_store(&ends, true);
        for (size_t k = 0; k < 4; k++) MUST(!pthread_join(threads[k], NULL));
    }
    return 0;
}

/* Loads a library in a namespace of its own, with its own libc. */
static int other_namespace(torture *t)
{
    char path[4096];
    plugin(t, path, sizeof path);
    for (unsigned i = 0; torture_round(t, &i, 20);) {
        void *h = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
        if (!h) fprintf(stderr, "%s\n", dlerror());
        MUST(h);
        unsigned (*f)(unsigned);
        *(void **)&f = dlsym(h, "torture_plugin");
        MUST(f && f(2000));
        MUST(!dlclose(h));
    }
    return 0;
}

const torture_case loader_cases[] = {
    {"loads", loads},
    {"loads_at_once", loads_at_once},
    {"other_namespace", other_namespace},
    {NULL, NULL},
};
#endif
