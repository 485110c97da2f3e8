/* Converts the tables that every old layout has from input bytes to builder indices.
 *
 * The schema of the tables (old_schema) describes their messages; the conversion of an entry is the
 * same for all layouts.  A field that current OTLP does not have becomes an attribute of the entry
 * and an entry of the loss ledger. */
#include "wire/otlp_old_internal.h"
#include "base/search.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- attributes and their units ---- */

static int unit_order(const void *x, const void *y)
{
    const old_unit *a = x, *b = y;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

static bool build_units(old *o, old_tables *t)
{
    for (size_t i = 0; i < t->units.n; i++) {
        old_unit u = {.position = (uint32_t)i};
        if (!old_fields(o, t->a, t, old_cur(o, t->units.v[i]), &t->schema->units, &u))
            return err_in(o->e, "attribute_units[%zu]", i);
        old_unit *slot = vec_push(t->a, &t->unit);
        if (!slot) return err_memory(o->e);
        *slot = u;
    }
    if (t->unit.n) qsort(t->unit.v, t->unit.n, sizeof *t->unit.v, unit_order);
    return true;
}

/* Returns the unit of a key; the last one if there are several, as in a map. */
static uint32_t unit_of(old_tables *t, uint32_t key)
{
    size_t lo = SEARCH(0, t->unit.n, i, t->unit.v[i].key <= key);
    if (lo == 0 || t->unit.v[lo - 1].key != key) return 0;
    t->unit.v[lo - 1].used = true;
    return t->unit.v[lo - 1].unit;
}

bool old_build_attributes(old *o, old_tables *t)
{
    old_tables *refs = t->schema->text_refs ? t : NULL;
    if (!build_units(o, t)) return false;
    for (size_t i = 0; i < t->attributes.n; i++) {
        keyvalue kv = {0};
        if (!old_keyvalue(o, t->a, refs, old_cur(o, t->attributes.v[i]), &kv))
            return err_in(o->e, "%s[%zu]", t->schema->attribute, i);
        uint32_t unit = unit_of(t, builder_string(&o->b, kv.key));
        uint32_t at = builder_attribute(&o->b, kv.key, &kv.value, old_text(o, unit));
        if (!old_push(o, t->a, &t->attribute, at)) return false;
        if (o->b.failed) return err_memory(o->e);
    }
    for (size_t i = 0; i < t->unit.n; i++) {
        const old_unit *u = &t->unit.v[i];
        if (u->used || !u->unit) continue;
        old_note(o, LOSS_ATTRIBUTE_UNIT, NULL, old_text(o, u->unit), "attribute_units[%u]",
                 u->position);
    }
    return true;
}

bool old_build_keyvalues(old *o, arena *a, const keyvalue_list *from, u32s *to)
{
    for (size_t i = 0; i < from->n; i++) {
        const keyvalue *kv = &from->v[i];
        if (!old_push(o, a, to, builder_attribute(&o->b, kv->key, &kv->value, (str){0})))
            return false;
    }
    return true;
}

/* ---- links ---- */

typedef struct old_link {
    str trace_id, span_id;
} old_link;

bool old_build_links(old *o, old_tables *t)
{
    static const old_field fields[] = {[1] = OLD_FIELD(ID16, old_link, trace_id, "trace_id"),
                                       [2] = OLD_FIELD(ID8, old_link, span_id, "span_id")};
    static const old_message message = OLD_MESSAGE(fields);
    static const uint8_t zero[16];
    for (size_t i = 0; i < t->links.n; i++) {
        old_link l = {0};
        if (!old_fields(o, t->a, t, old_cur(o, t->links.v[i]), &message, &l))
            return err_in(o->e, "%s[%zu]", t->schema->link, i);
        uint32_t at = builder_link(&o->b, l.trace_id.n ? (const uint8_t *)l.trace_id.p : zero,
                                   l.span_id.n ? (const uint8_t *)l.span_id.p : zero);
        if (!old_push(o, t->a, &t->link, at)) return false;
    }
    return true;
}

/* ---- functions, mappings, locations ---- */

const old_field old_line_fields[4] = {
    [1] = OLD_FIELD(REF, old_line, function, "function_index"),
    [2] = OLD_FIELD(U64, old_line, l.line, "line"),
    [3] = OLD_FIELD(U64, old_line, l.column, "column"),
};

static bool read_function(old *o, old_tables *t, pb_cur c, size_t position, uint32_t *out)
{
    old_function x = {0};
    if (!old_fields(o, t->a, t, c, &t->schema->functions, &x)) return false;
    if (x.id)
        old_note(o, LOSS_ARBITRARY_ID, NULL, (str){0}, "%s[%zu].id", t->schema->function, position);
    *out = builder_function(&o->b, &x.f);
    return true;
}

static bool build_id_attrs(old *o, const char *table, arena *a, const old_mapping *m, u32s *attrs)
{
    str id = m->build_id_name ? old_text(o, m->build_id_name) : m->build_id;
    if (id.n) {
        const char *key = m->build_id_kind          ? KILN_ATTR_BUILD_ID_HASH
                          : memchr(id.p, '/', id.n) ? ATTR_BUILD_ID_GO
                                                    : ATTR_BUILD_ID_GNU;
        old_note(o, LOSS_BUILD_ID, key, id, "%s[%zu].build_id", table, m->position);
        if (!old_attr_text(o, a, attrs, key, id)) return false;
    }
    if (!m->build_id_kind) return true;
    const char *key = KILN_ATTR_BUILD_ID_KIND;
    old_note(o, LOSS_BUILD_ID_KIND, key, STR("hash"), "%s[%zu].build_id_kind", table, m->position);
    return m->build_id_kind == 1 ? old_attr_text(o, a, attrs, key, STR("hash"))
                                 : old_attr_int(o, a, attrs, key, m->build_id_kind);
}

bool old_mapping_attrs(old *o, const char *table, arena *a, const old_mapping *m, u32s *attrs)
{
    static const char *const has[4] = {PPROF_ATTR_HAS_FUNCTIONS, PPROF_ATTR_HAS_FILENAMES,
                                       PPROF_ATTR_HAS_LINE_NUMBERS, PPROF_ATTR_HAS_INLINE_FRAMES};
    if (m->symbolic_info > 1)
        old_note(o, LOSS_SYMBOL_STATE, NULL, (str){0}, "%s[%zu].symbolic_info", table, m->position);
    if (!build_id_attrs(o, table, a, m, attrs)) return false;
    for (size_t i = 0; i < 4; i++) {
        if (!m->flags[i] && m->symbolic_info != 1) continue;
        old_note(o, LOSS_SYMBOL_STATE, has[i], STR("true"), "%s[%zu]", table, m->position);
        if (!old_attr_add(o, a, attrs, builder_attribute_bool(&o->b, str_of(has[i]), true)))
            return false;
    }
    return true;
}

static bool read_mapping(old *o, old_tables *t, pb_cur c, size_t position, uint32_t *out)
{
    old_mapping x = {.position = position};
    t->attrs.n = 0;
    if (!old_fields(o, t->a, t, c, &t->schema->mappings, &x) ||
        !old_mapping_attrs(o, t->schema->mapping, t->a, &x, &t->attrs))
        return false;
    if (position == 0) t->main_start = x.m.memory_start, t->main_limit = x.m.memory_limit;
    *out = builder_mapping(&o->b, &x.m, t->attrs.v, t->attrs.n);
    return true;
}

/* Sets *out to the mapping of a location.  In layouts without presence, 0 means mapping 0 if it
 * covers the address, otherwise none. */
static bool location_mapping(old *o, const old_tables *t, const old_location *x, uint32_t *out)
{
    uint32_t i;
    *out = x->mapping_index;
    if (t->schema->explicit_mapping) return true;
    bool outside = x->address < t->main_start || x->address >= t->main_limit;
    if (!t->mapping_ids.by_id && x->mapping.v == 0 && outside) return true;
    if (!old_reference(o, &t->mapping_ids, x->mapping, t->mapping.n, t->schema->mapping,
                       "mapping_index", &i))
        return false;
    if (i != NONE) *out = t->mapping.v[i];
    return true;
}

static bool location_attrs(old *o, old_tables *t, const old_location *x, size_t position)
{
    const char *table = t->schema->location;
    str name = old_text(o, x->type);
    if (name.n) {
        old_note(o, LOSS_FRAME_TYPE, ATTR_FRAME_TYPE, name, "%s[%zu]%s", table, position,
                 t->schema->frame_type);
        if (str_eq(name, STR("python"))) name = STR("cpython");
        if (str_eq(name, STR("hotspot"))) name = STR("jvm");
        if (!old_attr_text(o, t->a, &t->attrs, ATTR_FRAME_TYPE, name)) return false;
    }
    if (!x->folded) return true;
    old_note(o, LOSS_FOLDED_FLAG, PPROF_ATTR_IS_FOLDED, STR("true"), "%s[%zu]", table, position);
    return old_attr_add(o, t->a, &t->attrs,
                        builder_attribute_bool(&o->b, STR(PPROF_ATTR_IS_FOLDED), true));
}

static bool read_location(old *o, old_tables *t, pb_cur c, size_t position, uint32_t *out)
{
    old_location x = {.mapping.at = c.p};
    uint32_t mapping_i;
    t->attrs.n = t->lines.n = 0;
    if (!old_fields(o, t->a, t, c, &t->schema->locations, &x) ||
        !location_mapping(o, t, &x, &mapping_i) || !location_attrs(o, t, &x, position))
        return false;
    *out = builder_location(&o->b, mapping_i, x.address, t->lines.v, t->lines.n, t->attrs.v,
                            t->attrs.n);
    return true;
}

static bool build_table(old *o, old_tables *t, const pieces *entries, const char *name,
                        bool (*read)(old *, old_tables *, pb_cur, size_t, uint32_t *), u32s *to)
{
    for (size_t i = 0; i < entries->n; i++) {
        uint32_t at = 0;
        if (!read(o, t, old_cur(o, entries->v[i]), i, &at)) return err_in(o->e, "%s[%zu]", name, i);
        if (!old_push(o, t->a, to, at)) return false;
    }
    return true;
}

bool old_build_frames(old *o, old_tables *t)
{
    const old_schema *s = t->schema;
    return build_table(o, t, &t->functions, s->function, read_function, &t->function) &&
           build_table(o, t, &t->mappings, s->mapping, read_mapping, &t->mapping) &&
           build_table(o, t, &t->locations, s->location, read_location, &t->location);
}

/* ---- parts of a Profile ---- */

bool old_build_types(old *o, old_profile *p, const old_message *m)
{
    if (p->type_pieces.n > OLD_MAX_SAMPLE_TYPES)
        return err_set(o->e, ERR_LIMIT, "a profile has %zu sample types, at most %d are read",
                       p->type_pieces.n, OLD_MAX_SAMPLE_TYPES);
    for (size_t i = 0; i < p->type_pieces.n; i++) {
        old_type *t = vec_push(&o->tmp, &p->types);
        if (!t) return err_memory(o->e);
        if (!old_fields(o, &o->tmp, p->t, old_cur(o, p->type_pieces.v[i]), m, t))
            return err_in(o->e, "sample_type[%zu]", i);
    }
    for (size_t i = 0; i < p->period_pieces.n; i++)
        if (!old_fields(o, &o->tmp, p->t, old_cur(o, p->period_pieces.v[i]), m, &p->period_type))
            return err_in(o->e, "period_type");
    if (p->period_type.temporality)
        old_note(o, LOSS_AGGREGATION_TEMPORALITY, NULL, (str){0}, "period_type");
    return true;
}

void old_set_default(old_profile *p, uint32_t name, uint32_t unset)
{
    p->default_name = name;
    p->first = unset;
    for (uint32_t i = 0; name && i < p->types.n; i++)
        if (p->types.v[i].type == name) {
            p->first = i;
            return;
        }
}

bool old_temporality(old *o, uint64_t v, const char *path, u32s *attrs)
{
    const char *key = KILN_ATTR_AGGREGATION_TEMPORALITY;
    if (!v) return true;
    old_note(o, LOSS_AGGREGATION_TEMPORALITY, key, (str){0}, "%s", path);
    if (v > 2) return old_attr_int(o, &o->tmp, attrs, key, v);
    return old_attr_text(o, &o->tmp, attrs, key, v == 1 ? STR("delta") : STR("cumulative"));
}

bool old_build_comments(old *o, old_tables *t, const list_fields *comments, const char *name,
                        u32s *to)
{
    arena *a = &o->tmp;
    VEC(any) texts = {0};
    for (size_t k = 0; k < comments->n; k++) {
        old_iter i = old_iter_open(o, &comments->v[k]);
        while (old_iter_next(&i)) {
            uint32_t s;
            if (!old_string(o, t, i.v, name, i.at, &s)) return false;
            any *slot = vec_push(a, &texts);
            if (!slot) return err_memory(o->e);
            str text = old_text(o, s);
            *slot = (any){.kind = ANY_STRING, .n = (uint32_t)text.n, .s = text.p};
        }
        if (!pb_ok(&i.c)) return err_in(o->e, "%s", name);
    }
    if (!texts.n) return true;
    any list = {.kind = ANY_ARRAY, .n = (uint32_t)texts.n, .array = texts.v};
    old_note(o, LOSS_COMMENTS, PPROF_ATTR_COMMENT, any_str(&texts.v[0]), "%s", name);
    return old_attr_add(o, a, to,
                        builder_attribute(&o->b, STR(PPROF_ATTR_COMMENT), &list, (str){0}));
}

bool old_build_lists(old *o, old_profile *p, const char *comment)
{
    if (!old_build_keyvalues(o, &o->tmp, &p->attrs, &p->profile_attrs)) return false;
    for (size_t i = 0; i < p->attr_indices.n; i++)
        if (!old_attr_refs(o, &o->tmp, p->t, &p->attr_indices.v[i], "attribute_indices",
                           &p->profile_attrs))
            return false;
    return old_build_comments(o, p->t, &p->comments, comment, &p->profile_attrs);
}
