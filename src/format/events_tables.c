/* Dialect C: its tables, from input bytes to builder indices. */
#include "format/events.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- collect ---- */

static bool profile_field(old *o, c_profile *p, pb_cur *c, const pb_field *f)
{
    arena *a = &o->tmp;
    old_tables *t = &p->t;
    str s;
    switch (f->number) {
    case 1: return old_piece(o, a, c, f, "events", &p->events);
    case 3: return old_piece(o, a, c, f, "event_types", &p->types);
    case 4: return old_piece(o, a, c, f, "stacks", &p->stacks);
    case 5: return old_piece(o, a, c, f, "locations", &t->locations);
    case 6: return old_piece(o, a, c, f, "functions", &t->functions);
    case 7: return old_piece(o, a, c, f, "mappings", &t->mappings);
    case 8: return old_piece(o, a, c, f, "attributes", &t->attributes);
    case 10: return old_piece(o, a, c, f, "links", &t->links);
    case 11:
        if (!pb_text(c, f, "strings", &s)) return err_in(o->e, "strings[%zu]", t->strings.n);
        return old_add_string(o, t, c, f);
    case 12: return old_piece(o, a, c, f, "clocks", &p->clocks);
    case 16: p->timed = true; return old_fixed64(c, f, "time_unix_nano", &p->end);
    case 17: return old_u64(c, f, "duration_nanos", &p->duration);
    case 18: return old_list_field(o, a, c, f, "comment_string_index", &p->comments);
    default: o->n_unknown++; return true;
    }
}

bool c_collect(old *o, c_profile *p, pb_cur c)
{
    p->t.a = &o->tmp;
    for (pb_field f; pb_next(&c, &f);)
        if (!profile_field(o, p, &c, &f)) return false;
    return pb_ok(&c);
}

/* ---- attributes: keys and texts are string indices ---- */

static bool any_value(old *o, old_tables *t, pb_cur c, any *out, unsigned depth);

static bool key_value(old *o, old_tables *t, pb_cur c, keyvalue *out, unsigned depth)
{
    out->key = (str){"", 0};
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1) {
            uint32_t key;
            if (!dialect_string(o, t, &c, &f, "key_string_index", &key)) return false;
            out->key = old_text(o, key);
        } else if (f.number == 2) {
            if (!pb_expect(&c, &f, 2, "value")) return false;
            if (!any_value(o, t, pb_message(&c, &f), &out->value, depth + 1))
                return err_in(o->e, "value");
        } else {
            o->n_unknown++;
        }
    }
    return pb_ok(&c);
}

static bool any_list(old *o, old_tables *t, pb_cur c, any *out, any_kind kind, unsigned depth)
{
    size_t n = 0;
    pb_cur count = c;
    count.e = NULL;
    for (pb_field f; pb_next(&count, &f);) n += f.number == 1;
    *out = (any){.kind = kind};
    void *room =
        kind == ANY_ARRAY ? (void *)arena_new(t->a, any, n) : (void *)arena_new(t->a, keyvalue, n);
    if (!room || n > UINT32_MAX) return old_limit(o);
    if (kind == ANY_ARRAY)
        out->array = room;
    else
        out->kvlist = room;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1) {
            o->n_unknown++;
            continue;
        }
        if (!pb_expect(&c, &f, 2, "values")) return false;
        uint32_t i = out->n++;
        pb_cur sub = pb_message(&c, &f);
        bool ok = kind == ANY_ARRAY ? any_value(o, t, sub, &out->array[i], depth + 1)
                                    : key_value(o, t, sub, &out->kvlist[i], depth + 1);
        if (!ok) return err_in(o->e, "values[%u]", i);
    }
    return pb_ok(&c);
}

