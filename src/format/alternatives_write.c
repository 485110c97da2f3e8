/* Writes `normalized` and `denormalized` in the entry of the draft's first commit (A0). The third
 * alternative, `arrays`, is dialect A (dialect_a_write.c). */
#include "format/dialect_a.h"
#include "format/dialect_a_write.h"

#include "base/ban.h"

enum { ALT_TAKES = TAKES(TEMPORALITY) | TAKES(SAMPLE_SIZE) };

/* ---- parts of both forms ---- */

static void put_head(dw *w, const profile *p)
{
    buf *b = w->out;
    dw_fixed64(b, 2, p->time_unix_nano);
    dw_fixed64(b, 3, dw_end_time(w, p));
    dw_profile_attrs(w, p, 4, ALT_TAKES);
    dw_uint(b, 5, p->dropped_attributes_count);
    a_note_payload(w, p);
    dw_text(b, 7, p->original_payload);
}

static uint64_t sample_size(const dw *w, const profile *p)
{
    const any *v = dw_profile_attr(w, p, ROLE_SAMPLE_SIZE);
    return v ? (uint64_t)v->i : 0;
}

static void note_period(dw *w, const profile *p)
{
    if (p->period || p->period_type.type || p->period_type.unit)
        dw_note(w, LOSS_PERIOD, NULL, dict_str(&w->m->dict, p->period_type.type), "period");
}

/* Returns the value of row k of sample i. */
static int64_t row_value(const dw *w, const profile *p, size_t i, uint32_t k)
{
    sample s = sample_at(w->m, p, i);
    return dw_row_at(&s, k).value;
}

static void put_group(dw *w, const profile *p, size_t n,
                      void (*body)(dw *, const profile *, size_t), uint32_t member)
{
    buf *b = w->out;
    size_t at = dw_begin(b, 2), id = dw_id(w, p);
    put_head(w, p);
    for (size_t i = 0; i < n; i++) note_period(w, &p[i]);
    size_t in = dw_begin(b, member);
    body(w, p, n);
    dw_end(b, in);
    dw_id_end(w, p, id);
    dw_end(b, at);
}

static void put_scope(dw *w, const scope *s, void (*body)(dw *, const profile *, size_t),
                      uint32_t member)
{
    for (size_t i = 0; i < s->n_profiles;) {
        const profile *p = &w->m->profiles.v[s->first_profile + i];
        size_t most =
            s->n_profiles - i < OLD_MAX_SAMPLE_TYPES ? s->n_profiles - i : OLD_MAX_SAMPLE_TYPES;
        size_t n = dw_group(w, p, most, ALT_TAKES, dw_aligned);
        snprintf(w->where, sizeof w->where, "profiles[%zu]", (size_t)s->first_profile + i);
        put_group(w, p, n, body, member);
        dw_reset(w);
        i += n;
    }
}

/* ---- normalized ---- */

static void put_row(dw *w, const profile *p, size_t n, size_t i, const sample *s, uint32_t k)
{
    buf *b = w->out;
    size_t at = dw_begin(b, 3), list;
    dw_uint(b, 1, dw_ref(w, &w->stacks, s->stack));
    if (s->link) {
        list = dw_begin(b, 2);
        pb_put_varint(b, dw_ref(w, &w->links, s->link) + UINT64_C(1));
        dw_end(b, list);
    }
    uint32_t set = dw_set(w, s->attrs, s->n_attrs, 0);
    if (set) {
        list = dw_begin(b, 3);
        pb_put_varint(b, set);
        dw_end(b, list);
    }
    list = dw_begin(b, 4);
    for (size_t g = 0; g < n; g++) pb_put_varint(b, (uint64_t)row_value(w, &p[g], i, k));
    dw_end(b, list);
    dw_fixed64(b, 5, dw_row_at(s, k).time);
    dw_end(b, at);
}

