/* Dialect A: the "arrays" draft, in the numbers of A, A1 and A2 (seed-formats.md section 1).
 *
 *   stacks       root first; reversed here
 *   references   0-based, no null entries, except links and attribute sets, whose entry 0 is empty
 *   times        the draft names no unit: by magnitude, unless a kiln.timestamp_unit attribute says
 *   lists        one that is shorter than the others refuses its ProfileType; the others stay */
#include "format/dialect_a.h"

#include "base/ban.h"
#include <inttypes.h>

/* A and A1 differ behind the Profile. */
#define PROFILE_OF_A                                                                               \
    {                                                                                              \
        [1] = A_ID, A_START, A_END, A_ATTRS, A_DROPPED, A_PAYLOAD, A_STACKS, A_MAPPINGS,           \
        A_LOCATIONS, A_FUNCTIONS, A_LINKS, A_SETS, A_STRINGS, A_LISTS                              \
    }

static const a_numbers numbers_a = {
    .profile = PROFILE_OF_A,
    .columns = 10,
    .type = {1, 2, 3, 4},
    .location = {1, 2, 3, 5},
    .lists = "profile_types",
};

static const a_numbers numbers_a1 = {
    .profile = PROFILE_OF_A,
    .columns = 10,
    .type = {1, 2, 3, 4},
    .location = {1, 2, 3, 4},
    .lists = "sample_lists",
};

static const a_numbers numbers_a2 = {
    .profile = {[1] = A_ID,
                A_PAYLOAD,
                A_STACKS,
                A_MAPPINGS,
                A_LOCATIONS,
                A_FUNCTIONS,
                A_LINKS,
                A_SETS,
                A_STRINGS,
                A_LISTS,
                A_ATTRS,
                A_DROPPED,
                A_START,
                A_END},
    .columns = 1,
    .type = {9, 6, 7, 8},
    .location = {3, 2, 1, 4},
    .lists = "sample_lists",
};

/* ---- collect ---- */

static bool profile_field(old *o, a_profile *p, const a_numbers *n, pb_cur *c, const pb_field *f)
{
    arena *a = &o->tmp;
    switch (f->number < ARRAY_LEN(n->profile) ? (a_role)n->profile[f->number] : A_NOTHING) {
    case A_ID: return old_id_bytes(c, f, "profile_id", 16, &p->head.id);
    case A_START: return old_fixed64(c, f, "start_time_unix_nano", &p->head.start);
    case A_END: return old_fixed64(c, f, "end_time_unix_nano", &p->head.end);
    case A_ATTRS: return old_attributes(o, a, c, f, &p->head.attrs);
    case A_DROPPED:
        return old_u32(c, f, "dropped_attributes_count", &p->head.dropped_attributes_count);
    case A_PAYLOAD: return old_bytes(c, f, "original_payload", &p->head.payload);
    case A_STACKS: return old_piece(o, a, c, f, "stacktraces", &p->stacks);
    case A_MAPPINGS: return old_piece(o, a, c, f, "mappings", &p->t.mappings);
    case A_LOCATIONS: return old_piece(o, a, c, f, "locations", &p->t.locations);
    case A_FUNCTIONS: return old_piece(o, a, c, f, "functions", &p->t.functions);
    case A_LINKS: return old_piece(o, a, c, f, "links", &p->t.links);
    case A_SETS: return old_piece(o, a, c, f, "attribute_sets", &p->sets);
    case A_STRINGS: return old_add_string(o, &p->t, c, f);
    case A_LISTS: return old_piece(o, a, c, f, n->lists, &p->lists);
    case A_TYPES: return old_piece(o, a, c, f, "sample_types", &p->types);
    case A_SAMPLES: return old_piece(o, a, c, f, "samples", &p->samples);
    default: o->n_unknown++; return true;
    }
}

