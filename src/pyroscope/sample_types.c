/* Reads sample_type_config. Only the fields that change the result are used. */
#include "pyroscope/sample_types.h"

#include "format/json_read.h"
#include "base/ban.h"

enum { RULES_MOST = 64 };

static const sample_type_rule defaults[] = {
    {STR("samples"), STR("cpu"), false},
    {STR("inuse_objects"), {0}, false},
    {STR("alloc_objects"), {0}, true},
    {STR("inuse_space"), {0}, false},
    {STR("alloc_space"), {0}, true},
    {STR("goroutine"), STR("goroutines"), false},
    {STR("contentions"), STR("mutex_count"), true},
    {STR("delay"), STR("mutex_duration"), true},
};

static bool read_rule(json *j, arena *a, sample_type_rule *out)
{
    if (!json_expect_object(j)) return false;
    while (json_key(j)) {
        if (json_is(j, "display-name")) {
            if (!json_take_text(j, a, &out->display_name)) return false;
        } else if (json_is(j, "cumulative")) {
            json_token t = json_next(j);
            if (t != JSON_TRUE && t != JSON_FALSE) return json_expected(j, "true or false");
            out->cumulative = t == JSON_TRUE;
        } else if (!json_skip_value(j)) {
            return false;
        }
    }
    return !j->bad;
}

bool sample_types_read(str text, arena *a, sample_types *out, err *e)
{
    *out = (sample_types){0};
    if (!text.n) {
        sample_type_rule *v = arena_new(a, sample_type_rule, ARRAY_LEN(defaults));
        if (!v) return arena_spent(a, e);
        memcpy(v, defaults, sizeof defaults);
        out->rules.v = v, out->rules.n = out->rules.cap = ARRAY_LEN(defaults);
        return true;
    }
    json j = json_open_text(text, a, e);
    if (!json_expect_object(&j)) return false;
    while (json_key(&j)) {
        if (out->rules.n == RULES_MOST) return json_fail(&j, "more than %d types", RULES_MOST);
        sample_type_rule *r = vec_push(a, &out->rules);
        if (!r || !json_copy_text(&j, a, &r->type)) return arena_spent(a, e);
        if (!read_rule(&j, a, r))
            return err_in(e, "%.*s", (int)(r->type.n < 40 ? r->type.n : 40), r->type.p);
    }
    return json_finish(&j);
}

const sample_type_rule *sample_types_find(const sample_types *t, str type)
{
    for (size_t i = 0; i < t->rules.n; i++)
        if (str_eq(t->rules.v[i].type, type)) return &t->rules.v[i];
    return NULL;
}
