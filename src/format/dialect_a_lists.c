/* Reads the columns of dialect A. A ProfileType has one list for each property of its samples;
 * element i of each list belongs to sample i. */
#include "format/dialect_a.h"

#include "base/ban.h"

static const char *const column_names[N_COLUMNS] = {
    "stacktrace_indices", "link_indices", "attribute_set_indices", "values", "timestamps"};

static bool column(old *o, pb_cur *c, const pb_field *f, const char *name, a_column *to,
                   bool places)
{
    if (!old_list_wire(c, f, name)) return false;
    old_iter i = old_iter_open(o, f);
    while (old_iter_next(&i)) {
        uint64_t *v = vec_push(&o->tmp, &to->v);
        if (!v) return err_memory(o->e);
        *v = i.v;
        if (!places) continue;
        const uint8_t **at = vec_push(&o->tmp, &to->at);
        if (!at) return err_memory(o->e);
        *at = i.at;
    }
    return pb_ok(&i.c) || err_in(o->e, "%s", name);
}

bool a_ref_column(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name, void *to)
{
    (void)t;
    return column(o, c, f, name, to, true);
}

bool a_value_column(old *o, old_tables *t, pb_cur *c, const pb_field *f, const char *name, void *to)
{
    (void)t;
    return column(o, c, f, name, to, false);
}

/* Whether there are as many values as stacks; other columns may be empty or must be as long. */
static bool lengths_match(const a_list *l)
{
    size_t n = l->column[STACK_COLUMN].v.n;
    for (unsigned k = 0; k < N_COLUMNS; k++) {
        size_t got = l->column[k].v.n;
        bool may_be_empty = k == LINK_COLUMN || k == SET_COLUMN || k == TIME_COLUMN;
        if (got != n && !(may_be_empty && got == 0)) return false;
    }
    return true;
}

/* Returns the unit of a list's times in ns: by an attribute, otherwise by the latest time. */
static uint64_t list_unit(const a_profile *p, const u64s *times, const char **name)
{
    uint64_t max = 0, ns = 1;
    for (size_t i = 0; i < times->n; i++)
        if (times->v[i] > max) max = times->v[i];
    *name = NULL;
    if (!max) return 1;
    for (size_t i = 0; i < p->head.attrs.n; i++) {
        const keyvalue *kv = &p->head.attrs.v[i];
        if (!str_eq(kv->key, STR(KILN_ATTR_TIMESTAMP_UNIT)) || kv->value.kind != ANY_STRING)
            continue;
        ns = time_unit_ns(any_str(&kv->value));
        if (ns) return ns;
    }
    *name = time_unit_of(max, &ns);
    if (ns == 1) *name = NULL;
    return ns;
}

static bool emit_row(old *o, a_profile *p, const a_list *l, size_t i, uint64_t unit)
{
    sample s = {.n_values = 1};
    uint64_t time = 0;
    int64_t value = (int64_t)l->column[VALUE_COLUMN].v.v[i];
#define CELL(k) l->column[k].v.v[i], column_names[k], l->column[k].at.v[i]
    p->refs.n = 0;
    if (!a_stack_ref(o, p, CELL(STACK_COLUMN), &s.stack)) return false;
    if (l->column[LINK_COLUMN].v.n && !a_link_ref(o, p, CELL(LINK_COLUMN), &s.link)) return false;
    if (l->column[SET_COLUMN].v.n && !a_set_ref(o, p, CELL(SET_COLUMN), &p->refs)) return false;
#undef CELL
    if (l->column[TIME_COLUMN].v.n && (time = l->column[TIME_COLUMN].v.v[i]) != 0) {
        if (ckd_mul(&time, time, unit)) {
            time = UINT64_MAX;
            old_note(o, LOSS_TIMESTAMP, NULL, (str){0}, "timestamps[%zu]", i);
        }
        s.n_times = 1;
    }
    s.values = &value;
    s.times = &time;
    s.attrs = p->refs.v;
    s.n_attrs = (uint32_t)p->refs.n;
    builder_sample(&o->b, &s);
    return o->b.failed ? err_memory(o->e) : true;
}

static bool emit_list(old *o, a_profile *p, const a_schema *schema, size_t i, size_t *emitted)
{
    a_list l = {0};
    if (!old_fields(o, &o->tmp, &p->t, old_cur(o, p->lists.v[i]), &schema->list, &l)) return false;
    if (i < p->type.n) l.type = p->type.v[i];
    if (!lengths_match(&l)) {
        old_note(o, LOSS_PROFILE_REFUSED, NULL, STR("lists of different lengths"), "%s[%zu]",
                 schema->lists, i);
        return true;
    }
    uint64_t unit = list_unit(p, &l.column[TIME_COLUMN].v, &l.type.time_unit);
    if (!dialect_emit_profile(o, &p->head, &l.type, *emitted, NULL)) return false;
    for (size_t k = 0; k < l.column[STACK_COLUMN].v.n; k++)
        if (!emit_row(o, p, &l, k, unit)) return false;
    ++*emitted;
    return true;
}

bool a_emit_lists(old *o, a_profile *p, const a_schema *schema)
{
    size_t emitted = 0;
    for (size_t i = 0; i < p->lists.n; i++)
        if (!emit_list(o, p, schema, i, &emitted)) return err_in(o->e, "%s[%zu]", schema->lists, i);
    if (emitted) return true;
    /* A Profile without samples preserves the id, the times and the payload. */
    return dialect_emit_profile(o, &p->head, p->type.n ? p->type.v : &(dialect_type){0}, 0, NULL);
}
