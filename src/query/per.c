/* Parses `--per` and computes the divisor of each recording. A number that several profiles share
 * through their resource or scope counts once. */
#include "query/per.h"

#include "base/words.h"
#include "query/named.h"
#include "query/samples.h"

#include "base/ban.h"
#include <math.h>

/* ---- parsing ---- */

static bool bad(str text, err *e)
{
    return err_set(e, ERR_USAGE,
                   "amounts cannot be compared per `%.*s`; use run, second, attribute:KEY, numbers "
                   "such as 1000,1200, or calibration:FRAME",
                   STR_ARG(text));
}

static bool behind(str text, str prefix, str *rest)
{
    if (!str_starts(text, prefix) || text.n == prefix.n) return false;
    *rest = (str){text.p + prefix.n, text.n - prefix.n};
    return true;
}

static bool take_numbers(per *out, err *e)
{
    str s = out->text;
    while (out->n < PER_MAX) {
        double *v = &out->numbers[out->n];
        if (!decimal_at(s, v, &s) || !(*v > 0) || !isfinite(*v)) return bad(out->text, e);
        out->n++;
        if (!s.n) return out->n > 1 || bad(out->text, e);
        if (s.p[0] != ',') return bad(out->text, e);
        s.p++, s.n--;
    }
    return err_set(e, ERR_USAGE, "more than %d numbers", PER_MAX);
}

bool per_parse(str text, per *out, err *e)
{
    *out = (per){.text = text, .kind = PER_RUN};
    if (str_eq(text, STR("run"))) return true;
    if (str_eq(text, STR("second"))) {
        out->kind = PER_SECOND;
        return true;
    }
    if (behind(text, STR("attribute:"), &out->what)) {
        out->kind = PER_ATTRIBUTE;
        return true;
    }
    if (behind(text, STR("calibration:"), &out->what)) {
        out->kind = PER_FRAME;
        return true;
    }
    out->kind = PER_NUMBERS;
    return take_numbers(out, e);
}

/* ---- attributes ---- */

enum { KEY_BYTES = 60 }; /* bytes of a key in an error message */

static bool number_of(const any *x, double *v)
{
    str rest;
    switch (x->kind) {
    case ANY_INT: *v = (double)x->i; return true;
    case ANY_DOUBLE: *v = x->d; return true;
    case ANY_STRING: return decimal_at(any_str(x), v, &rest) && !rest.n;
    default: return false;
    }
}

typedef struct search {
    str key, near; /* near: the most similar key */
    size_t distance;
    double v;
    bool found;
} search;

static void look_at(search *s, str key, const any *x)
{
    if (str_eq(key, s->key)) {
        s->found |= number_of(x, &s->v);
        return;
    }
    size_t d = edit_distance(key, s->key);
    if (d < s->distance) s->near = key, s->distance = d;
}

static void look_in(search *s, const keyvalues *attrs)
{
    for (size_t i = 0; i < attrs->n && !s->found; i++)
        look_at(s, attrs->v[i].key, &attrs->v[i].value);
}

/* Searches profile, scope and resource in this order; sets *shared to the one that has the
 * number. */
static void search_part(search *s, const view_part *part, const void **shared)
{
    const dict *d = &part->m->dict;
    const scope *in = &part->m->scopes.v[part->p->scope];
    const resource *of = &part->m->resources.v[in->resource];
    *shared = part->p;
    for (uint32_t i = 0; i < part->p->attrs.n && !s->found; i++) {
        const attribute *x = &d->attributes.v[refs_at(&d->attr_refs, part->p->attrs)[i]];
        look_at(s, dict_str(d, x->key), &x->value);
    }
    if (!s->found) *shared = in, look_in(s, &in->attrs);
    if (!s->found) *shared = of, look_in(s, &of->attrs);
}

static bool no_attribute(const search *s, err *e)
{
    int n = s->near.n < KEY_BYTES ? (int)s->near.n : KEY_BYTES;
    return err_set(e, ERR_USAGE,
                   "neither resource, scope nor profile has a number called `%.*s`%s%.*s",
                   STR_ARG(s->key), n ? "; nearest: " : "", n, s->near.p);
}

/* Sums the attribute over the profiles. A number of a shared scope or resource counts once. */
static bool attribute_sum(str key, const view *v, double *out, err *e)
{
    const void *before = NULL;
    search s = {.key = key, .distance = SIZE_MAX};
    *out = 0;
    for (size_t i = 0; i < v->parts.n; i++) {
        const void *shared;
        s.found = false;
        search_part(&s, &v->parts.v[i], &shared);
        if (!s.found) return no_attribute(&s, e);
        if (shared != before) *out += s.v;
        before = shared;
    }
    return true;
}

/* ---- amounts ---- */

static bool number_at(const per *p, const per_recording *r, double *out, err *e)
{
    if (p->n == 2)
        *out = p->numbers[r->after];
    else if (p->n == r->n)
        *out = p->numbers[r->at];
    else
        return err_set(e, ERR_USAGE,
                       "%zu numbers for %zu recordings: give two (before, after) "
                       "or one for each",
                       p->n, r->n);
    return true;
}

static bool calibration(const per *p, const per_recording *r, per_amount *out, err *e)
{
    named found;
    double size = view_sample_size(r->v);
    if (!named_in(r->v, p->what, r->literal, "the calibration", &found, e)) return false;
    if (!found.any) return named_nothing(&r->v, 1, p->what, "the calibration", e);
    *out = (per_amount){found.sum, size > 0 ? found.sum / size : 0};
    return true;
}

static bool seconds(const per_recording *r, double *out, err *e)
{
    if (!view_seconds(r->v, out, e)) return false;
    return *out > 0 ||
           err_set(e, ERR_USAGE,
                   "the duration of the recording is not known, so amounts cannot be compared per "
                   "second; --per run compares the amounts");
}

static bool amount_of(const per *p, const per_recording *r, per_amount *out, err *e)
{
    *out = (per_amount){.v = 1};
    switch (p->kind) {
    case PER_RUN: return true;
    case PER_SECOND: return seconds(r, &out->v, e);
    case PER_ATTRIBUTE: return attribute_sum(p->what, r->v, &out->v, e);
    case PER_NUMBERS: return number_at(p, r, &out->v, e);
    case PER_FRAME: return calibration(p, r, out, e);
    }
    return false;
}

bool per_of(const per *p, const per_recording *r, per_amount *out, err *e)
{
    if (!amount_of(p, r, out, e)) return false;
    return (out->v > 0 && isfinite(out->v)) ||
           err_set(e, ERR_USAGE, "%.*s, the divisor of the amounts, is %g; it must be more than 0",
                   STR_ARG(p->text), out->v);
}
