/* Writes the draft's collapsed form: one line per observation, in the order of the samples. If the
 * reader would split a line differently, the last space of its stack becomes '_'. */
#include "format/folded_text.h"

#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

/* Bytes that neither a key nor a value may contain; a value may contain `=`. */
#define KEY_STOP " ,="
#define VALUE_STOP " ,"

/* A smaller time in ns would be read back in another unit. */
#define NS_MIN UINT64_C(100000000000000000)

typedef struct collapser {
    text_writer w;
    u32s frames;
    buf head, tail; /* current sample: its stack; its attributes as " k=v,k=v" */
} collapser;

/* Returns false when the value has no text form. */
static bool put_text(collapser *x, const any *v)
{
    char number[32];
    switch ((any_kind)v->kind) {
    case ANY_STRING: text_put(&x->w, &x->tail, any_str(v), VALUE_STOP, "attribute"); return true;
    case ANY_INT: buf_i64(&x->tail, v->i); break;
    case ANY_BOOL: buf_z(&x->tail, v->i ? "true" : "false"); break;
    case ANY_DOUBLE:
        snprintf(number, sizeof number, "%.17g", v->d);
        buf_z(&x->tail, number);
        break;
    default: return false;
    }
    text_lose(&x->w, LOSS_ATTRIBUTE_TYPE, 1, (str){0}, "samples[].attributes");
    return true;
}

static void put_attr(collapser *x, const attribute *t)
{
    const dict *d = &x->w.m->dict;
    str key = d->strings.v[t->key];
    size_t before = x->tail.n;
    buf_putc(&x->tail, before ? ',' : ' ');
    text_put(&x->w, &x->tail, key, KEY_STOP, "key of an attribute");
    buf_putc(&x->tail, '=');
    if (!key.n || !put_text(x, &t->value)) {
        x->tail.n = before;
        text_lose(&x->w, LOSS_ATTRIBUTE, 1, key, "samples[].attributes");
    } else if (t->unit) {
        text_lose(&x->w, LOSS_ATTRIBUTE_UNIT, 1, d->strings.v[t->unit], "samples[].attributes");
    }
}

static void put_link(collapser *x, uint32_t link)
{
    const link_ids *ids = &x->w.m->dict.links.v[link];
    char trace[33], parent[17];
    hex_encode(ids->trace_id, 16, trace);
    hex_encode(ids->span_id, 8, parent);
    if (id_is_zero(ids->trace_id, 16) || id_is_zero(ids->span_id, 8)) {
        text_lose(&x->w, LOSS_LINK, 1, (str){0}, "link_table[%u] with one id", link);
        return;
    }
    buf_printf(&x->tail, "%strace_id=0x%s,span_id=0x%s", x->tail.n ? "," : " ", trace, parent);
}

static bool put_parts(collapser *x, const sample *s)
{
    x->frames.n = 0;
    buf_reset(&x->head), buf_reset(&x->tail);
    if (!text_write_thread(&x->w, s, &x->frames)) return false;
    if (!text_write_stack(&x->w, s->stack, &x->frames)) return false;
    text_put_stack(&x->w, &x->head, x->frames.v, x->frames.n);
    for (uint32_t k = 0; k < s->n_attrs; k++) put_attr(x, &x->w.m->dict.attributes.v[s->attrs[k]]);
    if (s->link) put_link(x, s->link);
    return !x->head.failed && !x->tail.failed;
}

/* Writes microseconds when that is exact, as in the draft's example; otherwise ns. */
static void put_time(collapser *x, buf *out, uint64_t ns)
{
    if (ns < NS_MIN) {
        text_lose(&x->w, LOSS_TIMESTAMP, 1, (str){0}, "a time before 1973");
        return;
    }
    buf_putc(out, ' ');
    buf_u64(out, ns % 1000 ? ns : ns / 1000);
}

/* Returns whether the reader would split the line differently, for example because a name ends in a
 * number. If so, replaces the last space of the stack; the caller then writes the line again. */
static bool fix_misread(collapser *x, const buf *out, size_t from)
{
    collapsed_line f;
    str row = {out->p + from, out->n - from};
    char *space = memrchr(x->head.p, ' ', x->head.n);
    if (!space || (collapsed_parse(row, &f) && f.stack.n == x->head.n)) return false;
    *space = '_';
    text_lose(&x->w, LOSS_NAME, 1, (str){0}, "space before a number in a name");
    return true;
}

static void put_line(collapser *x, buf *out, int64_t value, const uint64_t *time)
{
    size_t from = out->n;
    do {
        out->n = from;
        buf_str(out, buf_view(&x->head));
        buf_putc(out, ' ');
        buf_i64(out, value);
        buf_str(out, buf_view(&x->tail));
        if (time) put_time(x, out, *time);
    } while (!out->failed && fix_misread(x, out, from));
    buf_putc(out, '\n');
}

static bool put_sample(collapser *x, const sample *s, buf *out)
{
    if (!put_parts(x, s)) return false;
    if (s->n_times && s->n_values &&
        s->n_values != s->n_times) { /* times and values do not pair up */
        text_lose(&x->w, LOSS_TIMESTAMP, s->n_times, (str){0}, "samples[].timestamps_unix_nano");
        put_line(x, out, sample_total(s, NULL), NULL);
        return true;
    }
    for (uint32_t i = 0; i < sample_observations(s); i++)
        put_line(x, out, s->n_values ? s->values[i] : 1, s->n_times ? &s->times[i] : NULL);
    return true;
}

static bool put_all(collapser *x, buf *out)
{
    const model *m = x->w.m;
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        for (size_t k = 0; x->w.chosen[i] && k < p->n_samples; k++) {
            sample s = sample_at(m, p, k);
            if (!put_sample(x, &s, out)) return false;
        }
    }
    return true;
}

bool collapsed_write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    collapser x = {0};
    buf text = {.limit = out->limit};
    bool ok = text_write_open(&x.w, m, o, STR(""), STR(""), e);
    if (x.w.scale != 1) /* the format has integers only */
        text_lose(&x.w, LOSS_ATTRIBUTE, 1, STR(KILN_ATTR_VALUE_SCALE), "profiles[0].attributes");
    ok = ok && (put_all(&x, &text) || err_memory(e));
    out->failed |= text.failed;
    if (ok && text.n && !text.failed && !f->detect(buf_view(&text))) buf_z(out, COLLAPSED_MARK);
    if (!text.failed) buf_str(out, buf_view(&text));
    ok = ok && (!out->failed || err_set(e, ERR_LIMIT, "the output exceeds its size limit"));
    text_write_close(&x.w);
    buf_free(&x.head), buf_free(&x.tail), buf_free(&text);
    return ok;
}
