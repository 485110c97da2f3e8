/* Shared parts of the writers of the drafts: roles of attributes, index maps, groups, rows. */
#include "format/dialect_write.h"

#include "format/dialect_read.h"
#include "base/ban.h"

/* ---- roles of attributes ---- */

static const struct {
    const char *key;
    attr_role role;
    any_kind kind; /* ANY_EMPTY: string or int */
} roles[] = {
    {KILN_ATTR_AGGREGATION_TEMPORALITY, ROLE_TEMPORALITY, ANY_EMPTY},
    {KILN_ATTR_TIMESTAMP_UNIT, ROLE_TIME_UNIT, ANY_STRING},
    {KILN_ATTR_TIMESTAMP_VALUES, ROLE_TIME_VALUES, ANY_STRING},
    {KILN_ATTR_SAMPLE_TYPE_ORDER, ROLE_TYPE_ORDER, ANY_ARRAY},
    {KILN_ATTR_DEFAULT_SAMPLE_TYPE, ROLE_DEFAULT_TYPE, ANY_STRING},
    {KILN_ATTR_SAMPLE_RATE, ROLE_SAMPLE_RATE, ANY_INT},
    {KILN_ATTR_SAMPLE_SIZE, ROLE_SAMPLE_SIZE, ANY_INT},
    {PPROF_ATTR_COMMENT, ROLE_COMMENT, ANY_ARRAY},
    {PPROF_ATTR_DROP_FRAMES, ROLE_DROP_FRAMES, ANY_STRING},
    {PPROF_ATTR_KEEP_FRAMES, ROLE_KEEP_FRAMES, ANY_STRING},
    {KILN_ATTR_STACK_ID, ROLE_STACK_ID, ANY_STRING},
    {ATTR_BUILD_ID_GNU, ROLE_BUILD_ID_GNU, ANY_STRING},
    {ATTR_BUILD_ID_GO, ROLE_BUILD_ID_GO, ANY_STRING},
    {KILN_ATTR_BUILD_ID_HASH, ROLE_BUILD_ID_HASH, ANY_STRING},
    {KILN_ATTR_BUILD_ID_KIND, ROLE_BUILD_ID_KIND, ANY_EMPTY},
    {PPROF_ATTR_HAS_FUNCTIONS, ROLE_HAS_FUNCTIONS, ANY_BOOL},
    {PPROF_ATTR_HAS_FILENAMES, ROLE_HAS_FILENAMES, ANY_BOOL},
    {PPROF_ATTR_HAS_LINE_NUMBERS, ROLE_HAS_LINE_NUMBERS, ANY_BOOL},
    {PPROF_ATTR_HAS_INLINE_FRAMES, ROLE_HAS_INLINE_FRAMES, ANY_BOOL},
    {PPROF_ATTR_IS_FOLDED, ROLE_FOLDED, ANY_BOOL},
    {ATTR_FRAME_TYPE, ROLE_FRAME_TYPE, ANY_STRING},
    {KILN_ATTR_EVENT_CLOCK, ROLE_EVENT_CLOCK, ANY_KVLIST},
    {KILN_ATTR_EVENT_DEFAULT, ROLE_EVENT_DEFAULT, ANY_INT},
    {KILN_ATTR_EVENT_UNIT, ROLE_EVENT_UNIT, ANY_STRING},
    {KILN_ATTR_EVENT_INTERVAL, ROLE_EVENT_INTERVAL, ANY_BOOL},
    {KILN_ATTR_EVENT_DURATION, ROLE_EVENT_DURATION, ANY_INT},
    {KILN_ATTR_DROPPED_ATTRIBUTES, ROLE_DROPPED, ANY_INT},
};

static bool all_texts(const any *v)
{
    for (uint32_t i = 0; i < v->n; i++)
        if (v->array[i].kind != ANY_STRING) return false;
    return v->n > 0;
}

