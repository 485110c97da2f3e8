/* Reads v1.4 to v1.7: all references are indices, and fields where 0 is a reference have presence.
 *
 * The messages of the tables are the same in all four.  The tables themselves moved: they are in
 * the Profile (1.4, 1.5), in ProfilesData (1.6) or in a dictionary (1.7), so the fields of a
 * Profile have different numbers. */
#include "wire/otlp_old_internal.h"

#include "base/ban.h"

/* ---- tables ---- */

static const old_field function_fields[] = {
    [1] = OLD_FIELD(NAME, old_function, f.name, "name_strindex"),
    [2] = OLD_FIELD(NAME, old_function, f.system_name, "system_name_strindex"),
    [3] = OLD_FIELD(NAME, old_function, f.filename, "filename_strindex"),
    [4] = OLD_FIELD(U64, old_function, f.start_line, "start_line"),
};

static const old_field mapping_fields[] = {
    [1] = OLD_FIELD(U64, old_mapping, m.memory_start, "memory_start"),
    [2] = OLD_FIELD(U64, old_mapping, m.memory_limit, "memory_limit"),
    [3] = OLD_FIELD(U64, old_mapping, m.file_offset, "file_offset"),
    [4] = OLD_FIELD(NAME, old_mapping, m.filename, "filename_strindex"),
    [5] = {OLD_ATTR_REFS, 0, "attribute_indices", NULL},
    [6] = OLD_FIELD(BOOL, old_mapping, flags[0], "has_functions"),
    [7] = OLD_FIELD(BOOL, old_mapping, flags[1], "has_filenames"),
    [8] = OLD_FIELD(BOOL, old_mapping, flags[2], "has_line_numbers"),
    [9] = OLD_FIELD(BOOL, old_mapping, flags[3], "has_inline_frames"),
};

static bool mapping_index(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                          void *to)
{
    uint32_t i;
    if (!pb_expect(c, f, 0, name) ||
        !old_index(o, f->value, t->mapping.n, t->schema->mapping, name, f->at, &i))
        return false;
    *(uint32_t *)to = i == NONE ? 0 : t->mapping.v[i];
    return true;
}

static const old_field location_fields[] = {
    [1] = OLD_READ(mapping_index, old_location, mapping_index, "mapping_index"),
    [2] = OLD_FIELD(U64, old_location, address, "address"),
    [3] = {OLD_LINES, 0, "line", NULL},
    [4] = OLD_FIELD(BOOL, old_location, folded, "is_folded"),
    [5] = {OLD_ATTR_REFS, 0, "attribute_indices", NULL},
};

static const old_field unit_fields[] = {
    [1] = OLD_FIELD(NAME, old_unit, key, "attribute_key_strindex"),
    [2] = OLD_FIELD(NAME, old_unit, unit, "unit_strindex"),
};

static const old_schema schema = {
    .function = "function_table",
    .mapping = "mapping_table",
    .location = "location_table",
    .link = "link_table",
    .attribute = "attribute_table",
    .frame_type = "",
    .explicit_mapping = true,
    .functions = OLD_MESSAGE(function_fields),
    .mappings = OLD_MESSAGE(mapping_fields),
    .locations = OLD_MESSAGE(location_fields),
    .lines = OLD_MESSAGE(old_line_fields),
    .units = OLD_MESSAGE(unit_fields),
};

bool old_v4_tables(old *o, old_tables *t)
{
    if (!old_build_attributes(o, t) || !old_build_links(o, t) || !old_build_frames(o, t))
        return false;
    return o->b.failed ? err_memory(o->e) : true;
}

/* ---- ProfilesData ---- */

#define TABLE(type, path, member, name) OLD_FIELD(PIECE, type, path member, name)
/* The seven tables in the order of ProfilesData and dictionary; `path` leads to old_tables. */
#define TABLES(first, type, path)                                                                  \
    [first] = TABLE(type, path, mappings, "mapping_table"),                                        \
    [first + 1] = TABLE(type, path, locations, "location_table"),                                  \
    [first + 2] = TABLE(type, path, functions, "function_table"),                                  \
    [first + 3] = TABLE(type, path, links, "link_table"),                                          \
    [first + 4] = {OLD_STRINGS, 0, "string_table", NULL},                                          \
    [first + 5] = TABLE(type, path, attributes, "attribute_table"),                                \
    [first + 6] = TABLE(type, path, units, "attribute_units")

