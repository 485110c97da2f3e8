/* Prints the output of `kiln ctx` as JSON (docs/ctx.md) and text. */
#include "cli/ctx_out.h"

#include "wire/attributes.h"
#include "cli/cli.h"
#include "draw/text.h"
#include "wire/json.h"
#include "base/ban.h"
#include <inttypes.h>

static const char *const states[] = {
    [THREAD_NONE] = "none",
    [THREAD_IDLE] = "idle",
    [THREAD_CONTEXT] = "context",
    [THREAD_FAILED] = "failed",
};

/* ---- JSON ---- */

static void put_process(json_out *o, const process_context *p)
{
    json_put_object(o);
    json_put_key(o, STR("mapping"));
    text_json(o, p->mapping);
    json_put_key(o, STR("address"));
    json_put_u64(o, p->address);
    json_put_key(o, STR("published_at_ns"));
    json_put_u64(o, p->published_at_ns);
    json_put_key(o, STR("payload_size"));
    json_put_u64(o, p->payload_size);
    json_put_key(o, STR("mappings"));
    json_put_u64(o, p->n_mappings);
    json_put_key(o, STR("resource"));
    attributes_json(o, p->resource.v, p->resource.n);
    json_put_key(o, STR("attributes"));
    attributes_json(o, p->attrs.v, p->attrs.n);
    json_put_object_end(o);
}

static void put_variable(json_out *o, const tls_variable *v)
{
    json_put_object(o);
    json_put_key(o, STR("object"));
    text_json(o, v->object);
    json_put_key(o, STR("model"));
    json_put_str(o, str_of(tls_model_name(v->model)));
    json_put_key(o, STR("static"));
    json_put_bool(o, v->is_static);
    json_put_key(o, STR("module"));
    if (v->is_static)
        json_put_null(o);
    else
        json_put_u64(o, v->module);
    json_put_key(o, STR("offset"));
    json_put_i64(o, v->offset);
    json_put_object_end(o);
}

static void put_id(json_out *o, str key, const uint8_t *id, size_t n, bool has)
{
    json_put_key(o, key);
    if (has)
        json_put_hex(o, (str){(const char *)id, n});
    else
        json_put_null(o);
}

static void put_context(json_out *o, const contexts *c, const thread_context *t)
{
    size_t unknown = 0;
    put_id(o, STR("trace_id"), t->trace_id, sizeof t->trace_id, t->has_ids);
    put_id(o, STR("span_id"), t->span_id, sizeof t->span_id, t->has_ids);
    json_put_key(o, STR("trace_flags"));
    json_put_u64(o, t->trace_flags);
    json_put_key(o, STR("attributes"));
    json_put_object(o);
    for (size_t i = 0; i < t->attrs.n; i++) {
        str key = contexts_key(c, t->attrs.v[i].key);
        if (!key.n) {
            unknown++;
            continue;
        }
        json_put_key(o, key);
        text_json(o, t->attrs.v[i].value);
    }
    json_put_object_end(o);
    json_put_key(o, STR("unknown_keys"));
    json_put_u64(o, unknown);
    json_put_key(o, STR("cut"));
    json_put_bool(o, t->cut);
}

static void put_thread(json_out *o, const contexts *c, const thread_context *t)
{
    json_put_object(o);
    json_put_key(o, STR("tid"));
    json_put_u64(o, t->tid);
    json_put_key(o, STR("name"));
    text_json(o, t->name);
    json_put_key(o, STR("state"));
    json_put_str(o, str_of(states[t->state]));
    if (t->state == THREAD_CONTEXT) put_context(o, c, t);
    if (t->state == THREAD_FAILED) {
        json_put_key(o, STR("why"));
        text_json(o, t->why);
    }
    json_put_object_end(o);
}

void contexts_json(json_out *o, const contexts *c)
{
    json_put_object(o);
    json_put_key(o, STR("schema"));
    json_put_i64(o, 1);
    json_put_key(o, STR("pid"));
    json_put_i64(o, c->pid);
    json_put_key(o, STR("process"));
    if (c->has_process)
        put_process(o, &c->process);
    else
        json_put_null(o);
    json_put_key(o, STR("variables"));
    json_put_array(o);
    for (size_t i = 0; i < c->variables.n; i++) put_variable(o, &c->variables.v[i]);
    json_put_array_end(o);
    json_put_key(o, STR("threads"));
    json_put_array(o);
    for (size_t i = 0; i < c->threads.n; i++) put_thread(o, c, &c->threads.v[i]);
    json_put_array_end(o);
    json_put_object_end(o);
}

