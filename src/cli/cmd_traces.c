/* `kiln traces`: prints the samples one by one, and flushes as it goes because there may be
 * millions. */
#include "cli/query.h"
#include "draw/text.h"
#include "query/tags.h"
#include "query/timeline.h"
#include "wire/json.h"

#include "base/ban.h"

enum { FLUSH_AT = 1 << 20 };

typedef struct tracing {
    query *q;
    const view_part *p;
    tag_texts texts;
    uint32_t *stack;
    uint8_t *inlined; /* by frame of stack */
    json_out json;
} tracing;

/* ---- text ---- */

static void put_label(buf *b, str key, str value)
{
    size_t n = text_columns(key);
    buf_printf(b, "%*s", n < 12 ? (int)(12 - n) : 0, "");
    text_clipped(b, key, SIZE_MAX);
    buf_z(b, ":  ");
    text_clipped(b, value, SIZE_MAX);
    buf_putc(b, '\n');
}

static bool put_labels(tracing *t, const sample *s, err *e)
{
    const dict *d = &t->p->m->dict;
    buf *b = &t->q->c->out;
    str text;
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        if (!tag_text_of(&t->texts, s->attrs[i], &text, e)) return false;
        put_label(b, dict_str(d, d->attributes.v[s->attrs[i]].key), text);
    }
    static const char *const ids[] = {"trace_id", "span_id"};
    for (size_t i = 0; s->link && i < ARRAY_LEN(ids); i++) {
        if (!tag_text(&t->texts, s, str_of(ids[i]), &text, e)) return false;
        put_label(b, str_of(ids[i]), text);
    }
    return true;
}

static void put_times(tracing *t, const sample *s)
{
    char when[HUMAN_MAX];
    buf *b = &t->q->c->out;
    uint32_t shown = 0;
    human_clock clock = profile_clock(t->p->m, t->p->p);
    for (uint32_t i = 0; i < s->n_times && shown < 3; i++) {
        if (!view_has_time(t->p, s->times[i])) continue;
        put_label(b, STR("time"), str_of(human_moment(&clock, s->times[i], when)));
        shown++;
    }
    if (s->n_times > shown) buf_printf(b, "%12s:  %u in total\n", "times", s->n_times);
}

static void put_stack(tracing *t, const view_row *r)
{
    const view *v = &t->q->v;
    buf *b = &t->q->c->out;
    char value[HUMAN_MAX];
    size_t width = cli_width(t->q->c);
    const char *first = query_value(t->q, r->value, value);
    uint32_t n = view_frames_inlined(v, t->p, r, t->stack, t->inlined);
    for (uint32_t i = 0; i < n; i++) {
        const char *mark = t->inlined[i] ? " (inlined)" : "";
        buf_printf(b, "%12s   ", i ? "" : first);
        text_clipped(b, frame_label(v->frames, t->stack[i]),
                     width == SIZE_MAX ? SIZE_MAX : width - 15 - strlen(mark));
        buf_printf(b, "%s\n", mark);
    }
    if (!n) buf_printf(b, "%12s   (no stack)\n", first);
}

static void put_rule(buf *b)
{
    text_repeat(b, "-", 13);
    buf_z(b, "+-------------------------------------------------------\n");
}

static bool text_row(tracing *t, const view_row *r, const sample *s, err *e)
{
    put_rule(&t->q->c->out);
    if (!put_labels(t, s, e)) return false;
    put_times(t, s);
    put_stack(t, r);
    return true;
}

/* ---- JSON ---- */

static bool labels_json(tracing *t, const sample *s, err *e)
{
    const dict *d = &t->p->m->dict;
    json_out *o = &t->json;
    json_put_key(o, STR("labels"));
    json_put_object(o);
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        str text;
        if (!tag_text_of(&t->texts, s->attrs[i], &text, e)) return false;
        json_put_key(o, dict_str(d, d->attributes.v[s->attrs[i]].key));
        json_put_str(o, text);
    }
    json_put_object_end(o);
    if (!s->link) return true;
    const link_ids *l = &d->links.v[s->link];
    json_put_key(o, STR("trace_id"));
    json_put_hex(o, (str){(const char *)l->trace_id, 16});
    json_put_key(o, STR("span_id"));
    json_put_hex(o, (str){(const char *)l->span_id, 8});
    return true;
}

static bool json_row(tracing *t, const view_row *r, const sample *s, err *e)
{
    json_out *o = &t->json;
    o->flat_at = o->depth + 1;
    json_put_object(o);
    json_put_key(o, STR("value"));
    json_put_i64(o, r->value);
    if (!labels_json(t, s, e)) return false;
    json_put_key(o, STR("times"));
    json_put_array(o);
    for (uint32_t i = 0; i < s->n_times; i++)
        if (view_has_time(t->p, s->times[i])) json_put_u64(o, s->times[i]);
    json_put_array_end(o);
    json_put_key(o, STR("stack"));
    json_put_array(o);
    uint32_t n = view_frames(&t->q->v, t->p, r, t->stack);
    for (uint32_t i = 0; i < n; i++) {
        json_put_object(o);
        frame_json(o, t->q->v.frames, t->stack[i]);
        json_put_object_end(o);
    }
    json_put_array_end(o);
    json_put_object_end(o);
    return true;
}

/* ---- all samples ---- */

static bool trace_part(tracing *t, err *e)
{
    cli *c = t->q->c;
    if (!tag_texts_init(&t->texts, t->p->m, &t->q->arena, e)) return false;
    for (size_t i = t->p->first_row; i < t->p->first_row + t->p->n_rows; i++) {
        const view_row *r = &t->q->v.rows.v[i];
        sample s = sample_at(t->p->m, t->p->p, r->sample);
        if (!r->value && !s.n_times)
            continue; /* no value of this type: a pprof sample has one value per type */
        if (!(c->o.json ? json_row(t, r, &s, e) : text_row(t, r, &s, e))) return false;
        if (c->out.n > FLUSH_AT && !c->pages && !cli_flush(c)) return true;
    }
    return true;
}

static bool trace(query *q, err *e)
{
    cli *c = q->c;
    tracing t = {.q = q, .json = {.b = &c->out, .pretty = true}};
    t.stack = view_scratch(&q->v, e);
    if (!t.stack) return false;
    t.inlined = arena_alloc(&q->arena, (size_t)q->v.max_depth + 1);
    if (!t.inlined) return err_memory(e);
    if (c->o.json) {
        json_put_object(&t.json);
        query_header_json(q, &t.json);
        json_put_key(&t.json, STR("dated"));
        json_put_bool(&t.json, !query_clock(q, 0).undated);
        json_put_key(&t.json, STR("traces"));
        json_put_array(&t.json);
    } else {
        query_header(q, &c->out);
    }
    for (size_t k = 0; k < q->v.parts.n; k++) {
        t.p = &q->v.parts.v[k];
        if (!trace_part(&t, e)) return false;
    }
    if (c->o.json) {
        json_put_array_end(&t.json);
        json_put_object_end(&t.json);
        buf_putc(&c->out, '\n');
    } else {
        put_rule(&c->out);
    }
    return true;
}

exit_code cmd_traces(cli *c)
{
    query q = {.o = {.by_sample = true}};
    err e = {0};
    if (!query_open(&q, c, c->args, c->n_args, BY_FUNCTION)) return c->worst;
    if (!trace(&q, &e)) query_fail(&q, &e);
    query_close(&q);
    return c->worst;
}
