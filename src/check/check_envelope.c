/* Rules on resources, scopes, and key-value pairs at any depth. */
#include "check/internal.h"

#include "base/ban.h"

/* ---- key-value pairs ---- */

static str key_of(const dict *d, const keyvalue *k)
{
    return k->key.n || !k->key_ref ? k->key : dict_str(d, k->key_ref);
}

static void string_ref(checker *c, const step *up, const char *field, uint64_t i)
{
    size_t n = c->m->dict.strings.n;
    if (i == 0 || i < n || !violated(c, RULE_P06)) return;
    bad_index(c, at_step(c, &(step){up, field, NO_INDEX}), (uint32_t)i, n);
}

static void key_again(checker *c, const step *pair, str key, size_t first)
{
    char q[80];
    if (!violated(c, RULE_P23)) return;
    const char *found =
        found_text(c, "key %s again, first at [%zu]", quote(key, q, sizeof q), first);
    report(c, RULE_P23, at_step(c, pair), found, "a unique key");
}

enum { FEW_PAIRS = 12 };

/* Checks P-23. Few pairs are compared with each other; many use a hash index. */
static void unique_keys(checker *c, const step *up, const char *field, const keyvalue *v, size_t n)
{
    const dict *d = &c->m->dict;
    hash_index x = {0};
    if (!c->on[RULE_P23]) return;
    for (size_t i = 0; i < n; i++) {
        str key = key_of(d, &v[i]);
        bool found = false;
        uint32_t first = 0, slot = 0;
        uint64_t h = 0;
        if (n <= FEW_PAIRS) {
            for (; !found && first < i; first++) found = str_eq(key_of(d, &v[first]), key);
            first -= found;
        } else {
            if (!hash_index_room(&x, &c->tmp)) {
                c->failed = true;
                return;
            }
            h = hash_bytes(key.p, key.n, x.seed);
            slot = hash_first(&x, h);
            for (; !found && hash_next(&x, &slot, h, &first); slot++)
                found = str_eq(key_of(d, &v[first]), key);
            if (!found) hash_put(&x, slot, h, (uint32_t)i);
        }
        if (found) key_again(c, &(step){up, field, i}, key, first);
    }
}

static void value_rules(checker *c, const step *at_value, const any *v);

/* With `attributes`, P-28 applies; the keys of a map may be empty. */
static void pairs_rules(checker *c, const step *up, const char *field, const keyvalue *v, size_t n,
                        bool attributes)
{
    unique_keys(c, up, field, v, n);
    for (size_t i = 0; i < n; i++) {
        step pair = {up, field, i};
        string_ref(c, &pair, "key_strindex", v[i].key_ref);
        bool outside = !v[i].key.n && v[i].key_ref && v[i].key_ref >= c->m->dict.strings.n;
        if (attributes && !outside && !key_of(&c->m->dict, &v[i]).n && violated(c, RULE_P28))
            report(c, RULE_P28, at_step(c, &pair), "an empty key", "a key");
        value_rules(c, &(step){&pair, "value", NO_INDEX}, &v[i].value);
    }
}

static void value_rules(checker *c, const step *at_value, const any *v)
{
    switch (v->kind) {
    case ANY_STRREF: string_ref(c, at_value, "string_value_strindex", (uint64_t)v->i); break;
    case ANY_ARRAY: {
        step list = {at_value, "array_value", NO_INDEX};
        for (uint32_t i = 0; i < v->n; i++)
            value_rules(c, &(step){&list, "values", i}, &v->array[i]);
        break;
    }
    case ANY_KVLIST:
        pairs_rules(c, &(step){at_value, "kvlist_value", NO_INDEX}, "values", v->kvlist, v->n,
                    false);
        break;
    default: break;
    }
}

static void table_values(checker *c)
{
    step dictionary = {NULL, "dictionary", NO_INDEX};
    for (size_t i = 0; i < c->m->dict.attributes.n; i++) {
        const any *v = &c->m->dict.attributes.v[i].value;
        if (v->kind < ANY_ARRAY || v->kind == ANY_BYTES) continue;
        step entry = {&dictionary, "attribute_table", i};
        value_rules(c, &(step){&entry, "value", NO_INDEX}, v);
    }
}

