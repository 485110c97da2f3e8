/* Rules on duplicate entries (P-07) and unreferenced ones (P-10). */
#include "check/internal.h"

#include "base/ban.h"

typedef struct table_view {
    const char *name;
    size_t n;
    const uint32_t *canon;
    const uint8_t *reached;
} table_view;

/* Lists the tables in the order of the dictionary's fields. */
static void views(const dict *d, const canon *c, const reach *r, table_view out[7])
{
    const canon no_canon = {0};
    const reach no_reach = {0};
    if (!c) c = &no_canon;
    if (!r) r = &no_reach;
    const table_view v[7] = {
        {"mapping_table", d->mappings.n, c->mappings, r->mappings},
        {"location_table", d->locations.n, c->locations, r->locations},
        {"function_table", d->functions.n, c->functions, r->functions},
        {"link_table", d->links.n, c->links, r->links},
        {"string_table", d->strings.n, c->strings, r->strings},
        {"attribute_table", d->attributes.n, c->attributes, r->attributes},
        {"stack_table", dict_n_stacks(d), c->stacks, r->stacks},
    };
    memcpy(out, v, sizeof v);
}

void check_dupes(checker *c)
{
    if (!c->on[RULE_P07] || !c->canon || !c->canon->n_dupes) return;
    table_view v[7];
    views(&c->m->dict, c->canon, NULL, v);
    for (size_t t = 0; t < ARRAY_LEN(v); t++)
        for (size_t i = 1; v[t].canon && i < v[t].n; i++)
            if (v[t].canon[i] != i && violated(c, RULE_P07))
                report(c, RULE_P07, at(c, "dictionary.%s[%zu]", v[t].name, i),
                       found_text(c, "the same as entry %u", v[t].canon[i]),
                       "a value that no other entry has");
}

void check_orphans(checker *c)
{
    if (!c->on[RULE_P10]) return;
    reach r;
    if (!reach_build(c->m, NULL, &c->tmp, &r)) {
        c->failed = true;
        return;
    }
    for (size_t i = 0; i < c->used_strings.n; i++)
        if (c->used_strings.v[i] < c->m->dict.strings.n) r.strings[c->used_strings.v[i]] = 1;
    table_view v[7];
    views(&c->m->dict, NULL, &r, v);
    for (size_t t = 0; t < ARRAY_LEN(v); t++) {
        const uint8_t *seen = v[t].reached;
        for (size_t i = 1; i < v[t].n; i++)
            if (!seen[i] && violated(c, RULE_P10))
                report(c, RULE_P10, at(c, "dictionary.%s[%zu]", v[t].name, i),
                       "no sample, profile, resource or scope refers to it", "a referenced entry");
    }
}
