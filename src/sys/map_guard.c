/* Replaces the pages of mapped files that are gone.  The handler of a signal has no argument, so the
 * list of mappings is global. */
#include "sys/map_guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/ban.h"

enum { GUARDED_MAX = 4096 };

/* The handler reads an entry while another thread writes it; `start` is written last. */
typedef struct guarded {
    _Atomic(uintptr_t) start; /* 0: free */
    _Atomic(size_t) n;
} guarded;

static guarded *list; /* NULL: not started */
static uintptr_t page;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool replace(uintptr_t at)
{
    uintptr_t from = at & ~(page - 1);
    for (size_t i = 0; i < GUARDED_MAX; i++) {
        uintptr_t start = atomic_load(&list[i].start);
        if (!start || at < start || at - start >= atomic_load(&list[i].n)) continue;
        size_t n = atomic_load(&list[i].n) - (from - start);
        return mmap((void *)from, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
               MAP_FAILED;
    }
    return false;
}

static void on_bus(int sig, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    if (info->si_code != BUS_ADRERR || !replace((uintptr_t)info->si_addr)) {
        signal(sig, SIG_DFL);
        raise(sig); /* delivered when the handler returns */
    }
    errno = saved;
}

void map_guard_start(void)
{
    struct sigaction a = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_RESTART};
    page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (!list) list = calloc(GUARDED_MAX, sizeof *list);
    if (list) sigaction(SIGBUS, &a, NULL);
}

bool map_guard_add(const void *p, size_t n)
{
    bool ok = false;
    if (!list) return true;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; !ok && i < GUARDED_MAX; i++) {
        if (atomic_load(&list[i].start)) continue;
        atomic_store(&list[i].n, n);
        atomic_store(&list[i].start, (uintptr_t)p);
        ok = true;
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

void map_guard_remove(const void *p)
{
    if (!list) return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < GUARDED_MAX; i++)
        if (atomic_load(&list[i].start) == (uintptr_t)p) atomic_store(&list[i].start, 0);
    pthread_mutex_unlock(&lock);
}

void map_guard_block_signals(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, before);
}
