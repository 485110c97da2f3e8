/* Names of attributes.  Numbers are assigned in order and never reused, because readers cache
 * them. */
#include "span/internal.h"

#include "base/utf8.h"
#include <stdatomic.h>
#include <string.h>

enum { NAMES_BYTES = 16 * 1024 };

/* Written with the lock held.  A name is complete before the count is raised, so a fork in between
 * leaves the child with a consistent table. */
static char names[NAMES_BYTES];
static uint16_t at[KILN_SPAN_KEYS];
static size_t used;
static _Atomic int n_keys;

size_t span_keys(void) { return (size_t)atomic_load_explicit(&n_keys, memory_order_relaxed); }
const char *span_key_name(size_t i) { return names + at[i]; }

/* relaxed: the caller got the number from kiln_span_key, which had seen the count */
bool span_has_key(int key)
{
    return key >= 0 && key < atomic_load_explicit(&n_keys, memory_order_relaxed);
}

static int find(const char *name)
{
    for (size_t i = 0; i < span_keys(); i++)
        if (!strcmp(span_key_name(i), name)) return (int)i;
    return -1;
}

static int refuse(void)
{
    span_lost(LOSS_KEYS_REFUSED);
    return -1;
}

static int add(const char *name)
{
    size_t n = strlen(name), i = span_keys();
    if (i == KILN_SPAN_KEYS || !n || n >= NAMES_BYTES - used || !utf8_ok(name, n)) return refuse();
    memcpy(names + used, name, n + 1);
    at[i] = (uint16_t)used;
    atomic_store_explicit(&n_keys, (int)i + 1, memory_order_release);
    if (!span_keys_changed()) {
        atomic_store_explicit(&n_keys, (int)i, memory_order_relaxed);
        return refuse();
    }
    used += n + 1;
    return (int)i;
}

int kiln_span_key(const char *name)
{
    if (!name) return -1;
    span_lock();
    int key = find(name);
    if (key < 0) key = add(name);
    span_unlock();
    return key;
}
