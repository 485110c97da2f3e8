/* Reads samples, which are most of a profile. Interns stacks and stores values in columns. */
#include "format/pprof_intern.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- the fast reader ---- */

/* Returns whether there are four continuation bytes in a row: an id beyond 28 bits, which the
 * 32-bit kernel would truncate. */
ALWAYS_INLINE bool has_long_varint(const uint8_t *p, const uint8_t *q)
{
    uint64_t found = 0;
    for (; p < q; p += 5) { /* a word contains the five positions at which four bytes can begin */
        uint64_t w;
        memcpy(&w, p, 8);
        found |= w & w >> 8 & w >> 16 & w >> 24;
    }
    return found & 0x8080808080u;
}

ALWAYS_INLINE bool quick_ids(pp *r, const uint8_t *p, const uint8_t *q, uint32_t *max)
{
    if (UNLIKELY(has_long_varint(p, q))) return false;
    ptrdiff_t n = r->packed(p, q, r->ids.v + r->ids.n, max);
    if (UNLIKELY(n < 0)) return false;
    r->ids.n += (size_t)n;
    return true;
}

/* Replaces the ids in r->ids by the model's locations. */
ALWAYS_INLINE bool quick_frames(pp *r, uint32_t max)
{
    const pp_ids *ids = &r->location_ids;
    if (UNLIKELY(r->ids.n && max >= ids->n_direct)) return false;
    uint32_t absent = 0;
    if (ids->identity) {
        for (size_t i = 0; i < r->ids.n; i++) absent |= r->ids.v[i] - 1; /* 0 is not a valid id */
        return LIKELY(!(absent >> 31));
    }
    for (size_t i = 0; i < r->ids.n; i++) absent |= r->ids.v[i] = ids->direct[r->ids.v[i]];
    return LIKELY(!(absent >> 31));
}

ALWAYS_INLINE bool quick_label(pp *r, const uint8_t *p, const uint8_t *q, size_t row)
{
    uint64_t v[PP_FIELDS] = {0};
    if (!pp_numbers(p, q, 4, v)) return false;
    size_t n = r->strings.n;
    if (UNLIKELY(v[1] >= n || v[2] >= n || v[4] >= n)) return false;
    return pp_label_add(r, v, row);
}

ALWAYS_INLINE bool quick_sample(pp *r, const uint8_t *p, const uint8_t *q, size_t row)
{
    const uint8_t *o, *end;
    uint64_t v;
    uint32_t max = 0;
    size_t k = 0, n_types = r->n_types, n_rows = r->n_rows;
    if (pp_near(r, q)) return false;
    while (p < q) {
        switch (*p) {
        case 0x0a:
            if (UNLIKELY(!(end = pp_len(p + 1, q, &o)) || !quick_ids(r, o, end, &max)))
                return false;
            p = end;
            break;
        case 0x12:
            if (UNLIKELY(!(end = pp_len(p + 1, q, &o)))) return false;
            for (p = o; p < end; k++) {
                if (UNLIKELY(k == n_types || !(p = take_varint(p, end, &v, false)))) return false;
                r->value[k * n_rows + row] = (int64_t)v;
            }
            if (UNLIKELY(p != end)) return false;
            break;
        case 0x1a:
            if (UNLIKELY(!(end = pp_len(p + 1, q, &o)) || !quick_label(r, o, end, row)))
                return false;
            p = end;
            break;
        case 0x08: /* Go does not pack lists of one or two elements */
            if (UNLIKELY(!(p = take_varint(p + 1, q, &v, false)) || v > INT32_MAX)) return false;
            r->ids.v[r->ids.n++] = (uint32_t)v;
            max = v > max ? (uint32_t)v : max;
            break;
        case 0x10:
            if (UNLIKELY(k == n_types || !(p = take_varint(p + 1, q, &v, false)))) return false;
            r->value[k++ * n_rows + row] = (int64_t)v;
            break;
        default: return false;
        }
    }
    return p == q && k == n_types && quick_frames(r, max);
}

