/* Reads dialect A, the "arrays" draft, with the field numbers of A, A1 and A2
 * (docs/spec/layouts.md, "Dialect A").
 *
 *   stacks       root first; reversed here
 *   references   0-based, no null entries, except links and attribute sets, whose entry 0 is empty
 *   times        the draft names no unit; inferred from the magnitude without kiln.timestamp_unit
 *   lists        a ProfileType whose lists differ in length is skipped; the others are read */
#include "format/dialect_a.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- messages of the tables ---- */

const old_field a_function_fields[5] = {
    [1] = OLD_FIELD(NAME, old_function, f.name, "name_index"),
    [2] = OLD_FIELD(NAME, old_function, f.system_name, "system_name_index"),
    [3] = OLD_FIELD(NAME, old_function, f.filename, "filename_index"),
    [4] = OLD_FIELD(U32_WIDE, old_function, f.start_line, "start_line"),
};

/* Reads the attribute sets of a mapping or location; several sets become one list. */
bool a_attribute_sets(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                      void *unused)
{
    const a_profile *p = t->owner;
    (void)unused;
    if (!old_list_wire(c, f, name)) return false;
    old_iter i = old_iter_open(o, f);
    bool counted = false;
    while (old_iter_next(&i)) {
        if (t->attrs.n && i.v) old_note(o, LOSS_ATTRIBUTE_SET, NULL, (str){0}, "%s", name);
        if (!a_set_ref(o, p, i.v, name, i.at, &t->attrs)) return false;
        bool counts = i.v && i.v < p->set_dropped.n && p->set_dropped.v[i.v];
        if (counts && counted) t->attrs.n--; /* keep one count per list (P-21), the last */
        counted |= counts;
    }
    return pb_ok(&i.c);
}

const old_field a_mapping_fields[8] = {
    [1] = OLD_FIELD(U64, old_mapping, m.memory_start, "memory_start"),
    [2] = OLD_FIELD(U64, old_mapping, m.memory_limit, "memory_limit"),
    [3] = OLD_FIELD(U64, old_mapping, m.file_offset, "file_offset"),
    [4] = OLD_FIELD(NAME, old_mapping, m.filename, "filename_index"),
    [5] = OLD_FIELD(NAME, old_mapping, build_id_name, "build_id_index"),
    [6] = OLD_FIELD(U64, old_mapping, symbolic_info, "symbolic_info"),
    [7] = {OLD_CALL, 0, "attribute_set_indices", a_attribute_sets},
};

const old_field a_line_fields[3] = {
    [1] = OLD_FIELD(REF, old_line, function, "function_index"),
    [2] = OLD_FIELD(U32_WIDE, old_line, l.line, "line"),
};

/* Fields of a Location, by the numbers of mapping_index, address, line and attribute sets. */
#define LOCATION(mapping_no, address_no, line_no, sets_no)                                         \
    [mapping_no] = OLD_FIELD(REF, old_location, mapping, "mapping_index"),                         \
    [address_no] = OLD_FIELD(U64, old_location, address, "address"),                               \
    [line_no] = {OLD_LINES, 0, "line", NULL},                                                      \
    [sets_no] = {OLD_CALL, 0, "attribute_set_indices", a_attribute_sets}

const old_field a_location_fields[6] = {LOCATION(1, 2, 3, 5)};
static const old_field location_a1[] = {LOCATION(1, 2, 3, 4)};
static const old_field location_a2[] = {LOCATION(3, 2, 1, 4)};

/* ---- messages of the variants ---- */

static const old_field list_a[] = {
    [1] = OLD_FIELD(U64, a_list, type.temporality, "aggregation_temporality"),
    [2] = OLD_FIELD(U64, a_list, type.sample_rate, "sample_rate"),
    [3] = OLD_FIELD(NAME, a_list, type.type, "type_index"),
    [4] = OLD_FIELD(NAME, a_list, type.unit, "unit_index"),
    A_COLUMNS(10),
};

static const old_field list_a2[] = {
    A_COLUMNS(1),
    [6] = OLD_FIELD(U64, a_list, type.sample_rate, "sample_rate"),
    [7] = OLD_FIELD(NAME, a_list, type.type, "type_index"),
    [8] = OLD_FIELD(NAME, a_list, type.unit, "unit_index"),
    [9] = OLD_FIELD(U64, a_list, type.temporality, "aggregation_temporality"),
};

