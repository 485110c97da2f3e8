/* The checks of the SIG's profcheck, in its order and with its quirks (docs/check.md lists them),
 * so that the verdict on the same bytes is the same. Counts errors and stores the first text. */
#include "check/check.h"

#include "base/hash.h"
#include "check/profcheck.h"

#include "base/ban.h"
#include <inttypes.h>
#include <stdio.h>

const char *profcheck_status_name(profcheck_status s)
{
    static const char *const names[] = {"pass", "fail", "unreadable", "panic"};
    return (unsigned)s < ARRAY_LEN(names) ? names[s] : "?";
}

void profcheck_fails(profcheck *j, const char *fmt, ...)
{
    if (j->out->n_errors++ || j->panicked) return;
    int n = snprintf(j->out->first, sizeof j->out->first, "%s", j->in);
    size_t k = n < 0 ? 0 : (size_t)n < sizeof j->out->first ? (size_t)n : sizeof j->out->first - 1;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(j->out->first + k, sizeof j->out->first - k, fmt, ap);
    va_end(ap);
}

void profcheck_panics(profcheck *j, const char *why)
{
    if (j->panicked) return;
    j->panicked = true;
    snprintf(j->out->first, sizeof j->out->first, "panic: %s", why);
}

void profcheck_index(profcheck *j, int32_t i, size_t n, const char *fmt, ...)
{
    char where[96];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(where, sizeof where, fmt, ap);
    va_end(ap);
    profcheck_fails(j, "%s: index %" PRId32 " is out of range [0..%zu)", where, i, n);
}

/* ---- attribute lists: unique keys, by text ---- */

static bool resolve_keys(profcheck *j)
{
    size_t n = j->d.strings.n;
    uint32_t *same = arena_array(j->a, n + 1, sizeof *same);
    hash_index x = {0};
    j->stamp = arena_new(j->a, uint32_t, n + 1);
    j->key_of = arena_array(j->a, j->d.attributes.n + 1, sizeof *j->key_of);
    if (!same || !j->stamp || !j->key_of) return false;
    for (size_t i = 0; i < n; i++) {
        str s = j->d.strings.v[i];
        if (!hash_index_room(&x, j->a)) return false;
        uint64_t h = hash_bytes(s.p, s.n, x.seed);
        uint32_t slot = hash_first(&x, h), first = 0;
        bool found = false;
        for (; !found && hash_next(&x, &slot, h, &first); slot++)
            found = str_eq(j->d.strings.v[first], s);
        if (!found) hash_put(&x, slot, h, (uint32_t)i);
        same[i] = found ? first : (uint32_t)i;
    }
    for (size_t i = 0; i < j->d.attributes.n; i++) {
        int32_t key = j->d.attributes.v[i].key;
        j->key_of[i] = go_outside(key, n) ? UINT32_MAX : same[key];
    }
    return true;
}

void profcheck_list(profcheck *j, const int32_t *v, size_t n, const char *prefix)
{
    if (++j->tick == 0) {
        memset(j->stamp, 0, j->d.strings.n * sizeof *j->stamp);
        j->tick = 1;
    }
    for (size_t k = 0; k < n; k++) {
        if (go_outside(v[k], j->d.attributes.n)) {
            profcheck_index(j, v[k], j->d.attributes.n, "%sattribute_indices: [%zu]", prefix, k);
            continue;
        }
        uint32_t key = j->key_of[v[k]];
        if (key == UINT32_MAX) {
            profcheck_index(j, j->d.attributes.v[v[k]].key, j->d.strings.n,
                            "%sattribute_indices: [%zu].key_strindex", prefix, k);
        } else if (j->stamp[key] == j->tick) {
            profcheck_fails(j, "%sattribute_indices: [%zu].key_strindex: duplicate key \"%.*s\"",
                            prefix, k, STR_ARG(j->d.strings.v[key]));
        } else {
            j->stamp[key] = j->tick;
        }
    }
}

/* ---- samples ---- */

typedef enum shape { SHAPE_UNSET, SHAPE_VALUES, SHAPE_TIMES, SHAPE_BOTH, SHAPE_INVALID } shape;

static uint64_t count_varints(const go_field *f)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < f->value; i++) n += f->data[i] < 0x80;
    return n;
}

static bool take_times(profcheck *j, const go_field *f)
{
    uint64_t n = f->wire == 1 ? 1 : f->value / 8;
    if (!vec_reserve(j->a, &j->times, n)) return !(j->limit = true);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t t = f->value;
        if (f->wire == 2) {
            t = 0;
            for (size_t k = 8; k-- > 0;) t = t << 8 | f->data[i * 8 + k];
        }
        j->times.v[j->times.n++] = t;
    }
    return true;
}

