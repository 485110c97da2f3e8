/* The three ways that the draft compared (seed-formats.md 1.1), inside an A0 or bench entry.
 *
 *   arrays         dialect A's columns; types in SampleType messages beside them
 *   normalized     the same tables, a message a sample, one value a type
 *   denormalized   everything inline, as often as it is used
 *
 * A sample may have several links there: the first stays, the others are in the ledger. */
#include "format/dialect_a.h"

#include "base/ban.h"
#include <inttypes.h>

static const a_numbers numbers_arrays = {
    .profile = {[1] = A_TYPES,
                A_STACKS,
                0,
                A_MAPPINGS,
                A_LOCATIONS,
                A_FUNCTIONS,
                A_LINKS,
                A_SETS,
                A_STRINGS,
                A_LISTS},
    .columns = 10,
    .location = {1, 2, 3, 5},
    .lists = "profile_types",
};

static const a_numbers numbers_normalized = {
    .profile = {[1] = A_TYPES,
                A_STACKS,
                A_SAMPLES,
                A_MAPPINGS,
                A_LOCATIONS,
                A_FUNCTIONS,
                A_LINKS,
                A_SETS,
                A_STRINGS},
    .columns = 10,
    .location = {1, 2, 3, 5},
    .lists = "profile_types",
};

/* ---- rows ---- */

static a_row *new_row(old *o, a_profile *p)
{
    a_row *r = vec_push(&o->tmp, &p->rows);
    if (!r) return old_limit(o), NULL;
    r->attrs.at = (uint32_t)p->row_attrs.n;
    r->values.at = (uint32_t)p->row_values.n;
    return r;
}

static bool add_value(old *o, a_profile *p, a_row *r, uint64_t v)
{
    int64_t *slot = vec_push(&o->tmp, &p->row_values);
    if (!slot) return old_limit(o);
    *slot = (int64_t)v;
    r->values.n++;
    return true;
}

/* The attributes gathered in p->refs. */
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

/* How many values a sample has: one a type; without types, as many as the first one. */
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
            if (o->b.failed) return old_limit(o);
        }
    }
    return true;
}

/* ---- normalized ---- */

static bool sample_refs(old *o, a_profile *p, pb_cur *c, const pb_field *f, a_row *r)
{
    static const char *const names[] = {"link_indices", "attribute_set_indices", "values"};
    const char *name = names[f->number - 2];
    if (!dialect_list_wire(c, f, name)) return false;
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

static bool read_sample(old *o, a_profile *p, pb_cur c)
{
    uint64_t stack_i = 0;
    const uint8_t *at = c.p;
    a_row *r = new_row(o, p);
    if (!r) return false;
    p->refs.n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1:
            at = f.at;
            ok = old_u64(&c, &f, "stacktrace_index", &stack_i);
            break;
        case 2:
        case 3:
        case 4: ok = sample_refs(o, p, &c, &f, r); break;
        case 5: ok = old_fixed64(&c, &f, "timestamp_unix_nano", &r->time); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c) && a_stack_ref(o, p, stack_i, "stacktrace_index", at, &r->stack) &&
           end_row(o, p, r);
}

static bool read_normalized(old *o, a_profile *p, pb_cur c)
{
    if (!a_collect(o, p, &numbers_normalized, c) || !a_tables(o, p, &numbers_normalized))
        return false;
    for (size_t i = 0; i < p->samples.n; i++)
        if (!read_sample(o, p, old_cur(o, p->samples.v[i]))) return err_in(o->e, "samples[%zu]", i);
    return a_emit_rows(o, p);
}

/* ---- denormalized ---- */

static bool inline_text(old *o, pb_cur *c, const pb_field *f, const char *name, uint32_t *out)
{
    str s;
    if (!pb_text(c, f, name, &s)) return false;
    *out = builder_string(&o->b, s);
    return true;
}

