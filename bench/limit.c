/* limit.c - adapts the limit programs of ../shared/perf (limit.c there), if they are present.
 *
 * They are not part of this repository.  Their walk-branchy is a check of walk.c: the base line of
 * the report is the faster of the two, so a slow walk.c cannot make the decoder look fast. */
#include "codec.h"
#include "contest.h"
#include <string.h>

enum { KIND_OTLP = 1 };

static const pa_codec *find(const char *name)
{
    int n = 0;
    const pa_codec *c = pa_codecs(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(c[i].name, name) == 0) return &c[i];
    return NULL;
}

typedef struct limit {
    const pa_codec *codec;
    void *result;
} limit;

static void *open_named(limit *l, const char *name)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx512vbmi2")) return NULL; /* they are built only for this */
    l->codec = find(name);
    return l->codec ? l : NULL;
}

#define OPEN(id, name)                                                                             \
    static void *open_##id(const material *in)                                                     \
    {                                                                                              \
        static limit l;                                                                            \
        (void)in;                                                                                  \
        return open_named(&l, name);                                                               \
    }
OPEN(memcpy, "memcpy")
OPEN(walk, "walk-branchy")
OPEN(walk512, "walk-avx512")

static bool decode(void *self, const material *in)
{
    limit *l = self;
    l->result = l->codec->decode(KIND_OTLP, in->p, in->n);
    return l->result != NULL;
}

static void close_limit(void *self) { (void)self; }

contestants limit_contestants(void)
{
    static const contestant v[] = {
        {"memcpy", ROLE_LIMIT, MATERIAL_OTLP, open_memcpy, decode, NULL, close_limit},
        {"walk (limit.c)", ROLE_WALK, MATERIAL_OTLP, open_walk, decode, NULL, close_limit},
        {"walk avx512", ROLE_LIMIT, MATERIAL_OTLP, open_walk512, decode, NULL, close_limit},
    };
    return (contestants){v, sizeof v / sizeof *v};
}
