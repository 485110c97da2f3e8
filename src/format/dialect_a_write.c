/* Writes dialect A, and the tables that `normalized` has in common with it. */
#include "format/dialect_a_write.h"

#include "format/dialect_a.h"
#include "base/ban.h"

/* ---- gather: everything that is used gets its index ---- */

static void gather_function(dw *w, uint32_t i)
{
    if (dw_known(&w->functions, i)) return;
    const function *f = &w->m->dict.functions.v[i];
    dw_ref(w, &w->functions, i);
    dw_model_string(w, f->name);
    dw_model_string(w, f->system_name);
    dw_model_string(w, f->filename);
}

static void gather_mapping(dw *w, uint32_t i)
{
    if (!i || dw_known(&w->mappings, i)) return;
    const mapping *m = &w->m->dict.mappings.v[i];
    mapping_fields f = dw_mapping_fields(w, m, false, false);
    dw_ref(w, &w->mappings, i);
    dw_model_string(w, m->filename);
    dw_string(w, f.build_id);
    dw_set(w, refs_at(&w->m->dict.attr_refs, m->attrs), m->attrs.n, f.takes);
}

static void gather_location(dw *w, uint32_t i)
{
    if (dw_known(&w->locations, i)) return;
    const dict *d = &w->m->dict;
    const location *l = &d->locations.v[i];
    dw_ref(w, &w->locations, i);
    for (uint32_t k = 0; k < l->lines.n; k++)
        gather_function(w, d->lines.v[l->lines.at + k].function);
    gather_mapping(w, l->mapping);
    dw_set(w, refs_at(&d->attr_refs, l->attrs), l->attrs.n, 0);
}

void a_gather_stack(dw *w, uint32_t i)
{
    if (dw_known(&w->stacks, i)) return;
    const dict *d = &w->m->dict;
    span s = dict_stack(d, i);
    dw_ref(w, &w->stacks, i);
    for (uint32_t k = s.n; k-- > 0;) gather_location(w, d->frames.v[s.at + k]);
}

void a_gather_profile(dw *w, const profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        a_gather_stack(w, s.stack);
        if (s.link) dw_ref(w, &w->links, s.link);
        dw_set(w, s.attrs, s.n_attrs, 0);
    }
}

/* ---- put: the tables ---- */

static uint64_t fits_u32(dw *w, int64_t v, const char *what)
{
    if (v >= 0 && v <= UINT32_MAX) return (uint64_t)v;
    dw_note(w, LOSS_SOURCE_LINE, NULL, (str){0}, what);
    return 0;
}

static void put_set_list(dw *w, uint32_t number, span attrs, uint32_t takes)
{
    uint32_t set = dw_set(w, refs_at(&w->m->dict.attr_refs, attrs), attrs.n, takes);
    if (!set) return;
    size_t at = dw_begin(w->out, number);
    pb_put_varint(w->out, set);
    dw_end(w->out, at);
}

void a_put_stacks(dw *w, uint32_t number)
{
    const dict *d = &w->m->dict;
    for (size_t i = 0; i < w->stacks.used.n; i++) {
        span s = dict_stack(d, w->stacks.used.v[i]);
        size_t at = dw_begin(w->out, number), list = dw_begin(w->out, 1);
        for (uint32_t k = s.n; k-- > 0;)
            pb_put_varint(w->out, dw_ref(w, &w->locations, d->frames.v[s.at + k]));
        dw_end_or_drop(w->out, list, 1);
        dw_end(w->out, at);
    }
}

static void put_mappings(dw *w, uint32_t number, bool null_first)
{
    buf *b = w->out;
    if (null_first) dw_end(b, dw_begin(b, number));
    for (size_t i = 0; i < w->mappings.used.n; i++) {
        const mapping *m = &w->m->dict.mappings.v[w->mappings.used.v[i]];
        mapping_fields f = dw_mapping_fields(w, m, false, false);
        size_t at = dw_begin(b, number);
        dw_uint(b, 1, m->memory_start);
        dw_uint(b, 2, m->memory_limit);
        dw_uint(b, 3, m->file_offset);
        dw_uint(b, 4, dw_model_string(w, m->filename));
        dw_uint(b, 5, dw_string(w, f.build_id));
        dw_uint(b, 6, f.flags[0]);
        put_set_list(w, 7, m->attrs, f.takes);
        dw_end(b, at);
    }
}