bool a_collect(old *o, a_profile *p, const a_numbers *n, pb_cur c)
{
    p->t.a = &o->tmp;
    for (pb_field f; pb_next(&c, &f);)
        if (!profile_field(o, p, n, &c, &f)) return false;
    return pb_ok(&c);
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
    if (v == 0) return true; /* no link, whatever entry 0 says */
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
    if (s.n > o->frames_left) /* samples share sets, and each gets the whole of it */
        return err_at(o->e, ERR_LIMIT, (uint64_t)(at - o->base),
                      "samples have more than %d attributes for each byte of the message",
                      OLD_MAX_FRAMES_PER_BYTE);
    o->frames_left -= s.n;
    for (uint32_t k = 0; k < s.n; k++)
        if (!old_push(o, &o->tmp, to, p->set_attrs.v[s.at + k])) return false;
    return true;
}

/* The sets that a mapping or location names; more than one are flattened. */
static bool set_list(old *o, const a_profile *p, pb_cur *c, const pb_field *f, u32s *to)
{
    if (!dialect_list_wire(c, f, "attribute_set_indices")) return false;
    old_iter i = old_iter_open(o, f);
    bool counted = false;
    while (old_iter_next(&i)) {
        if (to->n && i.v) old_note(o, LOSS_ATTRIBUTE_SET, NULL, (str){0}, "attribute_set_indices");
        if (!a_set_ref(o, p, i.v, "attribute_set_indices", i.at, to)) return false;
        bool counts = i.v && i.v < p->set_dropped.n && p->set_dropped.v[i.v];
        if (counts && counted) to->n--; /* a list has one count (P-21); it stands behind its set */
        counted |= counts;
    }
    return pb_ok(&i.c);
}

/* ---- tables ---- */

static bool build_sets(old *o, a_profile *p)
{
    for (size_t i = 0; i < p->sets.n; i++) {
        span *s = vec_push(&o->tmp, &p->set);
        if (!s) return old_limit(o);
        s->at = (uint32_t)p->set_attrs.n;
        keyvalue_list list = {0};
        uint32_t dropped = 0;
        pb_cur c = old_cur(o, p->sets.v[i]);
        bool ok = true;
        for (pb_field f; ok && pb_next(&c, &f);) {
            if (f.number == 1)
                ok = old_attributes(o, &o->tmp, &c, &f, &list);
            else if (f.number == 2)
                ok = old_u32(&c, &f, "dropped_attributes_count", &dropped);
            else
                o->n_unknown++;
        }
        if (!ok || !pb_ok(&c)) return err_in(o->e, "attribute_sets[%zu]", i);
        for (size_t k = 0; k < list.n; k++)
            if (!old_push(o, &o->tmp, &p->set_attrs,
                          builder_attribute(&o->b, list.v[k].key, &list.v[k].value, (str){0})))
                return false;
        char where[32];
        snprintf(where, sizeof where, "attribute_sets[%zu]", i);
        if (dropped && !dialect_dropped(o, dropped, where, &p->set_attrs)) return false;
        if (!old_push(o, &o->tmp, &p->set_dropped, dropped)) return false;
        s->n = (uint32_t)p->set_attrs.n - s->at;
        if (i == 0 && s->n) /* index 0 says "none": nobody can name it */
            old_note(o, LOSS_ATTRIBUTE_SET, NULL, (str){0}, "attribute_sets[0]");
    }
    return true;
}

