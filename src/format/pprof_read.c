/* Reads profile.proto into the model: scans the top level, reads the sample types, and builds the
 * Profiles at the end. */
#include "format/pprof_internal.h"

#include "base/utf8.h"
#include "model/sweep.h"
#include "base/ban.h"
#include <inttypes.h>

/* ---- the top level ---- */

str pp_utf8(arena *a, ledger *l, str s)
{
    size_t most = s.n * 3;
    char *p = arena_alloc(a, most), *w = p;
    if (!p) return (str){0};
    for (str left = s; left.n;) {
        size_t good = utf8_valid(left.p, left.n);
        memcpy(w, left.p, good);
        w += good;
        if (good < left.n) memcpy(w, "\xef\xbf\xbd", 3), w += 3, good++;
        left = (str){left.p + good, left.n - good};
    }
    str out = {p, (size_t)(w - p)};
    arena_trim(a, p, most, out.n);
    ledger_add(l, STAGE_READ, LOSS_TEXT, NULL, "string_table", out);
    return out;
}

uint32_t pp_intern(pp *r, uint64_t i)
{
    str s = r->strings.v[i];
    if (UNLIKELY(!utf8_ok(s.p, s.n))) s = pp_utf8(r->a, r->ledger, s);
    if (UNLIKELY(!s.p)) r->b.failed = true;
    return r->string.v[i] = builder_string(&r->b, s);
}

static bool add_string(pp *r, const uint8_t *p, size_t n)
{
    if (!vec_reserve(r->a, &r->strings, 1)) return arena_spent(r->a, r->e);
    r->strings.v[r->strings.n++] = (str){(const char *)p, n};
    return true;
}

static bool add_record(pp *r, pp_records *to, const uint8_t *at, const uint8_t *end, bool goes_on)
{
    to->n++;
    if (LIKELY(goes_on)) {
        to->runs.v[to->runs.n - 1].n += (uint32_t)(end - at);
        return true;
    }
    pp_run *run = vec_push(r->a, &to->runs);
    if (!run) return arena_spent(r->a, r->e);
    *run = (pp_run){(uint32_t)(at - r->base), (uint32_t)(end - at)};
    return true;
}

/* Returns the records of the field with this number, 1 to 5. */
static pp_records *records_of(pp *r, uint32_t number)
{
    switch (number) {
    case 1: return &r->types;
    case 2: return &r->samples;
    case 3: return &r->mappings;
    case 4: return &r->locations;
    default: return &r->functions;
    }
}

static bool number(pb_cur *c, const pb_field *f, const char *name, uint64_t *out)
{
    *out = f->value;
    return pb_expect(c, f, 0, name);
}

static bool string_index(pb_cur *c, const pb_field *f, const char *name, pb_field *out)
{
    *out = *f;
    return pb_expect(c, f, 0, name);
}

/* Rejects a second time_nanos: concatenated files parse as one message whose string indices are
 * wrong. */
static bool time_nanos(pp *r, pb_cur *c, const pb_field *f)
{
    if (r->time_nanos && f->value)
        return pb_fail(c, f->at,
                       "time_nanos occurs twice: several profiles were concatenated; "
                       "split them and convert each");
    return number(c, f, "time_nanos", &r->time_nanos);
}

static bool scan_field(pp *r, pb_cur *c, const pb_field *f)
{
    static const char *const names[] = {"",         "sample_type", "sample",      "mapping",
                                        "location", "function",    "string_table"};
    pb_field *field;
    switch (f->number) {
    case 1:
    case 2:
    case 3:
    case 4:
    case 5: /* truncated: quick_record handles complete ones */
    case 6: return pb_expect(c, f, 2, names[f->number]);
    case 7: return string_index(c, f, "drop_frames", &r->drop_frames);
    case 8: return string_index(c, f, "keep_frames", &r->keep_frames);
    case 9: return time_nanos(r, c, f);
    case 10: return number(c, f, "duration_nanos", &r->duration_nanos);
    case 11:
        if (!pb_expect(c, f, 2, "period_type")) return false;
        if (!(field = vec_push(r->a, &r->periods))) return arena_spent(r->a, r->e);
        *field = *f;
        return true;
    case 12: return number(c, f, "period", &r->period);
    case 13:
        if (f->wire != 0 && !pb_expect(c, f, 2, "comment")) return false;
        if (!(field = vec_push(r->a, &r->comments))) return arena_spent(r->a, r->e);
        *field = *f;
        return true;
    case 14: return string_index(c, f, "default_sample_type", &r->default_type);
    case 15: return string_index(c, f, "doc_url", &r->doc_url);
    default: r->n_unknown++; return true;
    }
}

