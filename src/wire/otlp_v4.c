/* v1.4 to v1.7: indices everywhere, presence where 0 is a reference.  The messages below the tables
 * are the same in all four; what moved is where the tables are (Profile, ProfilesData, dictionary). */
#include "wire/otlp_old_internal.h"

#include "base/ban.h"

/* ---- tables ---- */

enum { T_MAPPING = 1, T_LOCATION, T_FUNCTION, T_LINK, T_STRING, T_ATTRIBUTE, T_UNIT };

/* `number` as in the dictionary of v1.7; *is says whether it was a table. */
bool old_v4_table(old *o, old_tables *t, uint32_t number, pb_cur *c, const pb_field *f, bool *is)
{
    *is = true;
    switch (number) {
    case T_MAPPING: return old_piece(o, t->a, c, f, "mapping_table", &t->mappings);
    case T_LOCATION: return old_piece(o, t->a, c, f, "location_table", &t->locations);
    case T_FUNCTION: return old_piece(o, t->a, c, f, "function_table", &t->functions);
    case T_LINK: return old_piece(o, t->a, c, f, "link_table", &t->links);
    case T_STRING: return old_add_string(o, t, c, f);
    case T_ATTRIBUTE: return old_piece(o, t->a, c, f, "attribute_table", &t->attributes);
    case T_UNIT: return old_piece(o, t->a, c, f, "attribute_units", &t->units);
    default: *is = false; return true;
    }
}

bool old_v4_dictionary(old *o, old_tables *t, pb_cur c)
{
    for (pb_field f; pb_next(&c, &f);) {
        bool is;
        if (!old_v4_table(o, t, f.number, &c, &f, &is)) return false;
        if (!is) o->n_unknown++;
    }
    return pb_ok(&c);
}

static bool string_field(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                         uint32_t *out)
{
    uint64_t v;
    return old_u64(c, f, name, &v) && old_string(o, t, v, name, f->at, out);
}

