/* Builds profiles call by call.  Validates the caller's text, values and indices, because the
 * model's builder trusts them.  After the first error all further calls do nothing. */
#include "api/internal.h"

#include "base/utf8.h"
#include "model/builder.h"
#include "wire/otlp.h"
#include "base/ban.h"
#include <inttypes.h>

struct kiln_builder {
    arena a;
    builder b;
    VEC(line) lines; /* of the current location */
    err e;           /* the first error */
};

/* ---- errors ---- */

static bool usable(const kiln_builder *b) { return b && b->e.code == ERR_OK; }

/* Returns whether there was no error.  Called after every call of the model's builder, which may
 * run out of memory. */
static bool builder_has_room(kiln_builder *b)
{
    if (b->b.failed)
        err_set(&b->e, ERR_MEMORY, "the profiles exceed the memory budget of %zu bytes",
                b->a.budget);
    return b->e.code == ERR_OK;
}

static bool array_ok(kiln_builder *b, const void *v, size_t n, const char *what)
{
    if (n && !v) return api_null(what, &b->e);
    if (n > UINT32_MAX) return err_set(&b->e, ERR_LIMIT, "%s has %zu entries", what, n);
    return true;
}

static bool text_ok(kiln_builder *b, kiln_str s, const char *what)
{
    if (!array_ok(b, s.p, s.n, what)) return false;
    size_t good = s.n ? utf8_valid(s.p, s.n) : 0;
    return good == s.n || err_set(&b->e, ERR_USAGE, "%s is not UTF-8 (byte %zu)", what, good);
}

static bool index_ok(kiln_builder *b, uint32_t i, size_t n, const char *what)
{
    return i < n || err_set(&b->e, ERR_USAGE,
                            "%s %" PRIu32 " is out of range: this builder has %zu", what, i, n);
}

static bool indices_ok(kiln_builder *b, const uint32_t *v, size_t n, size_t n_table,
                       const char *what)
{
    if (!array_ok(b, v, n, what)) return false;
    for (size_t i = 0; i < n; i++)
        if (!index_ok(b, v[i], n_table, what)) return false;
    return true;
}

static bool attributes_ok(kiln_builder *b, const uint32_t *v, size_t n)
{
    return indices_ok(b, v, n, b->b.m.dict.attributes.n, "attribute");
}

static bool members_ok(kiln_builder *b, const kiln_member *v, size_t n, unsigned depth);

static bool value_ok(kiln_builder *b, const kiln_value *v, unsigned depth)
{
    if (depth > OTLP_MAX_DEPTH)
        return err_set(&b->e, ERR_LIMIT, "a value nests deeper than %d", OTLP_MAX_DEPTH);
    switch (v->kind) {
    case KILN_KIND_EMPTY:
    case KILN_KIND_INT:
    case KILN_KIND_DOUBLE: return true;
    case KILN_KIND_BOOL:
        return v->as.integer == 0 || v->as.integer == 1 ||
               err_set(&b->e, ERR_USAGE, "a bool is %" PRId64, v->as.integer);
    case KILN_KIND_STRING: return text_ok(b, (kiln_str){v->as.text, v->n}, "a string value");
    case KILN_KIND_BYTES: return array_ok(b, v->as.text, v->n, "a value of bytes");
    case KILN_KIND_ARRAY:
        if (!array_ok(b, v->as.array, v->n, "an array value")) return false;
        for (uint32_t i = 0; i < v->n; i++)
            if (!value_ok(b, &v->as.array[i], depth + 1)) return false;
        return true;
    case KILN_KIND_MAP: return members_ok(b, v->as.map, v->n, depth + 1);
    default: return err_set(&b->e, ERR_USAGE, "invalid kind of value: %" PRIu32, v->kind);
    }
}

static bool members_ok(kiln_builder *b, const kiln_member *v, size_t n, unsigned depth)
{
    if (!array_ok(b, v, n, "a list of members")) return false;
    for (size_t i = 0; i < n; i++) {
        if (!text_ok(b, v[i].key, "a key") || !value_ok(b, &v[i].value, depth)) return false;
        if (v[i].reserved) return err_set(&b->e, ERR_USAGE, "kiln_member.reserved is not 0");
    }
    return true;
}

