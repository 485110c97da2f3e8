/* Counts losses and accounts for CPU time, for both forms of the summary. */
#include "cli/run.h"

#include "base/ban.h"

/* ---- losses ---- */

size_t run_losses(const run *r, run_loss out[RUN_LOSSES])
{
    const run_loss all[] = {
#define LOSS(field) {#field, NULL, r->all.capture.field},
        LOSS(ring_full) LOSS(batch_full) LOSS(rounds_full) LOSS(wall_late) LOSS(wall_unanswered)
            LOSS(blocked) LOSS(truncated) LOSS(broken) LOSS(no_register) LOSS(threads_lost)
#undef LOSS
                {"heap_stacks_lost",
                 "sampled allocations without a stack: the table of stacks was full",
                 r->all.heap_stacks_lost},
        {"heap_live_lost", "sampled allocations whose release was not recorded: the table was full",
         r->all.heap_live_lost},
        {"heap_lost", "stacks of the heap profile that did not fit into the shared memory",
         r->all.heap_lost},
        {"parts_lost", "profiles lost: not enough memory and not enough space in TMPDIR",
         r->parts_lost + r->all.failed},
        {"rejected", "records in the shared memory that do not belong to a process",
         r->all.rejected},
        {"no_desk", "processes not profiled: more than 1024 ran at once", r->all.no_slot},
        {"items_lost", "profiles that were not delivered", otlp_items_lost(&r->sent)},
    };
    static const run_loss words[] = {
#define X(name, what) {#name, what, 0},
        CAPTURE_COUNTERS(X)
#undef X
    };
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (!all[i].n) continue;
        out[n] = all[i];
        for (size_t k = 0; !out[n].what && k < ARRAY_LEN(words); k++)
            if (!strcmp(words[k].name, all[i].name)) out[n].what = words[k].what;
        n++;
    }
    return n;
}

/* ---- CPU time ---- */

run_account run_account_of(const run *r)
{
    run_account a = {.used = r->end.cpu_ns,
                     .sampled = r->all.sampled,
                     .startup = r->all.startup,
                     .unsampled = r->all.unsampled};
    uint64_t known = a.sampled + a.startup + a.unsampled;
    if (known > a.used)
        a.beyond = known - a.used;
    else
        a.unseen = a.used - known;
    return a;
}
