/* heap_agent - a minimal agent for the heap library, for heap_object: starts it in any program,
 * with stacks of one fixed frame, and prints the totals on descriptor KILN_HEAP_SAY at the end. */
#include "agent/heap/link.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static _Thread_local unsigned turn __attribute__((tls_model("initial-exec")));

static size_t stack_here(uintptr_t *pcs, size_t max, size_t skip, uint8_t *end)
{
    (void)max, (void)skip;
    pcs[0] = 0x1000 + turn++ % 50;
    *end = 0;
    return 1;
}

static bool own_thread(void) { return false; }

__attribute__((visibility("default"))) extern const agent_for_heap kiln_agent_for_heap;
const agent_for_heap kiln_agent_for_heap = {HEAP_LINK_VERSION, stack_here, own_thread};

static const heap_for_agent *heap;

__attribute__((constructor)) static void begin(void)
{
    const char *interval = getenv("KILN_HEAP_INTERVAL");
    heap = dlsym(RTLD_DEFAULT, "kiln_heap_for_agent");
    if (heap && interval && !heap->start(strtoull(interval, NULL, 10))) _exit(99);
}

static int64_t least, in_use;

static void look(void *ctx, const heap_entry *e)
{
    (void)ctx;
    if (e->inuse_objects < least) least = e->inuse_objects;
    in_use += e->inuse_objects;
}

__attribute__((destructor)) static void end(void)
{
    const char *say = getenv("KILN_HEAP_SAY");
    if (!heap || !say) return;
    heap->stop();
    heap->each(look, NULL);
    heap_counts c = heap->counts();
    dprintf((int)strtol(say, NULL, 10), "%lu %ld %ld %lu\n", (unsigned long)c.samples, (long)in_use,
            (long)least, (unsigned long)c.stacks_lost);
}
