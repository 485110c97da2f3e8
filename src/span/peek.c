/* What runs inside a signal handler. */
#include "span/peek.h"

#include "span/internal.h"
#include "unwind/arch.h"

#include <stdatomic.h>
#include <string.h>

#define NOT_ALLOCATED UINTPTR_MAX /* in the table of blocks: this thread never touched the module */

/* glibc's table of a thread's TLS blocks: entry 0 counts generations, the one before it the entries. */
typedef struct tls_entry {
    uintptr_t block, unused;
} tls_entry;

static uintptr_t thread_pointer(void) { return (uintptr_t)__builtin_thread_pointer(); }

static const tls_entry *tls_table(uintptr_t tp)
{
#if defined(__x86_64__)
    return *(tls_entry *const *)(tp + 8);
#else
    return *(tls_entry *const *)tp; /* arm64 */
#endif
}

static uintptr_t variable(const span_place *at)
{
    uintptr_t tp = thread_pointer();
    if (at->kind == SPAN_STATIC) return tp + (uintptr_t)at->offset;
    const tls_entry *t = tls_table(tp);
    if (!t || at->module > t[-1].block) return 0;
    uintptr_t block = t[at->module].block;
    return !block || block == NOT_ALLOCATED ? 0 : block + (uintptr_t)at->offset;
}

/* n is at least 8. */
static bool readable(const span_place *at, uintptr_t p, size_t n)
{
    enum { PAGE = 4096 };
    uintptr_t last = p + n - 8;
    return at->stays || (last >= p && arch_readable(p) &&
                         (p / PAGE == (p + n - 1) / PAGE || arch_readable(last)));
}

static uint16_t attrs_of(const uint8_t *r)
{
    uint16_t n;
    memcpy(&n, r + RECORD_SIZE, sizeof n);
    return n < KILN_SPAN_ATTR_BYTES ? n : KILN_SPAN_ATTR_BYTES;
}

static void take(const uint8_t *r, span_record *out)
{
    uint8_t any = 0;
    memcpy(out->trace_id, r, sizeof out->trace_id);
    memcpy(out->span_id, r + RECORD_SPAN_ID, sizeof out->span_id);
    out->trace_flags = r[RECORD_FLAGS];
    for (unsigned i = 0; i < sizeof out->trace_id; i++) any |= out->trace_id[i];
    out->has_ids = any != 0;
    out->n_attrs = attrs_of(r);
    memcpy(out->attrs, r + RECORD_ATTRS, out->n_attrs);
}

bool span_peek(const span_place *at, span_record *out)
{
    if (at->kind == SPAN_NOWHERE) return false;
    uintptr_t v = variable(at);
    if (at->kind == SPAN_DYNAMIC && (!v || !readable(at, v, sizeof v))) return false;
    const uint8_t *r = *(const uint8_t *const *)v;
    if (!r || (uintptr_t)r % 2 || !readable(at, (uintptr_t)r, RECORD_ATTRS)) return false;
    if (r[RECORD_VALID] != 1 || !readable(at, (uintptr_t)r, RECORD_ATTRS + (size_t)attrs_of(r)))
        return false;
    atomic_signal_fence(memory_order_seq_cst);
    take(r, out);
    return true;
}
