/* Rules on the seven tables: present, entry 0 is the zero value, every index is inside its table. */
#include "check/internal.h"

#include "base/ban.h"
#include <inttypes.h>

void bad_index(checker *c, const char *path, uint32_t i, size_t n)
{
    const char *found =
        n ? found_text(c, "index %" PRId32 ", the table has %zu entries", (int32_t)i, n)
          : found_text(c, "index %" PRId32 ", the table is empty", (int32_t)i);
    report(c, RULE_P06, path, found,
           n ? expected_text(c, "an index below %zu", n) : "an index into a table");
}

/* Returns whether i is outside its table. Index 0 of an empty table is not: P-01 reports it. */
static bool outside(uint32_t i, size_t n) { return i >= n && i != 0; }

#define INDEX(c, i, n, ...)                                                                        \
    do {                                                                                           \
        if (outside((i), (n)) && violated((c), RULE_P06))                                          \
            bad_index((c), at((c), __VA_ARGS__), (i), (n));                                        \
    } while (0)

/* ---- P-01, P-02, P-03 ---- */

static void present(checker *c, const char *table, size_t n)
{
    if (n == 0 && violated(c, RULE_P01))
        report(c, RULE_P01, at(c, "dictionary.%s", table), "no entries", "at least the zero entry");
}

static void not_zero(checker *c, const char *table, const char *field, const char *found)
{
    report(c, RULE_P02, at(c, "dictionary.%s[0]%s", table, field), found, "the zero value");
}

#define ZERO(c, bad, table, field, ...)                                                            \
    do {                                                                                           \
        if ((bad) && violated((c), RULE_P02))                                                      \
            not_zero((c), (table), (field), found_text((c), __VA_ARGS__));                         \
    } while (0)

static void zero_mapping(checker *c, const mapping *m)
{
    static const char t[] = "mapping_table";
    ZERO(c, m->memory_start, t, ".memory_start", "%#" PRIx64, m->memory_start);
    ZERO(c, m->memory_limit, t, ".memory_limit", "%#" PRIx64, m->memory_limit);
    ZERO(c, m->file_offset, t, ".file_offset", "%#" PRIx64, m->file_offset);
    ZERO(c, m->filename, t, ".filename_strindex", "%" PRId32, (int32_t)m->filename);
    ZERO(c, m->attrs.n, t, ".attribute_indices", "%u attributes", m->attrs.n);
}

static void zero_location(checker *c, const location *l)
{
    static const char t[] = "location_table";
    ZERO(c, l->mapping, t, ".mapping_index", "%" PRId32, (int32_t)l->mapping);
    ZERO(c, l->address, t, ".address", "%#" PRIx64, l->address);
    ZERO(c, l->lines.n, t, ".lines", "%u lines", l->lines.n);
    ZERO(c, l->attrs.n, t, ".attribute_indices", "%u attributes", l->attrs.n);
}

static void zero_function(checker *c, const function *f)
{
    static const char t[] = "function_table";
    ZERO(c, f->name, t, ".name_strindex", "%" PRId32, (int32_t)f->name);
    ZERO(c, f->system_name, t, ".system_name_strindex", "%" PRId32, (int32_t)f->system_name);
    ZERO(c, f->filename, t, ".filename_strindex", "%" PRId32, (int32_t)f->filename);
    ZERO(c, f->start_line, t, ".start_line", "%" PRId64, f->start_line);
}

static void zero_attribute(checker *c, const attribute *a)
{
    static const char t[] = "attribute_table";
    ZERO(c, a->key, t, ".key_strindex", "%" PRId32, (int32_t)a->key);
    ZERO(c, a->value.kind != ANY_EMPTY, t, ".value", "a value");
    ZERO(c, a->unit, t, ".unit_strindex", "%" PRId32, (int32_t)a->unit);
}

static void zero_link(checker *c, const link_ids *l)
{
    char hex[33];
    if (!id_is_zero(l->trace_id, 16) && violated(c, RULE_P02)) {
        hex_encode(l->trace_id, 16, hex);
        not_zero(c, "link_table", ".trace_id", hex);
    }
    if (!id_is_zero(l->span_id, 8) && violated(c, RULE_P02)) {
        hex_encode(l->span_id, 8, hex);
        not_zero(c, "link_table", ".span_id", hex);
    }
}