/* Whether a reader would restore this value from a field: not empty text, false or 0. */
static bool is_restorable(attr_role role, const any *v)
{
    switch (role) {
    case ROLE_TEMPORALITY:
        if (v->kind == ANY_INT) return v->i > 2;
        return str_eq(any_str(v), STR("delta")) || str_eq(any_str(v), STR("cumulative"));
    case ROLE_BUILD_ID_KIND: return v->kind == ANY_INT ? v->i > 1 : str_eq(any_str(v), STR("hash"));
    case ROLE_COMMENT: return all_texts(v);
    case ROLE_EVENT_DEFAULT: return v->i >= 0; /* 0: each event of this type has its own size */
    case ROLE_DROPPED: return v->i > 0 && v->i <= UINT32_MAX;
    case ROLE_TIME_UNIT: return time_unit_ns(any_str(v)) != 0;
    case ROLE_SAMPLE_RATE: return v->i > 0 && 1000000000 % v->i != 0; /* otherwise a period */
    default: break;
    }
    if (v->kind == ANY_STRING) return v->n > 0;
    if (v->kind == ANY_BOOL) return v->i != 0;
    return v->kind != ANY_INT || v->i > 0;
}

static attr_role role_of(const dict *d, const attribute *t)
{
    str key = dict_str(d, t->key);
    bool known_prefix =
        str_starts(key, STR("kiln.")) || str_starts(key, STR("p")); /* pprof., process. */
    if (t->unit || !known_prefix) return ROLE_NONE;
    for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
        if (!str_eq(key, str_of(roles[i].key))) continue;
        bool kind = roles[i].kind == ANY_EMPTY
                        ? t->value.kind == ANY_STRING || t->value.kind == ANY_INT
                        : t->value.kind == roles[i].kind;
        return kind && is_restorable(roles[i].role, &t->value) ? roles[i].role : ROLE_NONE;
    }
    return ROLE_NONE;
}

/* ---- open, close ---- */

static bool map_open(dw *w, index_map *x, size_t n)
{
    x->to = arena_new(&w->a, uint32_t, n);
    return x->to != NULL;
}

bool dw_open(dw *w, const model *m, const write_opts *o, buf *out)
{
    *w = (dw){.m = m, .out = out, .ledger = o->ledger};
    w->a.seed = w->tmp.seed = m->seed;
    const dict *d = &m->dict;
    w->role = arena_new(&w->a, uint8_t, d->attributes.n);
    bool ok = w->role && map_open(w, &w->stacks, dict_n_stacks(d)) &&
              map_open(w, &w->locations, d->locations.n) &&
              map_open(w, &w->functions, d->functions.n) &&
              map_open(w, &w->mappings, d->mappings.n) && map_open(w, &w->links, d->links.n) &&
              map_open(w, &w->attributes, d->attributes.n);
    for (size_t i = 0; ok && i < d->attributes.n; i++)
        w->role[i] = (uint8_t)role_of(d, &d->attributes.v[i]);
    w->failed = !ok;
    return ok;
}

static void map_reset(index_map *x)
{
    for (size_t i = 0; i < x->used.n; i++) x->to[x->used.v[i]] = 0;
    x->used.n = 0;
}

void dw_reset(dw *w)
{
    index_map *maps[] = {&w->stacks,   &w->locations, &w->functions,
                         &w->mappings, &w->links,     &w->attributes};
    for (size_t i = 0; i < ARRAY_LEN(maps); i++) map_reset(maps[i]);
    w->strings.v = NULL;
    w->strings.n = w->strings.cap = 0;
    w->sets.v = NULL;
    w->sets.n = w->sets.cap = 0;
    w->set_attrs = (u32s){0};
    w->string_index = w->set_index = (hash_index){0};
    arena_reset(&w->tmp);
}

bool dw_close(dw *w, bool ok, err *e)
{
    ok = ok && !w->failed && !w->out->failed;
    arena_free(&w->a);
    arena_free(&w->tmp);
    return ok || err_set(e, ERR_MEMORY, "the encoded message exceeds its memory limit");
}

void dw_note(dw *w, loss_concept c, const char *carried_as, str value, const char *what)
{
    char path[128];
    if (!w->ledger) return;
    snprintf(path, sizeof path, "%s%s%s", w->where, w->where[0] && what[0] ? "." : "", what);
    ledger_add(w->ledger, STAGE_WRITE, c, carried_as, path, value);
}

/* ---- tables ---- */

uint32_t dw_ref(dw *w, index_map *x, uint32_t i)
{
    if (x->to[i]) return x->to[i] - 1;
    uint32_t *slot = vec_push(&w->a, &x->used);
    if (!slot) return w->failed = true, 0;
    *slot = i;
    x->to[i] = (uint32_t)x->used.n;
    return x->to[i] - 1;
}

