/* Collects the metadata of a profile: comments, filters, times. Records what pprof cannot
 * represent. */
#include "format/pprof_write.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- texts ---- */

static bool add_comment(pw *w, pw_texts *t, str s)
{
    uint32_t *slot = vec_push(&w->a, &t->comments);
    if (!slot) return err_memory(w->e);
    return pw_text(w, s, slot);
}

static bool comments_of(pw *w, pw_texts *t, const any *v)
{
    if (v->kind != ANY_ARRAY) return add_comment(w, t, pw_attr_text(v));
    for (uint32_t i = 0; i < v->n; i++)
        if (!add_comment(w, t, pw_attr_text(&v->array[i]))) return false;
    return true;
}

static bool is_texts(const any *v)
{
    if (v->kind != ANY_ARRAY) return v->kind == ANY_STRING;
    if (!v->n) return false;
    for (uint32_t i = 0; i < v->n; i++)
        if (v->array[i].kind != ANY_STRING) return false;
    return true;
}

/* Stores drop_frames, keep_frames or doc_url. Only the first text is written. */
static bool one_text(pw *w, uint32_t *slot, str s, loss_concept concept, const char *path)
{
    uint32_t i;
    if (!pw_text(w, s, &i)) return false;
    if (*slot && *slot != i) pw_lose(w, concept, NULL, 1, path, s);
    if (!*slot) *slot = i;
    return true;
}

static bool profile_attr(pw *w, pw_texts *t, uint32_t attr)
{
    for (size_t i = 0; i < t->done.n; i++)
        if (t->done.v[i] == attr) return true; /* Profiles of a pprof share them */
    enum { REMEMBERED = 32 };
    if (t->done.n < REMEMBERED) {
        uint32_t *slot = vec_push(&w->a, &t->done);
        if (!slot) return err_memory(w->e);
        *slot = attr;
    }
    const attribute *a = &w->d->attributes.v[attr];
    str key = dict_str(w->d, a->key), text = pw_attr_text(&a->value);
    if (a->unit) pw_lose(w, LOSS_ATTRIBUTE_UNIT, NULL, 1, "profiles", dict_str(w->d, a->unit));
    /* The Collector's translator numbers its comments: pprof.profile.comment.0 and so on. */
    bool comment = str_starts(key, STR(PPROF_ATTR_COMMENT));
    if (comment && is_texts(&a->value)) return comments_of(w, t, &a->value);
    if (text.n) {
        if (str_eq(key, STR(PPROF_ATTR_DROP_FRAMES)))
            return one_text(w, &t->drop_frames, text, LOSS_DROP_KEEP_FRAMES, "drop_frames");
        if (str_eq(key, STR(PPROF_ATTR_KEEP_FRAMES)))
            return one_text(w, &t->keep_frames, text, LOSS_DROP_KEEP_FRAMES, "keep_frames");
        if (str_eq(key, STR(PPROF_ATTR_DOC_URL)))
            return one_text(w, &t->doc_url, text, LOSS_COMMENTS, "doc_url");
    }
    pw_lose(w, LOSS_ATTRIBUTE, NULL, 1, "profiles.attribute_indices", key);
    return true;
}

static bool same_attrs(const pw *w, span a, span b)
{
    const u32s *refs = &w->d->attr_refs;
    return a.n == b.n &&
           (!a.n || !memcmp(refs_at(refs, a), refs_at(refs, b), a.n * sizeof(uint32_t)));
}

/* Records the loss when profiles have different texts, because pprof has one set for all. */
static void note_shared_texts(pw *w, const pw_texts *t, size_t n_comments)
{
    if (t->comments.n == n_comments && !t->drop_frames && !t->keep_frames && !t->doc_url) return;
    const profile *v = w->m->profiles.v;
    for (size_t i = 1; i < w->m->profiles.n; i++)
        if (!same_attrs(w, v[0].attrs, v[i].attrs))
            pw_lose(w, LOSS_COMMENTS, NULL, 1, "profiles.attribute_indices",
                    STR("which profile they belong to"));
}

static bool profile_texts(pw *w, pw_texts *t)
{
    size_t n_comments = t->comments.n;
    for (size_t i = 0; i < w->m->profiles.n; i++) {
        const profile *p = &w->m->profiles.v[i];
        const uint32_t *attrs = refs_at(&w->d->attr_refs, p->attrs);
        for (uint32_t k = 0; k < p->attrs.n; k++)
            if (attrs[k] && !profile_attr(w, t, attrs[k])) return false;
        if (!id_is_zero(p->profile_id, sizeof p->profile_id))
            pw_lose(w, LOSS_PROFILE_ID, NULL, 1, "profiles.profile_id", (str){0});
        if (p->original_payload.n || p->original_payload_format.n)
            pw_lose(w, LOSS_ORIGINAL_PAYLOAD, NULL, 1, "profiles.original_payload",
                    p->original_payload_format);
        if (p->dropped_attributes_count)
            pw_lose(w, LOSS_ATTRIBUTE_SET, NULL, 1, "profiles.dropped_attributes_count", (str){0});
    }
    note_shared_texts(w, t, n_comments);
    return true;
}

