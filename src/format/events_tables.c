/* Reads the tables of dialect C (format/events.h) into the builder. The messages are those of v1.3
 * with other names, except that texts and keys of attributes are string indices. */
#include "format/events.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- messages ---- */

static const old_field function_fields[] = {
    [1] = OLD_FIELD(U64, old_function, id, "id"),
    [2] = OLD_FIELD(NAME, old_function, f.name, "name_string_uindex"),
    [3] = OLD_FIELD(NAME, old_function, f.system_name, "system_name_string_index"),
    [4] = OLD_FIELD(NAME, old_function, f.filename, "filename_string_index"),
    [5] = OLD_FIELD(U64, old_function, f.start_line, "start_line"),
};

static const old_field mapping_fields[] = {
    [1] = OLD_FIELD(U64, old_mapping, m.memory_start, "memory_start"),
    [2] = OLD_FIELD(U64, old_mapping, m.memory_limit, "memory_limit"),
    [3] = OLD_FIELD(U64, old_mapping, m.file_offset, "file_offset"),
    [4] = OLD_FIELD(NAME, old_mapping, m.filename, "filename_string_index"),
    [5] = OLD_FIELD(NAME, old_mapping, build_id_name, "build_id_string_index"),
    [6] = OLD_FIELD(U64, old_mapping, build_id_kind, "build_id_kind"),
    [7] = {OLD_ATTR_REFS, 0, "attributes", NULL},
    [8] = OLD_FIELD(BOOL, old_mapping, flags[0], "has_functions"),
    [9] = OLD_FIELD(BOOL, old_mapping, flags[1], "has_filenames"),
    [10] = OLD_FIELD(BOOL, old_mapping, flags[2], "has_line_numbers"),
    [11] = OLD_FIELD(BOOL, old_mapping, flags[3], "has_inline_frames"),
};

static const old_field location_fields[] = {
    [1] = OLD_FIELD(REF, old_location, mapping, "mapping_index"),
    [2] = OLD_FIELD(U64, old_location, address, "address"),
    [3] = {OLD_LINES, 0, "line", NULL},
    [4] = OLD_FIELD(BOOL, old_location, folded, "is_folded"),
    [5] = OLD_FIELD(NAME, old_location, type, "type_string_index"),
    [6] = {OLD_ATTR_REFS, 0, "attribute_index", NULL},
};

static const old_schema schema = {
    .function = "functions",
    .mapping = "mappings",
    .location = "locations",
    .link = "links",
    .attribute = "attributes",
    .frame_type = "",
    .text_refs = true,
    .functions = OLD_MESSAGE(function_fields),
    .mappings = OLD_MESSAGE(mapping_fields),
    .locations = OLD_MESSAGE(location_fields),
    .lines = OLD_MESSAGE(old_line_fields),
};

static bool end_time(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                     void *to)
{
    c_profile *p = to;
    (void)o, (void)t;
    p->timed = true;
    p->end = f->value;
    return pb_expect(c, f, 1, name);
}

#define PROFILE(kind, member, name) OLD_FIELD(kind, c_profile, member, name)

static const old_field profile_fields[] = {
    [1] = PROFILE(PIECE, events, "events"),
    [3] = PROFILE(PIECE, types, "event_types"),
    [4] = PROFILE(PIECE, stacks, "stacks"),
    [5] = PROFILE(PIECE, t.locations, "locations"),
    [6] = PROFILE(PIECE, t.functions, "functions"),
    [7] = PROFILE(PIECE, t.mappings, "mappings"),
    [8] = PROFILE(PIECE, t.attributes, "attributes"),
    [10] = PROFILE(PIECE, t.links, "links"),
    [11] = {OLD_STRINGS, 0, "strings", NULL},
    [12] = PROFILE(PIECE, clocks, "clocks"),
    [16] = {OLD_CALL, 0, "time_unix_nano", end_time},
    [17] = PROFILE(U64, duration, "duration_nanos"),
    [18] = PROFILE(LIST, comments, "comment_string_index"),
};

