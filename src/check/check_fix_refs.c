/* Gives every table its entry 0, and moves every reference into its table.
 *
 * If a producer put a real entry at index 0, an index of 0 may mean "not set" or that entry:
 *   entry 0:  stack_index, location_indices, function_index, attribute_indices: producers do
 *             not write references to nothing there; key_strindex of an attribute; the type of a
 *             sample_type that has a unit; the name of a function that has no other name.
 *   by range: mapping_index means mapping 0 when the address is in [memory_start, memory_limit).
 *   not set:  link_index and all other strings, which usually are not set.
 * An index outside its table becomes 0; in a list of attributes it is dropped. */
#include "check/fix.h"

#include "base/ban.h"

static void inserted(fixer *x, fix_table t, bool empty, bool zero)
{
    x->shift[t] = !empty && !zero;
    fix_kind k = empty ? FIX_DICTIONARY : t == FIX_STRINGS ? FIX_ZERO_STRING : FIX_ZERO_ENTRY;
    if ((empty || !zero) && fix_count(x, k)) fix_at(x, k, "dictionary.%s", fix_table_names[t]);
}

static bool zero_mapping(const mapping *m)
{
    return !m->memory_start && !m->memory_limit && !m->file_offset && !m->filename && !m->attrs.n;
}
static bool zero_location(const location *l)
{
    return !l->address && !l->mapping && !l->lines.n && !l->attrs.n;
}
static bool zero_function(const function *f)
{
    return !f->name && !f->system_name && !f->filename && !f->start_line;
}
static bool zero_attribute(const attribute *a)
{
    return !a->key && !a->unit && a->value.kind == ANY_EMPTY;
}
static bool zero_link(const link_ids *l)
{
    return id_is_zero(l->trace_id, 16) && id_is_zero(l->span_id, 8);
}

/* Inserts entry 0, for which the copy reserved room. */
#define ENTRY_0(x, t, vec, is_zero)                                                                \
    do {                                                                                           \
        dict *d_ = &(x)->m->dict;                                                                  \
        (x)->n[t] = (uint32_t)d_->vec.n;                                                           \
        bool empty_ = d_->vec.n == 0, zero_ = !empty_ && (is_zero);                                \
        inserted((x), (t), empty_, zero_);                                                         \
        if (zero_) break;                                                                          \
        memmove(d_->vec.v + 1, d_->vec.v, d_->vec.n++ * sizeof *d_->vec.v);                        \
        memset(d_->vec.v, 0, sizeof *d_->vec.v);                                                   \
    } while (0)

static void entries_0(fixer *x)
{
    dict *d = &x->m->dict;
    ENTRY_0(x, FIX_MAPPINGS, mappings, zero_mapping(&d->mappings.v[0]));
    ENTRY_0(x, FIX_LOCATIONS, locations, zero_location(&d->locations.v[0]));
    ENTRY_0(x, FIX_FUNCTIONS, functions, zero_function(&d->functions.v[0]));
    ENTRY_0(x, FIX_LINKS, links, zero_link(&d->links.v[0]));
    ENTRY_0(x, FIX_STRINGS, strings, d->strings.v[0].n == 0);
    ENTRY_0(x, FIX_ATTRIBUTES, attributes, zero_attribute(&d->attributes.v[0]));
    d->strings.v[0] = (str){"", 0};

    /* Stacks are offsets: an empty first stack adds one offset. */
    x->n[FIX_STACKS] = (uint32_t)dict_n_stacks(&x->in->dict);
    bool none = x->n[FIX_STACKS] == 0, zero = !none && d->stacks.v[1] == d->stacks.v[0];
    inserted(x, FIX_STACKS, none, zero);
    if (none) {
        d->stacks.v[0] = d->stacks.v[1] = 0;
        d->stacks.n = 2;
    } else if (!zero) {
        memmove(d->stacks.v + 1, d->stacks.v, d->stacks.n++ * sizeof *d->stacks.v);
    }
}

/* ---- references ---- */

typedef enum meaning { MEANT, NOT_SET } meaning;

/* Returns the new index and sets *fixed to the kind of repair, or FIX_KIND_COUNT for none. */
static uint32_t moved(const fixer *x, fix_table t, uint32_t i, meaning zero, fix_kind *fixed)
{
    *fixed = FIX_KIND_COUNT;
    if (i >= x->n[t]) {
        if (i) *fixed = FIX_INDEX_RANGE;
        return 0;
    }
    if (i || !x->shift[t]) return i + x->shift[t];
    *fixed = zero == MEANT ? FIX_ZERO_REAL : FIX_ZERO_UNSET;
    return zero == MEANT;
}

#define MOVE(x, t, index, zero, ...)                                                               \
    do {                                                                                           \
        fix_kind k_;                                                                               \
        (index) = moved((x), (t), (index), (zero), &k_);                                           \
        if (k_ != FIX_KIND_COUNT && fix_count((x), k_)) fix_at((x), k_, __VA_ARGS__);              \
    } while (0)
#define MOVE_OF_PROFILE(x, t, index, zero, ...)                                                    \
    do {                                                                                           \
        fix_kind k_;                                                                               \
        (index) = moved((x), (t), (index), (zero), &k_);                                           \
        if (k_ != FIX_KIND_COUNT && fix_count((x), k_)) fix_at_profile((x), k_, __VA_ARGS__);      \
    } while (0)

