/* yajl_walk.c - the base line of JSON: yajl reads every token and counts it.
 *
 * Numbers stay text (yajl_number) and strings are not copied.  UTF-8 is validated as in Kiln's
 * decoder. */
#include "contest.h"
#include <yajl/yajl_parse.h>

typedef struct counts {
    uint64_t tokens, bytes;
} counts;

static int count(void *self, size_t bytes)
{
    counts *c = self;
    c->tokens++;
    c->bytes += bytes;
    return 1; /* continue */
}

static int on_edge(void *c) { return count(c, 0); }
static int on_boolean(void *c, int v) { return count(c, v != 0); }
static int on_number(void *c, const char *s, size_t n) { return (void)s, count(c, n); }
static int on_string(void *c, const unsigned char *s, size_t n) { return (void)s, count(c, n); }

static const yajl_callbacks callbacks = {
    .yajl_null = on_edge,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_edge,
    .yajl_map_key = on_string,
    .yajl_end_map = on_edge,
    .yajl_start_array = on_edge,
    .yajl_end_array = on_edge,
};

static void *open_yajl(const material *in)
{
    static counts c;
    (void)in;
    return &c;
}

static bool decode_yajl(void *self, const material *in)
{
    yajl_handle h = yajl_alloc(&callbacks, NULL, self);
    bool ok = h && yajl_parse(h, in->p, in->n) == yajl_status_ok &&
              yajl_complete_parse(h) == yajl_status_ok;
    if (h) yajl_free(h);
    return ok;
}

static void close_yajl(void *self) { (void)self; }

contestants yajl_contestants(void)
{
    static const contestant v[] = {
        {"yajl tokens", ROLE_PEER, MATERIAL_JSON, open_yajl, decode_yajl, NULL, close_yajl},
    };
    return (contestants){v, sizeof v / sizeof *v};
}