bool go_take_sample(profcheck *j, const go_field *f, go_sample *s)
{
    *s = (go_sample){0};
    j->attrs.n = j->times.n = 0;
    go_cur c = {f->data, f->data + f->value};
    bool bad = false;
    for (go_field g; go_next(&c, &g, &bad);) {
        switch (g.number << 3 | g.wire) {
        case 1 << 3: s->stack = (int32_t)(uint32_t)g.value; break;
        case 2 << 3:
        case 2 << 3 | 2:
            if (!go_take_i32s(&g, j->a, &j->attrs)) return !(j->limit = true);
            break;
        case 3 << 3: s->link = (int32_t)(uint32_t)g.value; break;
        case 4 << 3: s->n_values++; break;
        case 4 << 3 | 2: s->n_values += count_varints(&g); break;
        case 5 << 3 | 1:
        case 5 << 3 | 2:
            if (!take_times(j, &g)) return false;
            break;
        default: break;
        }
    }
    return true;
}

static shape shape_of(profcheck *j, const go_sample *s)
{
    size_t n_times = j->times.n;
    if (s->n_values && n_times) {
        if (s->n_values != n_times)
            profcheck_fails(j,
                            "values (len=%" PRIu64
                            ") and timestamps_unix_nano (len=%zu) must contain the "
                            "same number of elements",
                            s->n_values, n_times);
        return SHAPE_BOTH;
    }
    if (s->n_values) {
        if (s->n_values != 1)
            profcheck_fails(j,
                            "values (len=%" PRIu64 ") must contain a single element if "
                            "timestamps_unix_nano is not set",
                            s->n_values);
        return SHAPE_VALUES;
    }
    if (n_times) return SHAPE_TIMES;
    profcheck_fails(j, "sample must have at least one values or timestamps_unix_nano entry");
    return SHAPE_INVALID;
}

static void check_sample(profcheck *j, const go_sample *s, uint64_t start, uint64_t end,
                         shape *first)
{
    static const char *const names[] = {"unspecified", "values_only", "timestamps_only",
                                        "both_values_and_timestamps", "unspecified"};
    GO_INDEX(j, s->stack, j->d.stacks.n, "stack_index");
    profcheck_list(j, j->attrs.v, j->attrs.n, "");
    GO_INDEX(j, s->link, j->d.links.n, "link_index");
    for (size_t i = 0; i < j->times.n; i++) {
        uint64_t t = j->times.v[i];
        if (t < start || t >= end)
            profcheck_fails(j,
                            "timestamps_unix_nano[%zu]=%" PRIu64
                            " is outside profile time range [%" PRIu64 ", %" PRIu64 ")",
                            i, t, start, end);
    }
    if (!j->o.check_sample_shapes) return;
    shape here = shape_of(j, s);
    if (*first == SHAPE_UNSET)
        *first = here;
    else if (here != *first)
        profcheck_fails(j, "sample shape %s does not match expected sample shape %s", names[here],
                        names[*first]);
}

/* ---- profiles: reads the fields before the samples, which may precede them ---- */

static void take_value_type(const go_field *f, int32_t out[2])
{
    go_cur c = {f->data, f->data + f->value};
    bool bad = false;
    for (go_field g; go_next(&c, &g, &bad);) {
        if (g.wire == 0 && g.number == 1) out[1] = (int32_t)(uint32_t)g.value;
        if (g.wire == 0 && g.number == 2) out[0] = (int32_t)(uint32_t)g.value;
    }
}

bool go_take_profile(profcheck *j, go_cur c, go_profile *p)
{
    *p = (go_profile){0};
    j->attrs.n = 0;
    bool bad = false;
    for (go_field g; go_next(&c, &g, &bad);) {
        switch (g.number << 3 | g.wire) {
        case 1 << 3 | 2: take_value_type(&g, p->types); break;
        case 3 << 3 | 1: p->time = g.value; break;
        case 4 << 3: p->duration = g.value; break;
        case 5 << 3 | 2: take_value_type(&g, p->types + 2); break;
        case 11 << 3:
        case 11 << 3 | 2:
            if (!go_take_i32s(&g, j->a, &j->attrs)) return !(j->limit = true);
            break;
        default: break;
        }
    }
    return true;
}