static bool inline_function(old *o, pb_cur c, uint32_t *out)
{
    function fn = {0};
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        uint64_t v;
        switch (f.number) {
        case 1: ok = inline_text(o, &c, &f, "name", &fn.name); break;
        case 2: ok = inline_text(o, &c, &f, "system_name", &fn.system_name); break;
        case 3: ok = inline_text(o, &c, &f, "filename", &fn.filename); break;
        case 4:
            ok = old_u64(&c, &f, "start_line", &v);
            fn.start_line = (int64_t)v;
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    *out = builder_function(&o->b, &fn);
    return pb_ok(&c);
}

static bool inline_line(old *o, pb_cur c, line *out)
{
    for (pb_field f; pb_next(&c, &f);) {
        uint64_t v;
        if (f.number == 1) {
            if (!pb_expect(&c, &f, 2, "function")) return false;
            if (!inline_function(o, pb_message(&c, &f), &out->function))
                return err_in(o->e, "function");
        } else if (f.number == 2) {
            if (!old_u64(&c, &f, "line", &v)) return false;
            out->line = (int64_t)v;
        } else {
            o->n_unknown++;
        }
    }
    return pb_ok(&c);
}

static bool inline_mapping(old *o, pb_cur c, u32s *attrs, uint32_t *out)
{
    static const char *const has[] = {"has_functions", "has_filenames", "has_line_numbers",
                                      "has_inline_frames"};
    mapping m = {0};
    str build_id = {0};
    bool flags[4] = {0};
    attrs->n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = old_u64(&c, &f, "memory_start", &m.memory_start); break;
        case 2: ok = old_u64(&c, &f, "memory_limit", &m.memory_limit); break;
        case 3: ok = old_u64(&c, &f, "file_offset", &m.file_offset); break;
        case 4: ok = inline_text(o, &c, &f, "filename", &m.filename); break;
        case 5: ok = pb_text(&c, &f, "build_id", &build_id); break;
        case 6:
        case 7:
        case 8:
        case 9: ok = old_bool(&c, &f, has[f.number - 6], &flags[f.number - 6]); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    if (!pb_ok(&c) || !dialect_build_id(o, build_id, 0, 0, attrs) ||
        !dialect_flags(o, flags, 0, attrs))
        return false;
    *out = builder_mapping(&o->b, &m, attrs->v, attrs->n);
    return true;
}

static bool inline_location(old *o, a_profile *p, pb_cur c, uint32_t *out)
{
    old_tables *t = &p->t;
    uint64_t address = 0;
    uint32_t mapping_i = 0;
    t->lines.n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1:
            if (!pb_expect(&c, &f, 2, "mapping")) return false;
            if (!inline_mapping(o, pb_message(&c, &f), &t->attrs, &mapping_i))
                return err_in(o->e, "mapping");
            break;
        case 2: ok = old_u64(&c, &f, "address", &address); break;
        case 3: {
            if (!pb_expect(&c, &f, 2, "line")) return false;
            line *l = vec_push(t->a, &t->lines);
            if (!l) return old_limit(o);
            if (!inline_line(o, pb_message(&c, &f), l))
                return err_in(o->e, "line[%zu]", t->lines.n - 1);
            break;
        }
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    *out = builder_location(&o->b, mapping_i, address, t->lines.v, t->lines.n, NULL, 0);
    return pb_ok(&c);
}

static bool inline_stack(old *o, a_profile *p, pb_cur c, uint32_t *out)
{
    p->frames.n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        uint32_t at = 0;
        if (f.number != 1) {
            o->n_unknown++;
            continue;
        }
        if (!pb_expect(&c, &f, 2, "locations")) return false;
        if (!inline_location(o, p, pb_message(&c, &f), &at))
            return err_in(o->e, "locations[%zu]", p->frames.n);
        if (!old_push(o, &o->tmp, &p->frames, at)) return false;
    }
    for (size_t i = 0, k = p->frames.n; i + 1 < k; i++) { /* root first to leaf first */
        uint32_t x = p->frames.v[i];
        p->frames.v[i] = p->frames.v[--k];
        p->frames.v[k] = x;
    }
    *out = builder_stack(&o->b, p->frames.v, p->frames.n);
    return pb_ok(&c);
}

static bool inline_link(old *o, a_profile *p, const pb_field *f, a_row *r)
{
    old_tables one = {.a = &o->tmp};
    (void)p;
    piece *x = vec_push(&o->tmp, &one.links);
    if (!x) return old_limit(o);
    *x = (piece){f->data, (size_t)f->value};
    if (!dialect_links(o, &one, "links")) return false;
    take_link(o, r, one.link.v[0]);
    return true;
}

static bool inline_values(old *o, a_profile *p, pb_cur *c, const pb_field *f, a_row *r)
{
    if (f->wire == 1) return add_value(o, p, r, f->value);
    if (!pb_expect(c, f, 2, "values")) return false;
    if (f->value % 8)
        return pb_fail(c, f->at, "values has %" PRIu64 " bytes, expected a multiple of 8",
                       f->value);
    for (uint64_t i = 0; i < f->value; i += 8) {
        uint64_t v = 0;
        for (unsigned k = 8; k-- > 0;) v = v << 8 | f->data[i + k];
        if (!add_value(o, p, r, v)) return false;
    }
    return true;
}