static bool any_field(old *o, old_tables *t, pb_cur *c, const pb_field *f, any *out, unsigned depth)
{
    str s;
    uint32_t i;
    switch (f->number) {
    case 1:
        if (!dialect_string(o, t, c, f, "string_index", &i)) return false;
        s = old_text(o, i);
        *out = (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p};
        return true;
    case 2:
        *out = (any){.kind = ANY_BOOL, .i = f->value != 0};
        return pb_expect(c, f, 0, "bool_value");
    case 3:
        *out = (any){.kind = ANY_INT, .i = (int64_t)f->value};
        return pb_expect(c, f, 0, "int_value");
    case 4:
        *out = (any){.kind = ANY_DOUBLE};
        memcpy(&out->d, &f->value, sizeof out->d);
        return pb_expect(c, f, 1, "double_value");
    case 5:
        if (!pb_expect(c, f, 2, "array_value")) return false;
        return any_list(o, t, pb_message(c, f), out, ANY_ARRAY, depth) ||
               err_in(o->e, "array_value");
    case 6:
        if (!pb_expect(c, f, 2, "kvlist_value")) return false;
        return any_list(o, t, pb_message(c, f), out, ANY_KVLIST, depth) ||
               err_in(o->e, "kvlist_value");
    case 7:
        if (!old_bytes(c, f, "bytes_value", &s)) return false;
        *out = (any){.kind = ANY_BYTES, .n = (uint32_t)s.n, .s = s.p};
        return true;
    default: o->n_unknown++; return true;
    }
}

static bool any_value(old *o, old_tables *t, pb_cur c, any *out, unsigned depth)
{
    if (depth > OTLP_MAX_DEPTH)
        return err_at(o->e, ERR_LIMIT, pb_offset(&c, c.p), "values are nested more than %d deep",
                      OTLP_MAX_DEPTH);
    for (pb_field f; pb_next(&c, &f);)
        if (!any_field(o, t, &c, &f, out, depth)) return false;
    return pb_ok(&c);
}

bool c_attr_refs(old *o, const c_profile *p, const pb_field *f, const char *name, u32s *to)
{
    old_iter i = old_iter_open(o, f);
    while (old_iter_next(&i)) {
        uint32_t at;
        if (!old_index(o, i.v, p->t.attribute.n, "attributes", name, i.at, &at)) return false;
        if (at != NONE && !old_push(o, &o->tmp, to, p->t.attribute.v[at])) return false;
    }
    return pb_ok(&i.c);
}

static bool refs_field(old *o, const c_profile *p, pb_cur *c, const pb_field *f, const char *name,
                       u32s *to)
{
    return dialect_list_wire(c, f, name) && c_attr_refs(o, p, f, name, to);
}

/* ---- frames ---- */

static bool read_function(old *o, old_tables *t, pb_cur c, size_t position, function *out)
{
    uint64_t id = 0, v;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = old_u64(&c, &f, "id", &id); break;
        case 2: ok = dialect_string(o, t, &c, &f, "name_string_uindex", &out->name); break;
        case 3:
            ok = dialect_string(o, t, &c, &f, "system_name_string_index", &out->system_name);
            break;
        case 4: ok = dialect_string(o, t, &c, &f, "filename_string_index", &out->filename); break;
        case 5:
            ok = old_u64(&c, &f, "start_line", &v);
            out->start_line = (int64_t)v;
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    if (id) old_note(o, LOSS_ARBITRARY_ID, NULL, (str){0}, "functions[%zu].id", position);
    return pb_ok(&c);
}

static bool read_mapping(old *o, c_profile *p, pb_cur c, size_t position, uint32_t *out)
{
    static const char *const has[] = {"has_functions", "has_filenames", "has_line_numbers",
                                      "has_inline_frames"};
    old_tables *t = &p->t;
    mapping m = {0};
    uint32_t build_id = 0;
    uint64_t kind = 0;
    bool flags[4] = {0};
    t->attrs.n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = old_u64(&c, &f, "memory_start", &m.memory_start); break;
        case 2: ok = old_u64(&c, &f, "memory_limit", &m.memory_limit); break;
        case 3: ok = old_u64(&c, &f, "file_offset", &m.file_offset); break;
        case 4: ok = dialect_string(o, t, &c, &f, "filename_string_index", &m.filename); break;
        case 5: ok = dialect_string(o, t, &c, &f, "build_id_string_index", &build_id); break;
        case 6: ok = old_u64(&c, &f, "build_id_kind", &kind); break;
        case 7: ok = refs_field(o, p, &c, &f, "attributes", &t->attrs); break;
        case 8:
        case 9:
        case 10:
        case 11: ok = old_bool(&c, &f, has[f.number - 8], &flags[f.number - 8]); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    if (!pb_ok(&c) || !dialect_build_id(o, old_text(o, build_id), kind, position, &t->attrs) ||
        !dialect_flags(o, flags, position, &t->attrs))
        return false;
    if (position == 0) p->main = (dialect_main){m.memory_start, m.memory_limit};
    *out = builder_mapping(&o->b, &m, t->attrs.v, t->attrs.n);
    return true;
}

