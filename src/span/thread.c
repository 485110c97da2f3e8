/* Changes the record of the calling thread: enter, exit, attributes, attach, detach.
 *
 * A record is read only while its thread is stopped or by its own signal handler (OTEP 4947), so
 * compiler fences are sufficient.  The protocol: valid = 0, change, valid = 1.
 *
 *   record    [ ids | valid flags size | entries of outer scopes | entries of the innermost scope | free ]
 *                                                                 ^ base                         ^ size
 * A scope only appends entries after `base`; its exit removes them by restoring `size`.  Readers
 * use the last entry of a key, so an inner entry hides an outer one. */
#include "span/internal.h"

#include "arch/tls.h"
#include <stdatomic.h>
#include <string.h>

/* The variable that readers find.  Set once per thread; `valid` shows whether there is a
 * context. */
__attribute__((visibility("default"), used)) _Thread_local void *otel_thread_ctx_v1;

/* The state of a thread.  Initial-exec: at a fixed offset from the thread pointer, usable in a
 * signal handler. */
typedef struct thread {
    _Alignas(16) uint8_t record[KILN_SPAN_RECORD_BYTES];
    uint16_t base;
    bool linked; /* otel_thread_ctx_v1 points here */
} thread;
static _Thread_local thread self __attribute__((tls_model("initial-exec")));

/* span_slot(): address of this thread's otel_thread_ctx_v1.  Readers expect a TLS descriptor. */
ARCH_TLSDESC_ADDRESS(span_slot, otel_thread_ctx_v1);

static COLD void link_thread(thread *t)
{
    *span_slot() = t->record;
    t->linked = true;
}

ALWAYS_INLINE thread *this_thread(void)
{
    thread *t = &self;
    if (UNLIKELY(!t->linked)) link_thread(t);
    return t;
}

ALWAYS_INLINE void fence(void) { atomic_signal_fence(memory_order_seq_cst); }

/* valid, trace-flags and attrs-data-size as one word.  One store changes all three, and the word
 * can be loaded again without a store-forwarding stall. */
typedef uint32_t __attribute__((may_alias)) state;

ALWAYS_INLINE state state_make(uint8_t valid, uint8_t flags, uint16_t size)
{
    const uint8_t parts[4] = {valid, flags};
    state s;
    memcpy(&s, parts, sizeof s);
    memcpy((uint8_t *)&s + 2, &size, sizeof size);
    return s;
}

ALWAYS_INLINE state state_of(const thread *t) { return *(const state *)(t->record + RECORD_VALID); }

ALWAYS_INLINE uint16_t size_of(const thread *t)
{
    uint16_t n;
    memcpy(&n, t->record + RECORD_SIZE, sizeof n);
    return n;
}

/* Between close_record and open_record, readers ignore the record. */
ALWAYS_INLINE void close_record(thread *t)
{
    *(volatile uint8_t *)(t->record + RECORD_VALID) = 0;
    fence();
}

ALWAYS_INLINE void open_record(thread *t, state s)
{
    fence();
    *(volatile state *)(t->record + RECORD_VALID) = s;
}

/* ---- scopes ---- */

void kiln_span_enter(kiln_span_scope *scope, const uint8_t trace_id[16], const uint8_t span_id[8],
                     uint8_t trace_flags)
{
    thread *t = this_thread();
    uint16_t size = size_of(t);
    memcpy(&scope->saved[0], t->record, 16);
    memcpy(&scope->saved[2], t->record + RECORD_SPAN_ID, 8);
    scope->saved[3] = state_of(t);
    scope->base = t->base;
    close_record(t);
    memcpy(t->record, trace_id, 16);
    memcpy(t->record + RECORD_SPAN_ID, span_id, 8);
    t->base = size;
    open_record(t, state_make(1, trace_flags, size));
}

void kiln_span_exit(const kiln_span_scope *scope)
{
    thread *t = this_thread();
    close_record(t);
    memcpy(t->record, &scope->saved[0], 16);
    memcpy(t->record + RECORD_SPAN_ID, &scope->saved[2], 8);
    t->base = (uint16_t)scope->base;
    open_record(t, (state)scope->saved[3]);
}