/* ---- P-45 ---- */

/* Returns whether the last part of the URL is a version such as "1.37.0": digits and dots,
 * optionally with "-something". */
static bool ends_with_version(str url)
{
    size_t from = url.n;
    while (from > 0 && url.p[from - 1] != '/') from--;
    if (from == 0 || from == url.n) return false;
    bool digit = false;
    for (size_t i = from; i < url.n; i++) {
        char ch = url.p[i];
        if (ch >= '0' && ch <= '9') {
            digit = true;
        } else if (ch == '.' && digit) {
            digit = false;
        } else {
            return ch == '-' && digit;
        }
    }
    return digit;
}

static void schema_rule(checker *c, const step *up, str url)
{
    char q[120];
    if (url.n == 0 || ends_with_version(url) || !violated(c, RULE_P45)) return;
    report(c, RULE_P45, at_step(c, &(step){up, "schema_url", NO_INDEX}), quote(url, q, sizeof q),
           "a URL that ends with a version");
}

/* ---- P-31 ---- */

static bool has_key(const dict *d, const keyvalues *kv, str key)
{
    for (size_t i = 0; i < kv->n; i++)
        if (str_eq(key_of(d, &kv->v[i]), key)) return true;
    return false;
}

/* A hash index, because a hostile resource may name thousands of keys in thousands of entities. */
typedef struct key_set {
    const keyvalues *kv;
    hash_index x;
    bool indexed;
} key_set;

static bool index_keys(checker *c, key_set *s)
{
    for (size_t i = 0; i < s->kv->n; i++) {
        if (!hash_index_room(&s->x, &c->tmp)) return !(c->failed = true);
        str key = key_of(&c->m->dict, &s->kv->v[i]);
        uint64_t h = hash_bytes(key.p, key.n, s->x.seed);
        uint32_t slot = hash_first(&s->x, h), other;
        bool found = false;
        for (; !found && hash_next(&s->x, &slot, h, &other); slot++)
            found = str_eq(key_of(&c->m->dict, &s->kv->v[other]), key);
        if (!found) hash_put(&s->x, slot, h, (uint32_t)i);
    }
    return s->indexed = true;
}

static bool set_has(checker *c, key_set *s, str key)
{
    const dict *d = &c->m->dict;
    if (s->kv->n <= FEW_PAIRS) return has_key(d, s->kv, key);
    if (!s->indexed && !index_keys(c, s)) return true;
    uint64_t h = hash_bytes(key.p, key.n, s->x.seed);
    uint32_t slot = hash_first(&s->x, h), i;
    for (; hash_next(&s->x, &slot, h, &i); slot++)
        if (str_eq(key_of(d, &s->kv->v[i]), key)) return true;
    return false;
}

static void named_keys(checker *c, const step *entity, key_set *set, const char *field,
                       const str *keys, size_t n)
{
    char q[80];
    for (size_t i = 0; i < n; i++)
        if (!set_has(c, set, keys[i]) && violated(c, RULE_P31))
            report(c, RULE_P31, at_step(c, &(step){entity, field, i}), quote(keys[i], q, sizeof q),
                   "a key of the resource's attributes");
}

static void entity_rules(checker *c, const step *at_resource, const resource *r)
{
    key_set set = {.kv = &r->attrs};
    for (size_t i = 0; i < r->n_entity_refs; i++) {
        const entity_ref *e = &r->entity_refs[i];
        step entity = {at_resource, "entity_refs", i};
        schema_rule(c, &entity, e->schema_url);
        if (!c->on[RULE_P31]) continue;
        if (!e->type.n && violated(c, RULE_P31))
            report(c, RULE_P31, at_step(c, &(step){&entity, "type", NO_INDEX}), "no type",
                   "a type");
        if (!e->n_id_keys && violated(c, RULE_P31))
            report(c, RULE_P31, at_step(c, &(step){&entity, "id_keys", NO_INDEX}), "no id keys",
                   "at least one id key");
        named_keys(c, &entity, &set, "id_keys", e->id_keys, e->n_id_keys);
        named_keys(c, &entity, &set, "description_keys", e->description_keys,
                   e->n_description_keys);
    }
}