/* Casts to the model's type.  The model's builder copies the members and does not change them. */
static keyvalues members(const kiln_member *v, size_t n)
{
    return (keyvalues){(keyvalue *)(uintptr_t)v, n};
}

static uint32_t clamp_u32(uint64_t v) { return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v; }

/* ---- create, finish, free ---- */

kiln_builder *kiln_builder_new(const kiln_builder_options *from, kiln_error *ke)
{
    err e = {0};
    kiln_builder_options o;
    kiln_builder *b = NULL;
    bool ok = API_TAKE(&o, from, "kiln_builder_options", &e) && (b = calloc(1, sizeof *b));
    if (ok) {
        b->a = (arena){.budget = api_budget(o.max_memory), .seed = o.seed};
        ok = builder_init(&b->b, &b->a) ||
             err_set(&e, ERR_MEMORY, "a builder exceeds the memory budget of %zu bytes",
                     b->a.budget);
    }
    if (api_result(ok, &e, ke)) return b;
    kiln_builder_free(b);
    return NULL;
}

void kiln_builder_free(kiln_builder *b)
{
    if (!b) return;
    arena_free(&b->a);
    free(b);
}

bool kiln_builder_ok(const kiln_builder *b, kiln_error *ke)
{
    err e = {0};
    if (!b) return api_result(api_null("builder", &e), &e, ke);
    return api_result(b->e.code == ERR_OK, &b->e, ke);
}

kiln_profiles *kiln_builder_finish(kiln_builder *b, kiln_error *ke)
{
    err e = {0};
    if (!b) return api_result(api_null("builder", &e), &e, ke), NULL;
    kiln_profiles *h = usable(b) ? api_profiles_new(b->a.budget, b->a.seed, &b->e) : NULL;
    bool ok = h && builder_finish(&b->b, &h->m, &b->e);
    if (ok) { /* the profiles take over the memory */
        h->a = b->a;
        b->a = (arena){0};
    }
    api_result(ok, &b->e, ke);
    kiln_builder_free(b);
    if (ok) return h;
    kiln_profiles_free(h);
    return NULL;
}

/* ---- resources, scopes, profiles ---- */

bool kiln_builder_resource(kiln_builder *b, const kiln_resource *from)
{
    kiln_resource r;
    if (!usable(b) || !API_TAKE(&r, from, "kiln_resource", &b->e)) return false;
    if (!members_ok(b, r.attributes, r.n_attributes, 1) || !text_ok(b, r.schema_url, "schema_url"))
        return err_in(&b->e, "resource[%zu]", b->b.m.resources.n);
    resource to = {
        .attrs = members(r.attributes, r.n_attributes),
        .schema_url = text(r.schema_url),
        .dropped_attributes_count = clamp_u32(r.dropped_attributes),
        .present = from != NULL,
    };
    builder_resource(&b->b, &to);
    return builder_has_room(b);
}

bool kiln_builder_scope(kiln_builder *b, const kiln_scope *from)
{
    kiln_scope s;
    if (!usable(b) || !API_TAKE(&s, from, "kiln_scope", &b->e)) return false;
    if (!members_ok(b, s.attributes, s.n_attributes, 1) || !text_ok(b, s.name, "name") ||
        !text_ok(b, s.version, "version") || !text_ok(b, s.schema_url, "schema_url"))
        return err_in(&b->e, "scope[%zu]", b->b.m.scopes.n);
    scope to = {
        .name = text(s.name),
        .version = text(s.version),
        .schema_url = text(s.schema_url),
        .attrs = members(s.attributes, s.n_attributes),
        .dropped_attributes_count = clamp_u32(s.dropped_attributes),
        .present = from != NULL,
    };
    builder_scope(&b->b, &to);
    return builder_has_room(b);
}

static bool profile_ok(kiln_builder *b, const kiln_profile *p)
{
    return text_ok(b, p->sample_type, "sample_type") && text_ok(b, p->sample_unit, "sample_unit") &&
           text_ok(b, p->period_type, "period_type") && text_ok(b, p->period_unit, "period_unit") &&
           text_ok(b, p->original_payload_format, "original_payload_format") &&
           array_ok(b, p->original_payload.p, p->original_payload.n, "original_payload") &&
           attributes_ok(b, p->attributes, p->n_attributes);
}

