/* The JSON of /pyroscope/render and /pyroscope/render-diff, which is also that of ad hoc
 * profiles. */
#include "pyroscope/flame.h"

#include "wire/json.h"

#include "base/ban.h"

/* Pyroscope's rules for the unit that its older clients show. */
static str units_of(const pyro_type *t, uint32_t *rate)
{
    static const str objects[] = {STR("inuse_objects"), STR("alloc_objects"), STR("goroutine"),
                                  STR("samples")};
    *rate = 100;
    for (size_t i = 0; i < ARRAY_LEN(objects); i++)
        if (str_eq(t->type, objects[i])) return STR("objects");
    if (!str_eq(t->type, STR("cpu"))) return t->unit;
    *rate = 1000000000;
    return STR("samples");
}

static void put_text(json_out *o, str key, str value)
{
    json_put_key(o, key);
    json_put_str(o, value);
}

static void put_i64(json_out *o, str key, int64_t v)
{
    json_put_key(o, key);
    json_put_i64(o, v);
}

static void put_values(json_out *o, const int64_t *v, size_t n)
{
    json_put_array(o);
    for (size_t i = 0; i < n; i++) json_put_i64(o, v[i]);
    json_put_array_end(o);
}

static void put_flame(json_out *o, const pyro_flame *f)
{
    json_put_key(o, STR("flamebearer"));
    json_put_object(o);
    json_put_key(o, STR("names"));
    json_put_array(o);
    for (size_t i = 0; i < f->n_names; i++) json_put_str(o, f->names[i]);
    json_put_array_end(o);
    json_put_key(o, STR("levels"));
    json_put_array(o);
    for (size_t d = 0; d < f->n_levels; d++)
        put_values(o, f->values + f->level[d], f->level[d + 1] - f->level[d]);
    json_put_array_end(o);
    put_i64(o, STR("numTicks"), f->total);
    put_i64(o, STR("maxSelf"), f->max_self);
    json_put_object_end(o);
}

static void put_metadata(json_out *o, const pyro_flamebearer *f)
{
    uint32_t rate;
    str units = units_of(&f->type, &rate);
    json_put_key(o, STR("metadata"));
    json_put_object(o);
    put_text(o, STR("format"), f->flame->diff ? STR("double") : STR("single"));
    put_text(o, STR("spyName"), STR(""));
    put_i64(o, STR("sampleRate"), rate);
    put_text(o, STR("units"), units);
    put_text(o, STR("name"), f->type.type);
    json_put_object_end(o);
}

static void put_timeline(json_out *o, const pyro_timeline *t)
{
    json_put_object(o);
    put_i64(o, STR("startTime"), t->start);
    json_put_key(o, STR("samples"));
    put_values(o, t->samples, t->n);
    put_i64(o, STR("durationDelta"), (int64_t)t->step);
    json_put_key(o, STR("watermarks"));
    json_put_null(o);
    json_put_object_end(o);
}

static void put_groups(json_out *o, const pyro_flamebearer *f)
{
    json_put_key(o, STR("groups"));
    if (!f->groups) {
        json_put_null(o);
        return;
    }
    json_put_object(o);
    for (size_t i = 0; i < f->n_groups; i++) {
        json_put_key(o, f->groups[i].group);
        put_timeline(o, &f->groups[i]);
    }
    json_put_object_end(o);
}

void pyro_flamebearer_put(const pyro_flamebearer *f, buf *b)
{
    json_out o = {.b = b};
    json_put_object(&o);
    put_i64(&o, STR("version"), 1);
    put_flame(&o, f->flame);
    put_metadata(&o, f);
    json_put_key(&o, STR("timeline"));
    if (f->timeline)
        put_timeline(&o, f->timeline);
    else
        json_put_null(&o);
    put_groups(&o, f);
    json_put_key(&o, STR("heatmap"));
    json_put_null(&o);
    if (f->flame->diff) {
        put_i64(&o, STR("leftTicks"), f->flame->left_ticks);
        put_i64(&o, STR("rightTicks"), f->flame->right_ticks);
    }
    if (f->partial.n) put_text(&o, STR("kiln_partial"), f->partial);
    json_put_object_end(&o);
}
