/* Reads the three encodings that the draft compared, inside an A0 or bench entry
 * (docs/spec/layouts.md, "Dialect A").
 *
 *   arrays         dialect A's columns; types in separate SampleType messages
 *   normalized     the same tables, one message per sample, one value per type
 *   denormalized   everything inline, repeated at each use
 *
 * A sample may have several links in these encodings: the first is read, the ledger counts the
 * others. */
#include "format/dialect_a.h"

#include "base/ban.h"
#include <inttypes.h>

static const old_field arrays_fields[] = {
    [1] = A_FIELD(PIECE, types, "sample_types"),
    [2] = A_FIELD(PIECE, stacks, "stacktraces"),
    A_DICTIONARY(4),
    [10] = A_FIELD(PIECE, lists, "profile_types"),
};
static const old_field list_columns[] = {A_COLUMNS(10)};
static const a_schema schema_arrays = {.profile = OLD_MESSAGE(arrays_fields),
                                       .list = OLD_MESSAGE(list_columns),
                                       .tables = A_TABLES(a_location_fields),
                                       .lists = "profile_types"};

static const old_field normalized_fields[] = {
    [1] = A_FIELD(PIECE, types, "sample_types"),
    [2] = A_FIELD(PIECE, stacks, "stacktraces"),
    [3] = A_FIELD(PIECE, samples, "samples"),
    A_DICTIONARY(4),
};
static const a_schema schema_normalized = {.profile = OLD_MESSAGE(normalized_fields),
                                           .tables = A_TABLES(a_location_fields)};

/* ---- rows ---- */

static a_row *new_row(old *o, a_profile *p)
{
    a_row *r = vec_push(&o->tmp, &p->rows);
    if (!r) return err_memory(o->e), NULL;
    r->attrs.at = (uint32_t)p->row_attrs.n;
    r->values.at = (uint32_t)p->row_values.n;
    return r;
}

static bool add_value(old *o, a_profile *p, a_row *r, uint64_t v)
{
    int64_t *slot = vec_push(&o->tmp, &p->row_values);
    if (!slot) return err_memory(o->e);
    *slot = (int64_t)v;
    r->values.n++;
    return true;
}

/* Ends a row, whose attributes are in p->refs. */
static bool end_row(old *o, a_profile *p, a_row *r)
{
    for (size_t i = 0; i < p->refs.n; i++)
        if (!old_push(o, &o->tmp, &p->row_attrs, p->refs.v[i])) return false;
    r->attrs.n = (uint32_t)p->refs.n;
    return true;
}

static void take_link(old *o, a_row *r, uint32_t link_i)
{
    if (!link_i || r->link == link_i) return;
    if (r->link)
        old_note(o, LOSS_LINK, NULL, (str){0}, "samples.links");
    else
        r->link = link_i;
}

/* Sets *n to the number of values per sample: one per type; without types, that of the first
 * sample. */
static bool count_types(old *o, a_profile *p, size_t *n)
{
    *n = p->type.n ? p->type.n : p->rows.n && p->rows.v[0].values.n ? p->rows.v[0].values.n : 1;
    if (*n > OLD_MAX_SAMPLE_TYPES)
        return err_set(o->e, ERR_LIMIT, "a profile has %zu sample types, at most %d are read", *n,
                       OLD_MAX_SAMPLE_TYPES);
    size_t kept = 0;
    for (size_t i = 0; i < p->rows.n; i++) {
        uint32_t got = p->rows.v[i].values.n;
        if (got == *n || (got == 0 && *n == 1)) {
            p->rows.v[kept++] = p->rows.v[i];
            continue;
        }
        if (!o->lenient) {
            err_set(o->e, ERR_MALFORMED, "%u values for %zu sample types", got, *n);
            return err_in(o->e, "samples[%zu].values", i);
        }
        old_note(o, LOSS_MIXED_SHAPE, NULL, (str){0}, "samples[%zu].values", i);
    }
    p->rows.n = kept;
    return true;
}

bool a_emit_rows(old *o, a_profile *p)
{
    static const dialect_type untyped;
    size_t n;
    if (!count_types(o, p, &n)) return false;
    for (size_t k = 0; k < n; k++) {
        if (!dialect_emit_profile(o, &p->head, k < p->type.n ? &p->type.v[k] : &untyped, k, NULL))
            return false;
        for (size_t i = 0; i < p->rows.n; i++) {
            const a_row *r = &p->rows.v[i];
            builder_sample(&o->b,
                           &(sample){
                               .stack = r->stack,
                               .link = r->link,
                               .attrs = r->attrs.n ? p->row_attrs.v + r->attrs.at : NULL,
                               .n_attrs = r->attrs.n,
                               .values = r->values.n ? p->row_values.v + r->values.at + k : NULL,
                               .n_values = r->values.n ? 1 : 0,
                               .times = &r->time,
                               .n_times = r->time != 0,
                           });
            if (o->b.failed) return err_memory(o->e);
        }
    }
    return true;
}

