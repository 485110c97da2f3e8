/* Reads the span record of another thread, outside of signal handlers, through a reader that may
 * fail. */
#include "span/peek.h"

#include "arch/tls.h"
#include "span/internal.h"

#include <string.h>

static bool read_word(span_reader read, void *ctx, uintptr_t at, uintptr_t *v)
{
    return read(ctx, at, v, sizeof *v);
}

/* Finds the variable in glibc's table of a thread's blocks, as peek.c does. */
static bool block_of(const span_place *at, uintptr_t tp, span_reader read, void *ctx, uintptr_t *v)
{
    enum { ENTRY = 2 * sizeof(uintptr_t) };
    uintptr_t table, n;
    return read_word(read, ctx, tp + ARCH_DTV, &table) && table &&
           read_word(read, ctx, table - ENTRY, &n) && at->module <= n &&
           read_word(read, ctx, table + at->module * ENTRY, v) && *v && *v != UINTPTR_MAX;
}

bool span_peek_at(const span_place *at, uintptr_t tp, span_reader read, void *ctx, span_record *out)
{
    uint8_t head[RECORD_ATTRS];
    uintptr_t base = tp, record;
    if (at->kind == SPAN_NOWHERE) return false;
    if (at->kind == SPAN_DYNAMIC && !block_of(at, tp, read, ctx, &base)) return false;
    if (!read_word(read, ctx, base + (uintptr_t)at->offset, &record) || !record || record % 2)
        return false;
    if (!read(ctx, record, head, sizeof head) || head[RECORD_VALID] != 1) return false;
    record_take(head, out);
    return !out->n_attrs || read(ctx, record + RECORD_ATTRS, out->attrs, out->n_attrs);
}