uint32_t dw_string(dw *w, str s)
{
    if (!w->strings.n) {
        str *empty = vec_push(&w->tmp, &w->strings);
        if (!empty) return w->failed = true, 0;
        *empty = (str){"", 0};
    }
    if (!s.n) return 0;
    if (!hash_index_room(&w->string_index, &w->tmp)) return w->failed = true, 0;
    uint64_t h = hash_bytes(s.p, s.n, w->string_index.seed);
    uint32_t i = hash_first(&w->string_index, h);
    for (uint32_t at; hash_next(&w->string_index, &i, h, &at); i++)
        if (str_eq(w->strings.v[at], s)) return at;
    str *slot = vec_push(&w->tmp, &w->strings);
    if (!slot) return w->failed = true, 0;
    *slot = s;
    hash_put(&w->string_index, i, h, (uint32_t)(w->strings.n - 1));
    return (uint32_t)(w->strings.n - 1);
}

uint32_t dw_set(dw *w, const uint32_t *attrs, size_t n, uint32_t takes)
{
    if (!w->sets.n && !vec_push(&w->tmp, &w->sets)) return w->failed = true, 0;
    size_t at = w->set_attrs.n;
    for (size_t i = 0; i < n; i++) {
        if (dw_takes(w, attrs[i], takes)) continue;
        uint32_t *slot = vec_push(&w->tmp, &w->set_attrs);
        if (!slot) return w->failed = true, 0;
        *slot = attrs[i];
    }
    size_t len = w->set_attrs.n - at, bytes = len * sizeof *attrs;
    if (!len) return 0;
    if (!hash_index_room(&w->set_index, &w->tmp)) return w->failed = true, 0;
    const uint32_t *mine = w->set_attrs.v + at;
    uint64_t h = hash_bytes(mine, bytes, w->set_index.seed);
    uint32_t i = hash_first(&w->set_index, h);
    for (uint32_t k; hash_next(&w->set_index, &i, h, &k); i++) {
        span s = w->sets.v[k];
        if (s.n != len || memcmp(w->set_attrs.v + s.at, mine, bytes) != 0) continue;
        w->set_attrs.n = at;
        return k;
    }
    span *s = vec_push(&w->tmp, &w->sets);
    if (!s) return w->failed = true, 0;
    *s = (span){(uint32_t)at, (uint32_t)len};
    hash_put(&w->set_index, i, h, (uint32_t)(w->sets.n - 1));
    return (uint32_t)(w->sets.n - 1);
}

void dw_put_set(dw *w, const uint32_t *attrs, size_t n, uint32_t number, uint32_t dropped)
{
    size_t count = n; /* the last attribute, because readers append it */
    for (size_t i = 0; i < n; i++)
        if (w->role[attrs[i]] == ROLE_DROPPED) count = i;
    for (size_t i = 0; i < n; i++)
        if (i != count) dw_attribute(w, number, attrs[i], false);
    if (count < n)
        dw_uint(w->out, dropped, (uint64_t)w->m->dict.attributes.v[attrs[count]].value.i);
}

const any *dw_find(const dw *w, const uint32_t *attrs, size_t n, attr_role role)
{
    for (size_t i = 0; i < n; i++)
        if (w->role[attrs[i]] == role) return &w->m->dict.attributes.v[attrs[i]].value;
    return NULL;
}

mapping_fields dw_mapping_fields(const dw *w, const mapping *m, bool kinds, bool single)
{
    mapping_fields f = {0};
    const uint32_t *attrs = refs_at(&w->m->dict.attr_refs, m->attrs);
    size_t n = m->attrs.n;
    const any *kind = dw_find(w, attrs, n, ROLE_BUILD_ID_KIND),
              *hash = dw_find(w, attrs, n, ROLE_BUILD_ID_HASH),
              *gnu = dw_find(w, attrs, n, ROLE_BUILD_ID_GNU),
              *go = dw_find(w, attrs, n, ROLE_BUILD_ID_GO);
    if (kinds && kind) {
        f.kind = kind->kind == ANY_INT ? (uint64_t)kind->i : 1;
        f.takes |= TAKES(BUILD_ID_KIND);
        if (hash) f.build_id = any_str(hash), f.takes |= TAKES(BUILD_ID_HASH);
    } else if (gnu && !memchr(gnu->s, '/', gnu->n)) {
        f.build_id = any_str(gnu);
        f.takes |= TAKES(BUILD_ID_GNU);
    } else if (go && memchr(go->s, '/', go->n)) {
        f.build_id = any_str(go);
        f.takes |= TAKES(BUILD_ID_GO);
    }
    unsigned flags = 0;
    for (unsigned i = 0; i < 4; i++) {
        f.flags[i] = dw_find(w, attrs, n, (attr_role)(ROLE_HAS_FUNCTIONS + i)) != NULL;
        if (f.flags[i]) flags |= 1u << i;
    }
    if (!single && flags != 15) memset(f.flags, 0, sizeof f.flags), flags = 0;
    f.takes |= (uint32_t)flags << ROLE_HAS_FUNCTIONS;
    return f;
}

