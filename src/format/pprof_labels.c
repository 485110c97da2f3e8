/* Converts labels of a sample to attributes, and trace and span ids to a link. */
#include "format/pprof_internal.h"

#include "base/text.h"
#include "base/ban.h"

/* ---- one label ---- */

static bool is_hex(str s, size_t n)
{
    if (s.n != n) return false;
    for (size_t i = 0; i < n; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f'))) return false;
    return true;
}

pp_label_kind pprof_label_kind(str key, str text)
{
    if (str_eq(key, STR("trace_id")) && is_hex(text, 32)) return PP_TRACE;
    if (str_eq(key, STR("span_id")) && is_hex(text, 16)) return PP_SPAN;
    return PP_PLAIN;
}

static pp_label_kind kind_of(const pp *r, const pp_label *l)
{
    str key = r->strings.v[l->key], text = r->strings.v[l->text], unit = r->strings.v[l->unit];
    return l->num || unit.n ? PP_PLAIN : pprof_label_kind(key, text);
}

/* Sets *out to the index of a key by its text, because string tables of real files may contain a
 * text twice. */
static bool key_number(pp *r, str text, uint32_t *out)
{
    if (!hash_index_room(&r->key_index, r->a)) return arena_spent(r->a, r->e);
    uint64_t h = hash_bytes(text.p, text.n, r->key_index.seed);
    uint32_t i = hash_first(&r->key_index, h);
    for (uint32_t at; hash_next(&r->key_index, &i, h, &at); i++)
        if (str_eq(r->keys.v[at].text, text)) return *out = at, true;
    pp_key *key = vec_push(r->a, &r->keys);
    if (!key) return arena_spent(r->a, r->e);
    key->text = text;
    *out = (uint32_t)(r->keys.n - 1);
    hash_put(&r->key_index, i, h, *out);
    return true;
}

static COLD bool label_new(pp *r, const pp_label *key, uint64_t h, uint32_t slot, uint32_t *out)
{
    pp_label *l = vec_push(r->a, &r->labels);
    if (!l) return arena_spent(r->a, r->e);
    *l = *key;
    l->attr = PP_ABSENT;
    l->kind = kind_of(r, l);
    if (!key_number(r, r->strings.v[l->key], &l->key_i)) return false;
    *out = (uint32_t)(r->labels.n - 1);
    hash_put(&r->label_index, slot, h, *out);
    return true;
}

/* Adds a label with fields v, whose strings exist. */
bool pp_label_add(pp *r, const uint64_t v[PP_FIELDS], size_t row)
{
    pp_label key = {.num = (int64_t)v[3],
                    .key = (uint32_t)v[1],
                    .text = (uint32_t)v[2],
                    .unit = (uint32_t)v[4]};
    if (!hash_index_room(&r->label_index, r->a)) return arena_spent(r->a, r->e);
    uint64_t h = hash_mix(hash_mix(hash_mix(r->label_index.seed, v[1] << 32 | v[2]), v[3]), v[4]);
    uint32_t i = hash_first(&r->label_index, h), at = 0;
    bool found = false;
    while (hash_next(&r->label_index, &i, h, &at)) {
        const pp_label *l = &r->labels.v[at];
        found =
            l->key == key.key && l->text == key.text && l->unit == key.unit && l->num == key.num;
        if (LIKELY(found)) break;
        i++;
    }
    if (!found && !label_new(r, &key, h, i, &at)) return false;
    const pp_label *l = &r->labels.v[at];
    uint32_t *seen = &r->keys.v[l->key_i].seen;
    r->row_repeats |= *seen == (uint32_t)row + 1;
    r->row_ids |= l->kind != PP_PLAIN;
    *seen = (uint32_t)row + 1;
    uint32_t *slot = vec_push(r->a, &r->row);
    if (!slot) return arena_spent(r->a, r->e);
    *slot = at;
    return true;
}

static any text_value(str s) { return (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p}; }

/* Sets *out to the value of a label: its text or its number. A label with both, which the format
 * forbids, becomes a list of both. */
static bool value_of(pp *r, const pp_label *l, any *out)
{
    *out = (any){.kind = ANY_INT, .i = l->num};
    if (!l->text) return true;
    any text = text_value(pp_text(r, pp_string(r, l->text)));
    if (l->num) {
        keyvalue *kv = arena_new(r->a, keyvalue, 2);
        if (!kv) return arena_spent(r->a, r->e);
        kv[0] = (keyvalue){.key = STR("str"), .value = text};
        kv[1] = (keyvalue){.key = STR("num"), .value = *out};
        text = (any){.kind = ANY_KVLIST, .n = 2, .kvlist = kv};
    }
    *out = text;
    return true;
}

static bool attr_of(pp *r, uint32_t label, uint32_t *out)
{
    pp_label *l = &r->labels.v[label];
    if (UNLIKELY(l->attr == PP_ABSENT)) {
        any v;
        if (!value_of(r, l, &v)) return false;
        l->attr = builder_attribute(&r->b, pp_text(r, pp_string(r, l->key)), &v,
                                    pp_text(r, pp_string(r, l->unit)));
    }
    *out = l->attr;
    return true;
}

/* ---- rows with a repeated key or a link ---- */

/* If the row has exactly one label of each kind, makes them its link and removes them from its
 * labels. */
static bool take_link(pp *r, size_t row)
{
    uint32_t at[3] = {0}, n[3] = {0};
    for (uint32_t i = 0; i < r->row.n; i++) {
        uint32_t kind = r->labels.v[r->row.v[i]].kind;
        at[kind] = i;
        n[kind]++;
    }
    if (n[PP_TRACE] != 1 || n[PP_SPAN] != 1) return true;
    for (uint32_t i = 0; i < r->row.n; i++) { /* a label with the same key but another form */
        const pp_label *l = &r->labels.v[r->row.v[i]];
        for (uint32_t k = PP_TRACE; k <= PP_SPAN; k++)
            if (i != at[k] && l->key_i == r->labels.v[r->row.v[at[k]]].key_i) return true;
    }
    str trace = r->strings.v[r->labels.v[r->row.v[at[PP_TRACE]]].text];
    str span_id = r->strings.v[r->labels.v[r->row.v[at[PP_SPAN]]].text];
    link_ids ids;
    if (!hex_bytes(trace, ids.trace_id, 16) || !hex_bytes(span_id, ids.span_id, 8)) return true;
    uint32_t link = builder_link(&r->b, ids.trace_id, ids.span_id);
    if (!link) return true; /* both ids are zero: they stay labels */
    if (!r->link && !(r->link = arena_new(r->a, uint32_t, r->n_rows)))
        return arena_spent(r->a, r->e);
    r->link[row] = link;
    size_t k = 0;
    for (uint32_t i = 0; i < r->row.n; i++)
        if (i != at[PP_TRACE] && i != at[PP_SPAN]) r->row.v[k++] = r->row.v[i];
    r->row.n = k;
    return true;
}

typedef struct entry {
    uint32_t first, at, label; /* position of the first label with its key, own position, label */
} entry;

static int entry_order(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Adds the unit to an element of a list whose labels have different units. */
static bool with_unit(pp *r, const pp_label *l, any *v)
{
    bool both = v->kind == ANY_KVLIST;
    keyvalue *kv = arena_new(r->a, keyvalue, 3);
    if (!kv) return arena_spent(r->a, r->e);
    uint32_t n = 0;
    if (both)
        for (; n < v->n; n++) kv[n] = v->kvlist[n];
    else
        kv[n++] = (keyvalue){.key = v->kind == ANY_STRING ? STR("str") : STR("num"), .value = *v};
    kv[n++] =
        (keyvalue){.key = STR("unit"), .value = text_value(pp_text(r, pp_string(r, l->unit)))};
    *v = (any){.kind = ANY_KVLIST, .n = n, .kvlist = kv};
    return true;
}

/* Adds labels [e, e + n) of one key as one attribute. */
static bool put_group(pp *r, const entry *e, size_t n)
{
    uint32_t attr;
    const pp_label *first = &r->labels.v[e[0].label];
    if (n == 1) {
        if (!attr_of(r, e[0].label, &attr)) return false;
    } else {
        bool same_unit = true; /* compared by text, which a table may contain twice */
        str unit = r->strings.v[first->unit];
        for (size_t i = 1; i < n; i++)
            same_unit &= str_eq(r->strings.v[r->labels.v[e[i].label].unit], unit);
        any *v = arena_new(r->a, any, n);
        if (!v) return arena_spent(r->a, r->e);
        for (size_t i = 0; i < n; i++) {
            const pp_label *l = &r->labels.v[e[i].label];
            if (!value_of(r, l, &v[i]) || (!same_unit && !with_unit(r, l, &v[i]))) return false;
        }
        any list = {.kind = ANY_ARRAY, .n = (uint32_t)n, .array = v};
        unit = same_unit ? pp_text(r, pp_string(r, first->unit)) : (str){0};
        attr = builder_attribute(&r->b, pp_text(r, pp_string(r, first->key)), &list, unit);
    }
    uint32_t *slot = vec_push(r->a, &r->b.m.sample_attrs);
    if (!slot) return arena_spent(r->a, r->e);
    *slot = attr;
    return true;
}

/* Adds the attributes of a row. Keys of attributes are unique, so labels of one key become a list
 * at the position of the first. */
static bool put_groups(pp *r)
{
    size_t n = r->row.n;
    entry *e = arena_new(r->a, entry, n);
    if (!e) return arena_spent(r->a, r->e);
    for (size_t i = n; i-- > 0;) r->keys.v[r->labels.v[r->row.v[i]].key_i].seen = (uint32_t)i;
    for (uint32_t i = 0; i < n; i++)
        e[i] = (entry){r->keys.v[r->labels.v[r->row.v[i]].key_i].seen, i, r->row.v[i]};
    qsort(e, n, sizeof *e, entry_order);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && e[k].first == e[i].first;) k++;
        if (!put_group(r, e + i, k - i)) return false;
    }
    for (size_t i = 0; i < n; i++) r->keys.v[r->labels.v[r->row.v[i]].key_i].seen = 0;
    return true;
}

bool pp_row_attrs(pp *r, size_t row)
{
    u32s *to = &r->b.m.sample_attrs;
    if (UNLIKELY(to->n + r->row.n > UINT32_MAX)) return arena_spent(r->a, r->e);
    if (UNLIKELY(r->row_ids) && !take_link(r, row)) return false;
    if (UNLIKELY(r->row_repeats)) {
        if (!put_groups(r)) return false;
    } else if (r->row.n) {
        if (!vec_reserve(r->a, to, r->row.n)) return arena_spent(r->a, r->e);
        for (size_t i = 0; i < r->row.n; i++) {
            if (!attr_of(r, r->row.v[i], &to->v[to->n])) return false;
            to->n++;
        }
    }
    r->attr_off[row + 1] = (uint32_t)to->n;
    return true;
}