static const old_field dictionary_fields[] = {TABLES(1, old_tables, )};

static bool dictionary(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                       void *to)
{
    static const old_message message = OLD_MESSAGE(dictionary_fields);
    return old_submessage(o, t, c, f, name, &message, to);
}

#define RESOURCES [1] = OLD_FIELD(PIECE, old_root, resources, "resource_profiles")

static const old_field root_v3_fields[] = {RESOURCES};
static const old_field root_v6_fields[] = {RESOURCES, TABLES(2, old_root, t.)};
static const old_field root_v7_fields[] = {
    RESOURCES, [2] = OLD_READ(dictionary, old_root, t, "dictionary")};

bool old_v4_root(old *o, old_root *r, pb_cur c)
{
    static const old_message v3 = OLD_MESSAGE(root_v3_fields), v6 = OLD_MESSAGE(root_v6_fields),
                             v7 = OLD_MESSAGE(root_v7_fields);
    r->t.schema = &schema;
    r->t.a = &o->keep;
    const old_message *m = o->layout == LAYOUT_1_7 ? &v7 : o->layout == LAYOUT_1_6 ? &v6 : &v3;
    return old_fields(o, &o->keep, &r->t, c, m, r);
}

/* ---- the Profile ---- */

#define PROFILE(kind, member, name) OLD_FIELD(kind, old_profile, member, name)

#define PROFILE_V4                                                                                 \
    [1] = PROFILE(PIECE, type_pieces, "sample_type"), [2] = PROFILE(PIECE, samples, "sample"),     \
    [3] = PROFILE(PIECE, own.mappings, "mapping_table"),                                           \
    [4] = PROFILE(PIECE, own.locations, "location_table"),                                         \
    [5] = PROFILE(LIST, location_indices, "location_indices"),                                     \
    [6] = PROFILE(PIECE, own.functions, "function_table"),                                         \
    [7] = PROFILE(PIECE, own.attributes, "attribute_table"),                                       \
    [8] = PROFILE(PIECE, own.units, "attribute_units"),                                            \
    [9] = PROFILE(PIECE, own.links, "link_table"), [10] = {OLD_STRINGS, 0, "string_table", NULL},  \
    [11] = PROFILE(U64, time_nanos, "time_nanos"),                                                 \
    [12] = PROFILE(U64, duration_nanos, "duration_nanos"),                                         \
    [13] = PROFILE(PIECE, period_pieces, "period_type"), [14] = PROFILE(U64, period, "period"),    \
    [15] = PROFILE(LIST, comments, "comment_strindices"),                                          \
    [16] = PROFILE(REF, default_type, "default_sample_type"),                                      \
    [17] = PROFILE(ID16, id, "profile_id"),                                                        \
    [19] = PROFILE(U32, dropped_attributes_count, "dropped_attributes_count"),                     \
    [20] = PROFILE(TEXT, payload_format, "original_payload_format"),                               \
    [21] = PROFILE(BYTES, payload, "original_payload")

static const old_field profile_v4_fields[] = {PROFILE_V4, [18] =
                                                              PROFILE(ATTRS, attrs, "attributes")};
static const old_field profile_v5_fields[] = {
    PROFILE_V4, [22] = PROFILE(LIST, attr_indices, "attribute_indices")};
static const old_field profile_v6_fields[] = {
    [1] = PROFILE(PIECE, type_pieces, "sample_type"),
    [2] = PROFILE(PIECE, samples, "sample"),
    [3] = PROFILE(LIST, location_indices, "location_indices"),
    [4] = PROFILE(U64, time_nanos, "time_nanos"),
    [5] = PROFILE(U64, duration_nanos, "duration_nanos"),
    [6] = PROFILE(PIECE, period_pieces, "period_type"),
    [7] = PROFILE(U64, period, "period"),
    [8] = PROFILE(LIST, comments, "comment_strindices"),
    [9] = PROFILE(REF, default_type, "default_sample_type"),
    [10] = PROFILE(ID16, id, "profile_id"),
    [11] = PROFILE(U32, dropped_attributes_count, "dropped_attributes_count"),
    [12] = PROFILE(TEXT, payload_format, "original_payload_format"),
    [13] = PROFILE(BYTES, payload, "original_payload"),
    [14] = PROFILE(LIST, attr_indices, "attribute_indices"),
};

