/* Rules on attributes: lists of indices (P-06, P-21, P-28), and the entries of attribute_table. */
#include "check/internal.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- lists ---- */

static const char *at_owner(checker *c, owner w, size_t k)
{
    switch (w.kind) {
    case OWNER_MAPPING:
        return at(c, "dictionary.mapping_table[%zu].attribute_indices[%zu]", w.i, k);
    case OWNER_LOCATION:
        return at(c, "dictionary.location_table[%zu].attribute_indices[%zu]", w.i, k);
    case OWNER_PROFILE: return at_profile(c, w.i, ".attribute_indices[%zu]", k);
    case OWNER_SAMPLE: return at_profile(c, w.i, ".samples[%zu].attribute_indices[%zu]", w.j, k);
    }
    return "";
}

static void key_twice(checker *c, owner w, uint32_t key, size_t k)
{
    char q[80];
    const char *found =
        found_text(c, "key %s again, first at [%u]", quote(dict_str(&c->m->dict, key), q, sizeof q),
                   c->stamp_at[key]);
    report(c, RULE_P21, at_owner(c, w, k), found, "a unique key");
}

void check_attr_list(checker *c, owner w, const uint32_t *v, size_t n)
{
    size_t n_attrs = c->m->dict.attributes.n;
    if (++c->tick == 0) { /* the counter wrapped, so old stamps would look current */
        memset(c->stamp, 0, c->m->dict.strings.n * sizeof *c->stamp);
        c->tick = 1;
    }
    for (size_t k = 0; k < n; k++) {
        if (v[k] >= n_attrs) {
            if (violated(c, RULE_P06)) bad_index(c, at_owner(c, w, k), v[k], n_attrs);
            continue;
        }
        if (v[k] == 0 && violated(c, RULE_P28))
            report(c, RULE_P28, at_owner(c, w, k), "index 0, the entry without a key",
                   "the index of an attribute");
        uint32_t key = c->key_of[v[k]];
        if (key == NO_KEY) continue;
        if (c->stamp[key] == c->tick) {
            if (violated(c, RULE_P21)) key_twice(c, w, key, k);
            continue;
        }
        c->stamp[key] = c->tick;
        c->stamp_at[key] = (uint32_t)k;
    }
}

/* ---- entries ---- */

static void unit_rule(checker *c, size_t i, str unit)
{
    char q[80];
    if (!c->on[RULE_P26] || unit.n == 0 || ucum_ok(unit) || !violated(c, RULE_P26)) return;
    const char *better = ucum_for(unit);
    report(c, RULE_P26, at(c, "dictionary.attribute_table[%zu].unit_strindex", i),
           quote(unit, q, sizeof q),
           better ? expected_text(c, "a UCUM unit: %s", better)
                  : "a UCUM unit such as By, ms, 1 or {item}");
}

static bool is_code_key(str key)
{
    static const str keys[] = {{"code.function.name", 18},
                               {"code.file.path", 14},
                               {"code.line.number", 16},
                               {"code.column.number", 18},
                               {"code.stacktrace", 15}};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (str_eq(key, keys[i])) return true;
    return false;
}

static bool same_ignoring_case(str s, const char *z)
{
    size_t i = 0;
    for (; i < s.n && z[i]; i++) {
        char c = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] - 'A' + 'a') : s.p[i];
        if (c != z[i]) return false;
    }
    return i == s.n && !z[i];
}

/* Returns the listed frame type that `s` is another name for; NULL when `s` is valid. Custom values
 * are allowed where no listed type applies, so only known aliases are violations. */
static const char *frame_type_meant(str s)
{
    static const struct {
        const char *name, *listed;
    } names[] = {
        {"beam", "beam"},   {"cpython", "cpython"}, {"dotnet", "dotnet"},  {"go", "go"},
        {"jvm", "jvm"},     {"kernel", "kernel"},   {"luajit", "luajit"},  {"native", "native"},
        {"perl", "perl"},   {"php", "php"},         {"ruby", "ruby"},      {"rust", "rust"},
        {"v8js", "v8js"},   {"python", "cpython"},  {"java", "jvm"},       {"hotspot", "jvm"},
        {".net", "dotnet"}, {"clr", "dotnet"},      {"coreclr", "dotnet"}, {"golang", "go"},
        {"node", "v8js"},   {"nodejs", "v8js"},     {"node.js", "v8js"},   {"javascript", "v8js"},
        {"v8", "v8js"},     {"js", "v8js"},         {"erlang", "beam"},    {"elixir", "beam"},
        {"c", "native"},    {"c++", "native"},      {"cpp", "native"},     {"linux", "kernel"},
        {"phpjit", "php"},
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (same_ignoring_case(s, names[i].name))
            return str_eq(s, str_of(names[i].listed)) ? NULL : names[i].listed;
    return NULL;
}

static bool text_value(const dict *d, const any *v, str *out)
{
    if (v->kind == ANY_STRING) *out = any_str(v);
    if (v->kind == ANY_STRREF) *out = dict_str(d, (uint32_t)v->i);
    return v->kind == ANY_STRING || v->kind == ANY_STRREF;
}

static void frame_type_rule(checker *c, size_t i, const any *v)
{
    char q[80];
    str s = {0};
    bool text = text_value(&c->m->dict, v, &s);
    const char *meant = text ? frame_type_meant(s) : NULL;
    if (text && s.n && !meant) return;
    if (!violated(c, RULE_P81)) return;
    report(c, RULE_P81, at(c, "dictionary.attribute_table[%zu].value", i),
           text ? quote(s, q, sizeof q) : "a value that is not a string",
           meant ? expected_text(c, "%s", meant) : "the name of a frame type");
}

static bool is_hash(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char h = s.p[i];
        if (!((h >= '0' && h <= '9') || (h >= 'a' && h <= 'f') || (h >= 'A' && h <= 'F')))
            return false;
    }
    return s.n == 32;
}