/* Reads one record of fields 1 to 6 whose tag is at p. Returns the position after it, or NULL if it
 * is not in the usual form. */
ALWAYS_INLINE const uint8_t *quick_record(const uint8_t *p, const uint8_t *end, const uint8_t **o)
{
    if (UNLIKELY(*p > 0x32 || (*p & 7) != 2 || *p < 0x0a || end - p < 2)) return NULL;
    uint64_t n = p[1];
    const uint8_t *q = p + 2;
    if (UNLIKELY(n >= 0x80)) q = varint_bounded(p + 1, end, &n);
    if (UNLIKELY(!q || n > (uint64_t)(end - q))) return NULL;
    *o = q;
    return q + n;
}

bool pp_scan(pp *r)
{
    uint32_t open = 0; /* the field whose run may continue */
    for (const uint8_t *p = r->base, *q; p < r->end; p = q) {
        const uint8_t *body;
        q = quick_record(p, r->end, &body);
        if (LIKELY(q)) {
            uint32_t n = *p >> 3;
            if (n == 6 ? !add_string(r, body, (size_t)(q - body))
                       : !add_record(r, records_of(r, n), p, q, n == open))
                return false;
            open = n;
            continue;
        }
        pb_cur c = pp_cur(r, p, r->end);
        pb_field f;
        if (!pb_next(&c, &f) || !scan_field(r, &c, &f)) return false;
        q = c.p;
        open = 0;
    }
    if (r->strings.n && r->strings.v[0].n)
        return err_at(r->e, ERR_MALFORMED, (uint64_t)((const uint8_t *)r->strings.v[0].p - r->base),
                      "string_table[0] must be empty, but is \"%.*s\"",
                      (int)(r->strings.v[0].n < 40 ? r->strings.v[0].n : 40), r->strings.v[0].p);
    if (!r->strings.n && !add_string(r, r->base, 0)) return false; /* index 0 is always "" */
    return true;
}

/* ---- strings and ids in fields ---- */

bool pp_string_exists(pp *r, pb_cur *c, const pb_field *f, const char *name, bool *repaired)
{
    if (!pb_expect(c, f, 0, name)) return false;
    *repaired = false;
    if (f->value < r->strings.n) return true;
    if (r->lenient) {
        ledger_add(r->ledger, STAGE_READ, LOSS_INDEX_REPAIRED, NULL, name, (str){0});
        return *repaired = true;
    }
    return pb_fail(c, f->at, "%s is string %" PRId64 ", the table has %zu", name, (int64_t)f->value,
                   r->strings.n);
}

bool pp_string_field(pp *r, pb_cur *c, const pb_field *f, const char *name, uint32_t *out)
{
    bool repaired;
    if (!pp_string_exists(r, c, f, name, &repaired)) return false;
    *out = repaired ? 0 : pp_string(r, f->value);
    return true;
}

bool pp_ref_field(pp *r, pb_cur *c, const pb_field *f, const char *name, const pp_ids *ids,
                  const char *table, uint32_t *out)
{
    if (!pb_expect(c, f, 0, name)) return false;
    *out = 0;
    if (f->value == 0) return true;
    uint32_t i = pp_find(ids, f->value);
    if (i != PP_ABSENT) {
        *out = i;
        return true;
    }
    if (r->lenient) {
        ledger_add(r->ledger, STAGE_READ, LOSS_INDEX_REPAIRED, NULL, name, (str){0});
        return true;
    }
    return pb_fail(c, f->at, "no %s has the id %" PRIu64, table, f->value);
}