/* The Profile of A and A1, which differ inside the tables and in the name of the lists. */
#define PROFILE_A(lists_name)                                                                      \
    DIALECT_HEAD(a_profile), [6] = A_FIELD(BYTES, head.payload, "original_payload"),               \
                             [7] = A_FIELD(PIECE, stacks, "stacktraces"),                          \
                             A_DICTIONARY(8), [14] = A_FIELD(PIECE, lists, lists_name)

static const old_field profile_a[] = {PROFILE_A("profile_types")};
static const old_field profile_a1[] = {PROFILE_A("sample_lists")};
static const old_field profile_a2[] = {
    [1] = A_FIELD(ID16, head.id, "profile_id"),
    [2] = A_FIELD(BYTES, head.payload, "original_payload"),
    [3] = A_FIELD(PIECE, stacks, "stacktraces"),
    A_DICTIONARY(4),
    [10] = A_FIELD(PIECE, lists, "sample_lists"),
    [11] = A_FIELD(ATTRS, head.attrs, "attributes"),
    [12] = A_FIELD(U32, head.dropped_attributes_count, "dropped_attributes_count"),
    [13] = A_FIELD(FIXED64, head.start, "start_time_unix_nano"),
    [14] = A_FIELD(FIXED64, head.end, "end_time_unix_nano"),
};

static const a_schema schema_a = {.profile = OLD_MESSAGE(profile_a),
                                  .list = OLD_MESSAGE(list_a),
                                  .tables = A_TABLES(a_location_fields),
                                  .lists = "profile_types"};
static const a_schema schema_a1 = {.profile = OLD_MESSAGE(profile_a1),
                                   .list = OLD_MESSAGE(list_a),
                                   .tables = A_TABLES(location_a1),
                                   .lists = "sample_lists"};
static const a_schema schema_a2 = {.profile = OLD_MESSAGE(profile_a2),
                                   .list = OLD_MESSAGE(list_a2),
                                   .tables = A_TABLES(location_a2),
                                   .lists = "sample_lists"};

bool a_collect(old *o, a_profile *p, const a_schema *s, pb_cur c)
{
    p->t.a = &o->tmp;
    p->t.schema = &s->tables;
    p->t.owner = p;
    return old_fields(o, &o->tmp, &p->t, c, &s->profile, p);
}

/* ---- references ---- */

bool a_stack_ref(old *o, const a_profile *p, uint64_t v, const char *field, const uint8_t *at,
                 uint32_t *out)
{
    uint32_t i;
    *out = 0;
    if (v == 0 && p->stack.n == 0) return true;
    if (!old_index(o, v, p->stack.n, "stacktraces", field, at, &i)) return false;
    if (i != NONE) *out = p->stack.v[i];
    return true;
}

bool a_link_ref(old *o, const a_profile *p, uint64_t v, const char *field, const uint8_t *at,
                uint32_t *out)
{
    uint32_t i;
    *out = 0;
    if (v == 0) return true; /* no link, whatever entry 0 holds */
    if (!old_index(o, v, p->t.link.n, "links", field, at, &i)) return false;
    if (i != NONE) *out = p->t.link.v[i];
    return true;
}

bool a_set_ref(old *o, const a_profile *p, uint64_t v, const char *field, const uint8_t *at,
               u32s *to)
{
    uint32_t i;
    if (v == 0) return true;
    if (!old_index(o, v, p->set.n, "attribute_sets", field, at, &i)) return false;
    if (i == NONE) return true;
    span s = p->set.v[i];
    if (s.n > o->frames_left) /* samples share sets, and each sample copies its set */
        return err_at(o->e, ERR_LIMIT, (uint64_t)(at - o->base),
                      "samples have more than %d attributes for each byte of the message",
                      OLD_MAX_FRAMES_PER_BYTE);
    o->frames_left -= s.n;
    for (uint32_t k = 0; k < s.n; k++)
        if (!old_push(o, &o->tmp, to, p->set_attrs.v[s.at + k])) return false;
    return true;
}

/* ---- tables ---- */

typedef struct attribute_set {
    keyvalue_list attrs;
    uint32_t dropped;
} attribute_set;

static const old_field set_fields[] = {
    [1] = OLD_FIELD(ATTRS, attribute_set, attrs, "attributes"),
    [2] = OLD_FIELD(U32, attribute_set, dropped, "dropped_attributes_count"),
};