/* ---- normalized ---- */

typedef struct sample_reader {
    a_row *row;
    old_ref stack;
    keyvalue_list attrs; /* only denormalized */
    uint32_t dropped;
} sample_reader;

static bool sample_list(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                        void *to)
{
    a_profile *p = t->owner;
    a_row *r = ((sample_reader *)to)->row;
    if (!old_list_wire(c, f, name)) return false;
    old_iter i = old_iter_open(o, f);
    while (old_iter_next(&i)) {
        bool ok;
        uint32_t link_i;
        if (f->number == 2) {
            ok = a_link_ref(o, p, i.v, name, i.at, &link_i);
            if (ok) take_link(o, r, link_i);
        } else if (f->number == 3) {
            if (p->refs.n && i.v)
                old_note(o, LOSS_ATTRIBUTE_SET, NULL, (str){0}, "samples.%s", name);
            ok = a_set_ref(o, p, i.v, name, i.at, &p->refs);
        } else {
            ok = add_value(o, p, r, i.v);
        }
        if (!ok) return false;
    }
    return pb_ok(&i.c) || err_in(o->e, "%s", name);
}

static bool sample_time(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                        void *to)
{
    (void)o, (void)t;
    ((sample_reader *)to)->row->time = f->value;
    return pb_expect(c, f, 1, name);
}

static const old_field sample_fields[] = {
    [1] = OLD_FIELD(REF, sample_reader, stack, "stacktrace_index"),
    [2] = {OLD_CALL, 0, "link_indices", sample_list},
    [3] = {OLD_CALL, 0, "attribute_set_indices", sample_list},
    [4] = {OLD_CALL, 0, "values", sample_list},
    [5] = {OLD_CALL, 0, "timestamp_unix_nano", sample_time},
};

static bool read_sample(old *o, a_profile *p, pb_cur c)
{
    static const old_message message = OLD_MESSAGE(sample_fields);
    sample_reader r = {.row = new_row(o, p), .stack.at = c.p};
    if (!r.row) return false;
    p->refs.n = 0;
    return old_fields(o, &o->tmp, &p->t, c, &message, &r) &&
           a_stack_ref(o, p, r.stack.v, "stacktrace_index", r.stack.at, &r.row->stack) &&
           end_row(o, p, r.row);
}

static bool read_normalized(old *o, a_profile *p, pb_cur c)
{
    if (!a_collect(o, p, &schema_normalized, c) || !a_tables(o, p)) return false;
    for (size_t i = 0; i < p->samples.n; i++)
        if (!read_sample(o, p, old_cur(o, p->samples.v[i]))) return err_in(o->e, "samples[%zu]", i);
    return a_emit_rows(o, p);
}

/* ---- denormalized ---- */

/* Adds a name that is inline, not in a table, to the builder's strings. */
static bool inline_name(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                        void *to)
{
    str s;
    (void)t;
    if (!pb_text(c, f, name, &s)) return false;
    *(uint32_t *)to = builder_string(&o->b, s);
    return true;
}

static const old_field function_fields[] = {
    [1] = OLD_READ(inline_name, function, name, "name"),
    [2] = OLD_READ(inline_name, function, system_name, "system_name"),
    [3] = OLD_READ(inline_name, function, filename, "filename"),
    [4] = OLD_FIELD(U64, function, start_line, "start_line"),
};

static bool inline_function(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                            void *to)
{
    static const old_message message = OLD_MESSAGE(function_fields);
    function fn = {0};
    if (!old_submessage(o, t, c, f, name, &message, &fn)) return false;
    *(uint32_t *)to = builder_function(&o->b, &fn);
    return true;
}

static const old_field line_fields[] = {
    [1] = OLD_READ(inline_function, line, function, "function"),
    [2] = OLD_FIELD(U64, line, line, "line"),
};

static bool inline_line(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                        void *to)
{
    static const old_message message = OLD_MESSAGE(line_fields);
    (void)to;
    if (!pb_expect(c, f, 2, name)) return false;
    line *l = vec_push(t->a, &t->lines);
    if (!l) return err_memory(o->e);
    return old_fields(o, t->a, t, pb_message(c, f), &message, l) ||
           err_in(o->e, "%s[%zu]", name, t->lines.n - 1);
}

