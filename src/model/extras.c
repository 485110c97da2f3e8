/* Removes attributes by prefix. The lists of attribute indices are copied without the removed ones.
 * A merge of the shortened model then drops unused entries and merges those that became equal. */
#include "model/extras.h"

#include "model/merge.h"
#include "base/ban.h"

typedef struct stripper {
    const model *in;
    str prefix;
    arena *a;
    bool *gone; /* per attribute: it is removed */
    uint64_t n; /* removed references */
    model m;    /* the input with shortened lists */
} stripper;

/* Appends the remaining references of [at, at + n) of `from` to `to`. */
static bool keep(stripper *x, const u32s *from, span s, u32s *to, span *out)
{
    if (!vec_reserve(x->a, to, s.n)) return false;
    uint32_t at = (uint32_t)to->n;
    for (uint32_t i = 0; i < s.n; i++) {
        uint32_t t = from->v[s.at + i];
        if (x->gone[t])
            x->n++;
        else
            to->v[to->n++] = t;
    }
    *out = (span){at, (uint32_t)to->n - at};
    return true;
}

static bool keep_tables(stripper *x)
{
    const dict *d = &x->in->dict;
    dict *o = &x->m.dict;
    o->attr_refs = (u32s){0};
    o->mappings.v = arena_array(x->a, d->mappings.n, sizeof *o->mappings.v);
    o->locations.v = arena_array(x->a, d->locations.n, sizeof *o->locations.v);
    if (!o->mappings.v || !o->locations.v) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < d->mappings.n; i++) {
        o->mappings.v[i] = d->mappings.v[i];
        ok = keep(x, &d->attr_refs, d->mappings.v[i].attrs, &o->attr_refs, &o->mappings.v[i].attrs);
    }
    for (size_t i = 0; ok && i < d->locations.n; i++) {
        o->locations.v[i] = d->locations.v[i];
        ok = keep(x, &d->attr_refs, d->locations.v[i].attrs, &o->attr_refs,
                  &o->locations.v[i].attrs);
    }
    return ok;
}

static bool keep_samples(stripper *x, profile *p)
{
    uint32_t *off = arena_array(x->a, p->n_samples + 1, sizeof *off);
    if (!off) return false;
    for (size_t i = 0; i < p->n_samples; i++) {
        span kept;
        span s = spans_at(&p->attr_span, i);
        if (!keep(x, &x->in->sample_attrs, s, &x->m.sample_attrs, &kept)) return false;
        off[i] = kept.at;
    }
    off[p->n_samples] = (uint32_t)x->m.sample_attrs.n;
    p->attr_span = (spans){.off = off};
    return true;
}

static bool keep_profiles(stripper *x)
{
    size_t n = x->in->profiles.n;
    x->m.profiles.v = arena_array(x->a, n, sizeof *x->m.profiles.v);
    x->m.sample_attrs = (u32s){0};
    if (!x->m.profiles.v) return false;
    for (size_t i = 0; i < n; i++) {
        profile *p = &x->m.profiles.v[i];
        *p = x->in->profiles.v[i];
        if (!keep(x, &x->in->dict.attr_refs, p->attrs, &x->m.dict.attr_refs, &p->attrs) ||
            !keep_samples(x, p))
            return false;
    }
    return true;
}

static bool keep_keyvalues(stripper *x, keyvalues *list)
{
    keyvalue *v = arena_array(x->a, list->n, sizeof *v);
    if (!v) return false;
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (!str_starts(list->v[i].key, x->prefix)) v[n++] = list->v[i];
    x->n += list->n - n;
    *list = (keyvalues){v, n};
    return true;
}

static bool keep_envelope(stripper *x)
{
    const model *in = x->in;
    x->m.resources.v = arena_array(x->a, in->resources.n, sizeof *x->m.resources.v);
    x->m.scopes.v = arena_array(x->a, in->scopes.n, sizeof *x->m.scopes.v);
    if (!x->m.resources.v || !x->m.scopes.v) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < in->resources.n; i++) {
        x->m.resources.v[i] = in->resources.v[i];
        ok = keep_keyvalues(x, &x->m.resources.v[i].attrs);
    }
    for (size_t i = 0; ok && i < in->scopes.n; i++) {
        x->m.scopes.v[i] = in->scopes.v[i];
        ok = keep_keyvalues(x, &x->m.scopes.v[i].attrs);
    }
    return ok;
}

bool model_without(const model *in, str prefix, arena *a, model *out, uint64_t *n, err *e)
{
    arena work = arena_beside(a);
    stripper x = {.in = in, .prefix = prefix, .a = &work, .m = *in};
    const dict *d = &in->dict;
    x.gone = arena_new(&work, bool, d->attributes.n);
    bool ok = x.gone != NULL;
    for (size_t i = 0; ok && i < d->attributes.n; i++)
        x.gone[i] = str_starts(d->strings.v[d->attributes.v[i].key], prefix);
    ok = ok && keep_tables(&x) && keep_profiles(&x) && keep_envelope(&x);
    if (!ok) arena_spent(a, e);
    *n = x.n;
    if (ok && !x.n)
        *out = *in;
    else
        ok = ok && model_gc(&x.m, a, out, e);
    arena_free(&work);
    return ok;
}