static bool read_function(old *o, old_tables *t, pb_cur c, function *out)
{
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        uint32_t v;
        switch (f.number) {
        case 1: ok = dialect_string(o, t, &c, &f, "name_index", &out->name); break;
        case 2: ok = dialect_string(o, t, &c, &f, "system_name_index", &out->system_name); break;
        case 3: ok = dialect_string(o, t, &c, &f, "filename_index", &out->filename); break;
        case 4:
            ok = old_u32(&c, &f, "start_line", &v);
            out->start_line = v;
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

static bool read_mapping(old *o, a_profile *p, pb_cur c, size_t position, uint32_t *out)
{
    old_tables *t = &p->t;
    mapping m = {0};
    uint32_t build_id = 0;
    uint64_t symbolic = 0;
    t->attrs.n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = old_u64(&c, &f, "memory_start", &m.memory_start); break;
        case 2: ok = old_u64(&c, &f, "memory_limit", &m.memory_limit); break;
        case 3: ok = old_u64(&c, &f, "file_offset", &m.file_offset); break;
        case 4: ok = dialect_string(o, t, &c, &f, "filename_index", &m.filename); break;
        case 5: ok = dialect_string(o, t, &c, &f, "build_id_index", &build_id); break;
        case 6: ok = old_u64(&c, &f, "symbolic_info", &symbolic); break;
        case 7: ok = set_list(o, p, &c, &f, &t->attrs); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    bool full = symbolic == 1;
    if (symbolic > 1)
        old_note(o, LOSS_SYMBOL_STATE, NULL, (str){0}, "mappings[%zu].symbolic_info", position);
    if (!pb_ok(&c) || !dialect_build_id(o, old_text(o, build_id), 0, position, &t->attrs) ||
        !dialect_flags(o, (bool[4]){full, full, full, full}, position, &t->attrs))
        return false;
    if (position == 0) p->main = (dialect_main){m.memory_start, m.memory_limit};
    *out = builder_mapping(&o->b, &m, t->attrs.v, t->attrs.n);
    return true;
}

static bool read_line(old *o, const old_tables *t, pb_cur c, line *out)
{
    uint64_t ref = 0;
    const uint8_t *at = c.p;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        uint32_t v;
        if (f.number == 1) {
            at = f.at;
            ok = old_u64(&c, &f, "function_index", &ref);
        } else if (f.number == 2) {
            ok = old_u32(&c, &f, "line", &v);
            out->line = v;
        } else {
            o->n_unknown++;
        }
        if (!ok) return false;
    }
    uint32_t i;
    if (!pb_ok(&c)) return false;
    if (ref == 0 && t->function.n == 0) return true;
    if (!old_index(o, ref, t->function.n, "functions", "function_index", at, &i)) return false;
    if (i != NONE) out->function = t->function.v[i];
    return true;
}

static bool read_location(old *o, a_profile *p, const a_numbers *n, pb_cur c, uint32_t *out)
{
    old_tables *t = &p->t;
    uint64_t address = 0, ref = 0;
    const uint8_t *at = c.p;
    t->attrs.n = t->lines.n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        if (f.number == n->location[0]) {
            at = f.at;
            ok = old_u64(&c, &f, "mapping_index", &ref);
        } else if (f.number == n->location[1]) {
            ok = old_u64(&c, &f, "address", &address);
        } else if (f.number == n->location[2]) {
            if (!pb_expect(&c, &f, 2, "line")) return false;
            line *l = vec_push(t->a, &t->lines);
            if (!l) return old_limit(o);
            if (!read_line(o, t, pb_message(&c, &f), l))
                return err_in(o->e, "line[%zu]", t->lines.n - 1);
        } else if (f.number == n->location[3]) {
            ok = set_list(o, p, &c, &f, &t->attrs);
        } else {
            o->n_unknown++;
        }
        if (!ok) return false;
    }
    uint32_t mapping_i;
    if (!pb_ok(&c) || !dialect_mapping_ref(o, t, &p->main, ref, address, at, &mapping_i))
        return false;
    *out =
        builder_location(&o->b, mapping_i, address, t->lines.v, t->lines.n, t->attrs.v, t->attrs.n);
    return true;
}

static bool read_stack(old *o, a_profile *p, pb_cur c, uint32_t *out)
{
    p->frames.n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1) {
            o->n_unknown++;
            continue;
        }
        if (!dialect_list_wire(&c, &f, "location_indices")) return false;
        old_iter i = old_iter_open(o, &f);
        while (old_iter_next(&i)) {
            uint32_t at;
            if (!old_index(o, i.v, p->t.location.n, "locations", "location_indices", i.at, &at) ||
                !old_push(o, &o->tmp, &p->frames, at == NONE ? 0 : p->t.location.v[at]))
                return false;
        }
        if (!pb_ok(&i.c)) return err_in(o->e, "location_indices");
    }
    for (size_t i = 0, k = p->frames.n; i + 1 < k; i++) { /* root first to leaf first */
        uint32_t x = p->frames.v[i];
        p->frames.v[i] = p->frames.v[--k];
        p->frames.v[k] = x;
    }
    *out = builder_stack(&o->b, p->frames.v, p->frames.n);
    return pb_ok(&c);
}