static const old_field mapping_fields[] = {
    [1] = OLD_FIELD(U64, old_mapping, m.memory_start, "memory_start"),
    [2] = OLD_FIELD(U64, old_mapping, m.memory_limit, "memory_limit"),
    [3] = OLD_FIELD(U64, old_mapping, m.file_offset, "file_offset"),
    [4] = OLD_READ(inline_name, old_mapping, m.filename, "filename"),
    [5] = OLD_FIELD(TEXT, old_mapping, build_id, "build_id"),
    [6] = OLD_FIELD(BOOL, old_mapping, flags[0], "has_functions"),
    [7] = OLD_FIELD(BOOL, old_mapping, flags[1], "has_filenames"),
    [8] = OLD_FIELD(BOOL, old_mapping, flags[2], "has_line_numbers"),
    [9] = OLD_FIELD(BOOL, old_mapping, flags[3], "has_inline_frames"),
};

static bool inline_mapping(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                           void *to)
{
    static const old_message message = OLD_MESSAGE(mapping_fields);
    old_mapping x = {0};
    t->attrs.n = 0;
    if (!pb_expect(c, f, 2, name)) return false;
    if (!old_fields(o, t->a, t, pb_message(c, f), &message, &x) ||
        !old_mapping_attrs(o, "mappings", t->a, &x, &t->attrs))
        return err_in(o->e, "%s", name);
    *(uint32_t *)to = builder_mapping(&o->b, &x.m, t->attrs.v, t->attrs.n);
    return true;
}

static const old_field location_fields[] = {
    [1] = OLD_READ(inline_mapping, old_location, mapping_index, "mapping"),
    [2] = OLD_FIELD(U64, old_location, address, "address"),
    [3] = {OLD_CALL, 0, "line", inline_line},
};

static bool inline_location(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                            void *to)
{
    static const old_message message = OLD_MESSAGE(location_fields);
    a_profile *p = t->owner;
    old_location x = {0};
    (void)to;
    t->lines.n = 0;
    if (!pb_expect(c, f, 2, name)) return false;
    if (!old_fields(o, t->a, t, pb_message(c, f), &message, &x))
        return err_in(o->e, "%s[%zu]", name, p->frames.n);
    return old_push(
        o, t->a, &p->frames,
        builder_location(&o->b, x.mapping_index, x.address, t->lines.v, t->lines.n, NULL, 0));
}

static bool inline_stack(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                         void *to)
{
    static const old_field fields[] = {[1] = {OLD_CALL, 0, "locations", inline_location}};
    static const old_message message = OLD_MESSAGE(fields);
    u32s *stack = &((a_profile *)t->owner)->frames;
    stack->n = 0;
    if (!old_submessage(o, t, c, f, name, &message, stack)) return false;
    dialect_reverse(stack);
    ((sample_reader *)to)->row->stack = builder_stack(&o->b, stack->v, stack->n);
    return true;
}

static bool inline_link(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                        void *to)
{
    static const old_schema links = {.link = "links"};
    old_tables one = {.a = t->a, .schema = &links};
    if (!pb_expect(c, f, 2, name)) return false;
    piece *x = vec_push(t->a, &one.links);
    if (!x) return err_memory(o->e);
    *x = (piece){f->data, (size_t)f->value};
    if (!old_build_links(o, &one)) return false;
    take_link(o, ((sample_reader *)to)->row, one.link.v[0]);
    return true;
}

static bool inline_values(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                          void *to)
{
    a_profile *p = t->owner;
    a_row *r = ((sample_reader *)to)->row;
    if (f->wire == 1) return add_value(o, p, r, f->value);
    if (!pb_expect(c, f, 2, name)) return false;
    if (f->value % 8)
        return pb_fail(c, f->at, "the field values has %" PRIu64 " bytes, expected a multiple of 8",
                       f->value);
    for (uint64_t i = 0; i < f->value; i += 8) {
        uint64_t v = 0;
        for (unsigned k = 8; k-- > 0;) v = v << 8 | f->data[i + k];
        if (!add_value(o, p, r, v)) return false;
    }
    return true;
}

static const old_field inline_sample_fields[] = {
    [1] = {OLD_CALL, 0, "stacktrace", inline_stack},
    [2] = {OLD_CALL, 0, "links", inline_link},
    [3] = OLD_FIELD(ATTRS, sample_reader, attrs, "attributes"),
    [4] = OLD_FIELD(U32, sample_reader, dropped, "dropped_attributes_count"),
    [5] = {OLD_CALL, 0, "values", inline_values},
    [6] = {OLD_CALL, 0, "timestamp_unix_nano", sample_time},
};