bool old_v4_collect(old *o, old_profile *p, pb_cur c)
{
    static const old_message v4 = OLD_MESSAGE(profile_v4_fields),
                             v5 = OLD_MESSAGE(profile_v5_fields),
                             v6 = OLD_MESSAGE(profile_v6_fields);
    p->own.schema = &schema;
    const old_message *m = o->layout >= LAYOUT_1_6 ? &v6 : o->layout == LAYOUT_1_5 ? &v5 : &v4;
    return old_fields(o, &o->tmp, &p->own, c, m, p);
}

static bool resolve_default(old *o, old_profile *p)
{
    uint32_t name = 0, i;
    if (o->layout <= LAYOUT_1_5) {
        if (!old_string(o, p->t, p->default_type.v, "default_sample_type_strindex",
                        p->default_type.at, &name))
            return false;
        old_set_default(p, name, 0);
        return true;
    }
    if (!p->default_type.v) return true;
    if (!old_index(o, p->default_type.v, p->types.n, "sample_type", "default_sample_type_index",
                   p->default_type.at, &i))
        return false;
    if (i == NONE) return true;
    p->first = i;
    p->default_name = p->types.v[i].type;
    return true;
}

static bool resolve_frames(old *o, old_profile *p)
{
    for (size_t k = 0; k < p->location_indices.n; k++) {
        old_iter i = old_iter_open(o, &p->location_indices.v[k]);
        while (old_iter_next(&i)) {
            uint32_t at;
            if (!old_index(o, i.v, p->t->location.n, "location_table", "location_indices", i.at,
                           &at))
                return false;
            if (!old_push(o, &o->tmp, &p->all_frames, at == NONE ? 0 : p->t->location.v[at]))
                return false;
        }
        if (!pb_ok(&i.c)) return err_in(o->e, "location_indices");
    }
    return true;
}

static uint64_t not_negative(old *o, uint64_t v, const char *name)
{
    if ((int64_t)v >= 0) return v;
    old_note(o, LOSS_TIME, NULL, STR("negative"), "%s", name);
    return 0;
}

static const old_field type_fields[] = {
    [1] = OLD_FIELD(NAME, old_type, type, "type_strindex"),
    [2] = OLD_FIELD(NAME, old_type, unit, "unit_strindex"),
    [3] = OLD_FIELD(U64, old_type, temporality, "aggregation_temporality"),
};

bool old_v4_resolve(old *o, old_profile *p)
{
    static const old_message types = OLD_MESSAGE(type_fields);
    if (p->t == &p->own && !old_v4_tables(o, &p->own)) return false;
    p->time = not_negative(o, p->time_nanos, "time_nanos");
    p->duration = not_negative(o, p->duration_nanos, "duration_nanos");
    return old_build_types(o, p, &types) && resolve_default(o, p) && resolve_frames(o, p) &&
           old_build_lists(o, p, "comment_strindices");
}

/* ---- samples ---- */

static bool sample_attributes(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                              void *to)
{
    old_sample_reader *r = to;
    u32s *attrs = &r->p->row_attrs;
    size_t before = attrs->n;
    if (!old_list_wire(c, f, name) || !old_attr_refs(o, &o->tmp, t, f, name, attrs)) return false;
    r->s->attrs.n += (uint32_t)(attrs->n - before);
    return true;
}

static bool sample_link(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                        void *to)
{
    uint32_t i;
    if (!pb_expect(c, f, 0, name) ||
        !old_index(o, f->value, t->link.n, "link_table", name, f->at, &i))
        return false;
    ((old_sample_reader *)to)->s->link = i == NONE ? 0 : t->link.v[i];
    return true;
}

static const old_field sample_fields[] = {
    [1] = OLD_FIELD(REF, old_sample_reader, start, "locations_start_index"),
    [2] = OLD_FIELD(U64, old_sample_reader, n, "locations_length"),
    [3] = {OLD_CALL, 0, "value", old_sample_values},
    [4] = {OLD_CALL, 0, "attribute_indices", sample_attributes},
    [5] = {OLD_CALL, 0, "link_index", sample_link},
    [6] = {OLD_CALL, 0, "timestamps_unix_nano", old_sample_times},
};

bool old_v4_sample(old *o, old_sample_reader *r, pb_cur c)
{
    static const old_message message = OLD_MESSAGE(sample_fields);
    return old_fields(o, &o->tmp, r->p->t, c, &message, r) && old_slice_stack(o, r);
}
