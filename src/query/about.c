/* Classifies the attributes of a profile for display. */
#include "query/about.h"

#include "wire/carried.h"
#include "base/ban.h"

const attribute *profile_attribute(const model *m, const profile *p, uint32_t i)
{
    return &m->dict.attributes.v[refs_at(&m->dict.attr_refs, p->attrs)[i]];
}

/* Accepts the key itself, or the key with a number, because the OpenTelemetry Collector writes one
 * attribute per comment. */
static bool is_comment_key(str key)
{
    str name = STR(PPROF_ATTR_COMMENT);
    if (!str_starts(key, name)) return false;
    size_t digits = 0;
    for (size_t i = name.n + 1; i < key.n; i++) digits += key.p[i] >= '0' && key.p[i] <= '9';
    return key.n == name.n || (key.p[name.n] == '.' && digits && digits == key.n - name.n - 1);
}

static bool is_texts(const any *v)
{
    if (v->kind == ANY_STRING) return true;
    bool all = v->kind == ANY_ARRAY;
    for (uint32_t i = 0; all && i < v->n; i++) all = v->array[i].kind == ANY_STRING;
    return all;
}

about_kind attribute_about(const dict *d, const attribute *a)
{
    str key = dict_str(d, a->key);
    if (is_comment_key(key) && is_texts(&a->value)) return ABOUT_COMMENT;
    if (str_eq(key, STR(KILN_ATTR_AGGREGATION_TEMPORALITY)) && a->value.kind == ANY_STRING)
        return ABOUT_TEMPORALITY;
    return ABOUT_ATTRIBUTE;
}

str profile_temporality(const model *m, const profile *p)
{
    for (uint32_t i = 0; i < p->attrs.n; i++) {
        const attribute *a = profile_attribute(m, p, i);
        if (attribute_about(&m->dict, a) == ABOUT_TEMPORALITY) return any_str(&a->value);
    }
    return STR("");
}

bool profile_comment(const model *m, const profile *p, uint32_t i, str *out)
{
    for (uint32_t k = 0; k < p->attrs.n; k++) {
        const attribute *a = profile_attribute(m, p, k);
        if (attribute_about(&m->dict, a) != ABOUT_COMMENT) continue;
        uint32_t n = a->value.kind == ANY_ARRAY ? a->value.n : 1;
        if (i < n) {
            *out = any_str(a->value.kind == ANY_ARRAY ? &a->value.array[i] : &a->value);
            return true;
        }
        i -= n;
    }
    return false;
}