static void put_locations(dw *w, uint32_t number, bool null_first)
{
    buf *b = w->out;
    const dict *d = &w->m->dict;
    for (size_t i = 0; i < w->locations.used.n; i++) {
        const location *l = &d->locations.v[w->locations.used.v[i]];
        size_t at = dw_begin(b, number);
        if (l->mapping) dw_uint(b, 1, dw_ref(w, &w->mappings, l->mapping) + (null_first ? 1u : 0u));
        dw_uint(b, 2, l->address);
        for (uint32_t k = 0; k < l->lines.n; k++) {
            const line *n = &d->lines.v[l->lines.at + k];
            size_t line_at = dw_begin(b, 3);
            dw_uint(b, 1, dw_ref(w, &w->functions, n->function));
            dw_uint(b, 2, fits_u32(w, n->line, "locations.line"));
            if (n->column) dw_note(w, LOSS_SOURCE_LINE, NULL, (str){0}, "locations.line.column");
            dw_end(b, line_at);
        }
        put_set_list(w, 5, l->attrs, 0);
        dw_end(b, at);
    }
}

static void put_functions(dw *w, uint32_t number)
{
    buf *b = w->out;
    for (size_t i = 0; i < w->functions.used.n; i++) {
        const function *f = &w->m->dict.functions.v[w->functions.used.v[i]];
        size_t at = dw_begin(b, number);
        dw_uint(b, 1, dw_model_string(w, f->name));
        dw_uint(b, 2, dw_model_string(w, f->system_name));
        dw_uint(b, 3, dw_model_string(w, f->filename));
        dw_uint(b, 4, fits_u32(w, f->start_line, "functions.start_line"));
        dw_end(b, at);
    }
}

/* Writes the links after an empty entry 0; omits the table if there are no links. */
static void put_links(dw *w, uint32_t number)
{
    static const link_ids none;
    if (w->links.used.n) dw_link(w->out, number, &none);
    for (size_t i = 0; i < w->links.used.n; i++)
        dw_link(w->out, number, &w->m->dict.links.v[w->links.used.v[i]]);
}

static void put_sets(dw *w, uint32_t number)
{
    if (w->sets.n < 2) return;
    for (size_t i = 0; i < w->sets.n; i++) {
        span s = w->sets.v[i];
        size_t at = dw_begin(w->out, number);
        dw_put_set(w, refs_at(&w->set_attrs, s), s.n, 1, 2);
        dw_end(w->out, at);
    }
}

void a_put_tables(dw *w, uint32_t first)
{
    bool null_first = dw_needs_null_mapping(w);
    put_mappings(w, first, null_first);
    put_locations(w, first + 1, null_first);
    put_functions(w, first + 2);
    put_links(w, first + 3);
    put_sets(w, first + 4);
    dw_string(w, (str){0}); /* the table contains at least "" */
    for (size_t i = 0; i < w->strings.n; i++) pb_put_bytes(w->out, first + 5, w->strings.v[i]);
}

/* ---- put: a ProfileType's columns ---- */

typedef enum column { STACKS, LINKS, SETS, VALUES, TIMES } column;

static uint64_t cell(dw *w, const sample *s, column c, uint32_t row, uint64_t unit)
{
    switch (c) {
    case STACKS: return dw_ref(w, &w->stacks, s->stack);
    case LINKS: return s->link ? dw_ref(w, &w->links, s->link) + UINT64_C(1) : 0;
    case SETS: return dw_set(w, s->attrs, s->n_attrs, 0);
    case VALUES: return (uint64_t)dw_row_at(s, row).value;
    case TIMES: return dw_row_at(s, row).time / unit;
    }
    return 0;
}

