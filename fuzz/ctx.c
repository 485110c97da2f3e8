/* Reads arbitrary bytes as the state of a process: a ProcessContext, a thread's record, and the
 * image of a loaded object. */
#include "ctx/process_context.h"
#include "ctx/thread_context.h"
#include "ctx/tls.h"

#include <stdlib.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

enum { BUDGET = 16 << 20, BASE = 0x10000 };

typedef struct fake {
    memory m; /* first member: the callback's argument points here */
    const uint8_t *p;
    size_t n;
} fake;

static bool read_fake(const memory *m, uint64_t at, void *p, size_t n)
{
    const fake *f = (const fake *)m;
    if (at < BASE || at - BASE > f->n || n > f->n - (at - BASE)) return false;
    memcpy(p, f->p + (at - BASE), n);
    return true;
}

static void try_payload(str in)
{
    arena a = {.budget = BUDGET};
    process_context c = {0};
    err e = {0};
    if (process_context_decode(in, &a, &c, &e))
        MUST(c.n_keys <= CONTEXT_KEYS);
    else
        MUST(e.code == ERR_MALFORMED || err_exhausted(&e));
    arena_free(&a);
}

static void try_record(const uint8_t *p, size_t n)
{
    arena a = {.budget = BUDGET};
    thread_context t = {0};
    uint16_t claims;
    err e = {0};
    if (n >= RECORD_HEADER && record_header(p, &claims)) {
        MUST(record_decode(p, n, &a, &t, &e));
        MUST(t.attrs.n <= 256);
        for (size_t i = 0; i < t.attrs.n; i++)
            for (size_t k = 0; k < i; k++) MUST(t.attrs.v[i].key != t.attrs.v[k].key);
    }
    arena_free(&a);
}

static void try_image(const uint8_t *p, size_t n)
{
    arena a = {.budget = BUDGET};
    fake f = {.m = {.read = read_fake}, .p = p, .n = n};
    tls_variables v;
    uint64_t at;
    err e = {0};
    MUST(tls_find(&f.m, STR("10000-20000 r-xp 00000000 fd:01 7 /lib/x.so\n"), "otel_thread_ctx_v1",
                  &a, &v, &e));
    MUST(v.n <= TLS_MAX);
    for (size_t i = 0; i < v.n; i++)
        if (tls_address(&f.m, &v.v[i], BASE, &at)) MUST(v.v[i].is_static || at);
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    try_payload((str){(const char *)p, n});
    try_record(p, n);
    try_image(p, n);
    return 0;
}
