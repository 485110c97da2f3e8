#include "net/spares.h"

#include "base/ban.h"

static const struct {
    size_t bytes;
    size_t most; /* that are kept */
} classes[SPARES_CLASSES] = {{16 << 10, 128}, {128 << 10, 16}, {1 << 20, 16}};

void spares_take(spares *s, size_t want, buf *b)
{
    size_t i = 0;
    if (b->p) return;
    while (i + 1 < SPARES_CLASSES && classes[i].bytes < want) i++;
    char *p = s->of[i].n ? s->of[i].v[--s->of[i].n]
                         : aligned_alloc(SPARES_ROOM, SPARES_ROOM + classes[i].bytes);
    if (!p) return;
    b->p = p + SPARES_ROOM;
    b->head = SPARES_ROOM;
    b->cap = classes[i].bytes;
}

void spares_give(spares *s, buf *b)
{
    char *p = b->p ? b->p - b->head : NULL;
    size_t cap = b->cap + b->head, i = SPARES_CLASSES;
    while (i && SPARES_ROOM + classes[i - 1].bytes != cap) i--;
    if (i && s->of[i - 1].n < classes[i - 1].most)
        s->of[i - 1].v[s->of[i - 1].n++] = p;
    else
        free(p);
    *b = (buf){.limit = b->limit};
}

void spares_free(spares *s)
{
    for (size_t i = 0; i < SPARES_CLASSES; i++)
        while (s->of[i].n) free(s->of[i].v[--s->of[i].n]);
}
