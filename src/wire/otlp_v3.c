/* Reads v1.3, OTEP 0239: pprof in a container, with tables inside each Profile.
 *
 * Three things are surprising.  References are positions or ids, whichever fits (otlp_v3_refs.h).
 * A sample has its stack inline (deprecated) or as a slice.  Field 15 may be pprof's doc_url.  The
 * rules R1 to R9 are in docs/spec/layouts.md, "Layout 1.3". */
#include "wire/otlp_old_internal.h"
#include "wire/otlp_v3_refs.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- messages ---- */

static const old_field function_fields[] = {
    [1] = {OLD_IGNORED, 0, "id", NULL},
    [2] = OLD_FIELD(NAME, old_function, f.name, "name"),
    [3] = OLD_FIELD(NAME, old_function, f.system_name, "system_name"),
    [4] = OLD_FIELD(NAME, old_function, f.filename, "filename"),
    [5] = OLD_FIELD(U64, old_function, f.start_line, "start_line"),
};

static const old_field mapping_fields[] = {
    [1] = {OLD_IGNORED, 0, "id", NULL},
    [2] = OLD_FIELD(U64, old_mapping, m.memory_start, "memory_start"),
    [3] = OLD_FIELD(U64, old_mapping, m.memory_limit, "memory_limit"),
    [4] = OLD_FIELD(U64, old_mapping, m.file_offset, "file_offset"),
    [5] = OLD_FIELD(NAME, old_mapping, m.filename, "filename"),
    [6] = OLD_FIELD(NAME, old_mapping, build_id_name, "build_id"),
    [7] = OLD_FIELD(BOOL, old_mapping, flags[0], "has_functions"),
    [8] = OLD_FIELD(BOOL, old_mapping, flags[1], "has_filenames"),
    [9] = OLD_FIELD(BOOL, old_mapping, flags[2], "has_line_numbers"),
    [10] = OLD_FIELD(BOOL, old_mapping, flags[3], "has_inline_frames"),
    [11] = OLD_FIELD(U64, old_mapping, build_id_kind, "build_id_kind"),
    [12] = {OLD_ATTR_REFS, 0, "attributes", NULL},
};

static const old_field location_fields[] = {
    [1] = {OLD_IGNORED, 0, "id", NULL},
    [2] = OLD_FIELD(REF, old_location, mapping, "mapping_index"),
    [3] = OLD_FIELD(U64, old_location, address, "address"),
    [4] = {OLD_LINES, 0, "line", NULL},
    [5] = OLD_FIELD(BOOL, old_location, folded, "is_folded"),
    [6] = OLD_FIELD(NAME, old_location, type, "type_index"),
    [7] = {OLD_ATTR_REFS, 0, "attributes", NULL},
};

static const old_field unit_fields[] = {
    [1] = OLD_FIELD(NAME, old_unit, key, "attribute_key"),
    [2] = OLD_FIELD(NAME, old_unit, unit, "unit"),
};

static const old_field type_fields[] = {
    [1] = OLD_FIELD(NAME, old_type, type, "type"),
    [2] = OLD_FIELD(NAME, old_type, unit, "unit"),
    [3] = OLD_FIELD(U64, old_type, temporality, "aggregation_temporality"),
};

static const old_schema schema = {
    .function = "function",
    .mapping = "mapping",
    .location = "location",
    .link = "link_table",
    .attribute = "attribute_table",
    .frame_type = ".type_index",
    .functions = OLD_MESSAGE(function_fields),
    .mappings = OLD_MESSAGE(mapping_fields),
    .locations = OLD_MESSAGE(location_fields),
    .lines = OLD_MESSAGE(old_line_fields),
    .units = OLD_MESSAGE(unit_fields),
};

#define PROFILE(kind, member, name) OLD_FIELD(kind, old_profile, member, name)