bool pp_plain_numbers(pp *r, pb_cur *c, const char *const *names, uint32_t last, pb_field *out)
{
    for (pb_field f; pb_next(c, &f);) {
        if (f.number > last) {
            r->n_unknown++;
            continue;
        }
        if (!pb_expect(c, &f, 0, names[f.number])) return false;
        out[f.number] = f;
    }
    return pb_ok(c);
}

/* ---- fields of the Profile itself ---- */

/* Reads a ValueType into *out. A message in several pieces is merged: fields that a piece lacks
 * keep their values. */
static bool value_type_of(pp *r, pb_cur c, value_type *out)
{
    static const char *const names[] = {"", "type", "unit"};
    pb_field f[PP_FIELDS] = {0};
    if (!pp_plain_numbers(r, &c, names, 2, f)) return false;
    return (!f[1].at || pp_string_field(r, &c, &f[1], "type", &out->type)) &&
           (!f[2].at || pp_string_field(r, &c, &f[2], "unit", &out->unit));
}

/* Fields that all Profiles share. */
typedef struct envelope {
    value_type *types;
    value_type period_type;
    uint64_t time, duration;
    uint32_t first; /* position of the first type */
    str default_name;
    u32s attrs;
} envelope;

static bool read_types(pp *r, envelope *v)
{
    v->types = arena_new(r->a, value_type, r->types.n);
    if (!v->types) return arena_spent(r->a, r->e);
    for (pp_iter i = pp_each(r, &r->types); pp_next(&i);)
        if (!value_type_of(r, pp_cur(r, i.p, i.q), &v->types[i.n]))
            return err_in(r->e, "sample_type[%zu]", i.n);
    for (size_t i = 0; i < r->periods.n; i++)
        if (!value_type_of(
                r, pp_cur(r, r->periods.v[i].data, r->periods.v[i].data + r->periods.v[i].value),
                &v->period_type))
            return err_in(r->e, "period_type");
    return true;
}

/* Finds the default type by its name. Without a name, or if no type has it, the last type is the
 * default (pprof's rule). */
static bool read_default(pp *r, envelope *v)
{
    uint32_t name;
    pb_cur c = pp_cur(r, r->end, r->end);
    if (!pp_string_field(r, &c, &r->default_type, "default_sample_type", &name)) return false;
    v->default_name = pp_text(r, name);
    v->first = r->types.n ? (uint32_t)r->types.n - 1 : 0;
    for (uint32_t i = 0; name && i < r->types.n; i++)
        if (v->types[i].type == name) {
            v->first = i;
            break;
        }
    return true;
}

static bool add_attr(pp *r, envelope *v, uint32_t attr)
{
    uint32_t *slot = vec_push(r->a, &v->attrs);
    if (!slot || r->b.failed) return arena_spent(r->a, r->e);
    *slot = attr;
    return true;
}

static bool text_attr(pp *r, envelope *v, const pb_field *f, const char *name, loss_concept concept,
                      const char *key)
{
    uint32_t s;
    pb_cur c = pp_cur(r, r->end, r->end);
    if (!pp_string_field(r, &c, f, name, &s)) return false;
    str text = pp_text(r, s);
    if (!text.n) return true;
    ledger_add(r->ledger, STAGE_READ, concept, key, name, text);
    return add_attr(r, v, builder_attribute_str(&r->b, str_of(key), text));
}

static bool push_comment(pp *r, pb_cur *c, const pb_field *f, u32s *to)
{
    uint32_t s;
    if (!pp_string_field(r, c, f, "comment", &s)) return false;
    uint32_t *slot = vec_push(r->a, to);
    if (!slot) return arena_spent(r->a, r->e);
    *slot = s;
    return true;
}

