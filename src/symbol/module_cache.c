/* Stores open modules in memory, least recently used first. A module leaves the cache while it is
 * in use, so that eviction cannot close it. cache.c is the other cache: indexes on disk. */
#include "symbol/module_cache.h"

#include "base/ban.h"

struct cached_module {
    str key; /* allocated here */
    module m;
};

bool module_cache_take(module_cache *s, str key, module *out)
{
    for (size_t i = 0; s && i < s->n; i++) {
        if (!str_eq(s->v[i].key, key)) continue;
        free((void *)(uintptr_t)s->v[i].key.p);
        *out = s->v[i].m;
        memmove(&s->v[i], &s->v[i + 1], (--s->n - i) * sizeof *s->v);
        return true;
    }
    return false;
}

static void drop_oldest(module_cache *s)
{
    free((void *)(uintptr_t)s->v[0].key.p);
    module_close(&s->v[0].m);
    memmove(&s->v[0], &s->v[1], --s->n * sizeof *s->v);
}

void module_cache_put(module_cache *s, str key, module *m)
{
    if (s && !s->v) s->v = calloc(MODULE_CACHE_MAX, sizeof *s->v);
    char *p = s && s->v ? malloc(key.n + 1) : NULL;
    if (!p) return module_close(m);
    if (s->n == MODULE_CACHE_MAX) drop_oldest(s);
    if (key.n) memcpy(p, key.p, key.n);
    file_pass(&m->stored, m->stored.bytes.n); /* the next use reads its pages from the page cache */
    s->v[s->n++] = (struct cached_module){{p, key.n}, *m};
    *m = (module){0};
}

void module_cache_close(module_cache *s)
{
    while (s->n) drop_oldest(s);
    free(s->v);
    *s = (module_cache){0};
}