static void normalized_body(dw *w, const profile *p, size_t n)
{
    buf *b = w->out;
    a_gather_profile(w, p);
    for (size_t i = 0; i < n; i++) {
        dw_model_string(w, p[i].sample_type.type);
        dw_model_string(w, p[i].sample_type.unit);
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = dw_begin(b, 1);
        dw_uint(b, 1, dw_temporality(w, &p[i]));
        dw_uint(b, 2, sample_size(w, &p[i]));
        dw_uint(b, 3, dw_model_string(w, p[i].sample_type.type));
        dw_uint(b, 4, dw_model_string(w, p[i].sample_type.unit));
        dw_end(b, at);
    }
    a_put_stacks(w, 2);
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        uint32_t rows = dw_rows(w, &s);
        for (uint32_t k = 0; k < rows; k++) put_row(w, p, n, i, &s, k);
    }
    a_put_tables(w, 4);
}

static void normalized_scope(dw *w, const scope *s)
{
    put_scope(w, s, normalized_body, A0_NORMALIZED);
}

/* ---- denormalized ---- */

static void inline_function(dw *w, uint32_t i)
{
    buf *b = w->out;
    const dict *d = &w->m->dict;
    const function *f = &d->functions.v[i];
    size_t at = dw_begin(b, 1);
    dw_text(b, 1, dict_str(d, f->name));
    dw_text(b, 2, dict_str(d, f->system_name));
    dw_text(b, 3, dict_str(d, f->filename));
    dw_uint(b, 4, (uint64_t)f->start_line);
    dw_end_or_drop(b, at, 1);
}

/* Records the attributes of mappings and locations as lost: the format has no field for them. */
static void note_attrs(dw *w, span attrs, uint32_t takes, const char *what)
{
    const dict *d = &w->m->dict;
    for (uint32_t i = 0; i < attrs.n; i++) {
        uint32_t attr = d->attr_refs.v[attrs.at + i];
        if (!dw_takes(w, attr, takes))
            dw_note(w, LOSS_ATTRIBUTE, NULL, dict_str(d, d->attributes.v[attr].key), what);
    }
}

static void inline_mapping(dw *w, uint32_t i, bool first_time)
{
    buf *b = w->out;
    const mapping *m = &w->m->dict.mappings.v[i];
    mapping_fields f = dw_mapping_fields(w, m, false, true);
    if (first_time) note_attrs(w, m->attrs, f.takes, "mapping");
    size_t at = dw_begin(b, 1);
    dw_uint(b, 1, m->memory_start);
    dw_uint(b, 2, m->memory_limit);
    dw_uint(b, 3, m->file_offset);
    dw_text(b, 4, dict_str(&w->m->dict, m->filename));
    dw_text(b, 5, f.build_id);
    for (uint32_t k = 0; k < 4; k++) dw_uint(b, 6 + k, f.flags[k]);
    dw_end(b, at);
}

static void inline_location(dw *w, uint32_t i)
{
    buf *b = w->out;
    const dict *d = &w->m->dict;
    const location *l = &d->locations.v[i];
    bool known = dw_known(&w->locations, i), mapped = dw_known(&w->mappings, l->mapping);
    dw_ref(w, &w->locations, i);
    dw_ref(w, &w->mappings, l->mapping);
    if (!known) note_attrs(w, l->attrs, 0, "location");
    size_t at = dw_begin(b, 1);
    if (l->mapping) inline_mapping(w, l->mapping, !mapped);
    dw_uint(b, 2, l->address);
    for (uint32_t k = 0; k < l->lines.n; k++) {
        const line *n = &d->lines.v[l->lines.at + k];
        size_t line_at = dw_begin(b, 3);
        inline_function(w, n->function);
        dw_uint(b, 2, (uint64_t)n->line);
        if (n->column && !known) dw_note(w, LOSS_SOURCE_LINE, NULL, (str){0}, "line.column");
        dw_end(b, line_at);
    }
    dw_end(b, at);
}

