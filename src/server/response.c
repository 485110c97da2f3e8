/* Builds the tree of a response and shortens it when it does not fit max_bytes. */
#include "server/response.h"

#include "base/ban.h"

const response_encoding response_encodings[RESPONSE_ENCODINGS] = {
    {"json", "application/json", response_json},
    {"binary", "application/vnd.kiln.columns", response_binary},
};

void response_init(response *w, arena *a)
{
    *w = (response){.a = a};
    w->root = w->spare = (response_node){.of = w, .kind = RESPONSE_OBJECT};
}

static response_node *put(response_node *in, const char *key, response_kind kind)
{
    response *w = in->of;
    response_node *x = arena_new(w->a, response_node, 1);
    if (!x) {
        w->failed = true;
        w->spare = (response_node){.of = w, .kind = kind};
        return &w->spare;
    }
    *x = (response_node){.of = w, .kind = kind, .key = key ? str_of(key) : (str){0}};
    if (in->last)
        in->last->next = x;
    else
        in->first = x;
    in->last = x;
    return x;
}

response_node *response_object(response_node *in, const char *key)
{
    return put(in, key, RESPONSE_OBJECT);
}

response_node *response_list(response_node *in, const char *key)
{
    return put(in, key, RESPONSE_LIST);
}

void response_bool(response_node *in, const char *key, bool v)
{
    put(in, key, RESPONSE_BOOL)->b = v;
}
void response_i64(response_node *in, const char *key, int64_t v)
{
    put(in, key, RESPONSE_INT)->i = v;
}
void response_u64(response_node *in, const char *key, uint64_t v)
{
    put(in, key, RESPONSE_UINT)->u = v;
}
void response_f64(response_node *in, const char *key, double v)
{
    put(in, key, RESPONSE_REAL)->d = v;
}

static void put_many(response_node *in, const char *key, response_kind kind, const void *p,
                     size_t n)
{
    response_node *x = put(in, key, kind);
    x->p = p;
    x->n = n;
}

void response_text(response_node *in, const char *key, str v)
{
    put_many(in, key, RESPONSE_TEXT, v.p, v.n);
}

void response_hex(response_node *in, const char *key, const uint8_t *p, size_t n)
{
    put_many(in, key, RESPONSE_HEX, p, n);
}

void response_attributes(response_node *in, const char *key, const keyvalue *v, size_t n)
{
    put_many(in, key, RESPONSE_ATTRIBUTES, v, n);
}

void response_i64s(response_node *in, const char *key, const int64_t *v, size_t n)
{
    put_many(in, key, RESPONSE_I64S, v, n);
}

void response_u64s(response_node *in, const char *key, const uint64_t *v, size_t n)
{
    put_many(in, key, RESPONSE_U64S, v, n);
}

void response_u32s(response_node *in, const char *key, const uint32_t *v, size_t n)
{
    put_many(in, key, RESPONSE_U32S, v, n);
}

void response_f64s(response_node *in, const char *key, const double *v, size_t n)
{
    put_many(in, key, RESPONSE_F64S, v, n);
}

void response_texts(response_node *in, const char *key, const str *v, size_t n)
{
    put_many(in, key, RESPONSE_TEXTS, v, n);
}

bool response_continue(const response_node *x)
{
    bool column = x->kind >= RESPONSE_I64S;
    return stopper_step(x->of->stop, 1 + (column ? x->n : 0), &x->of->why);
}

/* ---- cutting ---- */

void response_may_cut(response_node *x) { x->cuts = true; }

static size_t length(const response_node *x)
{
    size_t n = 0;
    if (x->kind == RESPONSE_OBJECT) return x->first ? x->first->n : 0;
    for (const response_node *y = x->first; y; y = y->next) n++;
    return n;
}

static void cut_to(response_node *x, size_t n)
{
    if (x->kind == RESPONSE_OBJECT) {
        for (response_node *y = x->first; y; y = y->next) y->n = y->n < n ? y->n : n;
        return;
    }
    response_node *y = x->first;
    if (!n) x->first = x->last = NULL;
    for (size_t i = 1; y && i < n; i++) y = y->next;
    if (n && y) response_drop_after(x, y);
}

bool response_shorten(response *w, size_t *left)
{
    size_t most = 0;
    for (const response_node *x = w->root.first; x; x = x->next) {
        size_t n = x->cuts ? length(x) : 0;
        most = n > most ? n : most;
    }
    *left = most / 2;
    for (response_node *x = w->root.first; most && x; x = x->next)
        if (x->cuts) cut_to(x, *left);
    return most > 0;
}

void response_drop_after(response_node *in, response_node *last)
{
    last->next = NULL;
    in->last = last;
}
