/* Builds a Profile of the model from the pieces of one profile of the file. */
#include "format/speedscope_read.h"

#include "format/observe.h"
#include "wire/carried.h"
#include "base/ban.h"

static void put_timed(speedscope_reader *r, const uint32_t *attrs, size_t n)
{
    observe o = observe_new(&r->b, r->work);
    o.lengths = true;
    uint32_t *key = arena_new(r->work, uint32_t, r->pieces.n);
    if (!key) r->b.failed = true;
    for (size_t i = 0; i < r->pieces.n && !r->b.failed; i++) {
        key[i] = observe_key(&o, nest_stack(&r->tree, r->pieces.v[i].node), attrs, n);
        if (!r->b.failed) o.keys.v[key[i]].n++;
    }
    observe_place(&o, OBSERVE_BOTH);
    for (size_t i = 0; i < r->pieces.n && !r->b.failed; i++)
        observe_put(&o, key[i], (uint64_t)r->pieces.v[i].time, r->pieces.v[i].value);
    if (r->b.failed) return;
    profile *p = &r->b.m.profiles.v[r->b.m.profiles.n - 1];
    uint64_t end = p->time_unix_nano + p->duration_nano;
    observe_window(p, o.first < p->time_unix_nano ? o.first : p->time_unix_nano,
                   o.last > end ? o.last : end);
}

/* Adds each piece as a sample. Without times only their order is known, so they are not grouped,
 * although P-66 requires it. */
static void put_untimed(speedscope_reader *r, const uint32_t *attrs, size_t n)
{
    for (size_t i = 0; i < r->pieces.n && !r->b.failed; i++)
        builder_sample(&r->b, &(sample){
                                  .stack = nest_stack(&r->tree, r->pieces.v[i].node),
                                  .values = &r->pieces.v[i].value,
                                  .n_values = 1,
                                  .attrs = attrs,
                                  .n_attrs = (uint32_t)n,
                              });
}

/* Shifts times so that none is negative, which the model cannot represent. */
static void shift_to_epoch(speedscope_reader *r, speedscope_section *p)
{
    int64_t least = p->start;
    for (size_t i = 0; i < r->pieces.n; i++)
        if (r->pieces.v[i].time < least) least = r->pieces.v[i].time;
    if (least >= 0 || least == INT64_MIN) return;
    ledger_add(r->l, STAGE_READ, LOSS_TIME, NULL, "profiles[].startValue", STR("before 0"));
    if (ckd_sub(&p->start, p->start, least)) p->start = INT64_MAX;
    p->end -= p->end > INT64_MAX + least ? 0 : least;
    for (size_t i = 0; i < r->pieces.n; i++)
        if (ckd_sub(&r->pieces.v[i].time, r->pieces.v[i].time, least))
            r->pieces.v[i].time = INT64_MAX;
}

/* Returns the attribute that records the power of ten by which values with decimals are
 * multiplied. */
static uint32_t scale_attr(speedscope_reader *r, int digits)
{
    int64_t by = 1;
    while (digits-- > 0) by *= 10;
    ledger_add(r->l, STAGE_READ, LOSS_ROUNDED, KILN_ATTR_VALUE_SCALE, "profiles[].weights",
               (str){0});
    return builder_attribute_int(&r->b, STR(KILN_ATTR_VALUE_SCALE), by);
}

void speedscope_put_section(speedscope_reader *r, speedscope_section *p)
{
    builder *b = &r->b;
    uint32_t attrs[5], n = 0, on_sample[1], n_on_sample = 0;
    observe_profile(b, str_of(p->unit->type), str_of(p->unit->unit));
    if (p->name.n) attrs[n++] = builder_attribute_str(b, STR(KILN_ATTR_PROFILE_NAME), p->name);
    if (p->unit->scale)
        attrs[n++] = builder_attribute_str(b, STR(KILN_ATTR_UNIT), str_of(p->unit->name));
    if (p->scale != p->unit->scale) attrs[n++] = scale_attr(r, p->scale);
    if (p->evented) attrs[n++] = builder_attribute_bool(b, STR(KILN_ATTR_EVENT_INTERVAL), true);
    if (p->unit->is_time) attrs[n++] = observe_epoch(b, r->l);
    builder_profile_attrs(b, attrs, n);
    if (str_starts(p->name, STR("Thread ")) || str_starts(p->name, STR("thread ")))
        on_sample[n_on_sample++] = observe_thread_name(b, p->name);
    if (!p->unit->is_time && p->start)
        ledger_add(r->l, STAGE_READ, LOSS_METADATA, NULL, "profiles[].startValue", (str){0});
    if (r->rounded)
        ledger_add_n(r->l, STAGE_READ, LOSS_ROUNDED, NULL, r->pieces.n, "profiles[]", (str){0});
    if (b->failed) return;
    if (!p->unit->is_time) {
        put_untimed(r, on_sample, n_on_sample);
        return;
    }
    shift_to_epoch(r, p);
    profile *q = &b->m.profiles.v[b->m.profiles.n - 1];
    observe_window(q, (uint64_t)p->start,
                   p->end > p->start ? (uint64_t)p->end : (uint64_t)p->start);
    put_timed(r, on_sample, n_on_sample);
}
