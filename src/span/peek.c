/* Reads the span record of the calling thread inside a signal handler. */
#include "span/peek.h"

#include "arch/syscall.h"
#include "arch/tls.h"
#include "span/internal.h"

#include <stdatomic.h>
#include <string.h>

#define NOT_ALLOCATED UINTPTR_MAX /* entry of the table of blocks: module not used by this thread */

/* glibc's table of a thread's TLS blocks: entry 0 counts generations, the entry before it has the
 * length. */
typedef struct tls_entry {
    uintptr_t block, unused;
} tls_entry;

static uintptr_t variable(const span_place *at)
{
    uintptr_t tp = arch_thread_pointer();
    if (at->kind == SPAN_STATIC) return tp + (uintptr_t)at->offset;
    const tls_entry *t = *(tls_entry *const *)(tp + ARCH_DTV);
    if (!t || at->module > t[-1].block) return 0;
    uintptr_t block = t[at->module].block;
    return !block || block == NOT_ALLOCATED ? 0 : block + (uintptr_t)at->offset;
}

/* Returns whether n bytes at p, at least 8, can be read. */
static bool readable(const span_place *at, uintptr_t p, size_t n)
{
    enum { PAGE = 4096 };
    uintptr_t last = p + n - 8;
    return at->stays || (last >= p && arch_readable(p) &&
                         (p / PAGE == (p + n - 1) / PAGE || arch_readable(last)));
}

static void take(const uint8_t *r, span_record *out)
{
    record_take(r, out);
    memcpy(out->attrs, r + RECORD_ATTRS, out->n_attrs);
}

bool span_peek(const span_place *at, span_record *out)
{
    if (at->kind == SPAN_NOWHERE) return false;
    uintptr_t v = variable(at);
    if (at->kind == SPAN_DYNAMIC && (!v || !readable(at, v, sizeof v))) return false;
    const uint8_t *r = *(const uint8_t *const *)v;
    if (!r || (uintptr_t)r % 2 || !readable(at, (uintptr_t)r, RECORD_ATTRS)) return false;
    if (r[RECORD_VALID] != 1 || !readable(at, (uintptr_t)r, RECORD_ATTRS + (size_t)record_attrs(r)))
        return false;
    atomic_signal_fence(memory_order_seq_cst);
    take(r, out);
    return true;
}
