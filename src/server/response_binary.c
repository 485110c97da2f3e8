/* Encodes a response as JSON for its small parts and little-endian arrays for its columns, which a
 * browser uses in place (docs/query-api.md describes the bytes). Each column has the smallest
 * element type that can represent its values. */
#include "server/response_json.h"

#include "base/ban.h"
#include <math.h>
#include <string.h>

enum { HEAD = 16, ALIGN = 8, VERSION = 1 };
#define EXACT (INT64_C(1) << 53) /* integers up to here are exact as doubles */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are put as they are");

typedef enum element { E_U8, E_U16, E_U32, E_I32, E_F64, E_I64, E_STR } element;

static const struct {
    const char *name;
    size_t size;
} elements[] = {
    [E_U8] = {"u8", 1},   [E_U16] = {"u16", 2}, [E_U32] = {"u32", 4}, [E_I32] = {"i32", 4},
    [E_F64] = {"f64", 8}, [E_I64] = {"i64", 8}, [E_STR] = {"str", 1}};

/* Returns an element of an integer column of any type. */
static int64_t integer_at(const response_node *x, size_t i)
{
    if (x->kind == RESPONSE_I64S) return ((const int64_t *)x->p)[i];
    if (x->kind == RESPONSE_U64S) {
        uint64_t v = ((const uint64_t *)x->p)[i];
        return v > INT64_MAX ? INT64_MAX : (int64_t)v;
    }
    uint32_t v = ((const uint32_t *)x->p)[i];
    return v == UINT32_MAX ? -1 : (int64_t)v;
}

static element element_of(const response_node *x)
{
    int64_t low = 0, high = 0;
    if (x->kind == RESPONSE_TEXTS) return E_STR;
    if (x->kind == RESPONSE_F64S) return E_F64;
    for (size_t i = 0; i < x->n; i++) {
        int64_t v = integer_at(x, i);
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    if (low >= 0 && high <= UINT32_MAX)
        return high <= UINT8_MAX ? E_U8 : high <= UINT16_MAX ? E_U16 : E_U32;
    if (low >= INT32_MIN && high <= INT32_MAX) return E_I32;
    return low >= -EXACT && high <= EXACT ? E_F64 : E_I64;
}

static size_t bytes_of(const response_node *x, element t)
{
    if (t != E_STR) return x->n * elements[t].size;
    size_t n = (x->n + 1) * sizeof(uint32_t);
    for (size_t i = 0; i < x->n; i++) n += ((const str *)x->p)[i].n;
    return n;
}

/* ---- the header: the response without its columns, and the offsets of the columns ---- */

/* A step of the path to a node: a key of an object or a position in a list. */
typedef struct step {
    const struct step *before;
    str key; /* p NULL: a position */
    uint64_t at;
} step;

static void put_hole(void *ctx, json_out *o, const response_node *x)
{
    (void)ctx, (void)x;
    json_put_null(o);
}

static void put_path(json_out *o, const step *s)
{
    if (s->before) put_path(o, s->before);
    if (s->key.p)
        json_put_str(o, s->key);
    else
        json_put_u64(o, s->at);
}

static void put_place(json_out *o, const response_node *x, const step *path, uint64_t *at)
{
    element t = element_of(x);
    json_put_object(o);
    json_put_key(o, STR("path"));
    json_put_array(o);
    put_path(o, path);
    json_put_array_end(o);
    json_put_key(o, STR("type"));
    json_put_str(o, str_of(elements[t].name));
    json_put_key(o, STR("at"));
    json_put_u64(o, *at);
    json_put_key(o, STR("n"));
    json_put_u64(o, x->n);
    json_put_object_end(o);
    *at += (bytes_of(x, t) + ALIGN - 1) / ALIGN * ALIGN;
}

/* Writes the offsets of the columns, in the same order as put_data. */
static void put_places(json_out *o, const response_node *x, const step *before, uint64_t *at)
{
    step s = {.before = before};
    for (const response_node *y = x->first; y && !o->b->failed; y = y->next, s.at++) {
        if (x->kind == RESPONSE_OBJECT) s.key = y->key;
        if (y->kind == RESPONSE_OBJECT || y->kind == RESPONSE_LIST)
            put_places(o, y, &s, at);
        else if (y->kind >= RESPONSE_I64S)
            put_place(o, y, &s, at);
    }
}

static void put_head(json_out *o, const response *w)
{
    uint64_t at = 0;
    json_put_object(o);
    json_put_key(o, STR("answer"));
    response_json_put(o, &w->root, put_hole, NULL);
    json_put_key(o, STR("columns"));
    json_put_array(o);
    put_places(o, &w->root, NULL, &at);
    json_put_array_end(o);
    json_put_object_end(o);
}

/* ---- the data ---- */

static void put_integer(buf *b, element t, int64_t v)
{
    double d = (double)v;
    buf_put(b, t == E_F64 ? (const void *)&d : &v, elements[t].size);
}

static void put_texts(buf *b, const response_node *x)
{
    const str *v = x->p;
    uint64_t at = 0;
    for (size_t i = 0; i <= x->n; i++) {
        uint32_t offset = (uint32_t)at;
        buf_put(b, &offset, sizeof offset);
        if (i < x->n) at += v[i].n;
    }
    for (size_t i = 0; i < x->n; i++) buf_str(b, v[i]);
    if (at > UINT32_MAX) b->failed = true;
}

static void pad(buf *b)
{
    while (b->n % ALIGN && !b->failed) buf_putc(b, '\0');
}

static void put_data(buf *b, const response_node *x)
{
    switch (x->kind) {
    case RESPONSE_OBJECT:
    case RESPONSE_LIST:
        for (const response_node *y = x->first; y && !b->failed; y = y->next) {
            if (!response_continue(y)) b->failed = true;
            put_data(b, y);
        }
        return;
    case RESPONSE_TEXTS: put_texts(b, x); break;
    case RESPONSE_F64S: buf_put(b, x->p, x->n * sizeof(double)); break;
    case RESPONSE_I64S:
    case RESPONSE_U64S:
    case RESPONSE_U32S: {
        element t = element_of(x);
        for (size_t i = 0; i < x->n && !b->failed; i++) put_integer(b, t, integer_at(x, i));
        break;
    }
    default: return;
    }
    pad(b);
}

bool response_binary(const response *w, buf *out, err *e)
{
    json_out o = {.b = out};
    static const char zeros[HEAD];
    buf_put(out, zeros, HEAD);
    put_head(&o, w);
    size_t n = out->n - (out->failed ? 0 : HEAD);
    pad(out);
    size_t data = out->n;
    put_data(out, &w->root);
    if (out->failed || n > UINT32_MAX)
        return err_set(e, ERR_LIMIT, "the response is larger than max_bytes");
    const uint32_t words[3] = {VERSION, (uint32_t)n, (uint32_t)data};
    memcpy(out->p, "KLNA", 4);
    memcpy(out->p + 4, words, sizeof words);
    return true;
}
