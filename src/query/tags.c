/* Attributes of samples as labels of pprof: text, or numbers with a unit.  A tag filter
 * evaluates each attribute once and stores the result as bits; a sample combines the bits of its
 * attributes. */
#include "query/internal.h"
#include "base/buf.h"
#include "query/unit.h"

#include "base/ban.h"
#include <inttypes.h>

enum { TAG_PATTERNS = 31 };

struct tag_filter {
    const model *m;
    str key; /* empty: any */
    /* a range of numbers */
    bool is_range, has_low, has_high;
    double low, high;
    str unit;
    uint32_t *unit_of_key; /* by string: unit of the first attribute with that key that has one */
    /* or patterns */
    pattern *rx[TAG_PATTERNS];
    size_t n_rx;
    uint32_t want;  /* bits that a sample's attributes must have together */
    uint32_t *attr; /* by attribute: its bits, with KNOWN */
    uint32_t *link; /* by link: its bits, with KNOWN */
};

#define KNOWN (UINT32_C(1) << 31)

/* ---- ranges: "32kb", ":64kb", "4mb:", "12kb:64mb" ---- */

static bool take_number(str *s, int64_t *v, str *unit)
{
    size_t i = 0, digits = 0;
    bool minus = s->n && s->p[0] == '-';
    if (s->n && (s->p[0] == '-' || s->p[0] == '+')) i++;
    int64_t x = 0;
    for (; i < s->n && s->p[i] >= '0' && s->p[i] <= '9'; i++, digits++)
        if (ckd_mul(&x, x, 10) || ckd_add(&x, x, s->p[i] - '0')) return false;
    if (!digits) return false;
    size_t u = i;
    while (i < s->n && ((s->p[i] | 0x20) >= 'a' && (s->p[i] | 0x20) <= 'z')) i++;
    *unit = (str){s->p + u, i - u};
    *v = minus ? -x : x;
    *s = (str){s->p + i, s->n - i};
    return true;
}

static bool take_colon(str *s)
{
    if (!s->n || s->p[0] != ':') return false;
    *s = (str){s->p + 1, s->n - 1};
    return true;
}

/* Returns false when the text is not a range. */
static bool parse_range(tag_filter *f, str s)
{
    int64_t v;
    str unit, other;
    bool open_low = take_colon(&s);
    if (!take_number(&s, &v, &unit)) return false;
    double x = unit_scale(v, unit, unit, &f->unit);
    f->has_low = !open_low;
    f->has_high = open_low;
    f->low = f->high = x;
    if (open_low) return !s.n;
    if (!s.n) return f->has_high = true;
    if (!take_colon(&s)) return false;
    if (!s.n) return true;
    if (!take_number(&s, &v, &unit) || s.n) return false;
    f->has_high = true;
    f->high = unit_scale(v, unit, f->unit, &other);
    return str_eq(other, f->unit);
}

static bool in_range(const tag_filter *f, int64_t v, str unit)
{
    str name;
    double x = unit_scale(v, unit, f->unit, &name);
    return str_eq(name, f->unit) && (!f->has_low || x >= f->low) && (!f->has_high || x <= f->high);
}

static bool find_units(tag_filter *f, arena *a, err *e)
{
    const dict *d = &f->m->dict;
    f->unit_of_key = arena_new(a, uint32_t, d->strings.n + 1);
    if (!f->unit_of_key) return err_memory(e);
    for (size_t i = 0; i < d->attributes.n; i++) {
        const attribute *x = &d->attributes.v[i];
        if (x->unit && !f->unit_of_key[x->key]) f->unit_of_key[x->key] = x->unit;
    }
    return true;
}

/* Returns the unit of a number; without one, the unit that pprof assumes. */
static str number_unit(const tag_filter *f, const attribute *x)
{
    const dict *d = &f->m->dict;
    str key = dict_str(d, x->key);
    if (x->unit) return dict_str(d, x->unit);
    if (f->unit_of_key[x->key]) return dict_str(d, f->unit_of_key[x->key]);
    if (str_eq(key, STR("alignment")) || str_eq(key, STR("request"))) return STR("bytes");
    return key;
}

/* ---- compiling ---- */

static bool compile_list(tag_filter *f, str text, bool literal, const char *name, arena *a, err *e)
{
    for (size_t at = 0; at <= text.n;) {
        const char *comma = at < text.n ? memchr(text.p + at, ',', text.n - at) : NULL;
        size_t n = comma ? (size_t)(comma - text.p) - at : text.n - at;
        if (f->n_rx == TAG_PATTERNS)
            return err_set(e, ERR_USAGE, "%s: more than %d patterns", name, TAG_PATTERNS);
        if (!pattern_new((str){text.p + at, n}, literal, name, a, &f->rx[f->n_rx], e)) return false;
        f->n_rx++;
        at += n + 1;
    }
    f->want = f->key.n ? 1 : (UINT32_C(1) << f->n_rx) - 1;
    return true;
}

