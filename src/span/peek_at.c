/* The record of another thread: from outside of signal handlers, by a reader that may fail. */
#include "span/peek.h"

#include "span/internal.h"

#include <string.h>

static bool read_word(span_reader read, void *who, uintptr_t at, uintptr_t *v)
{
    return read(who, at, v, sizeof *v);
}

/* glibc's table of a thread's blocks, as in peek.c. */
static bool block_of(const span_place *at, uintptr_t tp, span_reader read, void *who, uintptr_t *v)
{
    enum { ENTRY = 2 * sizeof(uintptr_t) };
    uintptr_t table, n;
#if defined(__x86_64__)
    tp += sizeof(uintptr_t);
#endif
    return read_word(read, who, tp, &table) && table && read_word(read, who, table - ENTRY, &n) &&
           at->module <= n && read_word(read, who, table + at->module * ENTRY, v) && *v &&
           *v != UINTPTR_MAX;
}

static void take(const uint8_t *r, span_record *out)
{
    uint8_t any = 0;
    memcpy(out->trace_id, r, sizeof out->trace_id);
    memcpy(out->span_id, r + RECORD_SPAN_ID, sizeof out->span_id);
    out->trace_flags = r[RECORD_FLAGS];
    for (unsigned i = 0; i < sizeof out->trace_id; i++) any |= out->trace_id[i];
    out->has_ids = any != 0;
    memcpy(&out->n_attrs, r + RECORD_SIZE, sizeof out->n_attrs);
    if (out->n_attrs > KILN_SPAN_ATTR_BYTES) out->n_attrs = KILN_SPAN_ATTR_BYTES;
}

bool span_peek_at(const span_place *at, uintptr_t tp, span_reader read, void *who, span_record *out)
{
    uint8_t head[RECORD_ATTRS];
    uintptr_t base = tp, record;
    if (at->kind == SPAN_NOWHERE) return false;
    if (at->kind == SPAN_DYNAMIC && !block_of(at, tp, read, who, &base)) return false;
    if (!read_word(read, who, base + (uintptr_t)at->offset, &record) || !record || record % 2)
        return false;
    if (!read(who, record, head, sizeof head) || head[RECORD_VALID] != 1) return false;
    take(head, out);
    return !out->n_attrs || read(who, record + RECORD_ATTRS, out->attrs, out->n_attrs);
}