/* ---- text ---- */

enum { INDENT = 2, TID = 8, NAME = 16, IDS = 34 };

static void put_attributes(buf *b, keyvalues attrs, size_t width)
{
    size_t columns = 0;
    for (size_t i = 0; i < attrs.n; i++) {
        size_t n = text_columns(attrs.v[i].key);
        if (n > columns && n <= width / 2) columns = n;
    }
    for (size_t i = 0; i < attrs.n; i++) {
        buf value = {0};
        value_text(&value, &attrs.v[i].value, 2 * width);
        buf_printf(b, "%*s", INDENT, "");
        text_padded(b, attrs.v[i].key, columns);
        buf_z(b, "  ");
        text_clipped(b, buf_view(&value), width - INDENT - columns - 2);
        buf_putc(b, '\n');
        buf_free(&value);
    }
}

static void put_where(buf *b, const contexts *c, size_t width)
{
    const tls_variables *v = &c->variables;
    if (c->other_schema) {
        buf_z(b, "threads use the schema ");
        text_clipped(b, c->process.schema_version, width / 2);
        buf_z(b, ", which kiln does not support\n");
    }
    for (size_t i = 0; i < v->n; i++) {
        buf_printf(b, "%*sotel_thread_ctx_v1 (%s) in ", INDENT, "", tls_model_name(v->v[i].model));
        text_clipped(b, v->v[i].object, width > 48 ? width - 48 : 1);
        buf_putc(b, '\n');
    }
    if (v->n_lost) buf_printf(b, "%*s%zu more that could not be located\n", INDENT, "", v->n_lost);
}

static void put_thread_attrs(buf *b, const contexts *c, const thread_context *t, size_t width)
{
    for (size_t i = 0; i < t->attrs.n; i++) {
        str key = contexts_key(c, t->attrs.v[i].key);
        buf_printf(b, "%*s", INDENT + TID, "");
        size_t n = key.n ? text_clipped(b, key, width / 2) : 0;
        if (!key.n) buf_printf(b, "(key %u, which is not in the key map)", t->attrs.v[i].key);
        buf_z(b, " = ");
        text_clipped(b, t->attrs.v[i].value, width - INDENT - TID - n - 3);
        buf_putc(b, '\n');
    }
    if (t->cut) buf_printf(b, "%*sand a truncated entry\n", INDENT + TID, "");
}

static void put_thread_text(buf *b, const contexts *c, const thread_context *t, size_t width)
{
    char trace[33], id[17];
    buf_printf(b, "%*s%-*" PRIu32, INDENT, "", TID, t->tid);
    text_padded(b, t->name, NAME);
    if (t->state == THREAD_FAILED) {
        buf_putc(b, ' ');
        text_clipped(b, t->why, width - INDENT - TID - NAME - 1);
        buf_putc(b, '\n');
        return;
    }
    hex_encode(t->trace_id, sizeof t->trace_id, trace);
    hex_encode(t->span_id, sizeof t->span_id, id);
    if (t->has_ids)
        buf_printf(b, " %s %s%s\n", trace, id, t->trace_flags & 1 ? "" : " not sampled");
    else
        buf_z(b, " no span\n");
    put_thread_attrs(b, c, t, width);
}

void contexts_text(buf *b, const contexts *c, size_t width, bool color)
{
    const char *bold = paint_on(color, PAINT_BOLD), *off = paint_on(color, PAINT_OFF);
    if (width < 60) width = 60;
    if (c->has_process) {
        buf_printf(b, "%sprocess %d%s, published %.3f s after boot\n", bold, c->pid, off,
                   (double)c->process.published_at_ns / 1e9);
        put_attributes(b, c->process.resource, width);
        if (c->process.attrs.n) buf_z(b, "attributes of the process\n");
        put_attributes(b, c->process.attrs, width);
    } else {
        buf_printf(b, "%sprocess %d%s has not published a resource\n", bold, c->pid, off);
    }
    if (c->process.n_mappings > 1)
        buf_printf(b, "%" PRIu32 " mappings are named OTEL_CTX; only one is allowed\n",
                   c->process.n_mappings);
    if (!c->threads.n && !c->variables.n && !c->variables.n_lost && !c->other_schema) return;
    buf_printf(b, "%sthreads%s: %zu of %zu have a context\n", bold, off, c->n_with, c->threads.n);
    put_where(b, c, width);
    for (size_t i = 0; i < c->threads.n; i++)
        if (c->threads.v[i].state >= THREAD_CONTEXT) put_thread_text(b, c, &c->threads.v[i], width);
}