location_fields dw_location_fields(const dw *w, const location *l)
{
    location_fields f = {.type = {"", 0}};
    const uint32_t *attrs = refs_at(&w->m->dict.attr_refs, l->attrs);
    if (dw_find(w, attrs, l->attrs.n, ROLE_FOLDED)) f.folded = true, f.takes |= TAKES(FOLDED);
    const any *type = dw_find(w, attrs, l->attrs.n, ROLE_FRAME_TYPE);
    if (!type) return f;
    str name = any_str(type);
    /* Readers map these two names of the drafts to current ones, so they would not be restored. */
    if (str_eq(name, STR("python")) || str_eq(name, STR("hotspot"))) return f;
    f.takes |= TAKES(FRAME_TYPE);
    f.type = str_eq(name, STR("cpython")) ? STR("python")
             : str_eq(name, STR("jvm"))   ? STR("hotspot")
                                          : name;
    return f;
}

bool dw_needs_null_mapping(const dw *w)
{
    if (!w->mappings.used.n) return false;
    const dict *d = &w->m->dict;
    uint32_t first = w->mappings.used.v[0];
    const mapping *m = &d->mappings.v[first];
    for (size_t i = 0; i < w->locations.used.n; i++) {
        const location *l = &d->locations.v[w->locations.used.v[i]];
        bool inside = l->address >= m->memory_start && l->address < m->memory_limit;
        if ((l->mapping == 0 && inside) || (l->mapping == first && !inside)) return true;
    }
    return false;
}

void dw_gather_attrs(dw *w, const uint32_t *attrs, size_t n, uint32_t takes)
{
    for (size_t i = 0; i < n; i++)
        if (!dw_takes(w, attrs[i], takes)) dw_ref(w, &w->attributes, attrs[i]);
}

void dw_gather_mapping(dw *w, uint32_t i)
{
    if (dw_known(&w->mappings, i)) return;
    const mapping *m = &w->m->dict.mappings.v[i];
    mapping_fields f = dw_mapping_fields(w, m, true, true);
    dw_ref(w, &w->mappings, i);
    dw_model_string(w, m->filename);
    dw_string(w, f.build_id);
    dw_gather_attrs(w, refs_at(&w->m->dict.attr_refs, m->attrs), m->attrs.n, f.takes);
}

void dw_gather_location(dw *w, bool null_first, uint32_t i)
{
    if ((null_first && !i) || dw_known(&w->locations, i)) return;
    const dict *d = &w->m->dict;
    const location *l = &d->locations.v[i];
    dw_ref(w, &w->locations, i);
    for (uint32_t k = 0; k < l->lines.n; k++) {
        uint32_t fn = d->lines.v[l->lines.at + k].function;
        if ((null_first && !fn) || dw_known(&w->functions, fn)) continue;
        const function *f = &d->functions.v[fn];
        dw_ref(w, &w->functions, fn);
        dw_model_string(w, f->name);
        dw_model_string(w, f->system_name);
        dw_model_string(w, f->filename);
    }
    location_fields lf = dw_location_fields(w, l);
    dw_string(w, lf.type);
    dw_gather_attrs(w, refs_at(&d->attr_refs, l->attrs), l->attrs.n, lf.takes);
    if (l->mapping) dw_gather_mapping(w, l->mapping);
}

/* ---- groups ---- */

/* Returns the position of the next attribute whose role is not in `takes`; n when there is none. */
static size_t skip_taken(const dw *w, const uint32_t *v, size_t i, size_t n, uint32_t takes)
{
    while (i < n && dw_takes(w, v[i], takes)) i++;
    return i;
}

static bool same_attrs(const dw *w, span x, span y, uint32_t takes)
{
    const uint32_t *a = refs_at(&w->m->dict.attr_refs, x), *b = refs_at(&w->m->dict.attr_refs, y);
    for (size_t i = 0, k = 0;; i++, k++) {
        i = skip_taken(w, a, i, x.n, takes);
        k = skip_taken(w, b, k, y.n, takes);
        if (i == x.n || k == y.n) return i == x.n && k == y.n;
        if (a[i] != b[k]) return false;
    }
}