static void put_column(dw *w, const profile *p, column c, uint64_t unit)
{
    uint32_t number = 10 + (uint32_t)c;
    size_t at = dw_begin(w->out, number);
    bool any_set = c == STACKS || c == VALUES;
    ledger *l = w->ledger;
    if (c != STACKS) w->ledger = NULL; /* losses of rows are recorded once */
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        uint32_t rows = dw_rows(w, &s);
        for (uint32_t k = 0; k < rows; k++) {
            uint64_t v = cell(w, &s, c, k, unit);
            any_set |= v != 0;
            pb_put_varint(w->out, v);
        }
    }
    w->ledger = l;
    if (!any_set && !w->out->failed) w->out->n = at; /* all elements are 0 */
    dw_end_or_drop(w->out, at, number);
}

/* ---- times ---- */

/* Whether every timestamp of the group is a multiple of `unit`. */
static bool divides(const dw *w, const profile *p, size_t n, uint64_t unit)
{
    for (size_t g = 0; g < n; g++)
        for (size_t i = 0; i < p[g].n_samples; i++) {
            sample s = sample_at(w->m, &p[g], i);
            for (uint32_t k = 0; k < s.n_times; k++)
                if (s.times[k] % unit) return false;
        }
    return true;
}

/* Returns the unit of the input, or microseconds as in the draft's example; nanoseconds if these
 * are inexact. */
static uint64_t choose_unit(dw *w, const profile *p, size_t n)
{
    const any *given = dw_profile_attr(w, p, ROLE_TIME_UNIT);
    uint64_t unit = given ? time_unit_ns(any_str(given)) : 0;
    if (unit && divides(w, p, n, unit)) return unit;
    if (unit) dw_note(w, LOSS_TIMESTAMP, NULL, any_str(given), KILN_ATTR_TIMESTAMP_UNIT);
    return divides(w, p, n, 1000) ? 1000 : 1;
}

/* Whether a reader that infers the unit from the magnitude would infer another one. */
static bool is_misread(const dw *w, const profile *p, size_t n, uint64_t unit)
{
    for (size_t g = 0; g < n; g++) {
        uint64_t max = 0, guess;
        for (size_t i = 0; i < p[g].n_samples; i++) {
            sample s = sample_at(w->m, &p[g], i);
            for (uint32_t k = 0; k < s.n_times; k++)
                if (s.times[k] / unit > max) max = s.times[k] / unit;
        }
        if (!max) continue;
        time_unit_of(max, &guess);
        if (guess != unit) return true;
    }
    return false;
}

static bool has_times(const dw *w, const profile *p, size_t n)
{
    for (size_t g = 0; g < n; g++)
        for (size_t i = 0; i < p[g].n_samples; i++)
            if (sample_at(w->m, &p[g], i).n_times) return true;
    return false;
}

static void put_unit(dw *w, const profile *p, size_t n, uint64_t unit)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } names[] = {{1, "ns"}, {1000, "us"}, {1000000, "ms"}, {1000000000, "s"}};
    const any *given = dw_profile_attr(w, p, ROLE_TIME_UNIT);
    bool ns = given && unit == 1; /* readers set the attribute only for other units */
    if (!is_misread(w, p, n, unit) && !ns) return;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (names[i].ns != unit) continue;
        str name = str_of(names[i].name);
        dw_note(w, LOSS_TIMESTAMP, KILN_ATTR_TIMESTAMP_UNIT, name, "timestamps");
        dw_keyvalue(w->out, 4, STR(KILN_ATTR_TIMESTAMP_UNIT),
                    &(any){.kind = ANY_STRING, .n = (uint32_t)name.n, .s = name.p});
    }
}

/* ---- the Profile ---- */

enum { A_TAKES = TAKES(TEMPORALITY) | TAKES(TIME_UNIT) | TAKES(SAMPLE_RATE) };

static void put_type(dw *w, const profile *p, uint64_t unit)
{
    buf *b = w->out;
    size_t at = dw_begin(b, 14);
    dw_uint(b, 1, dw_temporality(w, p));
    dw_uint(b, 2, dw_sample_rate(w, p));
    dw_uint(b, 3, dw_model_string(w, p->sample_type.type));
    dw_uint(b, 4, dw_model_string(w, p->sample_type.unit));
    for (column c = STACKS; c <= TIMES; c++) put_column(w, p, c, unit);
    dw_end(b, at);
}