/* Writes a single resource as comments such as "service.name=checkout". Several become labels. */
static bool resource_comments(pw *w, pw_texts *t, const resource *r)
{
    for (size_t i = 0; i < r->attrs.n; i++) {
        buf b = {0};
        buf_str(&b, r->attrs.v[i].key);
        buf_putc(&b, '=');
        pw_any_text(&r->attrs.v[i].value, &b);
        char *p = b.failed ? NULL : arena_alloc(&w->a, b.n);
        if (p) memcpy(p, b.p, b.n);
        str s = {p, b.n};
        buf_free(&b);
        if (!p || !add_comment(w, t, s)) return err_memory(w->e);
        pw_lose(w, LOSS_RESOURCE, PPROF_ATTR_COMMENT, 1, "resource", r->attrs.v[i].key);
    }
    return true;
}

static bool is_pprof_key(str key)
{
    return str_eq(key, STR(PPROF_ATTR_SAMPLE_TYPE_ORDER)) ||
           str_eq(key, STR(PPROF_ATTR_DEFAULT_SAMPLE_TYPE));
}

static void lose_scope(pw *w, const scope *s)
{
    if (s->name.n || s->version.n) pw_lose(w, LOSS_RESOURCE, NULL, 1, "scope", s->name);
    if (s->schema_url.n) pw_lose(w, LOSS_RESOURCE, NULL, 1, "scope.schema_url", s->schema_url);
    for (size_t i = 0; i < s->attrs.n; i++)
        if (!is_pprof_key(s->attrs.v[i].key))
            pw_lose(w, LOSS_RESOURCE, NULL, 1, "scope.attributes", s->attrs.v[i].key);
    if (s->dropped_attributes_count)
        pw_lose(w, LOSS_ATTRIBUTE_SET, NULL, 1, "scope.dropped_attributes_count", (str){0});
}

static void lose_resource(pw *w, const resource *r)
{
    if (r->schema_url.n) pw_lose(w, LOSS_RESOURCE, NULL, 1, "resource.schema_url", r->schema_url);
    if (r->n_entity_refs)
        pw_lose(w, LOSS_ENTITY_REF, NULL, r->n_entity_refs, "resource.entity_refs",
                r->entity_refs[0].type);
    if (r->dropped_attributes_count)
        pw_lose(w, LOSS_ATTRIBUTE_SET, NULL, 1, "resource.dropped_attributes_count", (str){0});
}

/* Records the loss of a resource without samples, which would carry its labels. */
static void lose_unused(pw *w, const resource *r)
{
    for (uint32_t k = r->first_scope; k < r->first_scope + r->n_scopes; k++) {
        const scope *s = &w->m->scopes.v[k];
        for (uint32_t i = s->first_profile; i < s->first_profile + s->n_profiles; i++)
            if (w->m->profiles.v[i].n_samples) return;
    }
    for (size_t i = 0; i < r->attrs.n; i++)
        pw_lose(w, LOSS_RESOURCE, NULL, 1, "resource", r->attrs.v[i].key);
}

static bool envelope(pw *w, pw_texts *t)
{
    const model *m = w->m;
    for (size_t i = 0; i < m->scopes.n; i++) lose_scope(w, &m->scopes.v[i]);
    for (size_t i = 0; i < m->resources.n; i++) lose_resource(w, &m->resources.v[i]);
    if (m->resources.n == 1) return resource_comments(w, t, &m->resources.v[0]);
    if (m->resources.n < 2) return true;
    for (size_t i = 0; i < m->resources.n; i++) lose_unused(w, &m->resources.v[i]);
    w->resource_label = arena_new(&w->a, str, m->resources.n);
    return w->resource_label || err_memory(w->e);
}

/* ---- times ---- */

static bool same_value_type(const pw *w, value_type a, value_type b)
{
    return str_eq(dict_str(w->d, a.type), dict_str(w->d, b.type)) &&
           str_eq(dict_str(w->d, a.unit), dict_str(w->d, b.unit));
}

/* Returns the time range of all profiles and the period of the first. */
pw_window pw_window_of(pw *w)
{
    const profile *v = w->m->profiles.v;
    size_t n = w->m->profiles.n;
    pw_window x = {0};
    for (size_t i = 0; i < n; i++) {
        uint64_t start = v[i].time_unix_nano, end;
        if (ckd_add(&end, start, v[i].duration_nano)) end = UINT64_MAX;
        if (!i) x = (pw_window){start, end, v[i].period_type, v[i].period};
        if (v[i].time_unix_nano != v[0].time_unix_nano || v[i].duration_nano != v[0].duration_nano)
            pw_lose(w, LOSS_TIME, NULL, 1, "profiles.time_unix_nano", STR("differ"));
        if (v[i].period != v[0].period || !same_value_type(w, v[i].period_type, v[0].period_type))
            pw_lose(w, LOSS_PERIOD, NULL, 1, "profiles.period",
                    dict_str(w->d, v[i].period_type.type));
        if (start && (!x.start || start < x.start)) x.start = start;
        if (end > x.end) x.end = end;
    }
    return x;
}

bool pw_texts_of(pw *w, pw_texts *t) { return envelope(w, t) && profile_texts(w, t); }