static void htlhash_rule(checker *c, size_t i, const any *v)
{
    char q[80];
    str s = {0};
    bool text = text_value(&c->m->dict, v, &s);
    if ((text && is_hash(s)) || !violated(c, RULE_P78)) return;
    report(c, RULE_P78, at(c, "dictionary.attribute_table[%zu].value", i),
           text ? quote(s, q, sizeof q) : "a value that is not a string", "32 hex digits");
}

static void key_rules(checker *c, size_t i, str key, const any *value)
{
    char q[80];
    if (key.n == 0) {
        if (violated(c, RULE_P28))
            report(c, RULE_P28, at(c, "dictionary.attribute_table[%zu].key_strindex", i),
                   "an empty key", "a key");
        return;
    }
    switch (
        key.p[0]) { /* fast path: there may be millions of keys, and few have these first letters */
    case 'c':
        if (is_code_key(key) && violated(c, RULE_P32))
            report(c, RULE_P32, at(c, "dictionary.attribute_table[%zu].key_strindex", i),
                   quote(key, q, sizeof q), "Function, Line or Location instead");
        break;
    case 'p':
        if (str_starts(key, STR("pprof.scope.")) && violated(c, RULE_P56))
            report(c, RULE_P56, at(c, "dictionary.attribute_table[%zu].key_strindex", i),
                   quote(key, q, sizeof q), "an attribute of the scope");
        if (str_eq(key, STR("profile.frame.type"))) frame_type_rule(c, i, value);
        if (str_eq(key, STR("process.executable.build_id.htlhash"))) htlhash_rule(c, i, value);
        break;
    default: break;
    }
}

/* ---- P-27: nearly every sample with the key has a different value ---- */

enum { NEAR_UNIQUE_MIN = 128 };

typedef struct usage {
    uint64_t uses;
    uint32_t values, first;
} usage;

static void cardinality_rule(checker *c)
{
    const model *m = c->m;
    size_t n = m->dict.attributes.n;
    if (!c->on[RULE_P27] || n < NEAR_UNIQUE_MIN || m->sample_attrs.n < NEAR_UNIQUE_MIN) return;
    uint32_t *uses = arena_new(&c->tmp, uint32_t, n);
    usage *by_key = arena_new(&c->tmp, usage, m->dict.strings.n);
    if (!uses || !by_key) {
        c->failed = true;
        return;
    }
    for (size_t i = 0; i < m->sample_attrs.n; i++)
        if (m->sample_attrs.v[i] < n) uses[m->sample_attrs.v[i]]++;
    for (size_t i = 1; i < n; i++) {
        if (!uses[i] || c->key_of[i] == NO_KEY) continue;
        usage *u = &by_key[c->key_of[i]];
        if (!u->values++) u->first = (uint32_t)i;
        u->uses += uses[i];
    }
    char q[80];
    for (size_t k = 0; k < m->dict.strings.n; k++) {
        const usage *u = &by_key[k];
        if (u->values < NEAR_UNIQUE_MIN || u->uses * 4 >= (uint64_t)u->values * 5) continue;
        if (!violated(c, RULE_P27)) continue;
        report(c, RULE_P27, at(c, "dictionary.attribute_table[%u]", u->first),
               found_text(c, "%s has %u values on %" PRIu64 " samples",
                          quote(m->dict.strings.v[k], q, sizeof q), u->values, u->uses),
               "far fewer values than samples");
    }
}

void check_attributes(checker *c)
{
    const dict *d = &c->m->dict;
    for (size_t i = 1; i < d->attributes.n; i++) {
        const attribute *a = &d->attributes.v[i];
        if (a->key < d->strings.n) key_rules(c, i, d->strings.v[a->key], &a->value);
        if (a->unit) unit_rule(c, i, dict_str(d, a->unit));
    }
    cardinality_rule(c);
}
