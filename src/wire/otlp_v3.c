/* v1.3: OTEP 0239, pprof in a container.  Tables inside the Profile; references are positions or ids,
 * whichever fits (otlp_v3_refs.h; seed-formats.md 2.1, R1 to R9). */
#include "wire/otlp_old_internal.h"
#include "wire/otlp_v3_refs.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- collect ---- */

static bool profile_field(old *o, old_profile *p, pb_cur *c, const pb_field *f)
{
    arena *a = &o->tmp;
    old_tables *t = &p->own;
    switch (f->number) {
    case 1: return old_piece(o, a, c, f, "sample_type", &p->type_pieces);
    case 2: return old_piece(o, a, c, f, "sample", &p->samples);
    case 3: return old_piece(o, a, c, f, "mapping", &t->mappings);
    case 4: return old_piece(o, a, c, f, "location", &t->locations);
    case 5: return old_piece(o, a, c, f, "function", &t->functions);
    case 6: return old_add_string(o, t, c, f);
    case 7: p->drop_at = f->at; return old_u64(c, f, "drop_frames", &p->drop_frames);
    case 8: p->keep_at = f->at; return old_u64(c, f, "keep_frames", &p->keep_frames);
    case 9: return old_u64(c, f, "time_nanos", &p->time_nanos);
    case 10: return old_u64(c, f, "duration_nanos", &p->duration_nanos);
    case 11: return old_piece(o, a, c, f, "period_type", &p->period_pieces);
    case 12: return old_u64(c, f, "period", &p->period);
    case 13: return old_list_field(o, a, c, f, "comment", &p->comments);
    case 14: p->default_at = f->at; return old_u64(c, f, "default_sample_type", &p->default_type);
    case 15: return old_list_field(o, a, c, f, "location_indices", &p->location_indices);
    case 16: return old_piece(o, a, c, f, "attribute_table", &t->attributes);
    case 17: return old_piece(o, a, c, f, "attribute_units", &t->units);
    case 18: return old_piece(o, a, c, f, "link_table", &t->links);
    default: o->n_unknown++; return true;
    }
}

static bool collect_profile(old *o, old_profile *p, pb_cur c)
{
    for (pb_field f; pb_next(&c, &f);)
        if (!profile_field(o, p, &c, &f)) return false;
    return pb_ok(&c);
}

