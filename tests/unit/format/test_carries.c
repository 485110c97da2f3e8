/* Tests the features that formats declare: a model with one feature is written and read back. A
 * declared feature must be restored; the ledger must list a feature that is not. */
#include "../../support/test.h"

#include "format/format.h"
#include "model/builder.h"

#include <string.h>

#define TIME_NS UINT64_C(1687841528000000000)

static any text(const char *s)
{
    return (any){.kind = ANY_STRING, .n = (uint32_t)strlen(s), .s = s};
}

static uint32_t attr(builder *b, const char *key, const char *value)
{
    return builder_attribute_str(b, str_of(key), str_of(value));
}

/* Builds a model of one resource, scope and profile, with two stacks of two frames. */
typedef struct parts {
    builder b;
    format_feature f;
} parts;

static bool with(const parts *x, format_feature f) { return x->f == f; }

static uint32_t make_mapping(parts *x)
{
    bool any_of = with(x, FEATURE_MAPPINGS) || with(x, FEATURE_BUILD_IDS) ||
                  with(x, FEATURE_MAPPING_ATTRIBUTES);
    if (!any_of) return 0;
    mapping m = {.memory_start = 0x1000, .memory_limit = 0x2000};
    m.filename = builder_string(&x->b, STR("/bin/app"));
    uint32_t id = attr(&x->b, "process.executable.build_id.gnu", "abcdef0123");
    uint32_t own = attr(&x->b, "some.mapping", "v");
    if (with(x, FEATURE_BUILD_IDS)) return builder_mapping(&x->b, &m, &id, 1);
    bool attributed = with(x, FEATURE_MAPPING_ATTRIBUTES);
    return builder_mapping(&x->b, &m, &own, attributed);
}

static uint32_t make_function(parts *x, const char *name)
{
    function f = {.name = builder_string(&x->b, str_of(name))};
    f.system_name = f.name;
    if (with(x, FEATURE_SYSTEM_NAMES)) f.system_name = builder_string(&x->b, STR("_Zmangled"));
    if (with(x, FEATURE_LINES)) f.filename = builder_string(&x->b, STR("app.c"));
    return builder_function(&x->b, &f);
}

static uint32_t make_location(parts *x, const char *name, uint64_t address)
{
    line lines[2] = {{.function = make_function(x, name)}};
    size_t n = 1, n_attrs = 0;
    uint32_t attrs[1], map = make_mapping(x);
    if (with(x, FEATURE_LINES) || with(x, FEATURE_COLUMNS)) lines[0].line = 42;
    if (with(x, FEATURE_COLUMNS)) lines[0].column = 7;
    if (with(x, FEATURE_INLINES)) lines[n++] = (line){.function = make_function(x, "outer")};
    if (with(x, FEATURE_LOCATION_ATTRIBUTES)) attrs[n_attrs++] = attr(&x->b, "some.location", "v");
    if (with(x, FEATURE_FRAME_TYPES)) attrs[n_attrs++] = attr(&x->b, "profile.frame.type", "jvm");
    if (!with(x, FEATURE_ADDRESSES) && !map) address = 0;
    return builder_location(&x->b, map, address, lines, n, attrs, n_attrs);
}

static void make_sample(parts *x, uint32_t stack, bool special)
{
    builder *b = &x->b;
    static const uint8_t trace[16] = {1, 2, 3}, id[8] = {9, 8};
    uint32_t attrs[1];
    int64_t values[] = {3, 4};
    uint64_t times[] = {TIME_NS, TIME_NS + 1000000};
    sample s = {.stack = stack, .values = values, .n_values = 1, .attrs = attrs};
    any number = {.kind = ANY_INT, .i = 5}, word = text("us");
    bool timed = with(x, FEATURE_TIMESTAMPS) || with(x, FEATURE_VALUES);
    if (timed) s.times = times, s.n_times = 1;
    if (with(x, FEATURE_VALUES)) s.n_values = s.n_times = 2;
    if (special && with(x, FEATURE_LINKS)) s.link = builder_link(b, trace, id);
    if (special && with(x, FEATURE_SAMPLE_ATTRIBUTES))
        attrs[s.n_attrs++] = builder_attribute(b, STR("region"), &word, (str){0});
    if (special && with(x, FEATURE_ATTRIBUTE_TYPES))
        attrs[s.n_attrs++] = builder_attribute(b, STR("region"), &number, (str){0});
    if (special && with(x, FEATURE_ATTRIBUTE_UNITS))
        attrs[s.n_attrs++] = builder_attribute(b, STR("size"), &number, STR("By"));
    builder_sample(b, &s);
}