static bool comment_field(pp *r, const pb_field *f, u32s *to)
{
    if (f->wire == 0) {
        pb_cur c = pp_cur(r, r->end, r->end);
        return push_comment(r, &c, f, to);
    }
    pb_cur c = pp_cur(r, f->data, f->data + f->value);
    while (c.p < c.end) {
        pb_field one = {.number = 13, .at = c.p};
        if (!pb_varint(&c, &one.value) || !push_comment(r, &c, &one, to)) return false;
    }
    return true;
}

static bool read_comments(pp *r, envelope *v)
{
    u32s all = {0};
    for (size_t i = 0; i < r->comments.n; i++)
        if (!comment_field(r, &r->comments.v[i], &all)) return err_in(r->e, "comment[%zu]", all.n);
    if (!all.n) return true;
    any list = {.kind = ANY_ARRAY, .n = (uint32_t)all.n, .array = arena_new(r->a, any, all.n)};
    if (!list.array) return arena_spent(r->a, r->e);
    for (size_t i = 0; i < all.n; i++) {
        str s = pp_text(r, all.v[i]);
        list.array[i] = (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p};
    }
    ledger_add_n(r->ledger, STAGE_READ, LOSS_COMMENTS, PPROF_ATTR_COMMENT, all.n, "comment[0]",
                 pp_text(r, all.v[0]));
    return add_attr(r, v, builder_attribute(&r->b, STR(PPROF_ATTR_COMMENT), &list, (str){0}));
}

/* Replaces negative times by 0, because OTLP's times are unsigned, and records the loss. */
static uint64_t clamp_negative(pp *r, uint64_t v, const char *name)
{
    if ((int64_t)v >= 0) return v;
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRId64, (int64_t)v);
    ledger_add(r->ledger, STAGE_READ, LOSS_TIME, NULL, name, (str){text, (size_t)n});
    return 0;
}

static bool read_envelope(pp *r, envelope *v)
{
    v->time = clamp_negative(r, r->time_nanos, "time_nanos");
    v->duration = clamp_negative(r, r->duration_nanos, "duration_nanos");
    return read_types(r, v) && read_default(r, v) && read_comments(r, v) &&
           text_attr(r, v, &r->doc_url, "doc_url", LOSS_COMMENTS, PPROF_ATTR_DOC_URL) &&
           text_attr(r, v, &r->drop_frames, "drop_frames", LOSS_DROP_KEEP_FRAMES,
                     PPROF_ATTR_DROP_FRAMES) &&
           text_attr(r, v, &r->keep_frames, "keep_frames", LOSS_DROP_KEEP_FRAMES,
                     PPROF_ATTR_KEEP_FRAMES);
}

/* ---- the Profiles ---- */

bool pp_put_scope(builder *b, uint32_t n_types, uint32_t first, str default_name, ledger *l)
{
    keyvalue kv[2];
    scope s = {.attrs = {kv, 0}};
    if (n_types > 1) {
        any *order = arena_new(b->a, any, n_types);
        if (!order) return b->failed = true, false;
        for (uint32_t k = 0; k < n_types; k++)
            order[k] = (any){.kind = ANY_INT, .i = pp_type_at(first, k)};
        kv[s.attrs.n++] = (keyvalue){.key = STR(PPROF_ATTR_SAMPLE_TYPE_ORDER),
                                     .value = {.kind = ANY_ARRAY, .n = n_types, .array = order}};
        ledger_add(l, STAGE_READ, LOSS_SAMPLE_TYPE_ORDER, PPROF_ATTR_SAMPLE_TYPE_ORDER,
                   "sample_type", (str){0});
    }
    if (default_name.n) {
        kv[s.attrs.n++] = (keyvalue){
            .key = STR(PPROF_ATTR_DEFAULT_SAMPLE_TYPE),
            .value = {.kind = ANY_STRING, .n = (uint32_t)default_name.n, .s = default_name.p}};
        ledger_add(l, STAGE_READ, LOSS_DEFAULT_SAMPLE_TYPE, PPROF_ATTR_DEFAULT_SAMPLE_TYPE,
                   "default_sample_type", default_name);
    }
    s.present = s.attrs.n != 0;
    builder_scope(b, &s);
    return !b->failed;
}

