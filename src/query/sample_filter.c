/* Selects samples by attributes, thread, trace and span.  Results are cached per attribute,
 * because many samples share attributes. */
#include "query/internal.h"
#include "wire/carried.h"
#include "base/text.h"

#include "base/ban.h"

static bool hex_id(str text, size_t n, const char *name, uint8_t *out, err *e)
{
    if (!text.n) return true;
    return hex_bytes(text, out, n) || err_set(e, ERR_USAGE, "%s: `%.*s` is not %zu hex digits",
                                              name, text.n > 60 ? 60 : (int)text.n, text.p, 2 * n);
}

static int64_t plain_number(str s)
{
    int64_t v = 0;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9' || ckd_mul(&v, v, 10) || ckd_add(&v, v, s.p[i] - '0'))
            return -1;
    return s.n ? v : -1;
}

bool sample_filter_init(sample_filter *x, const model *m, const select_opts *o, arena *a, err *e)
{
    *x = (sample_filter){.m = m, .o = o, .thread_id = plain_number(o->thread)};
    x->plain = !o->tagfocus.n && !o->tagignore.n && !o->thread.n && !o->trace_id.n && !o->span_id.n;
    if (o->tagfocus.n && !tag_filter_new(o->tagfocus, o->literal, "tagfocus", m, a, &x->focus, e))
        return false;
    if (o->tagignore.n &&
        !tag_filter_new(o->tagignore, o->literal, "tagignore", m, a, &x->ignore, e))
        return false;
    if (o->thread.n) {
        x->thread = arena_new(a, uint8_t, m->dict.attributes.n + 1);
        if (!x->thread) return err_memory(e);
        if (!pattern_new(o->thread, o->literal, "thread", a, &x->thread_name, e)) return false;
    }
    return hex_id(o->trace_id, 16, "trace-id", x->ids, e) &&
           hex_id(o->span_id, 8, "span-id", x->ids + 16, e);
}

void sample_filter_free(sample_filter *x)
{
    tag_filter_free(x->focus);
    tag_filter_free(x->ignore);
    pattern_free(x->thread_name);
}

static bool is_thread(sample_filter *x, uint32_t i, bool *yes, err *e)
{
    uint8_t *seen = &x->thread[i];
    if (!*seen) {
        const attribute *t = &x->m->dict.attributes.v[i];
        str key = dict_str(&x->m->dict, t->key);
        bool hit = t->value.kind == ANY_INT && t->value.i == x->thread_id &&
                   str_eq(key, STR(ATTR_THREAD_ID));
        if (t->value.kind == ANY_STRING && str_eq(key, STR(ATTR_THREAD_NAME)) &&
            !pattern_match(x->thread_name, any_str(&t->value), &hit, e))
            return false;
        *seen = hit ? 2 : 1;
    }
    *yes |= *seen == 2;
    return true;
}

bool sample_filter_passes(sample_filter *x, const sample *s, bool *yes, err *e)
{
    const select_opts *o = x->o;
    *yes = true;
    if (o->trace_id.n || o->span_id.n) {
        const link_ids *l = s->link ? &x->m->dict.links.v[s->link] : NULL;
        *yes = l && (!o->trace_id.n || !memcmp(l->trace_id, x->ids, 16)) &&
               (!o->span_id.n || !memcmp(l->span_id, x->ids + 16, 8));
        if (!*yes) return true;
    }
    if (o->thread.n) {
        *yes = false;
        for (uint32_t i = 0; i < s->n_attrs; i++)
            if (!is_thread(x, s->attrs[i], yes, e)) return false;
        if (!*yes) return true;
    }
    bool focused = true, ignored = false;
    if (x->focus && !tag_filter_match(x->focus, s, &focused, e)) return false;
    if (x->ignore && !tag_filter_match(x->ignore, s, &ignored, e)) return false;
    x->focus_hit |= focused;
    x->ignore_hit |= ignored;
    *yes = focused && !ignored;
    return true;
}