bool c_collect(old *o, c_profile *p, pb_cur c)
{
    static const old_message message = OLD_MESSAGE(profile_fields);
    p->t.a = &o->tmp;
    p->t.schema = &schema;
    p->t.owner = p;
    return old_fields(o, &o->tmp, &p->t, c, &message, p);
}

/* ---- clocks and types ---- */

bool c_attr_refs(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name, void *to)
{
    return old_list_wire(c, f, name) && old_attr_refs(o, &o->tmp, t, f, name, to);
}

static bool clock_index(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                        void *to)
{
    const c_profile *p = t->owner;
    return pb_expect(c, f, 0, name) &&
           old_index(o, f->value, p->clock.n, "clocks", name, f->at, to);
}

static const old_field clock_fields[] = {
    [1] = OLD_FIELD(U64, c_clock, frequency, "frequency"),
    [2] = OLD_FIELD(FIXED64, c_clock, time_unix_nano, "time_unix_nano"),
    [3] = OLD_READ(c_attr_refs, c_clock, attrs, "attribute_indices"),
};

static const old_field type_fields[] = {
    [1] = OLD_FIELD(NAME, c_type, name, "name_string_index"),
    [2] = OLD_FIELD(NAME, c_type, unit, "unit_string_index"),
    [3] = OLD_READ(clock_index, c_type, clock, "clock_index"),
    [4] = OLD_FIELD(U64, c_type, default_value, "default_value"),
    [7] = OLD_READ(c_attr_refs, c_type, attrs, "attribute_incidices"),
};

static bool build_clocks(old *o, c_profile *p)
{
    static const old_message message = OLD_MESSAGE(clock_fields);
    for (size_t i = 0; i < p->clocks.n; i++) {
        c_clock *k = vec_push(&o->tmp, &p->clock);
        if (!k) return err_memory(o->e);
        if (!old_fields(o, &o->tmp, &p->t, old_cur(o, p->clocks.v[i]), &message, k))
            return err_in(o->e, "clocks[%zu]", i);
        if (!k->frequency)
            old_note(o, LOSS_PROFILE_REFUSED, NULL, STR("frequency 0"), "clocks[%zu]", i);
    }
    return true;
}

static bool build_types(old *o, c_profile *p)
{
    static const old_message message = OLD_MESSAGE(type_fields);
    for (size_t i = 0; i < p->types.n; i++) {
        c_type *k = vec_push(&o->tmp, &p->type);
        if (!k) return err_memory(o->e);
        k->clock = NONE;
        if (!old_fields(o, &o->tmp, &p->t, old_cur(o, p->types.v[i]), &message, k))
            return err_in(o->e, "event_types[%zu]", i);
        if (k->clock == NONE) continue;
        p->clock.v[k->clock].used = true;
        k->refused = p->clock.v[k->clock].frequency == 0;
    }
    for (size_t i = 0; i < p->clock.n; i++)
        if (!p->clock.v[i].used) old_note(o, LOSS_CLOCK, NULL, STR("unused"), "clocks[%zu]", i);
    if (p->types.n || !p->events.n) return true;
    c_type *k = vec_push(&o->tmp, &p->type); /* index 0 is the default type, even if not defined */
    if (!k) return err_memory(o->e);
    k->clock = NONE;
    return true;
}

bool c_tables(old *o, c_profile *p)
{
    static const dialect_stacks stacks = {.table = "stacks", .field = "location_index"};
    old_tables *t = &p->t;
    t->schema = &schema; /* not set if the container has no profile */
    if (!old_build_attributes(o, t) || !old_build_links(o, t) || !old_build_frames(o, t) ||
        !dialect_build_stacks(o, t, &stacks, &p->stacks, &p->stack))
        return false;
    /* Index 0 means "no stack", so an event cannot refer to the entry there. */
    if (p->stack.n && p->stack.v[0])
        old_note(o, LOSS_INDEX_REPAIRED, NULL, STR("not empty"), "stacks[0]");
    return old_build_comments(o, t, &p->comments, "comment_string_index", &p->comment) &&
           build_clocks(o, p) && build_types(o, p) && (!o->b.failed || err_memory(o->e));
}
