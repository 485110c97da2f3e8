/* Writes attributes as labels. A label holds a text or a number; any other value becomes text,
 * which the ledger records. */
#include "format/pprof_write.h"

#include "wire/attributes.h"
#include "wire/json.h"
#include "wire/pb.h"
#include "base/ban.h"

/* ---- values as text ---- */

void pw_any_text(const any *v, buf *b)
{
    if (v->kind == ANY_STRING) {
        buf_str(b, any_str(v));
        return;
    }
    json_out o = {.b = b};
    value_json(&o, v);
}

/* ---- records ---- */

typedef struct label {
    uint32_t key, text, unit; /* strings of the output; 0: none */
    int64_t num;
} label;

static void put_record(const label *l, buf *b)
{
    uint64_t v[4] = {l->key, l->text, (uint64_t)l->num, l->unit};
    uint64_t n = 0;
    for (size_t i = 0; i < 4; i++)
        if (v[i]) n += 1 + pb_varint_len(v[i]);
    buf_putc(b, 0x1a);
    pb_put_varint(b, n);
    for (uint32_t i = 0; i < 4; i++)
        if (v[i]) pb_put_uint(b, i + 1, v[i]);
}

/* Sets *out to the string index of a label's text. An empty text needs an index other than 0, which
 * would make the label the number 0. */
static bool label_text(pw *w, str s, uint32_t *out)
{
    if (s.n) return pw_text(w, s, out);
    if (!w->empty) {
        str *slot = vec_push(&w->a, &w->strings);
        if (!slot) return err_memory(w->e);
        *slot = (str){"", 0};
        w->empty = (uint32_t)(w->strings.n - 1);
    }
    *out = w->empty;
    return true;
}

bool pw_put_num(pw *w, str key, int64_t num, str unit, buf *b)
{
    label l = {.num = num};
    if (!pw_text(w, key, &l.key) || !pw_text(w, unit, &l.unit)) return false;
    put_record(&l, b);
    return true;
}

/* Returns whether v is a list {"str", "num", "unit"}, which the reader makes of labels that a plain
 * value cannot represent. */
static bool is_label_list(const any *v)
{
    if (v->kind != ANY_KVLIST || !v->n || v->n > 3) return false;
    unsigned seen = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        str k = v->kvlist[i].key;
        uint32_t kind = v->kvlist[i].value.kind;
        unsigned bit = str_eq(k, STR("str")) && kind == ANY_STRING    ? 1
                       : str_eq(k, STR("num")) && kind == ANY_INT     ? 2
                       : str_eq(k, STR("unit")) && kind == ANY_STRING ? 4
                                                                      : 0;
        if (!bit || (seen & bit)) return false;
        seen |= bit;
    }
    return seen != 4;
}

static bool from_list(pw *w, const any *v, label *l)
{
    for (uint32_t i = 0; i < v->n; i++) {
        const any *x = &v->kvlist[i].value;
        bool ok = true;
        switch (v->kvlist[i].key.p[0]) {
        case 's': ok = label_text(w, any_str(x), &l->text); break;
        case 'n': l->num = x->i; break;
        default: ok = pw_text(w, any_str(x), &l->unit);
        }
        if (!ok) return false;
    }
    return true;
}

static bool is_plain(const any *v)
{
    return v->kind == ANY_STRING || v->kind == ANY_INT || is_label_list(v);
}

static bool put_plain(pw *w, label l, const any *v, buf *b)
{
    if (v->kind == ANY_INT)
        l.num = v->i;
    else if (v->kind == ANY_STRING ? !label_text(w, any_str(v), &l.text) : !from_list(w, v, &l))
        return false;
    put_record(&l, b);
    return true;
}

/* Returns whether v is written as several labels of one key. A list of one would not be read back
 * as a list. */
static bool is_several(const any *v)
{
    if (v->kind != ANY_ARRAY || v->n < 2) return false;
    for (uint32_t i = 0; i < v->n; i++)
        if (!is_plain(&v->array[i])) return false;
    return true;
}

