/* The process context (OTEP 4719): a header, and two payloads that are used alternately.
 *
 *   mapping "OTEL_CTX"    [ header | payload, even | payload, odd ]
 *
 * An update writes the unused payload, sets the timestamp to 0, writes pointer and size, and sets a
 * larger timestamp.  Memory that a reader may use is never freed, and the timestamp shows a
 * reader that updates have happened during its read. */
#include "span/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

typedef struct header {
    char signature[8];
    uint32_t version, payload_size;
    _Atomic uint64_t published_at_ns; /* CLOCK_BOOTTIME; 0: being changed */
    uint64_t payload;
} header;
_Static_assert(sizeof(header) == 32, "the layout that the OTEP defines");

enum { HEADER_ROOM = 4096, MAPPING = HEADER_ROOM + 2 * PAYLOAD_MAX };

/* The context of this process.  A forked child inherits the variables but not the mapping; `pid`
 * shows this. */
static struct {
    pid_t pid;
    header *at; /* NULL: not published */
    payload payload[2];
    unsigned turn; /* index of the payload that readers use */
    char instance_id[37];
} own;

/* ---- lock: the pid of its holder, so that a forked child can take over its parent's ---- */

static _Atomic pid_t holder;

void span_lock(void)
{
    pid_t me = getpid(), seen = 0;
    while (!atomic_compare_exchange_weak_explicit(&holder, &seen, me, memory_order_acquire,
                                                  memory_order_relaxed)) {
        /* free, or held by a thread that exists only in the parent: take it */
        if (seen != me) continue;
        sched_yield();
        seen = 0;
    }
}

void span_unlock(void) { atomic_store_explicit(&holder, 0, memory_order_release); }

/* ---- mapping ---- */

static void *map_memfd(void)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create("OTEL_CTX", flags | MFD_NOEXEC_SEAL);
    if (fd < 0) fd = memfd_create("OTEL_CTX", flags);
    if (fd < 0) return MAP_FAILED;
    void *p = MAP_FAILED;
    if (ftruncate(fd, MAPPING) == 0)
        p = mmap(NULL, MAPPING, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    int why = errno;
    close(fd);
    errno = why;
    return p;
}

static bool name_mapping(void *p)
{
    return prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, (unsigned long)p, (unsigned long)MAPPING,
                 (unsigned long)"OTEL_CTX") == 0;
}

