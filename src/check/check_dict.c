/* Rules on mappings, locations and functions. */
#include "check/internal.h"

#include "base/ban.h"
#include <inttypes.h>

/* ---- mappings ---- */

enum { ID_ANY = 1, ID_HTLHASH = 2 };

/* Returns the kinds of build ids that the mapping has; empty ones do not count. */
static unsigned build_ids(const dict *d, span attrs)
{
    static const str prefix = {"process.executable.build_id.", 28};
    unsigned found = 0;
    for (uint32_t k = 0; k < attrs.n; k++) {
        uint32_t i = d->attr_refs.v[attrs.at + k];
        if (i >= d->attributes.n) continue;
        const attribute *a = &d->attributes.v[i];
        str key = dict_str(d, a->key);
        bool empty = (a->value.kind == ANY_STRING && a->value.n == 0) ||
                     a->value.kind == ANY_EMPTY ||
                     (a->value.kind == ANY_STRREF && dict_str(d, (uint32_t)a->value.i).n == 0);
        if (!str_starts(key, prefix) || empty) continue;
        str kind = {key.p + prefix.n, key.n - prefix.n};
        if (str_eq(kind, STR("htlhash")) || str_eq(kind, STR("profiling")))
            found |= ID_ANY | ID_HTLHASH; /* "profiling" is the old name of htlhash */
        else if (str_eq(kind, STR("gnu")) || str_eq(kind, STR("go")))
            found |= ID_ANY;
    }
    return found;
}

static void mapping_rules(checker *c, const dict *d, size_t i)
{
    char q[80];
    const mapping *m = &d->mappings.v[i];
    if (m->memory_start >= m->memory_limit && (m->memory_start || m->memory_limit) &&
        violated(c, RULE_P79))
        report(c, RULE_P79, at(c, "dictionary.mapping_table[%zu].memory_limit", i),
               found_text(c, "[%#" PRIx64 ", %#" PRIx64 ")", m->memory_start, m->memory_limit),
               "a limit above the start, or both 0");
    unsigned ids = build_ids(d, m->attrs);
    str name = dict_str(d, m->filename);
    if (!(ids & ID_ANY)) {
        if (violated(c, RULE_P76))
            report(c, RULE_P76, at(c, "dictionary.mapping_table[%zu]", i),
                   found_text(c, "no build id on %s", quote(name, q, sizeof q)),
                   "process.executable.build_id.gnu, .go or .htlhash");
    } else if (!(ids & ID_HTLHASH) && violated(c, RULE_P77)) {
        report(c, RULE_P77, at(c, "dictionary.mapping_table[%zu]", i),
               found_text(c, "no htlhash on %s", quote(name, q, sizeof q)),
               "process.executable.build_id.htlhash");
    }
}

/* ---- locations and lines ---- */

static void address_rule(checker *c, const dict *d, size_t i)
{
    const location *l = &d->locations.v[i];
    if (!l->address || !l->mapping || l->mapping >= d->mappings.n) return;
    const mapping *m = &d->mappings.v[l->mapping];
    if (!m->memory_start && !m->memory_limit) return;
    if (l->address >= m->memory_start && l->address <= m->memory_limit) return;
    if (violated(c, RULE_P71))
        report(c, RULE_P71, at(c, "dictionary.location_table[%zu].address", i),
               found_text(c, "%#" PRIx64, l->address),
               expected_text(c, "an address in [%#" PRIx64 ", %#" PRIx64 "] of mapping %u",
                             m->memory_start, m->memory_limit, l->mapping));
}

static void negative(checker *c, const char *path, int64_t v)
{
    report(c, RULE_P74, path, found_text(c, "%" PRId64, v), "1 or more, or 0 for unknown");
}

static void line_rules(checker *c, const dict *d, size_t i)
{
    span s = d->locations.v[i].lines;
    for (uint32_t k = 0; k < s.n; k++) {
        const line *x = &d->lines.v[s.at + k];
        if ((x->line | x->column) >= 0) continue;
        if (x->line < 0 && violated(c, RULE_P74))
            negative(c, at(c, "dictionary.location_table[%zu].lines[%u].line", i, k), x->line);
        if (x->column < 0 && violated(c, RULE_P74))
            negative(c, at(c, "dictionary.location_table[%zu].lines[%u].column", i, k), x->column);
    }
}

/* ---- functions ---- */

static bool named(const dict *d, uint32_t i)
{
    return i >= d->strings.n ? i != 0
                             : d->strings.v[i].n != 0; /* outside the table: P-06 reports it */
}

static void function_rules(checker *c, const dict *d, size_t i)
{
    const function *f = &d->functions.v[i];
    if (i && !named(d, f->name) && !named(d, f->system_name) && !named(d, f->filename) &&
        violated(c, RULE_P75))
        report(c, RULE_P75, at(c, "dictionary.function_table[%zu]", i),
               "no name, system_name, filename", "at least one of them");
    if (f->start_line < 0 && violated(c, RULE_P74))
        negative(c, at(c, "dictionary.function_table[%zu].start_line", i), f->start_line);
}

void check_dict(checker *c)
{
    const dict *d = &c->m->dict;
    for (size_t i = 0; i < d->mappings.n; i++) {
        const mapping *m = &d->mappings.v[i];
        if (i) mapping_rules(c, d, i);
        if (m->attrs.n)
            check_attr_list(c, (owner){OWNER_MAPPING, i, 0}, refs_at(&d->attr_refs, m->attrs),
                            m->attrs.n);
    }
    for (size_t i = 0; i < d->locations.n; i++) {
        const location *l = &d->locations.v[i];
        address_rule(c, d, i);
        line_rules(c, d, i);
        if (l->attrs.n)
            check_attr_list(c, (owner){OWNER_LOCATION, i, 0}, refs_at(&d->attr_refs, l->attrs),
                            l->attrs.n);
    }
    for (size_t i = 0; i < d->functions.n; i++) function_rules(c, d, i);
}