/* ---- the plain reader ---- */

static bool plain_label(pp *r, pb_cur c, size_t row)
{
    static const char *const names[] = {"", "key", "str", "num", "num_unit"};
    pb_field f[PP_FIELDS] = {0};
    uint64_t v[PP_FIELDS] = {0};
    if (!pp_plain_numbers(r, &c, names, 4, f)) return false;
    for (uint32_t i = 1; i <= 4; i++) {
        bool repaired = false;
        if (i != 3 && !pp_string_exists(r, &c, &f[i], names[i], &repaired)) return false;
        v[i] = repaired ? 0 : f[i].value;
    }
    return pp_label_add(r, v, row);
}

static bool plain_id(pp *r, pb_cur *c, const pb_field *f)
{
    uint32_t i;
    if (f->value == 0 && !r->lenient)
        return pb_fail(c, f->at, "location_id 0 does not name a location");
    if (!pp_ref_field(r, c, f, "location_id", &r->location_ids, "location", &i)) return false;
    r->ids.v[r->ids.n++] = i; /* has room for one element per byte */
    return true;
}

static bool plain_value(pp *r, pb_cur *c, const pb_field *f, size_t row, size_t *k)
{
    if (*k < r->n_types) {
        r->value[(*k)++ * r->n_rows + row] = (int64_t)f->value;
        return true;
    }
    if (r->lenient) return true;
    return pb_fail(c, f->at, "the sample has more values than the %zu sample types", r->n_types);
}

/* Reads a list, packed or not, element by element. */
static bool plain_list(pp *r, pb_cur *c, const pb_field *f, const char *name, size_t row, size_t *k)
{
    bool ids = f->number == 1;
    if (f->wire == 0) return ids ? plain_id(r, c, f) : plain_value(r, c, f, row, k);
    if (!pb_expect(c, f, 2, name)) return false;
    pb_cur in = pb_message(c, f);
    while (in.p < in.end) {
        pb_field one = {.number = f->number, .at = in.p};
        if (!pb_varint(&in, &one.value)) return false;
        if (ids ? !plain_id(r, &in, &one) : !plain_value(r, &in, &one, row, k)) return false;
    }
    return true;
}

static bool plain_sample(pp *r, pb_cur c, size_t row)
{
    size_t k = 0;
    const uint8_t *begin = c.p;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = plain_list(r, &c, &f, "location_id", row, &k); break;
        case 2: ok = plain_list(r, &c, &f, "value", row, &k); break;
        case 3:
            if (!pb_expect(&c, &f, 2, "label")) return false;
            if (!plain_label(r, pb_message(&c, &f), row))
                return err_in(r->e, "label[%zu]", r->row.n);
            break;
        default: r->n_unknown++;
        }
        if (!ok) return false;
    }
    if (!pb_ok(&c)) return false;
    if (k < r->n_types && !r->lenient)
        return pb_fail(&c, begin, "the sample has %zu values, but there are %zu sample types", k,
                       r->n_types);
    for (; k < r->n_types; k++) r->value[k * r->n_rows + row] = 0;
    return true;
}

/* ---- rows ---- */

static void begin_row(pp *r)
{
    r->ids.n = r->row.n = 0;
    r->row_repeats = r->row_ids = false;
}

/* Resets the keys of the current row, so that they do not count as repeated when the plain reader
 * reads the row again. */
static void forget_keys(pp *r)
{
    for (size_t i = 0; i < r->row.n; i++) r->keys.v[r->labels.v[r->row.v[i]].key_i].seen = 0;
}

/* Queues the stack of this row until its slot is in the cache, and looks up the oldest queued
 * one. */
ALWAYS_INLINE void put_stack(pp *r, size_t row)
{
    u32s *ids = &r->waiting[row % PP_WAITING].ids, mine = r->ids;
    uint64_t *hash = &r->waiting[row % PP_WAITING].hash;
    if (LIKELY(row >= PP_WAITING)) r->stack[row - PP_WAITING] = pp_stack_take(r, ids, *hash);
    r->ids = *ids;
    *ids = mine;
    *hash = pp_stack_hash(&mine, r->stack_index.seed);
    pp_prefetch(&r->stack_index, *hash);
}

