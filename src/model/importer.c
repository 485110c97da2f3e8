/* Imports entries through maps. Each map holds the new index of an imported entry plus 1, so that a
 * repeated import costs one load and one test. */
#include "model/importer.h"

#include "base/ban.h"

bool importer_init(importer *g, builder *to, const model *m, arena *a)
{
    const dict *d = &m->dict;
    *g = (importer){.to = to,
                    .profiles = to,
                    .work = a,
                    .m = m,
                    .string = arena_new(a, uint32_t, d->strings.n),
                    .mapping = arena_new(a, uint32_t, d->mappings.n),
                    .function = arena_new(a, uint32_t, d->functions.n),
                    .location = arena_new(a, uint32_t, d->locations.n),
                    .link = arena_new(a, uint32_t, d->links.n),
                    .attribute = arena_new(a, uint32_t, d->attributes.n),
                    .stack = arena_new(a, uint32_t, dict_n_stacks(d))};
    return g->string && g->mapping && g->function && g->location && g->link && g->attribute &&
           g->stack;
}

#define MAPPED(slot, make) (LIKELY(slot) ? (slot)-1 : ((slot) = (make) + 1) - 1)

uint32_t importer_string(importer *g, uint32_t i)
{
    return MAPPED(g->string[i], builder_string(g->to, g->m->dict.strings.v[i]));
}

uint32_t importer_attribute(importer *g, uint32_t i)
{
    const attribute *t = &g->m->dict.attributes.v[i];
    return MAPPED(g->attribute[i], builder_attribute_at(g->to, importer_string(g, t->key),
                                                        &t->value, importer_string(g, t->unit)));
}

bool importer_attrs(importer *g, const uint32_t *v, size_t n)
{
    g->scratch.n = 0;
    if (!vec_reserve(g->work, &g->scratch, n)) return !(g->to->failed = true);
    for (size_t i = 0; i < n; i++) g->scratch.v[i] = importer_attribute(g, v[i]);
    g->scratch.n = n;
    return true;
}

static uint32_t make_mapping(importer *g, uint32_t i)
{
    const mapping *from = &g->m->dict.mappings.v[i];
    mapping to = *from;
    to.filename = importer_string(g, from->filename);
    if (!importer_attrs(g, refs_at(&g->m->dict.attr_refs, from->attrs), from->attrs.n)) return 0;
    return builder_mapping(g->to, &to, g->scratch.v, g->scratch.n);
}

uint32_t importer_mapping(importer *g, uint32_t i)
{
    return MAPPED(g->mapping[i], make_mapping(g, i));
}

static uint32_t make_function(importer *g, uint32_t i)
{
    function f = g->m->dict.functions.v[i];
    f.name = importer_string(g, f.name);
    f.system_name = importer_string(g, f.system_name);
    f.filename = importer_string(g, f.filename);
    return builder_function(g->to, &f);
}

static uint32_t make_location(importer *g, uint32_t i)
{
    const dict *d = &g->m->dict;
    const location *from = &d->locations.v[i];
    uint32_t mapping_i = importer_mapping(g, from->mapping);
    g->lines.n = 0;
    if (!vec_reserve(g->work, &g->lines, from->lines.n)) return g->to->failed = true, 0;
    for (uint32_t k = 0; k < from->lines.n; k++) {
        line l = d->lines.v[from->lines.at + k];
        l.function = MAPPED(g->function[l.function], make_function(g, l.function));
        g->lines.v[k] = l;
    }
    if (!importer_attrs(g, refs_at(&d->attr_refs, from->attrs), from->attrs.n)) return 0;
    return builder_location(g->to, mapping_i, from->address, g->lines.v, from->lines.n,
                            g->scratch.v, g->scratch.n);
}

uint32_t importer_location(importer *g, uint32_t i)
{
    return MAPPED(g->location[i], make_location(g, i));
}

static uint32_t make_stack(importer *g, uint32_t i)
{
    const dict *d = &g->m->dict;
    span s = dict_stack(d, i);
    u32s to = {0};
    if (!vec_reserve(g->work, &to, s.n)) return g->to->failed = true, 0;
    for (uint32_t k = s.n;
         k-- > 0;) { /* from the root, so that frames that stacks share get the lower numbers */
        uint32_t l = d->frames.v[s.at + k];
        to.v[k] = importer_location(g, l);
    }
    uint32_t index = builder_stack(g->to, to.v, s.n);
    arena_trim(g->work, to.v, to.cap * sizeof *to.v, 0);
    return index;
}

uint32_t importer_stack(importer *g, uint32_t i) { return MAPPED(g->stack[i], make_stack(g, i)); }

uint32_t importer_link(importer *g, uint32_t i)
{
    const link_ids *l = &g->m->dict.links.v[i];
    return MAPPED(g->link[i], builder_link(g->to, l->trace_id, l->span_id));
}

void importer_profile_head(importer *g, const profile *p)
{
    value_type sample_type = {importer_string(g, p->sample_type.type),
                              importer_string(g, p->sample_type.unit)};
    value_type period_type = {importer_string(g, p->period_type.type),
                              importer_string(g, p->period_type.unit)};
    profile *q = builder_profile(g->profiles);
    q->sample_type = sample_type;
    q->has_sample_type = p->has_sample_type;
    q->period_type = period_type;
    q->period = p->period;
    q->time_unix_nano = p->time_unix_nano;
    q->duration_nano = p->duration_nano;
    memcpy(q->profile_id, p->profile_id, sizeof q->profile_id);
    q->dropped_attributes_count = p->dropped_attributes_count;
    q->original_payload_format = builder_copy_str(g->profiles, p->original_payload_format);
    q->original_payload = builder_copy_str(g->profiles, p->original_payload);
    if (importer_attrs(g, refs_at(&g->m->dict.attr_refs, p->attrs), p->attrs.n))
        builder_profile_attrs(g->profiles, g->scratch.v, g->scratch.n);
}