static const old_field profile_fields[] = {
    [1] = PROFILE(PIECE, type_pieces, "sample_type"),
    [2] = PROFILE(PIECE, samples, "sample"),
    [3] = PROFILE(PIECE, own.mappings, "mapping"),
    [4] = PROFILE(PIECE, own.locations, "location"),
    [5] = PROFILE(PIECE, own.functions, "function"),
    [6] = {OLD_STRINGS, 0, "string_table", NULL},
    [7] = PROFILE(REF, drop_frames, "drop_frames"),
    [8] = PROFILE(REF, keep_frames, "keep_frames"),
    [9] = PROFILE(U64, time_nanos, "time_nanos"),
    [10] = PROFILE(U64, duration_nanos, "duration_nanos"),
    [11] = PROFILE(PIECE, period_pieces, "period_type"),
    [12] = PROFILE(U64, period, "period"),
    [13] = PROFILE(LIST, comments, "comment"),
    [14] = PROFILE(REF, default_type, "default_sample_type"),
    [15] = PROFILE(LIST, location_indices, "location_indices"),
    [16] = PROFILE(PIECE, own.attributes, "attribute_table"),
    [17] = PROFILE(PIECE, own.units, "attribute_units"),
    [18] = PROFILE(PIECE, own.links, "link_table"),
};

static bool profile_field(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                          void *to)
{
    static const old_message message = OLD_MESSAGE(profile_fields);
    old_profile *p = to;
    if (!old_submessage(o, t, c, f, name, &message, p)) return false;
    piece *chunk = vec_push(&o->tmp, &p->chunks);
    if (!chunk) return err_memory(o->e);
    *chunk = (piece){f->data, (size_t)f->value};
    return true;
}

static const old_field container_fields[] = {
    [1] = PROFILE(ID16, id, "profile_id"),
    [2] = PROFILE(FIXED64, start, "start_time_unix_nano"),
    [3] = PROFILE(FIXED64, end, "end_time_unix_nano"),
    [4] = PROFILE(ATTRS, attrs, "attributes"),
    [5] = PROFILE(U32, dropped_attributes_count, "dropped_attributes_count"),
    [6] = PROFILE(TEXT, payload_format, "original_payload_format"),
    [7] = PROFILE(BYTES, payload, "original_payload"),
    [8] = {OLD_CALL, 0, "profile", profile_field},
};

bool old_v3_collect(old *o, old_profile *p, pb_cur c)
{
    static const old_message message = OLD_MESSAGE(container_fields);
    p->own.schema = &schema;
    return old_fields(o, &o->tmp, &p->own, c, &message, p);
}

/* ---- ids (R3) ---- */

static int id_order(const void *x, const void *y)
{
    const old_id *a = x, *b = y;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

/* Collects field 1 of every entry.  A malformed entry is reported later, when it is read. */
static bool collect_ids(old *o, const pieces *entries, old_ids *ids)
{
    ids->dense = true;
    for (size_t i = 0; i < entries->n; i++) {
        old_id *id = vec_push(&o->tmp, &ids->v);
        if (!id) return err_memory(o->e);
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
    /* The ids are lost, but references are converted. */
    old_note(o, LOSS_ARBITRARY_ID, NULL, (str){0}, "%s", name);
    qsort(ids->v.v, ids->v.n, sizeof *ids->v.v, id_order);
}

/* Records how references are read when entries have ids, and which readings are guesses. */
static void report_reading(old *o, const v3_reading r[V3_TABLES])
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
        o->verdict = NULL; /* only the first table of the first Profile is reported */
        break;
    }
}

static bool judge_references(old *o, old_profile *p)
{
    v3_reading r[V3_TABLES];
    str *chunks = arena_new(&o->tmp, str, p->chunks.n ? p->chunks.n : 1);
    if (!chunks) return err_memory(o->e);
    for (size_t i = 0; i < p->chunks.n; i++)
        chunks[i] = (str){(const char *)p->chunks.v[i].p, p->chunks.v[i].n};
    if (!v3_refs_judge(chunks, p->chunks.n, &o->tmp, r)) return err_memory(o->e);
    sort_ids(o, &r[V3_MAPPING], &p->own.mapping_ids, "mapping");
    sort_ids(o, &r[V3_LOCATION], &p->own.location_ids, "location");
    sort_ids(o, &r[V3_FUNCTION], &p->own.function_ids, "function");
    report_reading(o, r);
    return true;
}

