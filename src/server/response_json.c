/* Encodes a response as JSON. The binary encoding uses the same code for its header, with another
 * callback for columns. */
#include "server/response_json.h"

#include "wire/attributes.h"
#include "base/ban.h"

static void put_text(json_out *o, str s) { json_put_str(o, s.n ? s : STR("")); }

static void put_element(json_out *o, const response_node *x, size_t i)
{
    const uint32_t *u32 = x->p;
    switch (x->kind) {
    case RESPONSE_I64S: json_put_i64(o, ((const int64_t *)x->p)[i]); break;
    case RESPONSE_U64S: json_put_u64(o, ((const uint64_t *)x->p)[i]); break;
    case RESPONSE_U32S: json_put_i64(o, u32[i] == UINT32_MAX ? -1 : (int64_t)u32[i]); break;
    case RESPONSE_F64S: json_put_double(o, ((const double *)x->p)[i]); break;
    default: put_text(o, ((const str *)x->p)[i]); break;
    }
}

static void put_column(void *ctx, json_out *o, const response_node *x)
{
    (void)ctx;
    json_put_array(o);
    for (size_t i = 0; i < x->n && !o->b->failed; i++) put_element(o, x, i);
    json_put_array_end(o);
}

static void put_members(json_out *o, const response_node *x, response_column *column, void *ctx)
{
    for (const response_node *y = x->first; y && !o->b->failed; y = y->next) {
        if (!response_continue(y)) o->b->failed = true;
        if (x->kind == RESPONSE_OBJECT) json_put_key(o, y->key);
        response_json_put(o, y, column, ctx);
    }
}

void response_json_put(json_out *o, const response_node *x, response_column *column, void *ctx)
{
    switch (x->kind) {
    case RESPONSE_OBJECT:
        json_put_object(o);
        put_members(o, x, column, ctx);
        json_put_object_end(o);
        break;
    case RESPONSE_LIST:
        json_put_array(o);
        put_members(o, x, column, ctx);
        json_put_array_end(o);
        break;
    case RESPONSE_BOOL: json_put_bool(o, x->b); break;
    case RESPONSE_INT: json_put_i64(o, x->i); break;
    case RESPONSE_UINT: json_put_u64(o, x->u); break;
    case RESPONSE_REAL: json_put_double(o, x->d); break;
    case RESPONSE_TEXT: put_text(o, (str){x->p, x->n}); break;
    case RESPONSE_HEX: json_put_hex(o, (str){x->p, x->n}); break;
    case RESPONSE_ATTRIBUTES: attributes_json(o, x->p, x->n); break;
    case RESPONSE_I64S:
    case RESPONSE_U64S:
    case RESPONSE_U32S:
    case RESPONSE_F64S:
    case RESPONSE_TEXTS: column(ctx, o, x); break;
    }
}

bool response_json(const response *w, buf *out, err *e)
{
    json_out o = {.b = out};
    response_json_put(&o, &w->root, put_column, NULL);
    return !out->failed || err_set(e, ERR_LIMIT, "the response is larger than max_bytes");
}