static void make_profile(parts *x, const char *type, const char *unit, const uint32_t *stacks)
{
    builder *b = &x->b;
    value_type t = {builder_string(b, str_of(type)), builder_string(b, str_of(unit))};
    value_type every = {builder_string(b, STR("cpu")), builder_string(b, STR("nanoseconds"))};
    uint32_t own = attr(b, "some.profile", "v");
    profile *p = builder_profile(b);
    p->sample_type = t;
    if (with(x, FEATURE_TIME)) p->time_unix_nano = TIME_NS, p->duration_nano = 5000000000;
    if (with(x, FEATURE_PERIOD)) p->period_type = every, p->period = 10000000;
    if (with(x, FEATURE_PROFILE_ID)) memset(p->profile_id, 7, 16);
    if (with(x, FEATURE_ORIGINAL))
        p->original_payload = STR("bytes"), p->original_payload_format = STR("jfr");
    if (with(x, FEATURE_PROFILE_ATTRIBUTES)) builder_profile_attrs(b, &own, 1);
    make_sample(x, stacks[0], true);
    make_sample(x, stacks[1], false);
}

static void make(format_feature f, arena *a, model *m)
{
    parts x = {.f = f};
    err e = {0};
    assert_true(builder_init(&x.b, a));
    keyvalue kv = {.key = STR("service.name"), .value = text("shop")};
    resource r = {.present = true};
    if (f == FEATURE_RESOURCE) r.attrs = (keyvalues){&kv, 1};
    builder_resource(&x.b, &r);
    builder_scope(&x.b, NULL)->present = true;
    uint32_t at[] = {make_location(&x, "leaf", 0x1010), make_location(&x, "main", 0x1020)};
    uint32_t stacks[] = {builder_stack(&x.b, at, 2), builder_stack(&x.b, at + 1, 1)};
    make_profile(&x, f == FEATURE_UNITS ? "cpu" : "samples",
                 f == FEATURE_UNITS ? "nanoseconds" : "count", stacks);
    if (f == FEATURE_TYPES) make_profile(&x, "alloc", "bytes", stacks);
    assert_ok(builder_finish(&x.b, m, &e), &e);
}

/* ---- whether a feature is present ---- */

static const attribute *find_attr(const dict *d, const char *key)
{
    for (size_t i = 0; i < d->attributes.n; i++)
        if (str_eq(d->strings.v[d->attributes.v[i].key], str_of(key))) return &d->attributes.v[i];
    return NULL;
}

static bool on_list(const model *m, span s, const char *key)
{
    const dict *d = &m->dict;
    for (uint32_t i = 0; i < s.n; i++)
        if (&d->attributes.v[d->attr_refs.v[s.at + i]] == find_attr(d, key)) return true;
    return false;
}

static bool any_location(const model *m, format_feature f)
{
    const dict *d = &m->dict;
    for (size_t i = 0; i < d->locations.n; i++) {
        const location *l = &d->locations.v[i];
        if (f == FEATURE_ADDRESSES && l->address == 0x1010) return true;
        if (f == FEATURE_INLINES && l->lines.n > 1) return true;
        if (f == FEATURE_LOCATION_ATTRIBUTES && on_list(m, l->attrs, "some.location")) return true;
        if (f == FEATURE_FRAME_TYPES && on_list(m, l->attrs, "profile.frame.type")) return true;
    }
    for (size_t i = 0; i < d->lines.n; i++) {
        const line *l = &d->lines.v[i];
        const function *fn = &d->functions.v[l->function];
        if (f == FEATURE_LINES && l->line == 42 && fn->filename) return true;
        if (f == FEATURE_COLUMNS && l->column == 7) return true;
        if (f == FEATURE_SYSTEM_NAMES && str_eq(d->strings.v[fn->system_name], STR("_Zmangled")))
            return true;
    }
    return false;
}

static bool any_mapping(const model *m, format_feature f)
{
    for (size_t i = 0; i < m->dict.mappings.n; i++) {
        const mapping *p = &m->dict.mappings.v[i];
        if (f == FEATURE_MAPPINGS && p->memory_start == 0x1000 && p->filename) return true;
        if (f == FEATURE_BUILD_IDS && on_list(m, p->attrs, "process.executable.build_id.gnu"))
            return true;
        if (f == FEATURE_MAPPING_ATTRIBUTES && on_list(m, p->attrs, "some.mapping")) return true;
    }
    return false;
}