bool dw_same_id(const profile *first, size_t k)
{
    uint8_t derived[16];
    profile_id_derive(first->profile_id, k, derived);
    return memcmp(derived, first[k].profile_id, 16) == 0;
}

static bool same_head(const dw *w, const profile *a, size_t k, uint32_t takes)
{
    const profile *b = a + k;
    if (b->original_payload.n || b->original_payload_format.n) return false;
    return dw_same_id(a, k) && a->time_unix_nano == b->time_unix_nano &&
           a->duration_nano == b->duration_nano &&
           a->dropped_attributes_count == b->dropped_attributes_count &&
           same_attrs(w, a->attrs, b->attrs, takes);
}

size_t dw_group(const dw *w, const profile *first, size_t most, uint32_t takes,
                bool (*fits)(const dw *w, const profile *first, const profile *next))
{
    size_t n = 1;
    while (n < most && same_head(w, first, n, takes) && (!fits || fits(w, first, first + n))) n++;
    return n;
}

bool dw_aligned(const dw *w, const profile *a, const profile *b)
{
    if (a->n_samples != b->n_samples) return false;
    for (size_t i = 0; i < a->n_samples; i++) {
        sample x = sample_at(w->m, a, i), y = sample_at(w->m, b, i);
        if (x.stack != y.stack || x.link != y.link || x.n_attrs != y.n_attrs ||
            x.n_values != y.n_values || x.n_times != y.n_times)
            return false;
        if (x.n_attrs && memcmp(x.attrs, y.attrs, x.n_attrs * sizeof *x.attrs) != 0) return false;
        if (x.n_times && memcmp(x.times, y.times, x.n_times * sizeof *x.times) != 0) return false;
    }
    return true;
}

uint64_t dw_temporality(const dw *w, const profile *p)
{
    const any *v = dw_profile_attr(w, p, ROLE_TEMPORALITY);
    if (!v) return 0;
    if (v->kind == ANY_INT) return (uint64_t)v->i;
    return str_eq(any_str(v), STR("delta")) ? 1 : 2;
}

uint64_t dw_sample_rate(dw *w, const profile *p)
{
    const int64_t second = 1000000000;
    const any *rate = dw_profile_attr(w, p, ROLE_SAMPLE_RATE);
    const dict *d = &w->m->dict;
    str type = dict_str(d, p->period_type.type), unit = dict_str(d, p->period_type.unit);
    bool nanoseconds = str_eq(unit, STR("nanoseconds")) || str_eq(unit, STR("ns"));
    uint64_t out = rate ? (uint64_t)rate->i : 0;
    bool lost = p->period || type.n || unit.n;
    if (!out && nanoseconds && p->period > 0 && second % p->period == 0) {
        out = (uint64_t)(second / p->period);
        lost = !str_eq(type, STR("cpu")) || !str_eq(unit, STR("nanoseconds"));
    }
    if (lost) dw_note(w, LOSS_PERIOD, NULL, type, "period");
    return out;
}

uint64_t dw_end_time(dw *w, const profile *p)
{
    uint64_t end; /* set even without a duration, because an end of 0 would precede the start */
    if (!ckd_add(&end, p->time_unix_nano, p->duration_nano)) return end;
    dw_note(w, LOSS_TIME, NULL, (str){0}, "duration_nano");
    return p->time_unix_nano;
}

/* ---- rows ---- */

uint32_t dw_rows_timed(dw *w, const sample *s)
{
    bool one = s->n_values == 1 && s->n_times <= 1;
    if (!one) dw_note(w, LOSS_SAMPLE_SHAPE, NULL, (str){0}, "samples");
    uint32_t n = s->n_values > s->n_times ? s->n_values : s->n_times;
    return n ? n : 1;
}

uint32_t dw_rows(dw *w, const sample *s)
{
    for (uint32_t i = 0; i < s->n_times; i++)
        if (!s->times[i]) dw_note(w, LOSS_TIMESTAMP, NULL, STR("0"), "samples");
    return dw_rows_timed(w, s);
}

dw_row dw_row_at(const sample *s, uint32_t i)
{
    return (dw_row){
        .value = i < s->n_values                  ? s->values[i]
                 : !s->n_values && i < s->n_times ? 1
                                                  : 0,
        .time = i < s->n_times ? s->times[i] : 0,
    };
}