bool kiln_builder_profile(kiln_builder *b, const kiln_profile *from)
{
    kiln_profile p;
    if (!usable(b) || !API_TAKE(&p, from, "kiln_profile", &b->e)) return false;
    if (!profile_ok(b, &p)) return err_in(&b->e, "profile[%zu]", b->b.m.profiles.n);
    profile *to = builder_profile(&b->b);
    if (!builder_has_room(b)) return false;
    to->sample_type.type = builder_string(&b->b, text(p.sample_type));
    to->sample_type.unit = builder_string(&b->b, text(p.sample_unit));
    to->period_type.type = builder_string(&b->b, text(p.period_type));
    to->period_type.unit = builder_string(&b->b, text(p.period_unit));
    to->period = p.period;
    to->time_unix_nano = p.time_unix_nano;
    to->duration_nano = p.duration_nano;
    memcpy(to->profile_id, p.id, sizeof to->profile_id);
    to->dropped_attributes_count = clamp_u32(p.dropped_attributes);
    to->original_payload_format = builder_copy_str(&b->b, text(p.original_payload_format));
    to->original_payload = builder_copy_str(&b->b, text(p.original_payload));
    builder_profile_attrs(&b->b, p.attributes, p.n_attributes);
    return builder_has_room(b);
}

/* ---- the dictionary ---- */

uint32_t kiln_builder_attribute(kiln_builder *b, kiln_str key, const kiln_value *value,
                                kiln_str unit)
{
    if (!usable(b)) return 0;
    static const kiln_value empty;
    if (!value) value = &empty;
    if (!text_ok(b, key, "key") || !text_ok(b, unit, "unit") || !value_ok(b, value, 1)) {
        err_in(&b->e, "attribute[%zu]", b->b.m.dict.attributes.n);
        return 0;
    }
    any own;
    memcpy(&own, value, sizeof own);
    uint32_t i = builder_attribute(&b->b, text(key), &own, text(unit));
    return builder_has_room(b) ? i : 0;
}

uint32_t kiln_builder_link(kiln_builder *b, const kiln_link *l)
{
    if (!usable(b)) return 0;
    if (!l) return api_null("link", &b->e);
    uint32_t i = builder_link(&b->b, l->trace_id, l->span_id);
    return builder_has_room(b) ? i : 0;
}

static uint32_t put_mapping(kiln_builder *b, const kiln_mapping *m)
{
    mapping to = {.memory_start = m->start, .memory_limit = m->limit, .file_offset = m->offset};
    to.filename = builder_string(&b->b, text(m->file));
    return builder_mapping(&b->b, &to, m->attributes, m->n_attributes);
}

uint32_t kiln_builder_mapping(kiln_builder *b, const kiln_mapping *from)
{
    kiln_mapping m;
    if (!usable(b) || !API_TAKE(&m, from, "kiln_mapping", &b->e)) return 0;
    if (!text_ok(b, m.file, "file") || !attributes_ok(b, m.attributes, m.n_attributes)) {
        err_in(&b->e, "mapping[%zu]", b->b.m.dict.mappings.n);
        return 0;
    }
    uint32_t i = put_mapping(b, &m);
    return builder_has_room(b) ? i : 0;
}

/* Returns whether the frame has more than an address. */
static bool has_line(const kiln_frame *f)
{
    return f->function.n || f->system_name.n || f->file.n || f->line || f->column || f->start_line;
}

static bool put_line(kiln_builder *b, const kiln_frame *f)
{
    if (!text_ok(b, f->function, "function") || !text_ok(b, f->system_name, "system_name") ||
        !text_ok(b, f->file, "file"))
        return false;
    line *to = vec_push(&b->a, &b->lines);
    b->b.failed |= !to;
    if (!builder_has_room(b) || !to) return false;
    function fn = {
        .name = builder_string(&b->b, text(f->function)),
        .system_name = builder_string(&b->b, text(f->system_name)),
        .filename = builder_string(&b->b, text(f->file)),
        .start_line = f->start_line,
    };
    *to = (line){.line = f->line, .column = f->column, .function = builder_function(&b->b, &fn)};
    return builder_has_room(b);
}

