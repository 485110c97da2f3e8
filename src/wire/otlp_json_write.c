/* Writes OTLP/JSON: the walk of walk.h with a JSON emitter. */
#include "wire/otlp_json.h"

#include "wire/walk.h"

#include "base/ban.h"

typedef struct json_emitter {
    emitter base;
    json_out out;
} json_emitter;

static json_out *out_of(emitter *to) { return &((json_emitter *)to)->out; }

static void put_name(json_out *o, const field_desc *f)
{
    char name[48];
    size_t n = field_json_name(f, name, sizeof name);
    json_put_key(o, (str){name, n});
}

/* Elements of a list have no name. */
static void put_own_name(json_out *o, const field_desc *f)
{
    if (f && !(f->flags & FF_REPEATED)) put_name(o, f);
}

static void on_message(emitter *to, const field_desc *f)
{
    put_own_name(out_of(to), f);
    json_put_object(out_of(to));
}

static void on_message_end(emitter *to, const field_desc *f)
{
    json_put_object_end(out_of(to));
    if (!f && out_of(to)->pretty) buf_putc(to->out, '\n');
}

static void on_list(emitter *to, const field_desc *f)
{
    put_name(out_of(to), f);
    if (field_packable(f))
        json_put_array_flat(out_of(to));
    else
        json_put_array(out_of(to));
}

static void on_list_end(emitter *to, const field_desc *f)
{
    (void)f;
    json_put_array_end(out_of(to));
}

static void put_enum(json_out *o, const field_desc *f, int64_t v)
{
    for (int64_t i = 0; f->enum_names && f->enum_names[i]; i++)
        if (i == v) {
            json_put_str(o, str_of(f->enum_names[i]));
            return;
        }
    json_put_i64(o, v);
}

static void on_scalar(emitter *to, const field_desc *f, const walk_value *v)
{
    json_out *o = out_of(to);
    put_own_name(o, f);
    switch ((field_type)f->type) {
    case FT_INT32:
    case FT_ENUM: put_enum(o, f, v->i); break;
    case FT_UINT32: json_put_u64(o, v->u); break;
    case FT_INT64: json_put_i64_quoted(o, v->i); break;
    case FT_UINT64:
    case FT_FIXED64: json_put_u64_quoted(o, v->u); break;
    case FT_BOOL: json_put_bool(o, v->u); break;
    case FT_DOUBLE: json_put_double(o, v->d); break;
    case FT_STRING: json_put_str(o, v->s); break;
    case FT_BYTES:
        if (f->flags & FF_ID)
            json_put_hex(o, v->s);
        else
            json_put_base64(o, v->s);
        break;
    case FT_MESSAGE: break;
    }
}

bool otlp_message_to_json(const void *p, size_t n, const message_desc *root,
                          const otlp_json_opts *o, buf *out, err *e)
{
    static const emitter_ops ops = {on_message, on_message_end, on_list, on_list_end, on_scalar};
    static const otlp_json_opts defaults;
    if (!o) o = &defaults;
    json_emitter to = {.base = {&ops, out, o->write, o->ctx},
                       .out = {.b = out, .pretty = o->pretty}};
    return walk_message(p, n, root, &to.base, e);
}

bool otlp_pb_to_json(const void *p, size_t n, layout l, const otlp_json_opts *o, buf *out, err *e)
{
    const message_desc *root = schema_profiles_data(l);
    if (!root) return err_set(e, ERR_USAGE, "no such layout");
    return otlp_message_to_json(p, n, root, o, out, e);
}

bool otlp_json_encode(const model *m, const otlp_encode_opts *o, buf *out, err *e)
{
    layout l = o && o->layout != LAYOUT_UNKNOWN ? o->layout : LAYOUT_CURRENT;
    buf pb = {.limit = out->limit};
    bool ok = otlp_encode(m, o, &pb, e) && otlp_pb_to_json(pb.p, pb.n, l, NULL, out, e);
    buf_free(&pb);
    return ok;
}