static bool inline_sample(old *o, a_profile *p, pb_cur c)
{
    keyvalue_list attrs = {0};
    uint32_t dropped = 0;
    a_row *r = new_row(o, p);
    if (!r) return false;
    p->refs.n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1:
            if (!pb_expect(&c, &f, 2, "stacktrace")) return false;
            if (!inline_stack(o, p, pb_message(&c, &f), &r->stack))
                return err_in(o->e, "stacktrace");
            break;
        case 2: ok = pb_expect(&c, &f, 2, "links") && inline_link(o, p, &f, r); break;
        case 3: ok = old_attributes(o, &o->tmp, &c, &f, &attrs); break;
        case 4: ok = old_u32(&c, &f, "dropped_attributes_count", &dropped); break;
        case 5: ok = inline_values(o, p, &c, &f, r); break;
        case 6: ok = old_fixed64(&c, &f, "timestamp_unix_nano", &r->time); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    for (size_t i = 0; i < attrs.n; i++)
        if (!old_push(o, &o->tmp, &p->refs,
                      builder_attribute(&o->b, attrs.v[i].key, &attrs.v[i].value, (str){0})))
            return false;
    if (dropped && !dialect_dropped(o, dropped, "samples", &p->refs)) return false;
    return pb_ok(&c) && end_row(o, p, r);
}

static bool inline_type(old *o, a_profile *p, pb_cur c)
{
    dialect_type *t = vec_push(&o->tmp, &p->type);
    if (!t) return old_limit(o);
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = old_u64(&c, &f, "aggregation_temporality", &t->temporality); break;
        case 2: ok = old_u64(&c, &f, "sample_size", &t->sample_size); break;
        case 3: ok = inline_text(o, &c, &f, "type", &t->type); break;
        case 4: ok = inline_text(o, &c, &f, "unit", &t->unit); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

static bool read_denormalized(old *o, a_profile *p, pb_cur c)
{
    p->t.a = &o->tmp;
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
        if (o->b.failed) return old_limit(o);
    }
    return pb_ok(&c) && a_emit_rows(o, p);
}

/* ---- the entry ---- */

static bool entry_field(old *o, a_profile *p, pb_cur *c, const pb_field *f, bool bench)
{
    switch (f->number) {
    case 1: return old_id_bytes(c, f, "profile_id", 16, &p->head.id);
    case 2: return old_fixed64(c, f, "start_time_unix_nano", &p->head.start);
    case 3: return old_fixed64(c, f, "end_time_unix_nano", &p->head.end);
    case 4: return old_attributes(o, &o->tmp, c, f, &p->head.attrs);
    case 5: return old_u32(c, f, "dropped_attributes_count", &p->head.dropped_attributes_count);
    case 6:
        if (bench) return pb_text(c, f, "original_payload_format", &p->head.payload_format);
        break;
    case 7: return old_bytes(c, f, "original_payload", &p->head.payload);
    case 8:
    case 101:
    case 105:
        err_at(o->e, ERR_UNSUPPORTED, pb_offset(c, f->at), "this entry holds pprof in its field %u",
               f->number);
        return err_hint(o->e, "give that field to --from pprof");
    default: break;
    }
    o->n_unknown++;
    return true;
}

bool alternatives_entry(old *o, pb_cur c, const void *ctx)
{
    bool bench = *(const bool *)ctx;
    a_profile p = {0};
    pb_field member = {0};
    for (pb_field f; pb_next(&c, &f);) {
        uint32_t first = bench ? 102 : A0_NORMALIZED;
        if (f.number < first || f.number > first + 2) {
            if (!entry_field(o, &p, &c, &f, bench)) return false;
            continue;
        }
        if (!pb_expect(&c, &f, 2, "profile")) return false;
        member = f;
        member.number = f.number - first + A0_NORMALIZED;
    }
    if (!pb_ok(&c)) return false;
    pb_cur in = member.number ? pb_message(&c, &member) : pb_open(NULL, 0, o->e);
    switch (member.number) {
    case A0_NORMALIZED: return read_normalized(o, &p, in) || err_in(o->e, "normalized");
    case A0_DENORMALIZED: return read_denormalized(o, &p, in) || err_in(o->e, "denormalized");
    case A0_ARRAYS:
        if (a_collect(o, &p, &numbers_arrays, in) && a_tables(o, &p, &numbers_arrays) &&
            a_emit_lists(o, &p, &numbers_arrays))
            return true;
        return err_in(o->e, "arrays");
    default: return a_emit_rows(o, &p);
    }
}