static bool inline_sample(old *o, a_profile *p, pb_cur c)
{
    static const old_message message = OLD_MESSAGE(inline_sample_fields);
    sample_reader r = {.row = new_row(o, p)};
    if (!r.row) return false;
    p->refs.n = 0;
    return old_fields(o, &o->tmp, &p->t, c, &message, &r) &&
           old_build_keyvalues(o, &o->tmp, &r.attrs, &p->refs) &&
           (!r.dropped || dialect_dropped(o, r.dropped, "samples", &p->refs)) &&
           end_row(o, p, r.row);
}

static const old_field inline_type_fields[] = {
    [1] = OLD_FIELD(U64, dialect_type, temporality, "aggregation_temporality"),
    [2] = OLD_FIELD(U64, dialect_type, sample_size, "sample_size"),
    [3] = OLD_READ(inline_name, dialect_type, type, "type"),
    [4] = OLD_READ(inline_name, dialect_type, unit, "unit"),
};

static bool inline_type(old *o, a_profile *p, pb_cur c)
{
    static const old_message message = OLD_MESSAGE(inline_type_fields);
    dialect_type *t = vec_push(&o->tmp, &p->type);
    if (!t) return err_memory(o->e);
    return old_fields(o, &o->tmp, &p->t, c, &message, t);
}

static bool read_denormalized(old *o, a_profile *p, pb_cur c)
{
    p->t.a = &o->tmp;
    p->t.owner = p;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1) {
            if (!pb_expect(&c, &f, 2, "sample_types")) return false;
            if (!inline_type(o, p, pb_message(&c, &f)))
                return err_in(o->e, "sample_types[%zu]", p->type.n - (p->type.n > 0));
        } else if (f.number == 2) {
            if (!pb_expect(&c, &f, 2, "samples")) return false;
            if (!inline_sample(o, p, pb_message(&c, &f)))
                return err_in(o->e, "samples[%zu]", p->rows.n - (p->rows.n > 0));
        } else {
            o->n_unknown++;
        }
        if (o->b.failed) return err_memory(o->e);
    }
    return pb_ok(&c) && a_emit_rows(o, p);
}

/* ---- the entry ---- */

typedef struct entry {
    a_profile p;     /* first member: DIALECT_HEAD uses offsets in a_profile */
    pb_field member; /* the member of the oneof that is set */
} entry;

static bool member_field(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                         void *to)
{
    (void)o, (void)t;
    *(pb_field *)to = *f;
    return pb_expect(c, f, 2, name);
}

static bool pprof_field(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                        void *to)
{
    (void)t, (void)name, (void)to;
    err_at(o->e, ERR_UNSUPPORTED, pb_offset(c, f->at), "this entry holds pprof in its field %u",
           f->number);
    return err_hint(o->e, "extract that field and read it with --from pprof");
}

#define PPROF                                                                                      \
    {                                                                                              \
        OLD_CALL, 0, NULL, pprof_field                                                             \
    }
#define ENTRY(first)                                                                               \
    DIALECT_HEAD(a_profile), [7] = A_FIELD(BYTES, head.payload, "original_payload"), [8] = PPROF,  \
                             [101] = PPROF, [105] = PPROF,                                         \
                             [first] = OLD_READ(member_field, entry, member, "profile"),           \
                             [first + 1] = OLD_READ(member_field, entry, member, "profile"),       \
                             [first + 2] = OLD_READ(member_field, entry, member, "profile")

static const old_field a0_fields[] = {ENTRY(A0_NORMALIZED)};
static const old_field bench_fields[] = {
    ENTRY(BENCH_NORMALIZED), [6] = A_FIELD(TEXT, head.payload_format, "original_payload_format")};

bool alternatives_entry(old *o, pb_cur c, const void *ctx)
{
    static const old_message a0 = OLD_MESSAGE(a0_fields), bench = OLD_MESSAGE(bench_fields);
    bool is_bench = *(const bool *)ctx;
    entry x = {0};
    a_profile *p = &x.p;
    const pb_field *member = &x.member;
    if (!old_fields(o, &o->tmp, &p->t, c, is_bench ? &bench : &a0, &x)) return false;
    if (!member->number) return a_emit_rows(o, p);
    pb_cur in = pb_message(&c, member);
    switch (member->number - (is_bench ? BENCH_NORMALIZED - A0_NORMALIZED : 0)) {
    case A0_NORMALIZED: return read_normalized(o, p, in) || err_in(o->e, "normalized");
    case A0_DENORMALIZED: return read_denormalized(o, p, in) || err_in(o->e, "denormalized");
    default:
        return (a_collect(o, p, &schema_arrays, in) && a_tables(o, p) &&
                a_emit_lists(o, p, &schema_arrays)) ||
               err_in(o->e, "arrays");
    }
}