static bool read_sample_type(old *o, old_tables *t, pb_cur c, dialect_type *out)
{
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = old_u64(&c, &f, "aggregation_temporality", &out->temporality); break;
        case 2: ok = old_u64(&c, &f, "sample_size", &out->sample_size); break;
        case 3: ok = dialect_string(o, t, &c, &f, "type_index", &out->type); break;
        case 4: ok = dialect_string(o, t, &c, &f, "unit_index", &out->unit); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

bool a_tables(old *o, a_profile *p, const a_numbers *n)
{
    old_tables *t = &p->t;
    if (!build_sets(o, p) || !dialect_links(o, t, "links")) return false;
    if (t->link.n && t->link.v[0]) old_note(o, LOSS_LINK, NULL, (str){0}, "links[0]");
    uint32_t at = 0;
    for (size_t i = 0; i < t->functions.n; i++) {
        function fn = {0};
        if (!read_function(o, t, old_cur(o, t->functions.v[i]), &fn))
            return err_in(o->e, "functions[%zu]", i);
        if (!old_push(o, t->a, &t->function, builder_function(&o->b, &fn))) return false;
    }
    for (size_t i = 0; i < t->mappings.n; i++) {
        if (!read_mapping(o, p, old_cur(o, t->mappings.v[i]), i, &at))
            return err_in(o->e, "mappings[%zu]", i);
        if (!old_push(o, t->a, &t->mapping, at)) return false;
    }
    for (size_t i = 0; i < t->locations.n; i++) {
        if (!read_location(o, p, n, old_cur(o, t->locations.v[i]), &at))
            return err_in(o->e, "locations[%zu]", i);
        if (!old_push(o, t->a, &t->location, at)) return false;
    }
    for (size_t i = 0; i < p->stacks.n; i++) {
        if (!read_stack(o, p, old_cur(o, p->stacks.v[i]), &at))
            return err_in(o->e, "stacktraces[%zu]", i);
        if (!old_push(o, &o->tmp, &p->stack, at)) return false;
    }
    for (size_t i = 0; i < p->types.n; i++) {
        dialect_type *type = vec_push(&o->tmp, &p->type);
        if (!type) return old_limit(o);
        if (!read_sample_type(o, t, old_cur(o, p->types.v[i]), type))
            return err_in(o->e, "sample_types[%zu]", i);
    }
    return o->b.failed ? old_limit(o) : true;
}

/* ---- the format ---- */

static bool read_profile(old *o, pb_cur c, const void *ctx)
{
    const a_numbers *n = ctx;
    a_profile p = {0};
    return a_collect(o, &p, n, c) && a_tables(o, &p, n) && a_emit_lists(o, &p, n);
}

typedef struct a_variant {
    const a_numbers *numbers; /* NULL: A0 or bench */
    bool bench;
} a_variant;

static bool decode(old *o, pb_cur c, const void *ctx)
{
    const a_variant *v = ctx;
    if (!v->numbers) return dialect_read_envelope(o, c, alternatives_entry, &v->bench);
    return dialect_read_envelope(o, c, read_profile, v->numbers);
}

bool dialect_a_read(const format *f, str bytes, const read_opts *ro, arena *a, model *out,
                    layout_verdict *verdict, err *e)
{
    (void)verdict;
    bool arrays = f == &format_arrays;
    a_variant v = {.numbers = arrays ? &numbers_a : NULL};
    /* A few bytes look like any of them: what the format itself is comes first. */
    dialect d = arrays ? DIALECT_NONE : dialect_detect_among(bytes, DIALECTS_ALTERNATIVES);
    if (!d) d = dialect_detect_among(bytes, DIALECTS_A);
    switch (d ? d : dialect_nearest(bytes, DIALECTS_A)) {
    case DIALECT_A: v.numbers = &numbers_a; break;
    case DIALECT_A1: v.numbers = &numbers_a1; break;
    case DIALECT_A2: v.numbers = &numbers_a2; break;
    case DIALECT_A0: v.numbers = NULL; break;
    case DIALECT_BENCH: v = (a_variant){.bench = true}; break;
    default: break;
    }
    return dialect_read(bytes, ro, a, out, e, decode, &v);
}
