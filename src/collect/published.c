/* Reads the process context of another process, and reads it again when it has changed. */
#include "collect/published.h"

#include "sys/process.h"
#include "base/ban.h"

enum { PUBLISHED_BYTES = 1 << 20 };

static bool read_memory(const memory *m, uint64_t at, void *out, size_t n)
{
    return process_read(m->pid, at, out, n);
}

void published_read(published *u, uint32_t pid, uint64_t address)
{
    published fresh = {.mem = {.budget = PUBLISHED_BYTES}};
    memory m = {.read = read_memory, .pid = (int)pid};
    fresh.has = process_context_read_at(&m, address, &fresh.mem, &fresh.context, NULL);
    if (!fresh.has) return published_free(&fresh);
    published_free(u);
    *u = fresh;
}

void published_refresh(published *u, uint32_t pid)
{
    memory m = {.read = read_memory, .pid = (int)pid};
    if (u->has && process_context_changed(&m, &u->context))
        published_read(u, pid, u->context.address);
}

bool published_names(const published *u, const uint8_t *attrs, size_t n)
{
    size_t known = u->has ? u->context.n_keys : 0;
    for (size_t i = 0; i + 2 <= n; i += 2U + attrs[i + 1])
        if (attrs[i] >= known) return false;
    return true;
}

void published_free(published *u)
{
    arena_free(&u->mem);
    *u = (published){0};
}
