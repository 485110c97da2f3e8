/* Collects rows until their group is complete, then builds one Profile per value type. */
#include "format/splunk_read.h"

#include "base/ban.h"

void splunk_read_lose(splunk_reader *r, loss_concept c, const char *carried_as, uint64_t n,
                      str value)
{
    if (n) ledger_add_n(r->ledger, STAGE_READ, c, carried_as, n, r->where, value);
}

/* ---- lists of attributes ---- */

void splunk_list_begin(splunk_reader *r) { r->epoch++; }

/* Adds an attribute unless the list has its key already. */
bool splunk_list_add(splunk_reader *r, u32s *to, uint32_t attr)
{
    if (r->b.failed) return arena_spent(r->a, r->e);
    uint32_t key = r->b.m.dict.attributes.v[attr].key;
    if (key >= r->key_seen.n) {
        size_t more = key + 1 - r->key_seen.n;
        if (!vec_reserve(r->a, &r->key_seen, more)) return arena_spent(r->a, r->e);
        memset(r->key_seen.v + r->key_seen.n, 0, more * sizeof *r->key_seen.v);
        r->key_seen.n = key + 1;
    }
    if (r->key_seen.v[key] == r->epoch) {
        splunk_read_lose(r, LOSS_ATTRIBUTE, NULL, 1, dict_str(&r->b.m.dict, key));
        return true;
    }
    r->key_seen.v[key] = r->epoch;
    uint32_t *slot = vec_push(r->a, to);
    if (!slot) return arena_spent(r->a, r->e);
    *slot = attr;
    return true;
}

bool splunk_list_any(splunk_reader *r, u32s *to, str key, const any *value)
{
    if (key.n) return splunk_list_add(r, to, builder_attribute(&r->b, key, value, (str){0}));
    splunk_read_lose(r, LOSS_ATTRIBUTE, NULL, 1, STR("without a key")); /* P-28 */
    return true;
}

bool splunk_list_str(splunk_reader *r, u32s *to, const char *key, str value)
{
    return !value.n || splunk_list_add(r, to, builder_attribute_str(&r->b, str_of(key), value));
}

bool splunk_list_int(splunk_reader *r, u32s *to, const char *key, uint64_t value)
{
    if (!value) return true;
    return splunk_list_add(r, to, builder_attribute_int(&r->b, str_of(key), (int64_t)value));
}

/* ---- rows to Profiles ---- */

static value_type type_of(splunk_reader *r, str type, str unit)
{
    return (value_type){builder_string(&r->b, type), builder_string(&r->b, unit)};
}

/* Returns the period of all rows, or 0 if they differ. */
static int64_t common_period(const splunk_reader *r)
{
    if (!r->rows.n) return r->g.period_ms;
    for (size_t i = 1; i < r->rows.n; i++)
        if (r->rows.v[i].period_ms != r->rows.v[0].period_ms) return 0;
    return r->rows.v[0].period_ms;
}

static bool all_periods(const splunk_reader *r)
{
    for (size_t i = 0; i < r->rows.n; i++)
        if (!r->rows.v[i].period_ms) return false;
    return r->rows.n > 0;
}

static void set_window(const splunk_reader *r, int64_t period_ms, profile *p)
{
    uint64_t min = UINT64_MAX, max = 0;
    p->time_unix_nano = r->g.time;
    p->duration_nano = r->g.duration;
    if (r->g.time || r->g.duration) return;
    for (size_t i = 0; i < r->rows.n; i++) {
        uint64_t t = r->rows.v[i].time;
        if (t && t < min) min = t;
        if (t > max) max = t;
    }
    if (!max) return;
    p->time_unix_nano = min;
    uint64_t step =
        period_ms ? (uint64_t)period_ms * NS_PER_MS : 1; /* the range includes the last sample */
    if (ckd_add(&p->duration_nano, max - min, step)) p->duration_nano = max - min;
}