/* Moves the references of all mappings except entry 0, which has none. */
static void move_mappings(fixer *x)
{
    for (size_t i = 0; i < x->n[FIX_MAPPINGS]; i++) {
        size_t to = i + x->shift[FIX_MAPPINGS];
        mapping *m = &x->m->dict.mappings.v[to];
        if (to == 0) continue;
        MOVE(x, FIX_STRINGS, m->filename, NOT_SET,
             "dictionary.mapping_table[%zu].filename_strindex", i);
    }
}

static void move_locations(fixer *x)
{
    dict *d = &x->m->dict;
    const mapping *first = x->n[FIX_MAPPINGS] ? &x->in->dict.mappings.v[0] : NULL;
    for (size_t i = 0; i < x->n[FIX_LOCATIONS]; i++) {
        size_t to = i + x->shift[FIX_LOCATIONS];
        location *l = &d->locations.v[to];
        if (to == 0) continue;
        bool in_first =
            first && l->address >= first->memory_start && l->address < first->memory_limit;
        MOVE(x, FIX_MAPPINGS, l->mapping, in_first ? MEANT : NOT_SET,
             "dictionary.location_table[%zu].mapping_index", i);
        for (uint32_t k = 0; k < l->lines.n; k++)
            MOVE(x, FIX_FUNCTIONS, d->lines.v[l->lines.at + k].function, MEANT,
                 "dictionary.location_table[%zu].lines[%u].function_index", i, k);
    }
}

static void move_functions(fixer *x)
{
    for (size_t i = 0; i < x->n[FIX_FUNCTIONS]; i++) {
        size_t to = i + x->shift[FIX_FUNCTIONS];
        function *f = &x->m->dict.functions.v[to];
        if (to == 0) continue;
        bool nameless = !f->name && !f->system_name && !f->filename;
        MOVE(x, FIX_STRINGS, f->name, nameless ? MEANT : NOT_SET,
             "dictionary.function_table[%zu].name_strindex", i);
        MOVE(x, FIX_STRINGS, f->system_name, NOT_SET,
             "dictionary.function_table[%zu].system_name_strindex", i);
        MOVE(x, FIX_STRINGS, f->filename, NOT_SET,
             "dictionary.function_table[%zu].filename_strindex", i);
    }
}

static void move_attributes(fixer *x)
{
    for (size_t i = 0; i < x->n[FIX_ATTRIBUTES]; i++) {
        size_t to = i + x->shift[FIX_ATTRIBUTES];
        attribute *a = &x->m->dict.attributes.v[to];
        if (to == 0) continue;
        MOVE(x, FIX_STRINGS, a->key, MEANT, "dictionary.attribute_table[%zu].key_strindex", i);
        MOVE(x, FIX_STRINGS, a->unit, NOT_SET, "dictionary.attribute_table[%zu].unit_strindex", i);
    }
}

static void move_stacks(fixer *x)
{
    dict *d = &x->m->dict;
    for (size_t i = 0; i < x->n[FIX_STACKS]; i++) {
        span s = dict_stack(&x->in->dict, (uint32_t)i);
        for (uint32_t k = 0; k < s.n; k++)
            MOVE(x, FIX_LOCATIONS, d->frames.v[s.at + k], MEANT,
                 "dictionary.stack_table[%zu].location_indices[%u]", i, k);
    }
}

static void move_profiles(fixer *x)
{
    for (size_t i = 0; i < x->m->profiles.n; i++) {
        profile *p = &x->m->profiles.v[i];
        MOVE_OF_PROFILE(x, FIX_STRINGS, p->sample_type.type, p->sample_type.unit ? MEANT : NOT_SET,
                        i, ".sample_type.type_strindex");
        MOVE_OF_PROFILE(x, FIX_STRINGS, p->sample_type.unit, NOT_SET, i,
                        ".sample_type.unit_strindex");
        MOVE_OF_PROFILE(x, FIX_STRINGS, p->period_type.type, p->period_type.unit ? MEANT : NOT_SET,
                        i, ".period_type.type_strindex");
        MOVE_OF_PROFILE(x, FIX_STRINGS, p->period_type.unit, NOT_SET, i,
                        ".period_type.unit_strindex");
        /* The columns are copies, so they may be written. */
        uint32_t *stack = (uint32_t *)(uintptr_t)p->stack, *link = (uint32_t *)(uintptr_t)p->link;
        for (size_t k = 0; k < p->n_samples; k++)
            MOVE_OF_PROFILE(x, FIX_STACKS, stack[k], MEANT, i, ".samples[%zu].stack_index", k);
        for (size_t k = 0; link && k < p->n_samples; k++)
            MOVE_OF_PROFILE(x, FIX_LINKS, link[k], NOT_SET, i, ".samples[%zu].link_index", k);
    }
}

static size_t move_list(fixer *x, uint32_t *v, size_t n, owner w)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        fix_kind k;
        uint32_t to = moved(x, FIX_ATTRIBUTES, v[i], MEANT, &k);
        if (v[i] >= x->n[FIX_ATTRIBUTES]) {
            if (fix_count(x, FIX_INDEX_DROPPED)) fix_at_list(x, FIX_INDEX_DROPPED, w, i);
            continue;
        }
        if (k != FIX_KIND_COUNT && fix_count(x, k)) fix_at_list(x, k, w, i);
        v[left++] = to;
    }
    return left;
}

bool fix_refs(fixer *x)
{
    entries_0(x);
    move_mappings(x);
    move_locations(x);
    move_functions(x);
    move_attributes(x);
    move_stacks(x);
    move_profiles(x);
    return fix_lists(x, move_list);
}