/* ---- resources and scopes ---- */

static uint64_t scope_samples(const model *m, const scope *s)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < s->n_profiles; i++) n += m->profiles.v[s->first_profile + i].n_samples;
    return n;
}

static void empty_list(checker *c, const char *path, const char *found)
{
    report(c, RULE_P40, path, found, "at least one");
}

static void no_samples(checker *c, const char *path, const char *found)
{
    report(c, RULE_P41, path, found, "at least one sample");
}

/* Checks P-40 (messages without profiles) and P-41 (messages without samples), which is reported
 * for the outermost such message. */
static void emptiness(checker *c, const model *m)
{
    uint64_t all = 0;
    for (size_t i = 0; i < m->profiles.n; i++) all += m->profiles.v[i].n_samples;
    if (!m->resources.n && violated(c, RULE_P40))
        empty_list(c, "resource_profiles", "no resource profiles");
    if (!all && m->profiles.n && violated(c, RULE_P41))
        no_samples(c, "",
                   found_text(c, "%zu profile%s and no sample in the whole message", m->profiles.n,
                              m->profiles.n == 1 ? "" : "s"));
    for (size_t r = 0; r < m->resources.n; r++) {
        const resource *x = &m->resources.v[r];
        uint64_t n = 0, n_profiles = 0;
        if (!x->n_scopes && violated(c, RULE_P40))
            empty_list(c, at(c, "resource_profiles[%zu].scope_profiles", r), "no scope profiles");
        for (uint32_t s = 0; s < x->n_scopes; s++) {
            n += scope_samples(m, &m->scopes.v[x->first_scope + s]);
            n_profiles += m->scopes.v[x->first_scope + s].n_profiles;
        }
        if (all && !n && n_profiles && violated(c, RULE_P41))
            no_samples(c, at(c, "resource_profiles[%zu]", r), "no samples");
        for (uint32_t s = 0; s < x->n_scopes; s++) {
            size_t si = x->first_scope + s;
            const scope *y = &m->scopes.v[si];
            if (!y->n_profiles && violated(c, RULE_P40))
                empty_list(c, at_scope(c, si, ".profiles"), "no profiles");
            if (n && y->n_profiles && !scope_samples(m, y) && violated(c, RULE_P41))
                no_samples(c, at_scope(c, si, "%s", ""), "no samples");
        }
    }
}

static void misplaced_keys(checker *c, const step *at_resource, const resource *r)
{
    char q[80];
    for (size_t i = 0; i < r->attrs.n; i++) {
        str key = key_of(&c->m->dict, &r->attrs.v[i]);
        if (str_starts(key, STR("pprof.scope.")) && violated(c, RULE_P56))
            report(c, RULE_P56, at_step(c, &(step){at_resource, "attributes", i}),
                   quote(key, q, sizeof q), "an attribute of the scope");
    }
}

void check_envelope(checker *c)
{
    const model *m = c->m;
    emptiness(c, m);
    table_values(c);
    for (size_t i = 0; i < m->resources.n; i++) {
        const resource *r = &m->resources.v[i];
        step rp = {NULL, "resource_profiles", i};
        step res = {&rp, "resource", NO_INDEX};
        schema_rule(c, &rp, r->schema_url);
        pairs_rules(c, &res, "attributes", r->attrs.v, r->attrs.n, true);
        misplaced_keys(c, &res, r);
        entity_rules(c, &res, r);
        for (uint32_t k = 0; k < r->n_scopes; k++) {
            const scope *s = &m->scopes.v[r->first_scope + k];
            step sp = {&rp, "scope_profiles", k};
            schema_rule(c, &sp, s->schema_url);
            pairs_rules(c, &(step){&sp, "scope", NO_INDEX}, "attributes", s->attrs.v, s->attrs.n,
                        true);
        }
    }
}