static uint32_t put_location(kiln_builder *b, const kiln_frame *first)
{
    uint32_t mapping_i = first->mapping;
    if (!mapping_i && first->mapping_file.n)
        mapping_i = put_mapping(b, &(kiln_mapping){.file = first->mapping_file});
    uint32_t i = builder_location(&b->b, mapping_i, first->address, b->lines.v, b->lines.n,
                                  first->attributes, first->n_attributes);
    return builder_has_room(b) ? i : 0;
}

static bool location_ok(kiln_builder *b, const kiln_frame *first)
{
    return text_ok(b, first->mapping_file, "mapping_file") &&
           index_ok(b, first->mapping, b->b.m.dict.mappings.n, "mapping") &&
           attributes_ok(b, first->attributes, first->n_attributes);
}

static bool put_lines(kiln_builder *b, const kiln_frame *v, size_t n, kiln_frame *first)
{
    b->lines.n = 0;
    if (!array_ok(b, v, n, "frames")) return false;
    if (!n) return err_set(&b->e, ERR_USAGE, "a location needs at least one frame");
    if (!API_TAKE(first, v, "kiln_frame", &b->e)) return false;
    const char *at = (const char *)v; /* frames have the size that the caller was compiled with */
    for (size_t i = 0; i < n; i++, at += first->size) {
        kiln_frame f;
        if (!API_TAKE(&f, at, "kiln_frame", &b->e)) return false;
        if (f.size != first->size)
            return err_set(&b->e, ERR_USAGE, "the frames have different sizes");
        if ((n > 1 || has_line(&f)) && !put_line(b, &f)) return false;
    }
    return location_ok(b, first);
}

uint32_t kiln_builder_location(kiln_builder *b, const kiln_frame *v, size_t n)
{
    kiln_frame first;
    if (!usable(b)) return 0;
    if (put_lines(b, v, n, &first)) return put_location(b, &first);
    err_in(&b->e, "location[%zu]", b->b.m.dict.locations.n);
    return 0;
}

uint32_t kiln_builder_frame(kiln_builder *b, kiln_str function_name, kiln_str file, int64_t line_no)
{
    kiln_frame f = {.size = sizeof f, .function = function_name, .file = file, .line = line_no};
    return kiln_builder_location(b, &f, 1);
}

uint32_t kiln_builder_stack(kiln_builder *b, const uint32_t *locations, size_t n)
{
    if (!usable(b)) return 0;
    if (!indices_ok(b, locations, n, b->b.m.dict.locations.n, "location")) {
        err_in(&b->e, "stack[%zu]", dict_n_stacks(&b->b.m.dict));
        return 0;
    }
    uint32_t i = builder_stack(&b->b, locations, n);
    return builder_has_room(b) ? i : 0;
}

/* ---- samples ---- */

static bool sample_ok(kiln_builder *b, const kiln_sample *s)
{
    const dict *d = &b->b.m.dict;
    if (s->n_values && s->n_times && s->n_values != s->n_times)
        return err_set(&b->e, ERR_USAGE, "%zu values and %zu timestamps cannot be paired",
                       s->n_values, s->n_times);
    return array_ok(b, s->values, s->n_values, "values") &&
           array_ok(b, s->times, s->n_times, "times") &&
           index_ok(b, s->stack, dict_n_stacks(d), "stack") &&
           index_ok(b, s->link, d->links.n, "link") &&
           attributes_ok(b, s->attributes, s->n_attributes);
}

bool kiln_builder_sample(kiln_builder *b, const kiln_sample *from)
{
    kiln_sample s;
    if (!usable(b)) return false;
    if (!from) return api_null("sample", &b->e);
    if (!API_TAKE(&s, from, "kiln_sample", &b->e)) return false;
    if (!sample_ok(b, &s)) return err_in(&b->e, "sample[%zu]", b->b.stack.n);
    builder_sample(&b->b, &(sample){
                              .stack = s.stack,
                              .link = s.link,
                              .attrs = s.attributes,
                              .n_attrs = (uint32_t)s.n_attributes,
                              .values = s.values,
                              .n_values = (uint32_t)s.n_values,
                              .times = s.times,
                              .n_times = (uint32_t)s.n_times,
                          });
    return builder_has_room(b);
}