static bool put_as_text(pw *w, label l, const any *v, buf *b)
{
    buf text = {0};
    pw_any_text(v, &text);
    bool ok = !text.failed && label_text(w, buf_view(&text), &l.text);
    if (text.failed) err_memory(w->e);
    /* The table stores a view, so the writer must own the text. */
    if (ok && l.text != w->empty) {
        str *slot = &w->strings.v[l.text];
        if (slot->p == text.p) {
            char *p = arena_alloc(&w->a, slot->n);
            ok = p || err_memory(w->e);
            if (p) slot->p = memcpy(p, text.p, slot->n);
        }
    }
    buf_free(&text);
    if (ok) put_record(&l, b);
    return ok;
}

/* Writes all records of a value. Sets *exact to whether a reader restores it unchanged. */
static bool put_value(pw *w, str key, const any *v, str unit, buf *b, bool *exact)
{
    label l = {0};
    *exact = true;
    if (!pw_text(w, key, &l.key) || !pw_text(w, unit, &l.unit)) return false;
    if (is_plain(v)) return put_plain(w, l, v, b);
    if (is_several(v)) {
        for (uint32_t i = 0; i < v->n; i++)
            if (!put_plain(w, l, &v->array[i], b)) return false;
        return true;
    }
    *exact = false;
    return put_as_text(w, l, v, b);
}

static bool store_records(pw *w, str *out)
{
    buf *b = &w->scratch;
    char *p = arena_alloc(&w->a, b->n ? b->n : 1);
    if (!p || b->failed) return err_memory(w->e);
    if (b->n) memcpy(p, b->p, b->n);
    *out = (str){p, b->n};
    return true;
}

bool pw_attr_label(pw *w, uint32_t attr, const pw_label **out)
{
    pw_label *l = &w->attr_label[attr];
    *out = l;
    if (LIKELY(l->records.p)) return true;
    const attribute *t = &w->d->attributes.v[attr];
    str key = dict_str(w->d, t->key);
    bool exact;
    buf_reset(&w->scratch);
    if (!attr && !key.n && !t->unit && t->value.kind == ANY_EMPTY) {
        l->records = STR(""); /* the zero attribute is empty */
        return true;
    }
    if (!put_value(w, key, &t->value, dict_str(w->d, t->unit), &w->scratch, &exact)) return false;
    if (!exact) {
        char path[48];
        snprintf(path, sizeof path, "attribute_table[%u]", attr);
        pw_lose(w, LOSS_ATTRIBUTE_TYPE, NULL, 1, path, key);
    }
    if (!pw_text(w, key, &l->key)) return false;
    if (t->value.kind == ANY_STRING && !t->unit)
        l->kind = pprof_label_kind(key, any_str(&t->value));
    l->is_id = str_eq(key, STR("trace_id")) || str_eq(key, STR("span_id"));
    return store_records(w, &l->records);
}

static bool put_hex(pw *w, str key, const uint8_t *id, size_t n)
{
    char *hex = arena_alloc(&w->a, 2 * n + 1);
    label l = {0};
    if (!hex) return err_memory(w->e);
    hex_encode(id, n, hex);
    if (!pw_text(w, key, &l.key) || !pw_text(w, (str){hex, 2 * n}, &l.text)) return false;
    put_record(&l, &w->scratch);
    return true;
}

bool pw_link_label(pw *w, uint32_t link, str *out)
{
    str *l = &w->link_label[link];
    if (!l->p) {
        const link_ids *ids = &w->d->links.v[link];
        buf_reset(&w->scratch);
        bool set = !id_is_zero(ids->trace_id, 16) || !id_is_zero(ids->span_id, 8);
        if (set && (!put_hex(w, STR("trace_id"), ids->trace_id, 16) ||
                    !put_hex(w, STR("span_id"), ids->span_id, 8)))
            return false;
        if (!store_records(w, l)) return false;
    }
    *out = *l;
    return true;
}

bool pw_resource_label(pw *w, uint32_t i, str *out)
{
    str *l = &w->resource_label[i];
    if (!l->p) {
        const resource *r = &w->m->resources.v[i];
        buf_reset(&w->scratch);
        for (size_t k = 0; k < r->attrs.n; k++) {
            bool exact;
            const keyvalue *kv = &r->attrs.v[k];
            if (!put_value(w, kv->key, &kv->value, (str){0}, &w->scratch, &exact)) return false;
            pw_lose(w, LOSS_RESOURCE, exact ? "label" : NULL, 1, "resource", kv->key);
        }
        if (!store_records(w, l)) return false;
    }
    *out = *l;
    return true;
}
