/* A list in the order of use: with at most a thousand entries a walk is cheaper than one query. */
#include "server/source_cache.h"

#include "base/ban.h"
#include <stdlib.h>

static size_t cost(const source_entry *x) { return sizeof *x + x->key.cap + x->text.cap; }

static void remove_at(source_cache *c, source_entry **at)
{
    source_entry *x = *at;
    *at = x->next;
    c->n--;
    c->bytes -= cost(x);
    buf_free(&x->key);
    buf_free(&x->text);
    free(x);
}

static source_entry **place_of(source_cache *c, str key)
{
    source_entry **at = &c->first;
    while (*at && !str_eq(buf_view(&(*at)->key), key)) at = &(*at)->next;
    return at;
}

static void push(source_cache *c, source_entry *x)
{
    x->next = c->first;
    c->first = x;
}

const source_entry *source_cache_find(source_cache *c, str key, uint64_t now)
{
    source_entry **at = place_of(c, key), *x = *at;
    if (!x) return NULL;
    if (x->until <= now) {
        remove_at(c, at);
        return NULL;
    }
    *at = x->next;
    push(c, x);
    return x;
}

static void drop_oldest(source_cache *c)
{
    source_entry **at = &c->first;
    while ((*at)->next) at = &(*at)->next;
    remove_at(c, at);
}

void source_cache_put(source_cache *c, str key, unsigned status, buf *text, uint64_t until)
{
    source_entry **had = place_of(c, key), *x = calloc(1, sizeof *x);
    if (*had) remove_at(c, had);
    if (!x) {
        buf_free(text);
        return;
    }
    *x = (source_entry){.text = *text, .status = status, .until = until};
    *text = (buf){0};
    buf_str(&x->key, key);
    push(c, x);
    c->n++;
    c->bytes += cost(x);
    if (x->key.failed) remove_at(c, &c->first);
    while (c->n > SOURCE_CACHE_ENTRIES || c->bytes > SOURCE_CACHE_BYTES) drop_oldest(c);
}

void source_cache_clear(source_cache *c)
{
    while (c->first) remove_at(c, &c->first);
}