static bool read_function(old *o, old_tables *t, pb_cur c, function *out)
{
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        uint64_t v = 0;
        switch (f.number) {
        case 1: ok = string_field(o, t, &c, &f, "name_strindex", &out->name); break;
        case 2: ok = string_field(o, t, &c, &f, "system_name_strindex", &out->system_name); break;
        case 3: ok = string_field(o, t, &c, &f, "filename_strindex", &out->filename); break;
        case 4:
            ok = old_u64(&c, &f, "start_line", &v);
            out->start_line = (int64_t)v;
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

static bool read_mapping(old *o, old_tables *t, pb_cur c, size_t position, uint32_t *out)
{
    static const char *const has[4] = {PPROF_ATTR_HAS_FUNCTIONS, PPROF_ATTR_HAS_FILENAMES,
                                       PPROF_ATTR_HAS_LINE_NUMBERS, PPROF_ATTR_HAS_INLINE_FRAMES};
    mapping m = {0};
    t->attrs.n = 0;
    bool flags[4] = {0};
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = old_u64(&c, &f, "memory_start", &m.memory_start); break;
        case 2: ok = old_u64(&c, &f, "memory_limit", &m.memory_limit); break;
        case 3: ok = old_u64(&c, &f, "file_offset", &m.file_offset); break;
        case 4: ok = string_field(o, t, &c, &f, "filename_strindex", &m.filename); break;
        case 5:
            ok = (f.wire == 0 || pb_expect(&c, &f, 2, "attribute_indices")) &&
                 old_attr_refs(o, t->a, t, &f, "attribute_indices", &t->attrs);
            break;
        case 6: ok = old_bool(&c, &f, "has_functions", &flags[0]); break;
        case 7: ok = old_bool(&c, &f, "has_filenames", &flags[1]); break;
        case 8: ok = old_bool(&c, &f, "has_line_numbers", &flags[2]); break;
        case 9: ok = old_bool(&c, &f, "has_inline_frames", &flags[3]); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    if (!pb_ok(&c)) return false;
    for (size_t i = 0; i < 4; i++) {
        if (!flags[i]) continue;
        old_note(o, LOSS_SYMBOL_STATE, has[i], STR("true"), "mapping_table[%zu]", position);
        if (!old_attr_add(o, t->a, &t->attrs, builder_attribute_bool(&o->b, str_of(has[i]), true)))
            return false;
    }
    *out = builder_mapping(&o->b, &m, t->attrs.v, t->attrs.n);
    return true;
}

static bool read_line(old *o, old_tables *t, pb_cur c, line *out)
{
    uint64_t function_i;
    const uint8_t *at;
    if (!old_line_fields(o, c, out, &function_i, &at)) return false;
    if (!function_i && !t->function.n) return true;
    uint32_t i;
    if (!old_index(o, function_i, t->function.n, "function_table", "function_index", at, &i))
        return false;
    if (i != NONE) out->function = t->function.v[i];
    return true;
}

static bool read_location(old *o, old_tables *t, pb_cur c, size_t position, uint32_t *out)
{
    uint64_t address = 0, v;
    uint32_t mapping_i = NONE;
    bool folded = false;
    t->attrs.n = t->lines.n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1:
            ok = old_u64(&c, &f, "mapping_index", &v) &&
                 old_index(o, v, t->mapping.n, "mapping_table", "mapping_index", f.at, &mapping_i);
            break;
        case 2: ok = old_u64(&c, &f, "address", &address); break;
        case 3: {
            if (!pb_expect(&c, &f, 2, "line")) return false;
            line *l = vec_push(t->a, &t->lines);
            if (!l) return old_limit(o);
            if (!read_line(o, t, pb_message(&c, &f), l))
                return err_in(o->e, "line[%zu]", t->lines.n - 1);
            break;
        }
        case 4: ok = old_bool(&c, &f, "is_folded", &folded); break;
        case 5:
            ok = (f.wire == 0 || pb_expect(&c, &f, 2, "attribute_indices")) &&
                 old_attr_refs(o, t->a, t, &f, "attribute_indices", &t->attrs);
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    if (!pb_ok(&c)) return false;
    if (folded) {
        old_note(o, LOSS_FOLDED_FLAG, PPROF_ATTR_IS_FOLDED, STR("true"), "location_table[%zu]",
                 position);
        if (!old_attr_add(o, t->a, &t->attrs,
                          builder_attribute_bool(&o->b, STR(PPROF_ATTR_IS_FOLDED), true)))
            return false;
    }
    *out = builder_location(&o->b, mapping_i == NONE ? 0 : t->mapping.v[mapping_i], address,
                            t->lines.v, t->lines.n, t->attrs.v, t->attrs.n);
    return true;
}

bool old_v4_tables(old *o, old_tables *t)
{
    if (!old_build_units(o, t) || !old_build_attributes(o, t) || !old_build_links(o, t))
        return false;
    for (size_t i = 0; i < t->functions.n; i++) {
        function fn = {0};
        if (!read_function(o, t, old_cur(o, t->functions.v[i]), &fn))
            return err_in(o->e, "function_table[%zu]", i);
        if (!old_push(o, t->a, &t->function, builder_function(&o->b, &fn))) return false;
    }
    for (size_t i = 0; i < t->mappings.n; i++) {
        uint32_t at = 0;
        if (!read_mapping(o, t, old_cur(o, t->mappings.v[i]), i, &at))
            return err_in(o->e, "mapping_table[%zu]", i);
        if (!old_push(o, t->a, &t->mapping, at)) return false;
    }
    for (size_t i = 0; i < t->locations.n; i++) {
        uint32_t at = 0;
        if (!read_location(o, t, old_cur(o, t->locations.v[i]), i, &at))
            return err_in(o->e, "location_table[%zu]", i);
        if (!old_push(o, t->a, &t->location, at)) return false;
    }
    return o->b.failed ? old_limit(o) : true;
}

/* ---- the Profile ---- */

typedef enum meaning {
    IS_UNKNOWN,
    IS_TABLE, /* + T_...: v1.4, v1.5 */
    IS_TYPE = IS_TABLE + T_UNIT + 1,
    IS_SAMPLE,
    IS_LOCATION_INDICES,
    IS_TIME,
    IS_DURATION,
    IS_PERIOD_TYPE,
    IS_PERIOD,
    IS_COMMENT,
    IS_DEFAULT,
    IS_ID,
    IS_ATTRIBUTES,
    IS_DROPPED,
    IS_FORMAT,
    IS_PAYLOAD,
    IS_ATTRIBUTE_INDICES,
} meaning;

static meaning meaning_of(layout l, uint32_t number)
{
    static const uint8_t v4[] = {[1] = IS_TYPE,
                                 [2] = IS_SAMPLE,
                                 [3] = IS_TABLE + T_MAPPING,
                                 [4] = IS_TABLE + T_LOCATION,
                                 [5] = IS_LOCATION_INDICES,
                                 [6] = IS_TABLE + T_FUNCTION,
                                 [7] = IS_TABLE + T_ATTRIBUTE,
                                 [8] = IS_TABLE + T_UNIT,
                                 [9] = IS_TABLE + T_LINK,
                                 [10] = IS_TABLE + T_STRING,
                                 [11] = IS_TIME,
                                 [12] = IS_DURATION,
                                 [13] = IS_PERIOD_TYPE,
                                 [14] = IS_PERIOD,
                                 [15] = IS_COMMENT,
                                 [16] = IS_DEFAULT,
                                 [17] = IS_ID,
                                 [18] = IS_ATTRIBUTES, /* v1.4 */
                                 [19] = IS_DROPPED,
                                 [20] = IS_FORMAT,
                                 [21] = IS_PAYLOAD,
                                 [22] = IS_ATTRIBUTE_INDICES /* v1.5 */};
    static const uint8_t v6[] = {[1] = IS_TYPE,
                                 [2] = IS_SAMPLE,
                                 [3] = IS_LOCATION_INDICES,
                                 [4] = IS_TIME,
                                 [5] = IS_DURATION,
                                 [6] = IS_PERIOD_TYPE,
                                 [7] = IS_PERIOD,
                                 [8] = IS_COMMENT,
                                 [9] = IS_DEFAULT,
                                 [10] = IS_ID,
                                 [11] = IS_DROPPED,
                                 [12] = IS_FORMAT,
                                 [13] = IS_PAYLOAD,
                                 [14] = IS_ATTRIBUTE_INDICES};
    if (l >= LAYOUT_1_6) return number < ARRAY_LEN(v6) ? (meaning)v6[number] : IS_UNKNOWN;
    if (number >= ARRAY_LEN(v4) || number == (l == LAYOUT_1_4 ? 22 : 18)) return IS_UNKNOWN;
    return (meaning)v4[number];
}

static bool collect_field(old *o, old_profile *p, pb_cur *c, const pb_field *f)
{
    arena *a = &o->tmp;
    meaning m = meaning_of(o->layout, f->number);
    bool is;
    switch (m) {
    case IS_TYPE: return old_piece(o, a, c, f, "sample_type", &p->type_pieces);
    case IS_SAMPLE: return old_piece(o, a, c, f, "sample", &p->samples);
    case IS_LOCATION_INDICES:
        return old_list_field(o, a, c, f, "location_indices", &p->location_indices);
    case IS_TIME: return old_u64(c, f, "time_nanos", &p->time_nanos);
    case IS_DURATION: return old_u64(c, f, "duration_nanos", &p->duration_nanos);
    case IS_PERIOD_TYPE: return old_piece(o, a, c, f, "period_type", &p->period_pieces);
    case IS_PERIOD: return old_u64(c, f, "period", &p->period);
    case IS_COMMENT: return old_list_field(o, a, c, f, "comment_strindices", &p->comments);
    case IS_DEFAULT:
        p->default_at = f->at;
        return old_u64(c, f, "default_sample_type", &p->default_type);
    case IS_ID: return old_id_bytes(c, f, "profile_id", 16, &p->id);
    case IS_ATTRIBUTES: return old_attributes(o, a, c, f, &p->attrs);
    case IS_DROPPED: return old_u32(c, f, "dropped_attributes_count", &p->dropped_attributes_count);
    case IS_FORMAT: return pb_text(c, f, "original_payload_format", &p->payload_format);
    case IS_PAYLOAD: return old_bytes(c, f, "original_payload", &p->payload);
    case IS_ATTRIBUTE_INDICES:
        return old_list_field(o, a, c, f, "attribute_indices", &p->attr_indices);
    case IS_UNKNOWN: o->n_unknown++; return true;
    default: return old_v4_table(o, &p->own, (uint32_t)(m - IS_TABLE), c, f, &is);
    }
}

bool old_v4_collect(old *o, old_profile *p, pb_cur c)
{
    for (pb_field f; pb_next(&c, &f);)
        if (!collect_field(o, p, &c, &f)) return false;
    return pb_ok(&c);
}

static bool read_type(old *o, old_profile *p, pb_cur c, old_type *out)
{
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = string_field(o, p->t, &c, &f, "type_strindex", &out->type); break;
        case 2: ok = string_field(o, p->t, &c, &f, "unit_strindex", &out->unit); break;
        case 3: ok = old_u64(&c, &f, "aggregation_temporality", &out->temporality); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

static bool resolve_default(old *o, old_profile *p)
{
    uint32_t name = 0, i;
    if (o->layout <= LAYOUT_1_5) {
        if (!old_string(o, p->t, p->default_type, "default_sample_type_strindex", p->default_at,
                        &name))
            return false;
        old_set_default(p, name, 0);
        return true;
    }
    if (!p->default_type) return true;
    if (!old_index(o, p->default_type, p->types.n, "sample_type", "default_sample_type_index",
                   p->default_at, &i))
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

bool old_v4_resolve(old *o, old_profile *p)
{
    if (p->t == &p->own && !old_v4_tables(o, &p->own)) return false;
    p->time = not_negative(o, p->time_nanos, "time_nanos");
    p->duration = not_negative(o, p->duration_nanos, "duration_nanos");
    return old_build_types(o, p, read_type) && resolve_default(o, p) && resolve_frames(o, p) &&
           old_build_lists(o, p, "comment_strindices");
}

bool old_v4_sample(old *o, old_profile *p, pb_cur c, old_sample *s)
{
    uint64_t start = 0, n = 0, v;
    const uint8_t *at = c.p;
    uint32_t link = NONE;
    for (pb_field f; pb_next(&c, &f);) {
        bool list = f.wire == 0, ok = true;
        switch (f.number) {
        case 1:
            at = f.at;
            ok = old_u64(&c, &f, "locations_start_index", &start);
            break;
        case 2: ok = old_u64(&c, &f, "locations_length", &n); break;
        case 3:
            ok = (list || pb_expect(&c, &f, 2, "value")) && old_sample_values(o, p, &f, s);
            break;
        case 4: {
            size_t before = p->row_attrs.n;
            ok = (list || pb_expect(&c, &f, 2, "attribute_indices")) &&
                 old_attr_refs(o, &o->tmp, p->t, &f, "attribute_indices", &p->row_attrs);
            s->attrs.n += (uint32_t)(p->row_attrs.n - before);
            break;
        }
        case 5:
            ok = old_u64(&c, &f, "link_index", &v) &&
                 old_index(o, v, p->t->link.n, "link_table", "link_index", f.at, &link);
            break;
        case 6:
            ok = (list || pb_expect(&c, &f, 2, "timestamps_unix_nano")) &&
                 old_sample_times(o, p, &f, s);
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    if (!pb_ok(&c)) return false;
    s->link = link == NONE ? 0 : p->t->link.v[link];
    return old_slice_stack(o, p, start, n, at, &s->stack);
}