static bool any_sample(const model *m, format_feature f)
{
    const dict *d = &m->dict;
    size_t n_values = 0; /* two per sample, or twice as many samples */
    for (size_t i = 0; i < m->profiles.n; i++)
        for (size_t k = 0; k < m->profiles.v[i].n_samples; k++) {
            sample s = sample_at(m, &m->profiles.v[i], k);
            n_values += s.n_values;
            if (f == FEATURE_LINKS && s.link && d->links.v[s.link].trace_id[2] == 3) return true;
            if (f == FEATURE_TIMESTAMPS && s.n_times && s.times[0] == TIME_NS) return true;
            for (uint32_t n = 0; n < s.n_attrs; n++) {
                const attribute *t = &d->attributes.v[s.attrs[n]];
                bool region = str_eq(d->strings.v[t->key], STR("region"));
                if (f == FEATURE_SAMPLE_ATTRIBUTES && region) return true;
                if (f == FEATURE_ATTRIBUTE_TYPES && region && t->value.kind == ANY_INT) return true;
                if (f == FEATURE_ATTRIBUTE_UNITS && str_eq(d->strings.v[t->unit], STR("By")))
                    return true;
            }
        }
    return f == FEATURE_VALUES && n_values == 4;
}

static bool any_profile(const model *m, format_feature f)
{
    const dict *d = &m->dict;
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        str type = d->strings.v[p->sample_type.type], unit = d->strings.v[p->sample_type.unit];
        bool other = !str_eq(type, STR("samples")) || !str_eq(unit, STR("count"));
        if (f == FEATURE_TYPES && i && other) return true;
        if (f == FEATURE_UNITS && str_eq(type, STR("cpu")) && str_eq(unit, STR("nanoseconds")))
            return true;
        if (f == FEATURE_TIME && p->time_unix_nano == TIME_NS && p->duration_nano) return true;
        if (f == FEATURE_PERIOD && p->period == 10000000) return true;
        if (f == FEATURE_PROFILE_ID && p->profile_id[5] == 7) return true;
        if (f == FEATURE_ORIGINAL && p->original_payload.n == 5) return true;
        if (f == FEATURE_PROFILE_ATTRIBUTES && on_list(m, p->attrs, "some.profile")) return true;
    }
    return f == FEATURE_RESOURCE && m->resources.n && m->resources.v[0].attrs.n;
}

static bool survived(const model *m, format_feature f)
{
    if (f == FEATURE_STACKS) return m->profiles.n && m->profiles.v[0].n_samples == 2;
    return any_location(m, f) || any_mapping(m, f) || any_sample(m, f) || any_profile(m, f);
}

/* ---- the formats ---- */

static unsigned check(const format *to, format_feature f)
{
    arena a = {0};
    model m, back;
    err e = {0};
    ledger l = {0};
    buf b = {0};
    make(f, &a, &m);
    assert_true(survived(&m, f));
    char why[512];
    write_opts w = {.ledger = &l};
    read_opts r = {.ledger = &l};
    layout_verdict v = {0};
    bool ok = to->write(to, &m, &w, &b, &e) && to->read(to, buf_view(&b), &r, &a, &back, &v, &e);
    bool there = ok && survived(&back, f), claimed = format_carries(to) >> f & 1;
    bool listed =
        ledger_lost(&l) || (l.n && !claimed); /* features carried by a kiln.* attribute are listed
                                               * too */
    bool not_built = e.code == ERR_SYS;       /* html without a viewer */
    if (not_built && f == FEATURE_STACKS) print_message("# skip: %s: %s\n", to->name, e.msg);
    if (!ok && !not_built)
        print_error("%s, %s: %s\n", to->name, format_feature_name(f),
                    err_text(&e, why, sizeof why));
    if (ok && claimed && !there)
        print_error("%s declares %s but does not carry it\n", to->name, format_feature_name(f));
    if (ok && !there && !listed)
        print_error("%s loses %s silently\n", to->name, format_feature_name(f));
    buf_free(&b);
    arena_free(&a);
    return !not_built && (!ok || (!there && (claimed || !listed)));
}

static void test_declared_features(void **state)
{
    (void)state;
    size_t n;
    const format *const *all = formats(&n);
    unsigned bad = 0;
    for (size_t i = 0; i < n; i++)
        for (unsigned f = 0; f < FEATURE_COUNT; f++)
            if (all[i]->read && all[i]->write && format_carries(all[i]))
                bad += check(all[i], (format_feature)f);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_declared_features)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