/* Creates the mapping.  Readers find it by its file or by its name, so one of them is required. */
static void *map_context(void)
{
    void *p = map_memfd();
    if (p == MAP_FAILED) {
        p = mmap(NULL, MAPPING, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return NULL;
        if (!name_mapping(p)) goto fail;
    }
    if (madvise(p, MAPPING, MADV_DONTFORK) == 0) return p;
fail:;
    int why = errno;
    munmap(p, MAPPING);
    errno = why;
    return NULL;
}

static bool names_context(const char *p, size_t n)
{
    static const char *const names[] = {" /memfd:OTEL_CTX", " [anon:OTEL_CTX]",
                                        " [anon_shmem:OTEL_CTX]"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (memmem(p, n, names[i], strlen(names[i]))) return true;
    return false;
}

/* Returns whether this process already has a context; the OTEP allows one. */
static bool is_taken(void)
{
    /* longer than any of the names, because a name may cross the boundary of two reads */
    enum { OVERLAP = 32 };
    char p[4096];
    size_t kept = 0;
    bool found = false;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (ssize_t k; fd >= 0 && !found && (k = read(fd, p + kept, sizeof p - kept)) > 0;) {
        size_t n = kept + (size_t)k;
        found = names_context(p, n);
        kept = n < OVERLAP ? n : OVERLAP;
        memmove(p, p + n - kept, kept);
    }
    if (fd >= 0) close(fd);
    return found;
}

/* ---- publishing ---- */

static uint64_t now_ns(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void show(const payload *p, uint64_t before)
{
    header *h = own.at;
    uint64_t now = now_ns();
    h->payload = (uint64_t)(uintptr_t)p->p;
    h->payload_size = (uint32_t)p->n;
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&h->published_at_ns, now > before ? now : before + 1,
                          memory_order_relaxed);
    name_mapping(h); /* fails without CONFIG_ANON_VMA_NAME; readers may watch for the call */
}

static void show_first(const payload *p)
{
    memcpy(own.at->signature, "OTEL_CTX", 8);
    own.at->version = 2;
    show(p, 0);
}

static void show_update(const payload *p)
{
    uint64_t before = atomic_load_explicit(&own.at->published_at_ns, memory_order_relaxed);
    atomic_store_explicit(&own.at->published_at_ns, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    show(p, before);
}

static void make_instance_id(void)
{
    uint8_t r[16];
    if (getrandom(r, sizeof r, GRND_NONBLOCK) != (ssize_t)sizeof r) {
        uint64_t weak[2] = {now_ns(), (uint64_t)getpid() << 32 | (uint32_t)(uintptr_t)&own};
        memcpy(r, weak, sizeof r);
    }
    r[6] = (uint8_t)((r[6] & 0x0f) | 0x40); /* RFC 9562: version 4 */
    r[8] = (uint8_t)((r[8] & 0x3f) | 0x80);
    char *p = own.instance_id;
    for (unsigned i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *p++ = '-';
        *p++ = "0123456789abcdef"[r[i] >> 4];
        *p++ = "0123456789abcdef"[r[i] & 15];
    }
    *p = '\0';
}

/* Forgets the parent's publication after a fork. */
static void know_process(void)
{
    pid_t me = getpid();
    if (own.pid == me) return;
    own.pid = me;
    own.at = NULL;
    make_instance_id();
}

static kiln_span_code begin(void)
{
    if (own.at) return KILN_SPAN_OK;
    if (is_taken()) return KILN_SPAN_TAKEN;
    own.at = map_context();
    if (!own.at) return KILN_SPAN_SYSTEM;
    for (size_t i = 0; i < 2; i++)
        own.payload[i] = (payload){.p = (uint8_t *)own.at + HEADER_ROOM + i * PAYLOAD_MAX};
    return KILN_SPAN_OK;
}

static void withdraw(void)
{
    if (own.at) munmap(own.at, MAPPING);
    own.at = NULL;
}

static kiln_span_code publish(const kiln_span_process *process)
{
    know_process();
    bool first = !own.at;
    kiln_span_code code = begin();
    if (code) return code;
    payload *to = &own.payload[!own.turn];
    *to = (payload){.p = to->p};
    code = payload_make(to, process, own.instance_id);
    if (!code) payload_put_threads(to);
    if (!code && to->full) code = KILN_SPAN_LIMIT;
    if (code) {
        if (first) withdraw(); /* a failed update leaves the published context */
        return code;
    }
    own.turn = !own.turn;
    if (first)
        show_first(to);
    else
        show_update(to);
    return KILN_SPAN_OK;
}

kiln_span_code kiln_span_publish(const kiln_span_process *process)
{
    span_lock();
    kiln_span_code code = publish(process);
    span_unlock();
    return code;
}

void kiln_span_unpublish(void)
{
    span_lock();
    know_process();
    withdraw();
    span_unlock();
}

bool span_keys_changed(void)
{
    know_process();
    if (!own.at) return true;
    const payload *from = &own.payload[own.turn];
    payload *to = &own.payload[!own.turn];
    *to = (payload){.p = to->p, .n_fixed = from->n_fixed};
    memcpy(to->p, from->p, from->n_fixed);
    payload_put_threads(to);
    if (to->full) return false;
    own.turn = !own.turn;
    show_update(to);
    return true;
}

const char *kiln_span_code_text(kiln_span_code code)
{
    switch (code) {
    case KILN_SPAN_OK: return "published";
    case KILN_SPAN_USAGE: return "a key is empty, or a value is missing, too long or not UTF-8";
    case KILN_SPAN_LIMIT: return "the attributes exceed 64 KiB";
    case KILN_SPAN_TAKEN:
        return "another library in this process has already published a process context";
    case KILN_SPAN_SYSTEM:
        return "the kernel supports neither memfd_create nor names for anonymous memory";
    }
    return "unknown code";
}
