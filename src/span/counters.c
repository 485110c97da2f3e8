/* Counters of values that the publisher truncated or rejected in this process. */
#include "span/internal.h"

#include <stdatomic.h>

static _Atomic uint64_t lost[LOSS_COUNT];

void span_lost(span_loss what) { atomic_fetch_add_explicit(&lost[what], 1, memory_order_relaxed); }

static uint64_t count(span_loss what)
{
    return atomic_load_explicit(&lost[what], memory_order_relaxed);
}

void kiln_span_count(kiln_span_counters *out)
{
    if (!out || out->size < sizeof *out) return;
    out->attrs_dropped = count(LOSS_ATTRS_DROPPED);
    out->attrs_cut = count(LOSS_ATTRS_CUT);
    out->keys_refused = count(LOSS_KEYS_REFUSED);
}