static void last_stacks(pp *r)
{
    size_t n = r->n_rows < PP_WAITING ? r->n_rows : PP_WAITING;
    for (size_t row = r->n_rows - n; row < r->n_rows; row++)
        r->stack[row] =
            pp_stack_take(r, &r->waiting[row % PP_WAITING].ids, r->waiting[row % PP_WAITING].hash);
}

static bool take_sample(pp *r, const pp_iter *i)
{
    size_t n = (size_t)(i->q - i->p) + HOT_SLACK;
    r->ids.n = 0;
    if (!vec_reserve(r->a, &r->ids, n)) return arena_spent(r->a, r->e);
    begin_row(r);
    if (!quick_sample(r, i->p, i->q, i->n)) {
        forget_keys(r);
        begin_row(r);
        if (!plain_sample(r, pp_cur(r, i->p, i->q), i->n)) return err_in(r->e, "sample[%zu]", i->n);
    }
    put_stack(r, i->n);
    r->attr_off[i->n + 1] = (uint32_t)r->b.m.sample_attrs.n;
    return (LIKELY(!r->row.n) || pp_row_attrs(r, i->n)) &&
           (LIKELY(!r->b.failed) || arena_spent(r->a, r->e));
}

/* Finds the sample with too few values, when there are fewer values than rows times types. */
static COLD bool too_few_values(pp *r)
{
    for (pp_iter i = pp_each(r, &r->samples); pp_next(&i);)
        if ((size_t)(i.q - i.p) < r->n_types) {
            err_at(r->e, ERR_MALFORMED, (uint64_t)(i.p - r->base),
                   "the sample has fewer values than the %zu sample types", r->n_types);
            return err_in(r->e, "sample[%zu]", i.n);
        }
    return true;
}

static bool columns(pp *r)
{
    size_t n = r->n_rows, n_values;
    if (ckd_mul(&n_values, n, r->n_types) || n_values > UINT32_MAX)
        return err_set(r->e, ERR_LIMIT, "%zu samples of %zu values exceed the limit of a model", n,
                       r->n_types);
    r->value = arena_array(r->a, n_values, sizeof *r->value);
    r->stack = arena_array(r->a, n, sizeof *r->stack);
    r->attr_off = arena_array(r->a, n + 1, sizeof *r->attr_off);
    if (!r->value || !r->stack || !r->attr_off) return arena_spent(r->a, r->e);
    r->attr_off[0] = 0;
    return true;
}

/* Reserves memory for the stacks. This is an estimate, since ids have one to three bytes. */
static void expect_stacks(pp *r)
{
    dict *d = &r->b.m.dict;
    size_t bytes = 0;
    for (size_t i = 0; i < r->samples.runs.n; i++) bytes += r->samples.runs.v[i].n;
    bool enough =
        vec_reserve(r->a, &d->frames, bytes / 2) && vec_reserve(r->a, &d->stacks, r->n_rows);
    (void)enough;
}

bool pp_samples(pp *r)
{
    r->n_types = r->types.n;
    r->n_rows = r->samples.n;
    if (!r->n_rows) return true;
    pp_iter first = pp_each(r, &r->samples);
    if (!r->n_types && pp_next(&first)) {
        if (r->lenient) return r->n_rows = 0, true;
        return err_at(r->e, ERR_MALFORMED, (uint64_t)(first.p - r->base),
                      "there are samples but no sample_type that defines their values");
    }
    if (!r->lenient && r->n_rows > (size_t)(r->end - r->base) / r->n_types && !too_few_values(r))
        return false;
    if (!columns(r)) return false;
    expect_stacks(r);
    for (pp_iter i = pp_each(r, &r->samples); pp_next(&i);)
        if (!take_sample(r, &i)) return false;
    last_stacks(r);
    return !r->b.failed || arena_spent(r->a, r->e);
}