/* ---- the Profile ---- */

static bool build_tables(old *o, old_profile *p)
{
    old_tables *t = p->t;
    if (!collect_ids(o, &t->mappings, &t->mapping_ids) ||
        !collect_ids(o, &t->locations, &t->location_ids) ||
        !collect_ids(o, &t->functions, &t->function_ids) || !judge_references(o, p) ||
        !old_build_attributes(o, t) || !old_build_links(o, t) || !old_build_frames(o, t))
        return false;
    p->link_0 = t->link.n && t->link.v[0] != 0;
    return o->b.failed ? err_memory(o->e) : true;
}

/* R6: pprof later used number 15 for doc_url.  One unpacked number is doc_url if no sample has a
 * slice. */
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
    const old_tables *t = p->t;
    uint32_t at;
    if (!old_reference(o, &t->location_ids, (old_ref){i->v, i->at}, t->location.n, "location",
                       field, &at))
        return false;
    if (old_means_nothing(&t->location_ids, i->v, t->location.n))
        return old_push(o, &o->tmp, to, NONE);
    return old_push(o, &o->tmp, to, at == NONE ? 0 : t->location.v[at]);
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

/* Adds a string of the profile as its attribute. */
static bool text_attr(old *o, old_profile *p, old_ref r, const char *field, loss_concept concept,
                      const char *key)
{
    uint32_t s;
    if (!r.v) return true;
    if (!old_string(o, p->t, r.v, field, r.at, &s)) return false;
    str text = old_text(o, s);
    if (!text.n) return true;
    old_note(o, concept, key, text, "%s", field);
    return old_attr_text(o, &o->tmp, &p->profile_attrs, key, text);
}

/* The container has start and end, the Profile start and duration.  The container takes
 * precedence. */
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
    static const old_message types = OLD_MESSAGE(type_fields);
    uint32_t name;
    bool doc_url = is_doc_url(o, p);
    if (!build_tables(o, p) || !old_build_types(o, p, &types) ||
        !old_string(o, p->t, p->default_type.v, "default_sample_type", p->default_type.at, &name))
        return false;
    old_set_default(p, name, p->types.n ? (uint32_t)p->types.n - 1 : 0);
    old_ref url = {0};
    if (doc_url)
        url = (old_ref){p->location_indices.v[0].value, p->location_indices.v[0].at};
    else if (!resolve_frames(o, p))
        return false;
    return old_build_lists(o, p, "comment") &&
           text_attr(o, p, p->drop_frames, "drop_frames", LOSS_DROP_KEEP_FRAMES,
                     PPROF_ATTR_DROP_FRAMES) &&
           text_attr(o, p, p->keep_frames, "keep_frames", LOSS_DROP_KEEP_FRAMES,
                     PPROF_ATTR_KEEP_FRAMES) &&
           text_attr(o, p, url, "doc_url", LOSS_COMMENTS, PPROF_ATTR_DOC_URL);
}

bool old_v3_resolve(old *o, old_profile *p)
{
    resolve_time(o, p);
    return resolve(o, p) || err_in(o->e, "profile");
}

/* ---- samples ---- */

typedef struct label {
    uint32_t key, text, unit; /* builder strings */
    bool has_text;
    uint64_t num;
} label;

static bool label_text(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                       void *to)
{
    label *l = to;
    l->has_text = f->value != 0;
    return pb_expect(c, f, 0, name) && old_string(o, t, f->value, name, f->at, &l->text);
}

static const old_field label_fields[] = {
    [1] = OLD_FIELD(NAME, label, key, "key"),
    [2] = {OLD_CALL, 0, "str", label_text},
    [3] = OLD_FIELD(U64, label, num, "num"),
    [4] = OLD_FIELD(NAME, label, unit, "num_unit"),
};