static bool build_sets(old *o, a_profile *p)
{
    static const old_message message = OLD_MESSAGE(set_fields);
    for (size_t i = 0; i < p->sets.n; i++) {
        span *s = vec_push(&o->tmp, &p->set);
        if (!s) return err_memory(o->e);
        s->at = (uint32_t)p->set_attrs.n;
        attribute_set set = {0};
        char where[32];
        snprintf(where, sizeof where, "attribute_sets[%zu]", i);
        if (!old_fields(o, &o->tmp, &p->t, old_cur(o, p->sets.v[i]), &message, &set))
            return err_in(o->e, "%s", where);
        if (!old_build_keyvalues(o, &o->tmp, &set.attrs, &p->set_attrs)) return false;
        if (set.dropped && !dialect_dropped(o, set.dropped, where, &p->set_attrs)) return false;
        if (!old_push(o, &o->tmp, &p->set_dropped, set.dropped)) return false;
        s->n = (uint32_t)p->set_attrs.n - s->at;
        if (i == 0 && s->n) /* index 0 means "none", so this set cannot be referred to */
            old_note(o, LOSS_ATTRIBUTE_SET, NULL, (str){0}, "attribute_sets[0]");
    }
    return true;
}

static const old_field type_fields[] = {
    [1] = OLD_FIELD(U64, dialect_type, temporality, "aggregation_temporality"),
    [2] = OLD_FIELD(U64, dialect_type, sample_size, "sample_size"),
    [3] = OLD_FIELD(NAME, dialect_type, type, "type_index"),
    [4] = OLD_FIELD(NAME, dialect_type, unit, "unit_index"),
};

bool a_tables(old *o, a_profile *p)
{
    static const dialect_stacks stacks = {"stacktraces", "location_indices", .root_first = true};
    static const old_message types = OLD_MESSAGE(type_fields);
    old_tables *t = &p->t;
    if (!build_sets(o, p) || !old_build_links(o, t)) return false;
    if (t->link.n && t->link.v[0]) old_note(o, LOSS_LINK, NULL, (str){0}, "links[0]");
    if (!old_build_frames(o, t) || !dialect_build_stacks(o, t, &stacks, &p->stacks, &p->stack))
        return false;
    for (size_t i = 0; i < p->types.n; i++) {
        dialect_type *type = vec_push(&o->tmp, &p->type);
        if (!type) return err_memory(o->e);
        if (!old_fields(o, &o->tmp, t, old_cur(o, p->types.v[i]), &types, type))
            return err_in(o->e, "sample_types[%zu]", i);
    }
    return o->b.failed ? err_memory(o->e) : true;
}

/* ---- the format ---- */

static bool read_profile(old *o, pb_cur c, const void *ctx)
{
    const a_schema *s = ctx;
    a_profile p = {0};
    return a_collect(o, &p, s, c) && a_tables(o, &p) && a_emit_lists(o, &p, s);
}

typedef struct a_variant {
    const a_schema *schema; /* NULL: A0 or bench */
    bool bench;
} a_variant;

static bool decode(old *o, pb_cur c, const void *ctx)
{
    const a_variant *v = ctx;
    if (!v->schema) return dialect_read_envelope(o, c, alternatives_entry, &v->bench);
    return dialect_read_envelope(o, c, read_profile, v->schema);
}

bool dialect_a_read(const format *f, str bytes, const read_opts *ro, arena *a, model *out,
                    layout_verdict *verdict, err *e)
{
    (void)verdict;
    bool arrays = f == &format_arrays;
    a_variant v = {.schema = arrays ? &schema_a : NULL};
    /* A short message fits every variant, so those of the requested format are tried first. */
    dialect d = arrays ? DIALECT_NONE : dialect_detect_among(bytes, DIALECTS_ALTERNATIVES);
    if (!d) d = dialect_detect_among(bytes, DIALECTS_A);
    switch (d ? d : dialect_nearest(bytes, DIALECTS_A)) {
    case DIALECT_A: v.schema = &schema_a; break;
    case DIALECT_A1: v.schema = &schema_a1; break;
    case DIALECT_A2: v.schema = &schema_a2; break;
    case DIALECT_A0: v.schema = NULL; break;
    case DIALECT_BENCH: v = (a_variant){.bench = true}; break;
    default: break;
    }
    return dialect_read(bytes, ro, a, out, e, decode, &v);
}