static bool read_line(old *o, const old_tables *t, pb_cur c, line *out)
{
    uint64_t ref;
    const uint8_t *at;
    if (!old_line_fields(o, c, out, &ref, &at)) return false;
    uint32_t i;
    if (ref == 0 && t->function.n == 0) return true;
    if (!old_index(o, ref, t->function.n, "functions", "function_index", at, &i)) return false;
    if (i != NONE) out->function = t->function.v[i];
    return true;
}

static bool read_location(old *o, c_profile *p, pb_cur c, size_t position, uint32_t *out)
{
    old_tables *t = &p->t;
    uint64_t address = 0, ref = 0;
    uint32_t type = 0, mapping_i;
    bool folded = false;
    const uint8_t *at = c.p;
    t->attrs.n = t->lines.n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1:
            at = f.at;
            ok = old_u64(&c, &f, "mapping_index", &ref);
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
        case 5: ok = dialect_string(o, t, &c, &f, "type_string_index", &type); break;
        case 6: ok = refs_field(o, p, &c, &f, "attribute_index", &t->attrs); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    if (!pb_ok(&c) || !dialect_mapping_ref(o, t, &p->main, ref, address, at, &mapping_i) ||
        !dialect_frame_attrs(o, type, folded, position, &t->attrs))
        return false;
    *out =
        builder_location(&o->b, mapping_i, address, t->lines.v, t->lines.n, t->attrs.v, t->attrs.n);
    return true;
}

static bool read_stack(old *o, c_profile *p, pb_cur c, uint32_t *out)
{
    p->frames.n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1) {
            o->n_unknown++;
            continue;
        }
        if (!dialect_list_wire(&c, &f, "location_index")) return false;
        old_iter i = old_iter_open(o, &f);
        while (old_iter_next(&i)) {
            uint32_t at;
            if (!old_index(o, i.v, p->t.location.n, "locations", "location_index", i.at, &at) ||
                !old_push(o, &o->tmp, &p->frames, at == NONE ? 0 : p->t.location.v[at]))
                return false;
        }
        if (!pb_ok(&i.c)) return err_in(o->e, "location_index");
    }
    *out = builder_stack(&o->b, p->frames.v, p->frames.n);
    return pb_ok(&c);
}

/* ---- clocks and types ---- */