static void inline_row(dw *w, const profile *p, size_t n, size_t i, const sample *s, uint32_t k)
{
    buf *b = w->out;
    const dict *d = &w->m->dict;
    span list_of = dict_stack(d, s->stack);
    size_t at = dw_begin(b, 2), stack_at = dw_begin(b, 1);
    for (uint32_t q = list_of.n; q-- > 0;) inline_location(w, d->frames.v[list_of.at + q]);
    dw_end(b, stack_at);
    if (s->link) dw_link(b, 2, &d->links.v[s->link]);
    dw_put_set(w, s->attrs, s->n_attrs, 3, 4);
    size_t list = dw_begin(b, 5);
    for (size_t g = 0; g < n; g++) {
        uint64_t v = (uint64_t)row_value(w, &p[g], i, k);
        uint8_t le[8];
        for (unsigned q = 0; q < 8; q++) le[q] = (uint8_t)(v >> (8 * q));
        buf_put(b, le, sizeof le);
    }
    dw_end(b, list);
    dw_fixed64(b, 6, dw_row_at(s, k).time);
    dw_end(b, at);
}

static void denormalized_body(dw *w, const profile *p, size_t n)
{
    buf *b = w->out;
    for (size_t i = 0; i < n; i++) {
        size_t at = dw_begin(b, 1);
        dw_uint(b, 1, dw_temporality(w, &p[i]));
        dw_uint(b, 2, sample_size(w, &p[i]));
        dw_text(b, 3, dict_str(&w->m->dict, p[i].sample_type.type));
        dw_text(b, 4, dict_str(&w->m->dict, p[i].sample_type.unit));
        dw_end(b, at);
    }
    for (size_t i = 0; i < p->n_samples && !b->failed; i++) {
        sample s = sample_at(w->m, p, i);
        uint32_t rows = dw_rows(w, &s);
        for (uint32_t k = 0; k < rows; k++) inline_row(w, p, n, i, &s, k);
    }
}

static void denormalized_scope(dw *w, const scope *s)
{
    put_scope(w, s, denormalized_body, A0_DENORMALIZED);
}

/* ---- the formats ---- */

static bool write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    dw w;
    if (dw_open(&w, m, o, out))
        dw_envelope(&w, f == &format_normalized ? normalized_scope : denormalized_scope);
    return dw_close(&w, true, e);
}

static unsigned detect_member(str bytes, unsigned member)
{
    dialect d = dialect_detect_among(bytes, DIALECTS_A);
    bool in_entry = d == DIALECT_A0 || d == DIALECT_BENCH;
    return in_entry && dialect_a0_member(bytes) == member ? 92 : 0;
}

static unsigned detect_normalized(str bytes) { return detect_member(bytes, A0_NORMALIZED); }
static unsigned detect_denormalized(str bytes) { return detect_member(bytes, A0_DENORMALIZED); }

static bool may_be(const format *f, str bytes)
{
    unsigned member = dialect_a0_member(bytes);
    unsigned own = f == &format_normalized ? A0_NORMALIZED : A0_DENORMALIZED;
    return (!member || member == own) && dialect_fits_any(bytes, DIALECTS_ALTERNATIVES);
}

/* The reader accepts the benchmark's container too; the writer always writes A0. */
static bool is_current(str bytes) { return dialect_detect_among(bytes, DIALECTS_A) == DIALECT_A0; }

const format format_normalized = {
    .name = "normalized",
    .what = "the draft's alternative with one message per sample",
    .suffixes = ".normalized",
    .carries = CARRIES_ALL &
               ~(CARRIES(VALUES) | CARRIES(ATTRIBUTE_UNITS) | CARRIES(COLUMNS) | CARRIES(PERIOD)),
    .detect = detect_normalized,
    .may_be = may_be,
    .read = dialect_a_read,
    .write = write,
    .is_current = is_current,
};

const format format_denormalized = {
    .name = "denormalized",
    .what = "the draft's alternative without tables",
    .suffixes = ".denormalized",
    .carries = CARRIES_ALL &
               ~(CARRIES(VALUES) | CARRIES(ATTRIBUTE_UNITS) | CARRIES(COLUMNS) | CARRIES(PERIOD) |
                 CARRIES(LOCATION_ATTRIBUTES) | CARRIES(MAPPING_ATTRIBUTES) | CARRIES(FRAME_TYPES)),
    .detect = detect_denormalized,
    .may_be = may_be,
    .read = dialect_a_read,
    .write = write,
    .is_current = is_current,
};