static bool sample_label(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                         void *to)
{
    static const old_message message = OLD_MESSAGE(label_fields);
    u32s *labels = &((old_sample_reader *)to)->p->labels;
    label l = {0};
    if (!pb_expect(c, f, 2, name)) return false;
    if (!old_fields(o, t->a, t, pb_message(c, f), &message, &l))
        return err_in(o->e, "%s[%zu]", name, labels->n);
    if (l.has_text && l.num) old_note(o, LOSS_LABEL, NULL, old_text(o, l.key), "sample.label.num");
    str s = old_text(o, l.text);
    any v = l.has_text ? (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p}
                       : (any){.kind = ANY_INT, .i = (int64_t)l.num};
    return old_push(o, &o->tmp, labels,
                    builder_attribute(&o->b, old_text(o, l.key), &v, old_text(o, l.unit))) ||
           err_in(o->e, "%s[%zu]", name, labels->n);
}

static bool sample_locations(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                             void *to)
{
    old_profile *p = ((old_sample_reader *)to)->p;
    (void)t;
    if (!old_list_wire(c, f, name)) return false;
    old_iter it = old_iter_open(o, f);
    while (old_iter_next(&it))
        if (!location_ref(o, p, &it, name, &p->frames)) return false;
    return pb_ok(&it.c);
}

static bool sample_attributes(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                              void *to)
{
    old_profile *p = ((old_sample_reader *)to)->p;
    return old_list_wire(c, f, name) && old_attr_refs(o, &o->tmp, t, f, name, &p->attr_refs);
}

static bool sample_link(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name,
                        void *to)
{
    old_sample *s = ((old_sample_reader *)to)->s;
    uint32_t i;
    s->link = 0;
    if (!pb_expect(c, f, 0, name)) return false;
    if (f->value == 0) return true; /* the same as absent; see link_0_lost() */
    if (!old_index(o, f->value, t->link.n, "link_table", name, f->at, &i)) return false;
    s->link = i == NONE ? 0 : t->link.v[i];
    return true;
}

static const old_field sample_fields[] = {
    [1] = {OLD_CALL, 0, "location_index", sample_locations},
    [2] = {OLD_CALL, 0, "value", old_sample_values},
    [3] = {OLD_CALL, 0, "label", sample_label},
    [7] = OLD_FIELD(REF, old_sample_reader, start, "locations_start_index"),
    [8] = OLD_FIELD(U64, old_sample_reader, n, "locations_length"),
    [9] = OLD_FIELD(NAME, old_sample_reader, stack_id, "stacktrace_id_index"),
    [10] = {OLD_CALL, 0, "attributes", sample_attributes},
    [12] = {OLD_CALL, 0, "link", sample_link},
    [13] = {OLD_CALL, 0, "timestamps_unix_nano", old_sample_times},
};

/* Adds the attributes of a sample.  R5: labels come first. */
static bool sample_attrs(old *o, const old_sample_reader *r)
{
    arena *a = &o->tmp;
    old_profile *p = r->p;
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
    r->s->attrs.n = (uint32_t)p->row_attrs.n - r->s->attrs.at;
    return true;
}

/* Records the loss when a sample without a link may mean link_table[0], because proto3 does not
 * write 0. Such a sample is read as having no link. */
static void link_0_lost(old *o, const old_profile *p, const old_sample *s)
{
    if (!p->link_0 || s->link) return;
    char hex[33];
    hex_encode(o->b.m.dict.links.v[p->t->link.v[0]].trace_id, 16, hex);
    old_note(o, LOSS_LINK, NULL, str_of(hex), "link_table[0]");
}

bool old_v3_sample(old *o, old_sample_reader *r, pb_cur c)
{
    static const old_message message = OLD_MESSAGE(sample_fields);
    old_profile *p = r->p;
    p->frames.n = p->labels.n = p->attr_refs.n = 0;
    if (!old_fields(o, &o->tmp, p->t, c, &message, r) || !sample_attrs(o, r)) return false;
    link_0_lost(o, p, r->s);
    if (r->n) return old_slice_stack(o, r); /* R4 */
    size_t n = 0;
    for (size_t i = 0; i < p->frames.n; i++)
        if (p->frames.v[i] != NONE) p->frames.v[n++] = p->frames.v[i];
    r->s->stack = builder_stack(&o->b, p->frames.v, n);
    return true;
}