static bool read_clock(old *o, c_profile *p, pb_cur c, c_clock *out)
{
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = old_u64(&c, &f, "frequency", &out->frequency); break;
        case 2: ok = old_fixed64(&c, &f, "time_unix_nano", &out->time_unix_nano); break;
        case 3: ok = refs_field(o, p, &c, &f, "attribute_indices", &out->attrs); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

static bool read_type(old *o, c_profile *p, pb_cur c, c_type *out)
{
    old_tables *t = &p->t;
    uint64_t v;
    out->clock = NONE;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = dialect_string(o, t, &c, &f, "name_string_index", &out->name); break;
        case 2: ok = dialect_string(o, t, &c, &f, "unit_string_index", &out->unit); break;
        case 3:
            ok = old_u64(&c, &f, "clock_index", &v) &&
                 old_index(o, v, p->clock.n, "clocks", "clock_index", f.at, &out->clock);
            break;
        case 4: ok = old_u64(&c, &f, "default_value", &out->default_value); break;
        case 7: ok = refs_field(o, p, &c, &f, "attribute_incidices", &out->attrs); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    out->refused = out->clock != NONE && p->clock.v[out->clock].frequency == 0;
    return pb_ok(&c);
}

static bool build_comments(old *o, c_profile *p)
{
    VEC(any) texts = {0};
    for (size_t k = 0; k < p->comments.n; k++) {
        old_iter i = old_iter_open(o, &p->comments.v[k]);
        while (old_iter_next(&i)) {
            uint32_t s;
            if (!old_string(o, &p->t, i.v, "comment_string_index", i.at, &s)) return false;
            any *slot = vec_push(&o->tmp, &texts);
            if (!slot) return old_limit(o);
            str text = old_text(o, s);
            *slot = (any){.kind = ANY_STRING, .n = (uint32_t)text.n, .s = text.p};
        }
        if (!pb_ok(&i.c)) return err_in(o->e, "comment_string_index");
    }
    if (!texts.n) return true;
    any list = {.kind = ANY_ARRAY, .n = (uint32_t)texts.n, .array = texts.v};
    old_note(o, LOSS_COMMENTS, PPROF_ATTR_COMMENT, any_str(&texts.v[0]), "comment_string_index");
    return old_push(o, &o->tmp, &p->comment,
                    builder_attribute(&o->b, STR(PPROF_ATTR_COMMENT), &list, (str){0}));
}

/* ---- all of them ---- */

static bool build_frames(old *o, c_profile *p)
{
    old_tables *t = &p->t;
    uint32_t at = 0;
    for (size_t i = 0; i < t->functions.n; i++) {
        function fn = {0};
        if (!read_function(o, t, old_cur(o, t->functions.v[i]), i, &fn))
            return err_in(o->e, "functions[%zu]", i);
        if (!old_push(o, t->a, &t->function, builder_function(&o->b, &fn))) return false;
    }
    for (size_t i = 0; i < t->mappings.n; i++) {
        if (!read_mapping(o, p, old_cur(o, t->mappings.v[i]), i, &at))
            return err_in(o->e, "mappings[%zu]", i);
        if (!old_push(o, t->a, &t->mapping, at)) return false;
    }
    for (size_t i = 0; i < t->locations.n; i++) {
        if (!read_location(o, p, old_cur(o, t->locations.v[i]), i, &at))
            return err_in(o->e, "locations[%zu]", i);
        if (!old_push(o, t->a, &t->location, at)) return false;
    }
    for (size_t i = 0; i < p->stacks.n; i++) {
        if (!read_stack(o, p, old_cur(o, p->stacks.v[i]), &at))
            return err_in(o->e, "stacks[%zu]", i);
        if (!old_push(o, &o->tmp, &p->stack, at)) return false;
    }
    /* Index 0 says "no stack": what stands there cannot be meant. */
    if (p->stack.n && p->stack.v[0])
        old_note(o, LOSS_INDEX_REPAIRED, NULL, STR("not empty"), "stacks[0]");
    return true;
}

bool c_tables(old *o, c_profile *p)
{
    old_tables *t = &p->t;
    for (size_t i = 0; i < t->attributes.n; i++) {
        keyvalue kv = {0};
        if (!key_value(o, t, old_cur(o, t->attributes.v[i]), &kv, 0))
            return err_in(o->e, "attributes[%zu]", i);
        uint32_t at = builder_attribute(&o->b, kv.key, &kv.value, (str){0});
        if (!old_push(o, t->a, &t->attribute, at)) return false;
        if (o->b.failed) return old_limit(o);
    }
    if (!dialect_links(o, t, "links") || !build_frames(o, p) || !build_comments(o, p)) return false;
    for (size_t i = 0; i < p->clocks.n; i++) {
        c_clock *k = vec_push(&o->tmp, &p->clock);
        if (!k) return old_limit(o);
        if (!read_clock(o, p, old_cur(o, p->clocks.v[i]), k)) return err_in(o->e, "clocks[%zu]", i);
        if (!k->frequency)
            old_note(o, LOSS_PROFILE_REFUSED, NULL, STR("frequency 0"), "clocks[%zu]", i);
    }
    for (size_t i = 0; i < p->types.n; i++) {
        c_type *k = vec_push(&o->tmp, &p->type);
        if (!k) return old_limit(o);
        if (!read_type(o, p, old_cur(o, p->types.v[i]), k))
            return err_in(o->e, "event_types[%zu]", i);
    }
    for (size_t i = 0; i < p->type.n; i++)
        if (p->type.v[i].clock != NONE) p->clock.v[p->type.v[i].clock].used = true;
    for (size_t i = 0; i < p->clock.n; i++)
        if (!p->clock.v[i].used) old_note(o, LOSS_CLOCK, NULL, STR("unused"), "clocks[%zu]", i);
    if (!p->types.n && p->events.n) { /* index 0 is the default type, even if nobody describes it */
        c_type *k = vec_push(&o->tmp, &p->type);
        if (!k) return old_limit(o);
        k->clock = NONE;
    }
    return o->b.failed ? old_limit(o) : true;
}