bool old_v3_collect(old *o, old_profile *p, pb_cur c)
{
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = old_id_bytes(&c, &f, "profile_id", 16, &p->id); break;
        case 2: ok = old_fixed64(&c, &f, "start_time_unix_nano", &p->start); break;
        case 3: ok = old_fixed64(&c, &f, "end_time_unix_nano", &p->end); break;
        case 4: ok = old_attributes(o, &o->tmp, &c, &f, &p->attrs); break;
        case 5:
            ok = old_u32(&c, &f, "dropped_attributes_count", &p->dropped_attributes_count);
            break;
        case 6: ok = pb_text(&c, &f, "original_payload_format", &p->payload_format); break;
        case 7: ok = old_bytes(&c, &f, "original_payload", &p->payload); break;
        case 8:
            if (!old_piece(o, &o->tmp, &c, &f, "profile", &p->chunks)) return false;
            if (!collect_profile(o, p, pb_message(&c, &f))) return err_in(o->e, "profile");
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

/* ---- ids (R3) ---- */

static int id_order(const void *x, const void *y)
{
    const old_id *a = x, *b = y;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

/* Field 1 of every entry; a bad entry is somebody else's error, later. */
static bool collect_ids(old *o, const pieces *entries, old_ids *ids)
{
    ids->dense = true;
    for (size_t i = 0; i < entries->n; i++) {
        old_id *id = vec_push(&o->tmp, &ids->v);
        if (!id) return old_limit(o);
        id->position = (uint32_t)i;
        pb_cur c = old_cur(o, entries->v[i]);
        c.e = NULL;
        for (pb_field f; pb_next(&c, &f);)
            if (f.number == 1 && f.wire == 0) id->id = f.value;
        ids->dense &= id->id == i + 1;
    }
    return true;
}

static void sort_ids(old *o, const v3_reading *r, old_ids *ids, const char *name)
{
    ids->by_id = r->by_id;
    if (!r->has_ids || ids->dense || !ids->v.n) return;
    /* The numbers themselves are gone; which entry they named is not. */
    old_note(o, LOSS_ARBITRARY_ID, NULL, (str){0}, "%s", name);
    qsort(ids->v.v, ids->v.n, sizeof *ids->v.v, id_order);
}

/* Says how references are read when entries have ids, and what stays a guess. */
static void tell_reading(old *o, const v3_reading r[V3_TABLES])
{
    layout_verdict *v = o->verdict;
    for (size_t i = 0; i < V3_TABLES; i++)
        if (r[i].open)
            old_note(o, LOSS_REFERENCE, NULL, str_of(r[i].why), "%s", v3_table_name((v3_table)i));
    for (size_t i = 0; v && i < V3_TABLES; i++) {
        if (!r[i].has_ids) continue;
        size_t n = strlen(v->evidence);
        snprintf(v->evidence + n, sizeof v->evidence - n, "%sreferences to a %s are %s%s: %s",
                 n ? "; " : "", v3_table_name((v3_table)i), r[i].by_id ? "ids" : "positions",
                 r[i].open ? ", a guess" : "", r[i].why);
        o->verdict = NULL; /* the first Profile and its first table speak for all */
        break;
    }
}

static bool judge_references(old *o, old_profile *p)
{
    v3_reading r[V3_TABLES];
    str *chunks = arena_new(&o->tmp, str, p->chunks.n ? p->chunks.n : 1);
    if (!chunks) return old_limit(o);
    for (size_t i = 0; i < p->chunks.n; i++)
        chunks[i] = (str){(const char *)p->chunks.v[i].p, p->chunks.v[i].n};
    if (!v3_refs_judge(chunks, p->chunks.n, &o->tmp, r)) return old_limit(o);
    sort_ids(o, &r[V3_MAPPING], &p->mapping_ids, "mapping");
    sort_ids(o, &r[V3_LOCATION], &p->location_ids, "location");
    sort_ids(o, &r[V3_FUNCTION], &p->function_ids, "function");
    tell_reading(o, r);
    return true;
}

/* The first entry with this id, or NONE. */
static uint32_t find_id(const old_ids *ids, uint64_t id)
{
    if (ids->dense) return id - 1 < ids->v.n ? (uint32_t)(id - 1) : NONE;
    size_t lo = 0, hi = ids->v.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (ids->v.v[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < ids->v.n && ids->v.v[lo].id == id ? ids->v.v[lo].position : NONE;
}

/* Position that a reference means.  *none: it means nothing (id 0). */
static bool reference(old *o, const old_ids *ids, uint64_t v, size_t n, const char *table,
                      const char *field, const uint8_t *at, uint32_t *out, bool *none)
{
    *out = NONE;
    *none = ids->by_id ? v == 0 : v == 0 && n == 0;
    if (*none) return true;
    if (!ids->by_id) return old_index(o, v, n, table, field, at, out);
    *out = find_id(ids, v);
    if (*out != NONE) return true;
    if (o->lenient) {
        old_note(o, LOSS_INDEX_REPAIRED, NULL, (str){0}, "%s", field);
        return true;
    }
    err_at(o->e, ERR_MALFORMED, (uint64_t)(at - o->base), "no %s has the id %" PRIu64, table, v);
    return err_in(o->e, "%s", field);
}

/* ---- tables ---- */

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
        case 1: ok = old_u64(&c, &f, "id", &v); break;
        case 2: ok = string_field(o, t, &c, &f, "name", &out->name); break;
        case 3: ok = string_field(o, t, &c, &f, "system_name", &out->system_name); break;
        case 4: ok = string_field(o, t, &c, &f, "filename", &out->filename); break;
        case 5:
            ok = old_u64(&c, &f, "start_line", &v);
            out->start_line = (int64_t)v;
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

/* What a v1.3 mapping knows beside its addresses. */
typedef struct mapping_extras {
    uint32_t build_id;
    uint64_t kind;
    bool flags[4];
} mapping_extras;

static bool mapping_attrs(old *o, const mapping_extras *x, size_t position, u32s *attrs)
{
    static const char *const has[4] = {PPROF_ATTR_HAS_FUNCTIONS, PPROF_ATTR_HAS_FILENAMES,
                                       PPROF_ATTR_HAS_LINE_NUMBERS, PPROF_ATTR_HAS_INLINE_FRAMES};
    builder *b = &o->b;
    arena *a = &o->tmp;
    str id = old_text(o, x->build_id);
    if (id.n) {
        const char *key = x->kind                   ? KILN_ATTR_BUILD_ID_HASH
                          : memchr(id.p, '/', id.n) ? ATTR_BUILD_ID_GO
                                                    : ATTR_BUILD_ID_GNU;
        old_note(o, LOSS_BUILD_ID, key, id, "mapping[%zu].build_id", position);
        if (!old_attr_add(o, a, attrs, builder_attribute_str(b, str_of(key), id))) return false;
    }
    if (x->kind) {
        str key = STR(KILN_ATTR_BUILD_ID_KIND);
        old_note(o, LOSS_BUILD_ID_KIND, KILN_ATTR_BUILD_ID_KIND, STR("hash"),
                 "mapping[%zu].build_id_kind", position);
        uint32_t kind = x->kind == 1 ? builder_attribute_str(b, key, STR("hash"))
                                     : builder_attribute_int(b, key, (int64_t)x->kind);
        if (!old_attr_add(o, a, attrs, kind)) return false;
    }
    for (size_t i = 0; i < 4; i++) {
        if (!x->flags[i]) continue;
        old_note(o, LOSS_SYMBOL_STATE, has[i], STR("true"), "mapping[%zu]", position);
        if (!old_attr_add(o, a, attrs, builder_attribute_bool(b, str_of(has[i]), true)))
            return false;
    }
    return true;
}

static bool read_mapping(old *o, old_profile *p, pb_cur c, size_t position, uint32_t *out)
{
    old_tables *t = p->t;
    mapping m = {0};
    mapping_extras x = {0};
    t->attrs.n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        uint64_t id;
        switch (f.number) {
        case 1: ok = old_u64(&c, &f, "id", &id); break;
        case 2: ok = old_u64(&c, &f, "memory_start", &m.memory_start); break;
        case 3: ok = old_u64(&c, &f, "memory_limit", &m.memory_limit); break;
        case 4: ok = old_u64(&c, &f, "file_offset", &m.file_offset); break;
        case 5: ok = string_field(o, t, &c, &f, "filename", &m.filename); break;
        case 6: ok = string_field(o, t, &c, &f, "build_id", &x.build_id); break;
        case 7: ok = old_bool(&c, &f, "has_functions", &x.flags[0]); break;
        case 8: ok = old_bool(&c, &f, "has_filenames", &x.flags[1]); break;
        case 9: ok = old_bool(&c, &f, "has_line_numbers", &x.flags[2]); break;
        case 10: ok = old_bool(&c, &f, "has_inline_frames", &x.flags[3]); break;
        case 11: ok = old_u64(&c, &f, "build_id_kind", &x.kind); break;
        case 12:
            ok = (f.wire == 0 || pb_expect(&c, &f, 2, "attributes")) &&
                 old_attr_refs(o, t->a, t, &f, "attributes", &t->attrs);
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    if (!pb_ok(&c) || !mapping_attrs(o, &x, position, &t->attrs)) return false;
    if (position == 0) p->main_start = m.memory_start, p->main_limit = m.memory_limit;
    *out = builder_mapping(&o->b, &m, t->attrs.v, t->attrs.n);
    return true;
}

static bool read_line(old *o, old_profile *p, pb_cur c, line *out)
{
    uint64_t function_ref;
    const uint8_t *at;
    if (!old_line_fields(o, c, out, &function_ref, &at)) return false;
    uint32_t i;
    bool none;
    if (!reference(o, &p->function_ids, function_ref, p->t->function.n, "function",
                   "function_index", at, &i, &none))
        return false;
    if (i != NONE) out->function = p->t->function.v[i];
    return true;
}

/* 0 without ids is mapping 0 or none: it is mapping 0 if the address lies in it. */
static bool location_mapping(old *o, const old_profile *p, uint64_t ref, uint64_t address,
                             const uint8_t *at, uint32_t *out)
{
    *out = 0;
    if (!p->mapping_ids.by_id && ref == 0 && (address < p->main_start || address >= p->main_limit))
        return true;
    uint32_t i;
    bool none;
    if (!reference(o, &p->mapping_ids, ref, p->t->mapping.n, "mapping", "mapping_index", at, &i,
                   &none))
        return false;
    if (i != NONE) *out = p->t->mapping.v[i];
    return true;
}

static bool location_attrs(old *o, uint32_t type, bool folded, size_t position, u32s *attrs)
{
    arena *a = &o->tmp;
    str name = old_text(o, type);
    if (name.n) {
        old_note(o, LOSS_FRAME_TYPE, ATTR_FRAME_TYPE, name, "location[%zu].type_index", position);
        if (str_eq(name, STR("python"))) name = STR("cpython");
        if (str_eq(name, STR("hotspot"))) name = STR("jvm");
        uint32_t attr = builder_attribute_str(&o->b, STR(ATTR_FRAME_TYPE), name);
        if (!old_attr_add(o, a, attrs, attr)) return false;
    }
    if (!folded) return true;
    old_note(o, LOSS_FOLDED_FLAG, PPROF_ATTR_IS_FOLDED, STR("true"), "location[%zu]", position);
    return old_attr_add(o, a, attrs,
                        builder_attribute_bool(&o->b, STR(PPROF_ATTR_IS_FOLDED), true));
}

static bool read_location(old *o, old_profile *p, pb_cur c, size_t position, uint32_t *out)
{
    old_tables *t = p->t;
    uint64_t address = 0, mapping_ref = 0, id;
    const uint8_t *at = c.p;
    uint32_t type = 0;
    bool folded = false;
    t->attrs.n = t->lines.n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = old_u64(&c, &f, "id", &id); break;
        case 2:
            at = f.at;
            ok = old_u64(&c, &f, "mapping_index", &mapping_ref);
            break;
        case 3: ok = old_u64(&c, &f, "address", &address); break;
        case 4: {
            if (!pb_expect(&c, &f, 2, "line")) return false;
            line *l = vec_push(t->a, &t->lines);
            if (!l) return old_limit(o);
            if (!read_line(o, p, pb_message(&c, &f), l))
                return err_in(o->e, "line[%zu]", t->lines.n - 1);
            break;
        }
        case 5: ok = old_bool(&c, &f, "is_folded", &folded); break;
        case 6: ok = string_field(o, t, &c, &f, "type_index", &type); break;
        case 7:
            ok = (f.wire == 0 || pb_expect(&c, &f, 2, "attributes")) &&
                 old_attr_refs(o, t->a, t, &f, "attributes", &t->attrs);
            break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    uint32_t mapping_i;
    if (!pb_ok(&c) || !location_mapping(o, p, mapping_ref, address, at, &mapping_i) ||
        !location_attrs(o, type, folded, position, &t->attrs))
        return false;
    *out =
        builder_location(&o->b, mapping_i, address, t->lines.v, t->lines.n, t->attrs.v, t->attrs.n);
    return true;
}

static bool build_tables(old *o, old_profile *p)
{
    old_tables *t = p->t;
    if (!collect_ids(o, &t->mappings, &p->mapping_ids) ||
        !collect_ids(o, &t->locations, &p->location_ids) ||
        !collect_ids(o, &t->functions, &p->function_ids) || !judge_references(o, p))
        return false;
    if (!old_build_units(o, t) || !old_build_attributes(o, t) || !old_build_links(o, t))
        return false;
    p->link_0 = t->link.n && t->link.v[0] != 0;
    for (size_t i = 0; i < t->functions.n; i++) {
        function fn = {0};
        if (!read_function(o, t, old_cur(o, t->functions.v[i]), &fn))
            return err_in(o->e, "function[%zu]", i);
        if (!old_push(o, t->a, &t->function, builder_function(&o->b, &fn))) return false;
    }
    for (size_t i = 0; i < t->mappings.n; i++) {
        uint32_t at = 0;
        if (!read_mapping(o, p, old_cur(o, t->mappings.v[i]), i, &at))
            return err_in(o->e, "mapping[%zu]", i);
        if (!old_push(o, t->a, &t->mapping, at)) return false;
    }
    for (size_t i = 0; i < t->locations.n; i++) {
        uint32_t at = 0;
        if (!read_location(o, p, old_cur(o, t->locations.v[i]), i, &at))
            return err_in(o->e, "location[%zu]", i);
        if (!old_push(o, t->a, &t->location, at)) return false;
    }
    return o->b.failed ? old_limit(o) : true;
}

/* ---- the Profile ---- */

static bool read_type(old *o, old_profile *p, pb_cur c, old_type *out)
{
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = string_field(o, p->t, &c, &f, "type", &out->type); break;
        case 2: ok = string_field(o, p->t, &c, &f, "unit", &out->unit); break;
        case 3: ok = old_u64(&c, &f, "aggregation_temporality", &out->temporality); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    return pb_ok(&c);
}

/* R6: pprof took number 15 for doc_url later.  One plain number that no sample slices is that. */
static bool is_doc_url(const old *o, const old_profile *p)
{
    if (p->location_indices.n != 1 || p->location_indices.v[0].wire != 0) return false;
    for (size_t i = 0; i < p->samples.n; i++) {
        pb_cur c = old_cur(o, p->samples.v[i]);
        c.e = NULL;
        for (pb_field f; pb_next(&c, &f);)
            if (f.number == 7 || f.number == 8) return false;
    }
    return true;
}

static bool location_ref(old *o, old_profile *p, const old_iter *i, const char *field, u32s *to)
{
    uint32_t at;
    bool none;
    if (!reference(o, &p->location_ids, i->v, p->t->location.n, "location", field, i->at, &at,
                   &none))
        return false;
    return old_push(o, &o->tmp, to, none ? NONE : at == NONE ? 0 : p->t->location.v[at]);
}

static bool resolve_frames(old *o, old_profile *p)
{
    for (size_t k = 0; k < p->location_indices.n; k++) {
        old_iter i = old_iter_open(o, &p->location_indices.v[k]);
        while (old_iter_next(&i))
            if (!location_ref(o, p, &i, "location_indices", &p->all_frames)) return false;
        if (!pb_ok(&i.c)) return err_in(o->e, "location_indices");
    }
    return true;
}

/* A string of the profile that becomes an attribute of it. */
static bool text_attr(old *o, old_profile *p, uint64_t string_i, const char *field,
                      const uint8_t *at, loss_concept concept, const char *key)
{
    uint32_t s;
    if (!string_i) return true;
    if (!old_string(o, p->t, string_i, field, at, &s)) return false;
    str text = old_text(o, s);
    if (!text.n) return true;
    old_note(o, concept, key, text, "%s", field);
    return old_attr_add(o, &o->tmp, &p->profile_attrs,
                        builder_attribute_str(&o->b, str_of(key), text));
}

/* The container knows start and end, the Profile start and duration: the container wins. */
static void resolve_time(old *o, old_profile *p)
{
    uint64_t time = (int64_t)p->time_nanos < 0 ? 0 : p->time_nanos;
    uint64_t duration = (int64_t)p->duration_nanos < 0 ? 0 : p->duration_nanos;
    bool differ = time != p->time_nanos || duration != p->duration_nanos;
    p->time = p->start ? p->start : time;
    p->duration = duration;
    differ |= time && time != p->time;
    if (p->end && p->end >= p->time) {
        p->duration = p->end - p->time;
        differ |= duration && duration != p->duration;
    } else if (p->end) {
        old_end_before_start(o, p->time, p->end);
    }
    if (differ) old_note(o, LOSS_TIME, NULL, (str){0}, "time_nanos");
}

static bool resolve(old *o, old_profile *p)
{
    uint32_t name;
    bool doc_url = is_doc_url(o, p);
    if (!build_tables(o, p) || !old_build_types(o, p, read_type) ||
        !old_string(o, p->t, p->default_type, "default_sample_type", p->default_at, &name))
        return false;
    old_set_default(p, name, p->types.n ? (uint32_t)p->types.n - 1 : 0);
    if (!doc_url && !resolve_frames(o, p)) return false;
    if (!old_build_lists(o, p, "comment")) return false;
    const pb_field *url = doc_url ? &p->location_indices.v[0] : NULL;
    return text_attr(o, p, p->drop_frames, "drop_frames", p->drop_at, LOSS_DROP_KEEP_FRAMES,
                     PPROF_ATTR_DROP_FRAMES) &&
           text_attr(o, p, p->keep_frames, "keep_frames", p->keep_at, LOSS_DROP_KEEP_FRAMES,
                     PPROF_ATTR_KEEP_FRAMES) &&
           (!url ||
            text_attr(o, p, url->value, "doc_url", url->at, LOSS_COMMENTS, PPROF_ATTR_DOC_URL));
}

bool old_v3_resolve(old *o, old_profile *p)
{
    resolve_time(o, p);
    return resolve(o, p) || err_in(o->e, "profile");
}

/* ---- samples ---- */

static bool read_label(old *o, old_profile *p, pb_cur c, u32s *to)
{
    uint32_t key = 0, text = 0, unit = 0;
    uint64_t text_i = 0, num = 0;
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        switch (f.number) {
        case 1: ok = string_field(o, p->t, &c, &f, "key", &key); break;
        case 2:
            text_i = f.value;
            ok = string_field(o, p->t, &c, &f, "str", &text);
            break;
        case 3: ok = old_u64(&c, &f, "num", &num); break;
        case 4: ok = string_field(o, p->t, &c, &f, "num_unit", &unit); break;
        default: o->n_unknown++;
        }
        if (!ok) return false;
    }
    if (!pb_ok(&c)) return false;
    if (text_i && num) old_note(o, LOSS_LABEL, NULL, old_text(o, key), "sample.label.num");
    str s = old_text(o, text);
    any v = text_i ? (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p}
                   : (any){.kind = ANY_INT, .i = (int64_t)num};
    return old_push(o, &o->tmp, to,
                    builder_attribute(&o->b, old_text(o, key), &v, old_text(o, unit)));
}

typedef struct sample_reader {
    uint64_t start, n;
    const uint8_t *start_at;
    uint32_t stack_id;
} sample_reader;

static bool sample_field(old *o, old_profile *p, pb_cur *c, const pb_field *f, sample_reader *r,
                         old_sample *s)
{
    bool list = f->wire == 0;
    uint64_t v;
    uint32_t i;
    switch (f->number) {
    case 1: {
        if (!list && !pb_expect(c, f, 2, "location_index")) return false;
        old_iter it = old_iter_open(o, f);
        while (old_iter_next(&it))
            if (!location_ref(o, p, &it, "location_index", &p->frames)) return false;
        return pb_ok(&it.c);
    }
    case 2: return (list || pb_expect(c, f, 2, "value")) && old_sample_values(o, p, f, s);
    case 3:
        if (!pb_expect(c, f, 2, "label")) return false;
        if (read_label(o, p, pb_message(c, f), &p->labels)) return true;
        return err_in(o->e, "label[%zu]", p->labels.n);
    case 7: r->start_at = f->at; return old_u64(c, f, "locations_start_index", &r->start);
    case 8: return old_u64(c, f, "locations_length", &r->n);
    case 9: return string_field(o, p->t, c, f, "stacktrace_id_index", &r->stack_id);
    case 10:
        return (list || pb_expect(c, f, 2, "attributes")) &&
               old_attr_refs(o, &o->tmp, p->t, f, "attributes", &p->attr_refs);
    case 12:
        s->link = 0;
        if (!old_u64(c, f, "link", &v)) return false;
        if (v == 0) return true; /* cannot be told from absent: link_0_lost() */
        if (!old_index(o, v, p->t->link.n, "link_table", "link", f->at, &i)) return false;
        s->link = i == NONE ? 0 : p->t->link.v[i];
        return true;
    case 13:
        return (list || pb_expect(c, f, 2, "timestamps_unix_nano")) && old_sample_times(o, p, f, s);
    default: o->n_unknown++; return true;
    }
}

/* R5: labels first. */
static bool sample_attrs(old *o, old_profile *p, const sample_reader *r, old_sample *s)
{
    arena *a = &o->tmp;
    for (size_t i = 0; i < p->labels.n; i++)
        if (!old_push(o, a, &p->row_attrs, p->labels.v[i])) return false;
    for (size_t i = 0; i < p->attr_refs.n; i++)
        if (!old_push(o, a, &p->row_attrs, p->attr_refs.v[i])) return false;
    str id = old_text(o, r->stack_id);
    if (id.n) {
        old_note(o, LOSS_STACK_ID, KILN_ATTR_STACK_ID, id, "sample.stacktrace_id_index");
        if (!old_push(o, a, &p->row_attrs,
                      builder_attribute_str(&o->b, STR(KILN_ATTR_STACK_ID), id)))
            return false;
    }
    s->attrs.n = (uint32_t)p->row_attrs.n - s->attrs.at;
    return true;
}

/* A sample without a link may mean link_table[0]: proto3 writes no 0.  It is read as none. */
static void link_0_lost(old *o, const old_profile *p, const old_sample *s)
{
    if (!p->link_0 || s->link) return;
    char hex[33];
    hex_encode(o->b.m.dict.links.v[p->t->link.v[0]].trace_id, 16, hex);
    old_note(o, LOSS_LINK, NULL, str_of(hex), "link_table[0]");
}

bool old_v3_sample(old *o, old_profile *p, pb_cur c, old_sample *s)
{
    sample_reader r = {.start_at = c.p};
    p->frames.n = p->labels.n = p->attr_refs.n = 0;
    for (pb_field f; pb_next(&c, &f);)
        if (!sample_field(o, p, &c, &f, &r, s)) return false;
    if (!pb_ok(&c) || !sample_attrs(o, p, &r, s)) return false;
    link_0_lost(o, p, s);
    if (r.n) return old_slice_stack(o, p, r.start, r.n, r.start_at, &s->stack); /* R4 */
    size_t n = 0;
    for (size_t i = 0; i < p->frames.n; i++)
        if (p->frames.v[i] != NONE) p->frames.v[n++] = p->frames.v[i];
    s->stack = builder_stack(&o->b, p->frames.v, n);
    return true;
}
