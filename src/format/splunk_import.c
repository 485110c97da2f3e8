/* Imports stacks and attributes of one model into another. Only referenced entries are copied,
 * because many records share a dictionary and the pprof of each contains only its own part. */
#include "format/splunk_internal.h"

#include "base/ban.h"

static bool failed(splunk_import *x) { return x->to->failed = true, false; }

/* Returns the entry for `from`. If it is new, sets *found to false and the caller fills it in.
 * Returns NULL when out of memory. */
static uint64_t *entry_of(splunk_import *x, splunk_map *m, uint32_t from, bool *found)
{
    *found = false;
    if (!hash_index_room(&m->index, x->to->a)) return failed(x), NULL;
    uint64_t h = hash_mix(m->index.seed, from);
    uint32_t i = hash_first(&m->index, h);
    for (uint32_t at; hash_next(&m->index, &i, h, &at); i++)
        if (m->pairs.v[at] >> 32 == from) return *found = true, &m->pairs.v[at];
    uint64_t *pair = vec_push(x->to->a, &m->pairs);
    if (!pair) return failed(x), NULL;
    *pair = (uint64_t)from << 32;
    hash_put(&m->index, i, h, (uint32_t)(m->pairs.n - 1));
    return pair;
}

uint32_t splunk_import_string(splunk_import *x, uint32_t string)
{
    return builder_string(x->to, dict_str(&x->from->dict, string));
}

uint32_t splunk_import_attr(splunk_import *x, uint32_t attr)
{
    bool found;
    uint64_t *pair = entry_of(x, &x->attrs, attr, &found);
    if (!pair || found) return pair ? (uint32_t)*pair : 0;
    const dict *d = &x->from->dict;
    const attribute *v = &d->attributes.v[attr];
    uint32_t i = builder_attribute(x->to, dict_str(d, v->key), &v->value, dict_str(d, v->unit));
    *pair |= i;
    return i;
}

uint32_t splunk_import_link(splunk_import *x, uint32_t link)
{
    const link_ids *l = &x->from->dict.links.v[link];
    return link ? builder_link(x->to, l->trace_id, l->span_id) : 0;
}

/* Imports the attributes of a mapping or a location into x->refs. */
static bool take_refs(splunk_import *x, span attrs)
{
    x->refs.n = 0;
    if (!vec_reserve(x->to->a, &x->refs, attrs.n)) return failed(x);
    const uint32_t *v = refs_at(&x->from->dict.attr_refs, attrs);
    for (uint32_t i = 0; i < attrs.n; i++) x->refs.v[x->refs.n++] = splunk_import_attr(x, v[i]);
    return true;
}

static uint32_t take_mapping(splunk_import *x, uint32_t mapping_i)
{
    if (!mapping_i) return 0;
    mapping m = x->from->dict.mappings.v[mapping_i];
    if (!take_refs(x, m.attrs)) return 0;
    m.filename = splunk_import_string(x, m.filename);
    m.attrs = (span){0};
    return builder_mapping(x->to, &m, x->refs.v, x->refs.n);
}

static uint32_t take_function(splunk_import *x, uint32_t function_i)
{
    if (!function_i) return 0;
    function f = x->from->dict.functions.v[function_i];
    f.name = splunk_import_string(x, f.name);
    f.system_name = splunk_import_string(x, f.system_name);
    f.filename = splunk_import_string(x, f.filename);
    return builder_function(x->to, &f);
}

static uint32_t take_location(splunk_import *x, uint32_t location_i)
{
    bool found;
    uint64_t *pair = entry_of(x, &x->locations, location_i, &found);
    if (!pair || found) return pair ? (uint32_t)*pair : 0;
    const location *l = &x->from->dict.locations.v[location_i];
    uint32_t mapping_i = take_mapping(x, l->mapping);
    x->lines.n = 0;
    if (!vec_reserve(x->to->a, &x->lines, l->lines.n)) return failed(x), 0;
    for (uint32_t i = 0; i < l->lines.n; i++) {
        line n = x->from->dict.lines.v[l->lines.at + i];
        n.function = take_function(x, n.function);
        if (!x->exact && n.line < 0) n.line = 0, x->unknown_lines++; /* C-8 */
        x->lines.v[x->lines.n++] = n;
    }
    if (!take_refs(x, l->attrs)) return 0;
    uint32_t i = builder_location(x->to, mapping_i, l->address, x->lines.v, x->lines.n, x->refs.v,
                                  x->refs.n);
    *pair |= i;
    return i;
}

uint32_t splunk_import_stack(splunk_import *x, uint32_t stack)
{
    bool found;
    if (!stack) return 0;
    uint64_t *pair = entry_of(x, &x->stacks, stack, &found);
    if (!pair) return 0;
    span s = dict_stack(&x->from->dict, stack);
    if (!x->exact && s.n > SPLUNK_MAX_FRAMES) { /* the outermost frames are dropped (C-11) */
        x->cut += s.n - SPLUNK_MAX_FRAMES;
        s.n = SPLUNK_MAX_FRAMES;
    }
    if (found) return (uint32_t)*pair;
    size_t at = (size_t)(pair - x->stacks.pairs.v);
    x->frames.n = 0;
    if (!vec_reserve(x->to->a, &x->frames, s.n)) return failed(x), 0;
    for (uint32_t i = 0; i < s.n; i++)
        x->frames.v[x->frames.n++] = take_location(x, x->from->dict.frames.v[s.at + i]);
    uint32_t i = builder_stack(x->to, x->frames.v, x->frames.n);
    x->stacks.pairs.v[at] |= i;
    return i;
}
