/* An answer as JSON; the binary encoding's head is JSON too, with something else in place of columns. */
#include "server/answer_json.h"

#include "wire/attributes.h"
#include "base/ban.h"

static void put_text(json_out *o, str s) { json_put_str(o, s.n ? s : STR("")); }

static void put_element(json_out *o, const answer_node *x, size_t i)
{
    const uint32_t *u32 = x->p;
    switch (x->kind) {
    case ANSWER_I64S: json_put_i64(o, ((const int64_t *)x->p)[i]); break;
    case ANSWER_U64S: json_put_u64(o, ((const uint64_t *)x->p)[i]); break;
    case ANSWER_U32S: json_put_i64(o, u32[i] == UINT32_MAX ? -1 : (int64_t)u32[i]); break;
    case ANSWER_F64S: json_put_double(o, ((const double *)x->p)[i]); break;
    default: put_text(o, ((const str *)x->p)[i]); break;
    }
}

static void put_column(void *who, json_out *o, const answer_node *x)
{
    (void)who;
    json_put_array(o);
    for (size_t i = 0; i < x->n && !o->b->failed; i++) put_element(o, x, i);
    json_put_array_end(o);
}

static void put_members(json_out *o, const answer_node *x, answer_column *column, void *who)
{
    for (const answer_node *y = x->first; y && !o->b->failed; y = y->next) {
        if (!answer_goes_on(y)) o->b->failed = true;
        if (x->kind == ANSWER_OBJECT) json_put_key(o, y->key);
        answer_json_put(o, y, column, who);
    }
}

void answer_json_put(json_out *o, const answer_node *x, answer_column *column, void *who)
{
    switch (x->kind) {
    case ANSWER_OBJECT:
        json_put_object(o);
        put_members(o, x, column, who);
        json_put_object_end(o);
        break;
    case ANSWER_LIST:
        json_put_array(o);
        put_members(o, x, column, who);
        json_put_array_end(o);
        break;
    case ANSWER_BOOL: json_put_bool(o, x->b); break;
    case ANSWER_INT: json_put_i64(o, x->i); break;
    case ANSWER_UINT: json_put_u64(o, x->u); break;
    case ANSWER_REAL: json_put_double(o, x->d); break;
    case ANSWER_TEXT: put_text(o, (str){x->p, x->n}); break;
    case ANSWER_HEX: json_put_hex(o, (str){x->p, x->n}); break;
    case ANSWER_ATTRIBUTES: attributes_json(o, x->p, x->n); break;
    case ANSWER_I64S:
    case ANSWER_U64S:
    case ANSWER_U32S:
    case ANSWER_F64S:
    case ANSWER_TEXTS: column(who, o, x); break;
    }
}

bool answer_json(const answer *w, buf *out, err *e)
{
    json_out o = {.b = out};
    answer_json_put(&o, &w->root, put_column, NULL);
    return !out->failed || err_set(e, ERR_LIMIT, "the answer is larger than max_bytes");
}