void a_note_payload(dw *w, const profile *p)
{
    if (!p->original_payload.n && !p->original_payload_format.n) return;
    if (!p->original_payload.n ||
        !str_eq(p->original_payload_format, dialect_sniff(p->original_payload)))
        dw_note(w, LOSS_ORIGINAL_PAYLOAD, NULL, p->original_payload_format,
                "original_payload_format");
}

static void put_profile(dw *w, const profile *p, size_t n)
{
    buf *b = w->out;
    size_t at = dw_begin(b, 2), id = dw_id(w, p);
    uint64_t unit = choose_unit(w, p, n);
    for (size_t i = 0; i < n; i++) a_gather_profile(w, &p[i]);
    for (size_t i = 0; i < n; i++) {
        dw_model_string(w, p[i].sample_type.type);
        dw_model_string(w, p[i].sample_type.unit);
    }
    dw_fixed64(b, 2, p->time_unix_nano);
    dw_fixed64(b, 3, dw_end_time(w, p));
    bool times = has_times(w, p, n);
    dw_profile_attrs(w, p, 4, times ? A_TAKES : A_TAKES & ~TAKES(TIME_UNIT));
    if (times) put_unit(w, p, n, unit);
    dw_uint(b, 5, p->dropped_attributes_count);
    a_note_payload(w, p);
    dw_text(b, 6, p->original_payload);
    a_put_stacks(w, 7);
    a_put_tables(w, 8);
    for (size_t i = 0; i < n; i++) put_type(w, &p[i], unit);
    dw_id_end(w, p, id);
    dw_end(b, at);
}

static void put_scope(dw *w, const scope *s)
{
    for (size_t i = 0; i < s->n_profiles;) {
        const profile *p = &w->m->profiles.v[s->first_profile + i];
        size_t n = dw_group(w, p, s->n_profiles - i, A_TAKES, NULL);
        snprintf(w->where, sizeof w->where, "profiles[%zu]", (size_t)s->first_profile + i);
        put_profile(w, p, n);
        dw_reset(w);
        i += n;
    }
}

static bool write_arrays(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    (void)f;
    dw w;
    if (dw_open(&w, m, o, out)) dw_envelope(&w, put_scope);
    return dw_close(&w, true, e);
}

/* Detection score of a broken message: above that of OTLP for bytes that start like a message,
 * below that of any format that fits. */
enum { BROKEN = 70 };
#define DIALECTS_OF_ARRAYS (1u << DIALECT_A | 1u << DIALECT_A1 | 1u << DIALECT_A2)

static unsigned detect(str bytes)
{
    switch (dialect_detect_among(bytes, DIALECTS_A)) {
    case DIALECT_A:
    case DIALECT_A1:
    case DIALECT_A2: return 92;
    case DIALECT_A0:
    case DIALECT_BENCH: return dialect_a0_member(bytes) == A0_ARRAYS ? 92 : 0;
    default: return dialect_is_broken(bytes, DIALECTS_OF_ARRAYS, false) ? BROKEN : 0;
    }
}

static bool may_be(const format *f, str bytes)
{
    (void)f;
    if (dialect_fits_any(bytes, DIALECTS_OF_ARRAYS)) return true;
    if (dialect_is_broken(bytes, DIALECTS_OF_ARRAYS, true)) return true;
    return dialect_a0_member(bytes) == A0_ARRAYS && dialect_fits_any(bytes, DIALECTS_ALTERNATIVES);
}

/* The writer always writes A; the reader accepts A1 and A2 too. */
static bool is_current(str bytes) { return dialect_detect_among(bytes, DIALECTS_A) == DIALECT_A; }

const format format_arrays = {
    .name = "arrays",
    .what = "the first OTLP profiles draft (OTEP 237); also A0, A1 and A2",
    .suffixes = ".arrays",
    .carries = CARRIES_ALL & ~(CARRIES(VALUES) | CARRIES(ATTRIBUTE_UNITS) | CARRIES(COLUMNS)),
    .detect = detect,
    .may_be = may_be,
    .read = dialect_a_read,
    .write = write_arrays,
    .is_current = is_current,
};