bool tag_filter_new(str text, bool literal, const char *name, const model *m, arena *a,
                    tag_filter **out, err *e)
{
    tag_filter *f = *out = arena_new(a, tag_filter, 1);
    if (!f) return err_memory(e);
    f->m = m;
    const char *equals = text.n ? memchr(text.p, '=', text.n) : NULL;
    if (equals) {
        size_t n = (size_t)(equals - text.p);
        f->key = (str){text.p, n};
        text = (str){equals + 1, text.n - n - 1};
    }
    f->attr = arena_new(a, uint32_t, m->dict.attributes.n + 1);
    f->link = arena_new(a, uint32_t, m->dict.links.n + 1);
    if (!f->attr || !f->link) return err_memory(e);
    f->is_range = parse_range(f, text);
    f->want = 1;
    return f->is_range ? find_units(f, a, e) : compile_list(f, text, literal, name, a, e);
}

void tag_filter_free(tag_filter *f)
{
    for (size_t i = 0; f && i < f->n_rx; i++) pattern_free(f->rx[i]);
}

/* ---- matching ---- */

static bool match_text(tag_filter *f, str key, str value, uint32_t *bits, err *e)
{
    buf both = {0}; /* without a key, the pattern matches key:value, as in pprof */
    if (f->is_range) return true;
    if (!f->key.n) buf_str(&both, key), buf_putc(&both, ':');
    buf_str(&both, value);
    bool ok = !both.failed || err_memory(e);
    for (size_t i = 0; ok && i < f->n_rx; i++) {
        bool yes;
        ok = pattern_match(f->rx[i], buf_view(&both), &yes, e);
        if (ok && yes) *bits |= f->key.n ? 1 : UINT32_C(1) << i;
    }
    buf_free(&both);
    return ok;
}

static bool match_any(tag_filter *f, str key, const any *v, str unit, uint32_t *bits, err *e)
{
    char text[32];
    switch (v->kind) {
    case ANY_STRING: return match_text(f, key, any_str(v), bits, e);
    case ANY_INT:
        if (f->is_range) *bits |= in_range(f, v->i, unit);
        return true;
    case ANY_BOOL: return match_text(f, key, v->i ? STR("true") : STR("false"), bits, e);
    case ANY_DOUBLE: {
        int n = snprintf(text, sizeof text, "%.17g", v->d);
        return match_text(f, key, (str){text, (size_t)n}, bits, e);
    }
    case ANY_ARRAY:
        for (uint32_t i = 0; i < v->n; i++) {
            const any *x = &v->array[i];
            if (x->kind != ANY_ARRAY && x->kind != ANY_KVLIST &&
                !match_any(f, key, x, unit, bits, e))
                return false;
            for (uint32_t k = 0; x->kind == ANY_KVLIST && k < x->n; k++)
                if ((x->kvlist[k].value.kind == ANY_STRING || x->kvlist[k].value.kind == ANY_INT) &&
                    !str_eq(x->kvlist[k].key, STR("unit")) &&
                    !match_any(f, key, &x->kvlist[k].value, unit, bits, e))
                    return false;
        }
        return true;
    default: return true;
    }
}

static bool bits_of_attr(tag_filter *f, uint32_t i, uint32_t *bits, err *e)
{
    uint32_t *slot = &f->attr[i];
    if (!(*slot & KNOWN)) {
        const attribute *x = &f->m->dict.attributes.v[i];
        str key = dict_str(&f->m->dict, x->key);
        uint32_t b = 0;
        str unit = f->is_range ? number_unit(f, x) : (str){0};
        if ((!f->key.n || str_eq(f->key, key)) && !match_any(f, key, &x->value, unit, &b, e))
            return false;
        *slot = b | KNOWN;
    }
    *bits |= *slot;
    return true;
}

/* Evaluates a link like an attribute, because in pprof trace and span ids are labels. */
static bool bits_of_link(tag_filter *f, uint32_t i, uint32_t *bits, err *e)
{
    uint32_t *slot = &f->link[i];
    if (!(*slot & KNOWN)) {
        const link_ids *l = &f->m->dict.links.v[i];
        char trace[33], span_id[17];
        hex_encode(l->trace_id, 16, trace);
        hex_encode(l->span_id, 8, span_id);
        const str keys[] = {STR("trace_id"), STR("span_id")};
        const str values[] = {str_of(trace), str_of(span_id)};
        uint32_t b = 0;
        for (size_t k = 0; k < 2; k++)
            if ((!f->key.n || str_eq(f->key, keys[k])) && !match_text(f, keys[k], values[k], &b, e))
                return false;
        *slot = b | KNOWN;
    }
    *bits |= *slot;
    return true;
}