/* ---- attributes ---- */

/* Returns the entry of this key in the innermost scope, or NULL. */
static uint8_t *entry_of(thread *t, uint8_t key)
{
    uint8_t *p = t->record + RECORD_ATTRS + t->base, *end = t->record + RECORD_ATTRS + size_of(t);
    for (; p < end; p += 2 + p[1])
        if (p[0] == key) return p;
    return NULL;
}

static void put_entry(uint8_t *p, uint8_t key, const char *value, size_t n)
{
    p[0] = key;
    p[1] = (uint8_t)n;
    if (n) memcpy(p + 2, value, n);
}

/* Appends an entry after the last one and then raises the size, by which readers find it.  Outside
 * any scope this makes the record visible. */
static void append(thread *t, uint16_t size, uint8_t key, const char *value, size_t n)
{
    put_entry(t->record + RECORD_ATTRS + size, key, value, n);
    open_record(t, state_make(1, t->record[RECORD_FLAGS], (uint16_t)(size + 2 + n)));
}

static void replace(thread *t, uint8_t *old, uint8_t key, const char *value, size_t n)
{
    uint16_t gone = (uint16_t)(2 + old[1]), size = size_of(t);
    const uint8_t *end = t->record + RECORD_ATTRS + size, *next = old + gone;
    close_record(t);
    memmove(old, next, (size_t)(end - next));
    append(t, (uint16_t)(size - gone), key, value, n);
}

/* Returns the length to which a longer value is truncated without splitting a character. */
static size_t cut(const char *value)
{
    size_t n = KILN_SPAN_VALUE_BYTES;
    while (n > 0 && ((uint8_t)value[n] & 0xc0) == 0x80) n--;
    return n;
}

bool kiln_span_attr(int key, const char *value, size_t n)
{
    if (!span_has_key(key) || (!value && n)) return false;
    thread *t = this_thread();
    uint8_t *old = entry_of(t, (uint8_t)key);
    size_t kept = n > KILN_SPAN_VALUE_BYTES ? cut(value) : n;
    if (kept < n) span_lost(LOSS_ATTRS_CUT);
    if (size_of(t) - (old ? 2u + old[1] : 0u) + 2 + kept > KILN_SPAN_ATTR_BYTES) {
        span_lost(LOSS_ATTRS_DROPPED);
        return false;
    }
    if (old)
        replace(t, old, (uint8_t)key, value, kept);
    else
        append(t, size_of(t), (uint8_t)key, value, kept);
    return true;
}

/* ---- tasks ---- */

static void save(const thread *t, kiln_span_context *out)
{
    out->base = t->base;
    memcpy(out->record, t->record, RECORD_ATTRS + (size_t)size_of(t));
}

static void load(thread *t, const kiln_span_context *in)
{
    static const kiln_span_context none;
    const uint8_t *from = (const uint8_t *)(in ? in : &none)->record;
    uint16_t size;
    memcpy(&size, from + RECORD_SIZE, sizeof size);
    if (size > KILN_SPAN_ATTR_BYTES) return load(t, NULL); /* not a context of this library */
    close_record(t);
    memcpy(t->record, from, RECORD_VALID);
    memcpy(t->record + RECORD_ATTRS, from + RECORD_ATTRS, size);
    t->base = in ? in->base : 0;
    open_record(t, state_make(from[RECORD_VALID], from[RECORD_FLAGS], size));
}

void kiln_span_current(kiln_span_context *out) { save(this_thread(), out); }

void kiln_span_attach(const kiln_span_context *task, kiln_span_context *outer)
{
    thread *t = this_thread();
    if (outer) save(t, outer);
    load(t, task);
}

void kiln_span_detach(kiln_span_context *task, const kiln_span_context *outer)
{
    thread *t = this_thread();
    if (task) save(t, task);
    load(t, outer);
}