static bool check_profile(profcheck *j, const go_field *f, uint64_t ri, uint64_t si, uint64_t pi)
{
    static const char *const names[] = {"sample_type: unit_strindex", "sample_type: type_strindex",
                                        "period_type: unit_strindex", "period_type: type_strindex"};
    go_cur c = {f->data, f->data + f->value};
    go_profile p;
    if (!go_take_profile(j, c, &p)) return false;
    j->in = j->place;
    snprintf(j->place, sizeof j->place,
             "resource_profiles[%" PRIu64 "]: scope_profiles[%" PRIu64 "]: profile[%" PRIu64 "]: ",
             ri, si, pi);
    size_t base = strlen(j->place);
    profcheck_list(j, j->attrs.v, j->attrs.n, "");
    for (size_t i = 0; i < 4; i++) GO_INDEX(j, p.types[i], j->d.strings.n, "%s", names[i]);
    shape first = SHAPE_UNSET;
    bool bad = false;
    uint64_t k = 0;
    for (go_field g; go_next(&c, &g, &bad);) {
        if (g.number != 2 || g.wire != 2) continue;
        go_sample s;
        if (!go_take_sample(j, &g, &s)) return false;
        if (!j->out->n_errors) /* only the first error is formatted */
            snprintf(j->place + base, sizeof j->place - base, "sample[%" PRIu64 "]: ", k);
        k++;
        check_sample(j, &s, p.time, p.time + p.duration, &first); /* wraps, as in Go */
    }
    return true;
}

static bool check_scope(profcheck *j, const go_field *f, uint64_t ri, uint64_t si)
{
    go_cur c = {f->data, f->data + f->value};
    bool bad = false;
    uint64_t n = 0;
    for (go_field g; go_next(&c, &g, &bad);)
        if (g.number == 2 && g.wire == 2 && !check_profile(j, &g, ri, si, n++)) return false;
    if (n) return true;
    j->in = j->place;
    snprintf(j->place, sizeof j->place,
             "resource_profiles[%" PRIu64 "]: scope_profiles[%" PRIu64 "]: ", ri, si);
    profcheck_fails(j, "scope profiles has no profiles");
    return true;
}

static bool check_resource(profcheck *j, const go_field *f, uint64_t ri)
{
    go_cur c = {f->data, f->data + f->value};
    bool bad = false;
    uint64_t n = 0;
    for (go_field g; go_next(&c, &g, &bad);)
        if (g.number == 2 && g.wire == 2 && !check_scope(j, &g, ri, n++)) return false;
    if (n) return true;
    j->in = j->place;
    snprintf(j->place, sizeof j->place, "resource_profiles[%" PRIu64 "]: ", ri);
    profcheck_fails(j, "resource profiles has no scope profiles");
    return true;
}

/* ---- the verdict ---- */

static void verdict(profcheck *j, go_cur all)
{
    bool bad = false;
    uint64_t n = 0;
    go_cur c = all;
    for (go_field g; go_next(&c, &g, &bad) && !j->panicked;) {
        if (g.number != 1 || g.wire != 2) continue;
        if (!j->d.present) {
            profcheck_panics(j, "nil pointer dereference: there is no dictionary");
            return;
        }
        if (!check_resource(j, &g, n++)) return;
    }
    if (!n) {
        profcheck_fails(j, "resource profiles are empty");
        return;
    }
    profcheck_dictionary(j);
    if (j->o.check_orphans && !j->panicked && !profcheck_orphans(j, all)) j->limit = true;
}

bool profcheck_verdict(const void *p, size_t n, const profcheck_opts *o, arena *a,
                       profcheck_result *out, err *e)
{
    static const uint8_t none[1];
    *out = (profcheck_result){0};
    profcheck j = {.o = o ? *o : PROFCHECK_DEFAULTS, .out = out, .a = a, .in = ""};
    const char *why = go_validate(p, n, a, &j.limit);
    if (j.limit) return err_memory(e);
    if (why) {
        out->status = PROFCHECK_UNREADABLE;
        out->n_errors = 1;
        snprintf(out->first, sizeof out->first, "%s", why);
        return true;
    }
    if (!go_decode_dict(p, n, a, &j.d) || !resolve_keys(&j)) return err_memory(e);
    const uint8_t *b = p ? p : none;
    verdict(&j, (go_cur){b, b + n});
    if (j.limit) return err_memory(e);
    out->status = j.panicked ? PROFCHECK_PANIC : out->n_errors ? PROFCHECK_FAIL : PROFCHECK_PASS;
    return true;
}