static void zero_entries(checker *c, const dict *d)
{
    char q[64];
    if (d->mappings.n) zero_mapping(c, &d->mappings.v[0]);
    if (d->locations.n) zero_location(c, &d->locations.v[0]);
    if (d->functions.n) zero_function(c, &d->functions.v[0]);
    if (d->links.n) zero_link(c, &d->links.v[0]);
    if (d->attributes.n) zero_attribute(c, &d->attributes.v[0]);
    if (dict_n_stacks(d)) {
        span s = dict_stack(d, 0);
        ZERO(c, s.n, "stack_table", ".location_indices", "%u locations", s.n);
    }
    if (d->strings.n && d->strings.v[0].n && violated(c, RULE_P03))
        report(c, RULE_P03, "dictionary.string_table[0]", quote(d->strings.v[0], q, sizeof q),
               "the empty string");
}

/* ---- P-06 inside the dictionary (lists of attributes: check_attr_list) ---- */

static void table_indices(checker *c, const dict *d)
{
    size_t ns = d->strings.n;
    for (size_t i = 0; i < d->mappings.n; i++)
        INDEX(c, d->mappings.v[i].filename, ns, "dictionary.mapping_table[%zu].filename_strindex",
              i);
    for (size_t i = 0; i < d->locations.n; i++)
        INDEX(c, d->locations.v[i].mapping, d->mappings.n,
              "dictionary.location_table[%zu].mapping_index", i);
    for (size_t i = 0; i < d->locations.n; i++) {
        span s = d->locations.v[i].lines;
        for (uint32_t k = 0; k < s.n; k++)
            INDEX(c, d->lines.v[s.at + k].function, d->functions.n,
                  "dictionary.location_table[%zu].lines[%u].function_index", i, k);
    }
    for (size_t i = 0; i < d->functions.n; i++) {
        const function *f = &d->functions.v[i];
        INDEX(c, f->name, ns, "dictionary.function_table[%zu].name_strindex", i);
        INDEX(c, f->system_name, ns, "dictionary.function_table[%zu].system_name_strindex", i);
        INDEX(c, f->filename, ns, "dictionary.function_table[%zu].filename_strindex", i);
    }
    for (size_t i = 0; i < d->attributes.n; i++) {
        const attribute *a = &d->attributes.v[i];
        INDEX(c, a->key, ns, "dictionary.attribute_table[%zu].key_strindex", i);
        INDEX(c, a->unit, ns, "dictionary.attribute_table[%zu].unit_strindex", i);
    }
}

/* Checks the location indices of stacks, where 0 does not mean "not set" but requires entry 0. */
static void frame_indices(checker *c, const dict *d)
{
    if (d->frames.n == 0 || u32_max(d->frames.v, d->frames.n) < d->locations.n) return;
    for (size_t i = 0; i < dict_n_stacks(d); i++) {
        span s = dict_stack(d, (uint32_t)i);
        for (uint32_t k = 0; k < s.n; k++) {
            uint32_t x = d->frames.v[s.at + k];
            if (x >= d->locations.n && violated(c, RULE_P06))
                bad_index(c, at(c, "dictionary.stack_table[%zu].location_indices[%u]", i, k), x,
                          d->locations.n);
        }
    }
}

void check_tables(checker *c)
{
    const dict *d = &c->m->dict;
    present(c, "mapping_table", d->mappings.n);
    present(c, "location_table", d->locations.n);
    present(c, "function_table", d->functions.n);
    present(c, "link_table", d->links.n);
    present(c, "string_table", d->strings.n);
    present(c, "attribute_table", d->attributes.n);
    present(c, "stack_table", dict_n_stacks(d));
    zero_entries(c, d);
    if (c->m->checked || !c->on[RULE_P06]) return;
    table_indices(c, d);
    frame_indices(c, d);
}
