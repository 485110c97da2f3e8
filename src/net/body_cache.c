/* Free lists of body buffers in three sizes. */
#include "net/body_cache.h"

#include "base/ban.h"

static const struct {
    size_t bytes;
    size_t most; /* limit of the list */
} classes[BODY_CACHE_CLASSES] = {{16 << 10, 128}, {128 << 10, 16}, {1 << 20, 16}};

void body_cache_take(body_cache *s, size_t want, buf *b)
{
    size_t i = 0;
    if (b->p) return;
    while (i + 1 < BODY_CACHE_CLASSES && classes[i].bytes < want) i++;
    char *p = s->of[i].n ? s->of[i].v[--s->of[i].n]
                         : aligned_alloc(BODY_CACHE_ROOM, BODY_CACHE_ROOM + classes[i].bytes);
    if (!p) return;
    b->p = p + BODY_CACHE_ROOM;
    b->head = BODY_CACHE_ROOM;
    b->cap = classes[i].bytes;
}

void body_cache_give(body_cache *s, buf *b)
{
    char *p = b->p ? b->p - b->head : NULL;
    size_t cap = b->cap + b->head, i = BODY_CACHE_CLASSES;
    while (i && BODY_CACHE_ROOM + classes[i - 1].bytes != cap) i--;
    if (i && s->of[i - 1].n < classes[i - 1].most)
        s->of[i - 1].v[s->of[i - 1].n++] = p;
    else
        free(p);
    *b = (buf){.limit = b->limit};
}

void body_cache_free(body_cache *s)
{
    for (size_t i = 0; i < BODY_CACHE_CLASSES; i++)
        while (s->of[i].n) free(s->of[i].v[--s->of[i].n]);
}