static bool put_resource(splunk_reader *r)
{
    if (!r->resource_put) builder_resource(&r->b, &r->resource);
    if (!r->scope_put) builder_scope(&r->b, &r->scope);
    r->resource_put = r->scope_put = true;
    return !r->b.failed || arena_spent(r->a, r->e);
}

/* Builds the Profile for column k of the values; k == n_types means wall time. */
static bool put_profile(splunk_reader *r, value_type type, size_t k, int64_t period_ms)
{
    profile *p = builder_profile(&r->b);
    p->sample_type = type;
    p->dropped_attributes_count = r->g.dropped;
    if (period_ms) {
        p->period_type = type_of(r, STR("wall"), STR("nanoseconds"));
        p->period = period_ms * NS_PER_MS;
    } else {
        p->period_type = r->g.period_type;
        p->period = r->g.period;
    }
    if (!k) memcpy(p->profile_id, r->g.profile_id, sizeof p->profile_id);
    set_window(r, period_ms, p);
    builder_profile_attrs(&r->b, r->g.attrs.v, r->g.attrs.n);
    for (size_t i = 0; i < r->rows.n && !r->b.failed; i++) {
        const splunk_row *w = &r->rows.v[i];
        int64_t wall = w->period_ms * NS_PER_MS;
        const int64_t *v = k < r->g.n_types ? &r->values.v[i * r->g.n_types + k] : &wall;
        sample s = {.stack = w->stack,
                    .link = w->link,
                    .attrs = refs_at(&r->row_attrs, w->attrs),
                    .n_attrs = w->attrs.n,
                    .values = v,
                    .n_values = 1,
                    .times = &w->time,
                    .n_times = w->time != 0};
        builder_sample(&r->b, &s);
    }
    return !r->b.failed || arena_spent(r->a, r->e);
}

/* Stores periods that differ as attributes of the samples. */
static bool keep_periods(splunk_reader *r)
{
    u32s all = {0};
    for (size_t i = 0; i < r->rows.n; i++) {
        splunk_row *w = &r->rows.v[i];
        uint32_t at = (uint32_t)all.n;
        size_t n = w->attrs.n + (w->period_ms != 0);
        if (all.n + n > UINT32_MAX || !vec_reserve(r->a, &all, n)) return arena_spent(r->a, r->e);
        const uint32_t *v = refs_at(&r->row_attrs, w->attrs);
        for (uint32_t k = 0; k < w->attrs.n; k++) all.v[all.n++] = v[k];
        if (w->period_ms)
            all.v[all.n++] = builder_attribute_int(&r->b, STR(SPLUNK_PERIOD), w->period_ms);
        w->attrs = (span){at, (uint32_t)all.n - at};
    }
    r->row_attrs = all;
    return !r->b.failed || arena_spent(r->a, r->e);
}

bool splunk_rows_flush(splunk_reader *r)
{
    if (!r->open) return true;
    r->open = false;
    const splunk_group *g = &r->g;
    int64_t period = common_period(r);
    bool wall = !g->typed && !g->allocation && all_periods(r);
    if (!put_resource(r) || (!period && !keep_periods(r))) return false;
    for (size_t k = 0; k < g->n_types; k++) {
        value_type t = g->typed        ? g->types[k]
                       : g->allocation ? type_of(r, STR("alloc_space"), STR("bytes"))
                                       : type_of(r, STR("samples"), STR("count"));
        if (!put_profile(r, t, k, period)) return false;
    }
    if (wall && !put_profile(r, type_of(r, STR("wall"), STR("nanoseconds")), g->n_types, period))
        return false;
    r->n_put++;
    r->rows.n = r->row_attrs.n = r->values.n = 0;
    return true;
}

bool splunk_rows_add(splunk_reader *r, const splunk_row *w, int64_t value)
{
    splunk_row *slot = vec_push(r->a, &r->rows);
    int64_t *v = vec_push(r->a, &r->values);
    if (!slot || !v) return arena_spent(r->a, r->e);
    *slot = *w;
    *v = value;
    return true;
}