bool tag_filter_match(tag_filter *f, const sample *s, bool *yes, err *e)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < s->n_attrs; i++)
        if (!bits_of_attr(f, s->attrs[i], &bits, e)) return false;
    if (s->link && !bits_of_link(f, s->link, &bits, e)) return false;
    *yes = (bits & f->want) == f->want;
    return true;
}

/* ---- values as text ---- */

bool tag_texts_init(tag_texts *t, const model *m, arena *a, err *e)
{
    *t = (tag_texts){.m = m, .a = a};
    t->text = arena_new(a, str, m->dict.attributes.n + 1);
    t->trace = arena_new(a, str, m->dict.links.n + 1);
    t->span = arena_new(a, str, m->dict.links.n + 1);
    return (t->text && t->trace && t->span) || err_memory(e);
}

static bool kept(arena *a, const char *p, size_t n, str *out, err *e)
{
    char *copy = arena_alloc(a, n ? n : 1);
    if (!copy) return err_memory(e);
    memcpy(copy, p, n);
    *out = (str){copy, n};
    return true;
}

static void put_value(buf *b, const any *v, str unit, bool numbers)
{
    char text[UNIT_TEXT_MAX];
    bool number = v->kind == ANY_INT || v->kind == ANY_DOUBLE;
    if (v->kind == ANY_ARRAY) {
        for (uint32_t i = 0; i < v->n; i++)
            if (v->array[i].kind != ANY_ARRAY) put_value(b, &v->array[i], unit, numbers);
        return;
    }
    if (v->kind == ANY_KVLIST) { /* {str, num, unit} of repeated labels */
        for (uint32_t i = 0; i < v->n; i++)
            if (str_eq(v->kvlist[i].key, STR("unit"))) unit = any_str(&v->kvlist[i].value);
        for (uint32_t i = 0; i < v->n; i++)
            if (!str_eq(v->kvlist[i].key, STR("unit")) && v->kvlist[i].value.kind <= ANY_DOUBLE)
                put_value(b, &v->kvlist[i].value, unit, numbers);
        return;
    }
    if (number != numbers) return;
    if (b->n) buf_putc(b, ',');
    if (v->kind == ANY_STRING) buf_str(b, any_str(v));
    if (v->kind == ANY_BOOL) buf_z(b, v->i ? "true" : "false");
    if (v->kind == ANY_DOUBLE) buf_printf(b, "%.17g", v->d);
    if (v->kind == ANY_INT)
        buf_put(b, text, unit_label(v->i, unit, unit.n ? STR("auto") : STR(""), text));
}

bool tag_text_of(tag_texts *t, uint32_t i, str *out, err *e)
{
    if (!t->text[i].p) {
        const attribute *x = &t->m->dict.attributes.v[i];
        str unit = dict_str(&t->m->dict, x->unit);
        buf b = {0};
        put_value(&b, &x->value, unit, false);
        put_value(&b, &x->value, unit, true);
        bool ok = !b.failed ? kept(t->a, b.p ? b.p : "", b.n, &t->text[i], e) : err_memory(e);
        buf_free(&b);
        if (!ok) return false;
    }
    *out = t->text[i];
    return true;
}

static bool text_of_link(tag_texts *t, uint32_t i, bool of_trace, str *out, err *e)
{
    str *slot = of_trace ? &t->trace[i] : &t->span[i];
    const link_ids *l = &t->m->dict.links.v[i];
    char hex[33];
    hex_encode(of_trace ? l->trace_id : l->span_id, of_trace ? 16 : 8, hex);
    if (!slot->p && !kept(t->a, hex, strlen(hex), slot, e)) return false;
    *out = *slot;
    return true;
}

bool tag_text(tag_texts *t, const sample *s, str key, str *out, err *e)
{
    const dict *d = &t->m->dict;
    *out = STR("");
    for (uint32_t i = 0; i < s->n_attrs; i++)
        if (str_eq(dict_str(d, d->attributes.v[s->attrs[i]].key), key))
            return tag_text_of(t, s->attrs[i], out, e);
    bool trace = str_eq(key, STR("trace_id")), is_span = str_eq(key, STR("span_id"));
    return !s->link || !(trace || is_span) || text_of_link(t, s->link, trace, out, e);
}
