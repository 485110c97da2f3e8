/* The columns of dialect A: one list of a kind a ProfileType, element i of each is sample i. */
#include "format/dialect_a.h"

#include "base/ban.h"

enum { STACK_COLUMN, LINK_COLUMN, SET_COLUMN, VALUE_COLUMN, TIME_COLUMN, N_COLUMNS };

static const char *const column_names[N_COLUMNS] = {
    "stacktrace_indices", "link_indices", "attribute_set_indices", "values", "timestamps"};

typedef struct a_list {
    dialect_type type;
    struct {
        u64s v;
        VEC(const uint8_t *) at;
    } column[N_COLUMNS];
} a_list;

static bool column_field(old *o, a_list *l, unsigned k, pb_cur *c, const pb_field *f)
{
    if (!dialect_list_wire(c, f, column_names[k])) return false;
    old_iter i = old_iter_open(o, f);
    while (old_iter_next(&i)) {
        uint64_t *v = vec_push(&o->tmp, &l->column[k].v);
        if (!v) return old_limit(o);
        *v = i.v;
        if (k > SET_COLUMN) continue; /* only references need their place */
        const uint8_t **at = vec_push(&o->tmp, &l->column[k].at);
        if (!at) return old_limit(o);
        *at = i.at;
    }
    return pb_ok(&i.c) || err_in(o->e, "%s", column_names[k]);
}

static bool read_list(old *o, a_profile *p, const a_numbers *n, pb_cur c, a_list *l)
{
    for (pb_field f; pb_next(&c, &f);) {
        bool ok = true;
        if (f.number >= n->columns && f.number < n->columns + (uint32_t)N_COLUMNS)
            ok = column_field(o, l, f.number - n->columns, &c, &f);
        else if (f.number == n->type[0])
            ok = old_u64(&c, &f, "aggregation_temporality", &l->type.temporality);
        else if (f.number == n->type[1])
            ok = old_u64(&c, &f, "sample_rate", &l->type.sample_rate);
        else if (f.number == n->type[2])
            ok = dialect_string(o, &p->t, &c, &f, "type_index", &l->type.type);
        else if (f.number == n->type[3])
            ok = dialect_string(o, &p->t, &c, &f, "unit_index", &l->type.unit);
        else
            o->n_unknown++;
        if (!ok) return false;
    }
    return pb_ok(&c);
}

/* As many values as stacks, and the other columns empty or as long. */
static bool whole(const a_list *l)
{
    size_t n = l->column[STACK_COLUMN].v.n;
    for (unsigned k = 0; k < N_COLUMNS; k++) {
        size_t got = l->column[k].v.n;
        bool may_be_empty = k == LINK_COLUMN || k == SET_COLUMN || k == TIME_COLUMN;
        if (got != n && !(may_be_empty && got == 0)) return false;
    }
    return true;
}

/* The unit of a list: what the sender's attribute says, else by its latest time. */
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
    return o->b.failed ? old_limit(o) : true;
}

static bool emit_list(old *o, a_profile *p, const a_numbers *n, size_t i, size_t *emitted)
{
    a_list l = {0};
    if (!read_list(o, p, n, old_cur(o, p->lists.v[i]), &l)) return false;
    if (i < p->type.n) l.type = p->type.v[i];
    if (!whole(&l)) {
        old_note(o, LOSS_PROFILE_REFUSED, NULL, STR("lists of different lengths"), "%s[%zu]",
                 n->lists, i);
        return true;
    }
    uint64_t unit = list_unit(p, &l.column[TIME_COLUMN].v, &l.type.time_unit);
    if (!dialect_emit_profile(o, &p->head, &l.type, *emitted, NULL)) return false;
    for (size_t k = 0; k < l.column[STACK_COLUMN].v.n; k++)
        if (!emit_row(o, p, &l, k, unit)) return false;
    ++*emitted;
    return true;
}

bool a_emit_lists(old *o, a_profile *p, const a_numbers *n)
{
    size_t emitted = 0;
    for (size_t i = 0; i < p->lists.n; i++)
        if (!emit_list(o, p, n, i, &emitted)) return err_in(o->e, "%s[%zu]", n->lists, i);
    if (emitted) return true;
    /* A profile without samples still has an id, a time and a payload. */
    return dialect_emit_profile(o, &p->head, p->type.n ? p->type.v : &(dialect_type){0}, 0, NULL);
}
