/* profcheck's checks of the dictionary: the tables in profcheck's order. */
#include "base/hash.h"
#include "check/profcheck.h"

#include "base/ban.h"
#include <inttypes.h>
#include <stdio.h>

static void zero_entry(profcheck *j, size_t n, bool unlike)
{
    if (n == 0)
        profcheck_fails(j, "empty table, must have at least zero value entry");
    else if (unlike)
        profcheck_fails(j, "must have zero value at index 0");
}

static int by_number(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static bool same_mapping(const profcheck *j, const go_mapping *a, const go_mapping *b)
{
    const int32_t *v = j->d.refs.v;
    return a->start == b->start && a->limit == b->limit && a->file_offset == b->file_offset &&
           a->filename == b->filename && a->attrs.n == b->attrs.n &&
           (a->attrs.n == 0 ||
            memcmp(v + a->attrs.at, v + b->attrs.at, a->attrs.n * sizeof *v) == 0);
}

/* Compares by index, not by value, and sorts the lists in place, like profcheck. */
static bool duplicate_mapping(profcheck *j, hash_index *x, size_t i)
{
    go_mapping *m = &j->d.mappings.v[i];
    int32_t *v = m->attrs.n ? j->d.refs.v + m->attrs.at : NULL;
    if (v) qsort(v, m->attrs.n, sizeof *v, by_number);
    if (!hash_index_room(x, j->a)) return !(j->limit = true);
    uint64_t h = hash_mix(hash_mix(hash_mix(x->seed, m->start), m->limit), m->file_offset);
    h = hash_bytes(v, m->attrs.n * sizeof *v, hash_mix(h, (uint32_t)m->filename));
    uint32_t slot = hash_first(x, h), first;
    for (; hash_next(x, &slot, h, &first); slot++)
        if (same_mapping(j, &j->d.mappings.v[first], m)) return true;
    hash_put(x, slot, h, (uint32_t)i);
    return false;
}

static void check_mappings(profcheck *j)
{
    hash_index x = {0};
    j->in = "dictionary: mapping_table: ";
    zero_entry(j, j->d.mappings.n, j->d.mapping_0);
    if (!j->d.mappings.n) {
        profcheck_panics(j, "slice bounds out of range: mapping_table is empty");
        return;
    }
    for (size_t i = 1; i < j->d.mappings.n; i++) { /* profcheck starts at the second entry */
        const go_mapping *m = &j->d.mappings.v[i];
        char prefix[32];
        GO_INDEX(j, m->filename, j->d.strings.n, "[%zu].filename_strindex", i - 1);
        snprintf(prefix, sizeof prefix, "[%zu].", i - 1);
        if (m->attrs.n) profcheck_list(j, j->d.refs.v + m->attrs.at, m->attrs.n, prefix);
        if ((m->start || m->limit) && m->start >= m->limit)
            profcheck_fails(j,
                            "[%zu]: memory_start=%016" PRIx64 ", memory_limit=%016" PRIx64
                            ": must be both zero or start < limit",
                            i - 1, m->start, m->limit);
        if (j->o.check_dupes && duplicate_mapping(j, &x, i))
            profcheck_fails(j, "duplicate mapping at index %zu", i - 1);
    }
}

static void non_negative(profcheck *j, int64_t v, const char *where, size_t i)
{
    if (v < 0) profcheck_fails(j, "[%zu].%s: %" PRId64 " < 0, must be non-negative", i, where, v);
}

static void check_locations(profcheck *j)
{
    j->in = "dictionary: location_table: ";
    zero_entry(j, j->d.locations.n, j->d.location_0);
    for (size_t i = 0; i < j->d.locations.n; i++) {
        const go_location *l = &j->d.locations.v[i];
        char prefix[32];
        GO_INDEX(j, l->mapping, j->d.mappings.n, "[%zu].mapping_index", i);
        if (l->attrs.n) {
            snprintf(prefix, sizeof prefix, "[%zu].", i);
            profcheck_list(j, j->d.refs.v + l->attrs.at, l->attrs.n, prefix);
        }
        for (size_t k = 0; k < l->lines.n; k++) {
            const go_line *x = &j->d.lines.v[l->lines.at + k];
            GO_INDEX(j, x->function, j->d.functions.n, "[%zu].line[%zu]: function_index", i, k);
            non_negative(j, x->line, "line", i);
            non_negative(j, x->column, "column", i);
        }
    }
}

static void check_functions(profcheck *j)
{
    size_t n = j->d.strings.n;
    j->in = "dictionary: function_table: ";
    zero_entry(j, j->d.functions.n, j->d.function_0);
    for (size_t i = 0; i < j->d.functions.n; i++) {
        const go_function *f = &j->d.functions.v[i];
        GO_INDEX(j, f->name, n, "[%zu].name_strindex", i);
        GO_INDEX(j, f->system_name, n, "[%zu].system_name_strindex", i);
        GO_INDEX(j, f->filename, n, "[%zu].filename_strindex", i);
        non_negative(j, f->start_line, "start_line", i);
    }
}

static void check_links(profcheck *j)
{
    j->in = "dictionary: link_table: ";
    zero_entry(j, j->d.links.n, j->d.link_0);
    if (!j->d.links.n) {
        profcheck_panics(j, "slice bounds out of range: link_table is empty");
        return;
    }
    for (size_t i = 1; i < j->d.links.n; i++) {
        const go_link *l = &j->d.links.v[i];
        if (l->trace_len != 16)
            profcheck_fails(j, "len([%zu].trace_id) == %" PRIu64 ", want 16", i - 1, l->trace_len);
        if (l->span_len != 8)
            profcheck_fails(j, "len([%zu].span_id) == %" PRIu64 ", want 8", i - 1, l->span_len);
    }
}

static void check_strings(profcheck *j)
{
    hash_index x = {0};
    j->in = "dictionary: string_table: ";
    if (!j->d.strings.n) {
        profcheck_fails(j, "empty string table, must have at least empty string");
        return;
    }
    if (j->d.strings.v[0].n) {
        profcheck_fails(j, "must have empty string at index 0, got \"%.*s\"",
                        (int)(j->d.strings.v[0].n < 100 ? j->d.strings.v[0].n : 100),
                        j->d.strings.v[0].p);
        return;
    }
    for (size_t i = 0; j->o.check_dupes && i < j->d.strings.n; i++) {
        str s = j->d.strings.v[i];
        if (!hash_index_room(&x, j->a)) {
            j->limit = true;
            return;
        }
        uint64_t h = hash_bytes(s.p, s.n, x.seed);
        uint32_t slot = hash_first(&x, h), first = 0;
        bool found = false;
        for (; !found && hash_next(&x, &slot, h, &first); slot++)
            found = str_eq(j->d.strings.v[first], s);
        if (found)
            profcheck_fails(j, "duplicate string at index %zu, orig index %u", i, first);
        else
            hash_put(&x, slot, h, (uint32_t)i);
    }
}

static void check_attributes(profcheck *j)
{
    size_t n = j->d.strings.n;
    const go_attribute *v = j->d.attributes.v;
    j->in = "dictionary: attribute_table: ";
    if (!j->d.attributes.n)
        profcheck_fails(j, "empty table, must have at least zero value entry");
    else if (v[0].key || v[0].unit)
        profcheck_fails(j,
                        "first attribute must have zero key/unit indices, got KeyStrindex=%" PRId32
                        ", UnitStrindex=%" PRId32,
                        v[0].key, v[0].unit);
    else if (j->d.attribute_0_value)
        profcheck_fails(j, "first attribute value must be nil");
    for (size_t i = 0; i < j->d.attributes.n; i++) {
        GO_INDEX(j, v[i].key, n, "[%zu].key_strindex", i);
        GO_INDEX(j, v[i].unit, n, "[%zu].unit_strindex", i);
    }
}

static void check_stacks(profcheck *j)
{
    j->in = "dictionary: stack_table: ";
    zero_entry(j, j->d.stacks.n, j->d.stack_0);
    for (size_t i = 0; i < j->d.stacks.n; i++) {
        go_span s = j->d.stacks.v[i];
        for (size_t k = 0; k < s.n; k++)
            GO_INDEX(j, j->d.refs.v[s.at + k], j->d.locations.n, "[%zu].location_indices[%zu]", i,
                     k);
    }
}

void profcheck_dictionary(profcheck *j)
{
    void (*const checks[])(profcheck *) = {check_mappings, check_locations, check_functions,
                                           check_links,    check_strings,   check_attributes,
                                           check_stacks};
    for (size_t i = 0; i < ARRAY_LEN(checks) && !j->panicked; i++) checks[i](j);
}
