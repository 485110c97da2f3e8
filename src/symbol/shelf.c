#include "symbol/shelf.h"

#include "base/ban.h"

struct shelved {
    str key; /* ours */
    module m;
};

bool shelf_take(module_shelf *s, str key, module *out)
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

static void drop_oldest(module_shelf *s)
{
    free((void *)(uintptr_t)s->v[0].key.p);
    module_close(&s->v[0].m);
    memmove(&s->v[0], &s->v[1], --s->n * sizeof *s->v);
}

void shelf_put(module_shelf *s, str key, module *m)
{
    if (s && !s->v) s->v = calloc(SHELF_MODULES, sizeof *s->v);
    char *p = s && s->v ? malloc(key.n + 1) : NULL;
    if (!p) return module_close(m);
    if (s->n == SHELF_MODULES) drop_oldest(s);
    if (key.n) memcpy(p, key.p, key.n);
    s->v[s->n++] = (struct shelved){{p, key.n}, *m};
    *m = (module){0};
}

void shelf_close(module_shelf *s)
{
    while (s->n) drop_oldest(s);
    free(s->v);
    *s = (module_shelf){0};
}