static void put_profile(pp *r, const envelope *v, uint32_t k)
{
    profile *p = builder_profile(&r->b);
    if (r->types.n) p->sample_type = v->types[pp_type_at(v->first, k)];
    p->period_type = v->period_type;
    p->period = (int64_t)r->period;
    p->time_unix_nano = v->time;
    p->duration_nano = v->duration;
    builder_profile_attrs(&r->b, v->attrs.v, v->attrs.n);
}

/* Rows are the same in every Profile, so all of them share the same columns. */
static void share_columns(pp *r, const envelope *v, model *m)
{
    spans attrs = {.off = r->attr_off};
    uint32_t stride = r->n_rows ? r->attr_off[1] : 0;
    bool even = true;
    for (size_t i = 0; i < r->n_rows && even; i++)
        even = r->attr_off[i + 1] - r->attr_off[i] == stride;
    if (even) attrs = (spans){.stride = stride};
    for (size_t k = 0; k < m->profiles.n; k++) {
        profile *p = &m->profiles.v[k];
        size_t column = pp_type_at(v->first, (uint32_t)k) * r->n_rows;
        p->n_samples = r->n_rows;
        p->stack = r->stack;
        p->link = r->link;
        p->attr_span = attrs;
        p->value_span = (spans){.base = (uint32_t)column, .stride = 1};
        p->time_span = (spans){0};
    }
    size_t n = r->n_types * r->n_rows;
    m->values.v = r->value;
    m->values.n = m->values.cap = n;
}

static bool finish(pp *r, model *out)
{
    envelope v = {0};
    if (!read_envelope(r, &v)) return false;
    if (!pp_put_scope(&r->b, (uint32_t)r->types.n, v.first, v.default_name, r->ledger))
        return arena_spent(r->a, r->e);
    uint32_t n = r->types.n ? (uint32_t)r->types.n : 1; /* one Profile if there are no types */
    for (uint32_t k = 0; k < n && !r->b.failed; k++) put_profile(r, &v, k);
    if (!builder_finish(&r->b, out, r->e)) return false;
    if (r->n_rows) share_columns(r, &v, out);
    if (r->n_folded)
        ledger_add_n(r->ledger, STAGE_READ, LOSS_FOLDED_FLAG, PPROF_ATTR_IS_FOLDED, r->n_folded,
                     "location.is_folded", STR("true"));
    if (r->n_unknown)
        ledger_add_n(r->ledger, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, r->n_unknown, "", (str){0});
    out->n_unknown = r->n_unknown;
    return r->lenient || model_sweep(out, PP_MAIN_MAPPING, r->a, r->e);
}

/* Reserves memory. The scan has counted the entries, so most tables get their final size. */
static bool reserve(pp *r)
{
    if (!vec_reserve(r->a, &r->string, r->strings.n)) return arena_spent(r->a, r->e);
    memset(r->string.v, 0xff, r->strings.n * sizeof *r->string.v);
    r->string.n = r->strings.n;
    r->string.v[0] = 0;
    return true;
}

bool pprof_decode(str bytes, const pprof_read_opts *o, arena *a, model *out, err *e)
{
    if (bytes.n > PP_MAX_BYTES)
        return err_set(e, ERR_LIMIT, "a pprof message of %zu bytes; the limit is %d", bytes.n,
                       PP_MAX_BYTES);
    const uint8_t *base = bytes.n ? (const uint8_t *)bytes.p : (const uint8_t *)"";
    pp r = {.base = base,
            .end = base + bytes.n,
            .safe = bytes.n > HOT_MARGIN && !o->plain ? base + (bytes.n - HOT_MARGIN) : base,
            .a = a,
            .e = e,
            .ledger = o->ledger,
            .lenient = o->lenient,
            .packed = hot_path_of(SIMD_AUTO)->packed_u32};
    if (!builder_init(&r.b, a)) return arena_spent(r.a, r.e);
    r.b.borrow = true;
    return pp_scan(&r) && reserve(&r) && pp_tables(&r) && pp_samples(&r) && finish(&r, out);
}
