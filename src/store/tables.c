/* Encodes and decodes the dictionary of a day file as deltas (tables.h). Stacks are sorted from the
 * root and stored as differences, which is most of the saving. */
#include "store/tables.h"

#include "store/content.h"
#include "base/ban.h"

bool tables_init(tables *t, arena *a)
{
    builder b;
    *t = (tables){.a = a};
    if (!builder_init(&b, a)) return false;
    t->m = b.m;
    t->m.checked = true;
    return vec_push(a, &t->lists) != NULL;
}

tables_size tables_count(const tables *t)
{
    const dict *d = &t->m.dict;
    return (tables_size){.strings = (uint32_t)d->strings.n,
                         .attributes = (uint32_t)d->attributes.n,
                         .mappings = (uint32_t)d->mappings.n,
                         .functions = (uint32_t)d->functions.n,
                         .locations = (uint32_t)d->locations.n,
                         .stacks = (uint32_t)dict_n_stacks(d),
                         .lists = (uint32_t)t->lists.n};
}

/* ---- writing ---- */

typedef struct writer {
    const tables *t;
    const dict *d;
    buf *out;
    zipper *z;
    arena a;
    i64s v; /* the column being encoded */
} writer;

#define COLUMN(w, from, to, expression)                                                            \
    do {                                                                                           \
        (w)->v.n = 0;                                                                              \
        if (!vec_reserve(&(w)->a, &(w)->v, (to) - (from)))                                         \
            (w)->out->failed = true;                                                               \
        else                                                                                       \
            for (size_t i = (from); i < (to); i++) (w)->v.v[(w)->v.n++] = (int64_t)(expression);   \
        put_column((w)->out, (w)->v.v, (w)->v.n, COLUMN_ANY, (w)->z);                              \
    } while (0)

static void put_texts(writer *w, size_t from, size_t to)
{
    const str *s = w->d->strings.v;
    buf all = {0};
    COLUMN(w, from, to, s[i].n);
    for (size_t i = from; i < to; i++) buf_put(&all, s[i].p, s[i].n);
    put_zipped(w->out, buf_view(&all), ZIP_REPEATS, w->z);
    w->out->failed |= all.failed;
    buf_free(&all);
}

static void put_attribute_table(writer *w, size_t from, size_t to)
{
    const attribute *t = w->d->attributes.v;
    buf all = {0};
    COLUMN(w, from, to, t[i].key);
    COLUMN(w, from, to, t[i].unit);
    for (size_t i = from; i < to; i++) put_any(&all, &t[i].value);
    put_zipped(w->out, buf_view(&all), ZIP_REPEATS, w->z);
    w->out->failed |= all.failed;
    buf_free(&all);
}

/* Writes the entries that spans refer to, one after the other. */
#define REFS(w, from, to, span_of)                                                                 \
    do {                                                                                           \
        COLUMN(w, from, to, (span_of).n);                                                          \
        (w)->v.n = 0;                                                                              \
        for (size_t i = (from); i < (to); i++) {                                                   \
            span s_ = (span_of);                                                                   \
            if (!vec_reserve(&(w)->a, &(w)->v, s_.n))                                              \
                (w)->out->failed = true;                                                           \
            else                                                                                   \
                for (uint32_t k = 0; k < s_.n; k++)                                                \
                    (w)->v.v[(w)->v.n++] = (w)->d->attr_refs.v[s_.at + k];                         \
        }                                                                                          \
        put_varint((w)->out, (w)->v.n);                                                            \
        put_column((w)->out, (w)->v.v, (w)->v.n, COLUMN_ANY, (w)->z);                              \
    } while (0)

static void put_mappings(writer *w, size_t from, size_t to)
{
    const mapping *m = w->d->mappings.v;
    COLUMN(w, from, to, m[i].memory_start);
    COLUMN(w, from, to, m[i].memory_limit - m[i].memory_start);
    COLUMN(w, from, to, m[i].file_offset);
    COLUMN(w, from, to, m[i].filename);
    REFS(w, from, to, m[i].attrs);
}

static void put_functions(writer *w, size_t from, size_t to)
{
    const function *f = w->d->functions.v;
    COLUMN(w, from, to, f[i].name);
    COLUMN(w, from, to, f[i].system_name);
    COLUMN(w, from, to, f[i].filename);
    COLUMN(w, from, to, f[i].start_line);
}

static void put_locations(writer *w, size_t from, size_t to)
{
    const location *l = w->d->locations.v;
    COLUMN(w, from, to, l[i].mapping);
    COLUMN(w, from, to, l[i].address - l[i - 1].address);
    COLUMN(w, from, to, l[i].lines.n);
    /* Lines are in the order of their locations: those of the new ones are the last. */
    size_t first = from < to ? l[from].lines.at : 0, end = from < to ? w->d->lines.n : 0;
    const line *x = w->d->lines.v;
    put_varint(w->out, end - first);
    COLUMN(w, first, end, x[i].function);
    COLUMN(w, first, end, x[i].line);
    COLUMN(w, first, end, x[i].column);
    REFS(w, from, to, l[i].attrs);
}

/* ---- stacks ---- */

static int by_root(const void *a, const void *b, void *ctx)
{
    const dict *d = ctx;
    span x = dict_stack(d, *(const uint32_t *)a), y = dict_stack(d, *(const uint32_t *)b);
    if (!x.n || !y.n) return (x.n > y.n) - (x.n < y.n); /* without frames there is no pool */
    const uint32_t *p = d->frames.v + x.at + x.n, *q = d->frames.v + y.at + y.n;
    for (uint32_t n = x.n < y.n ? x.n : y.n; n > 0; n--)
        if (*--p != *--q) return *p < *q ? -1 : 1;
    return (x.n > y.n) - (x.n < y.n);
}

/* Returns the number of frames that two stacks share from the root. */
static uint32_t shared(const dict *d, uint32_t a, uint32_t b)
{
    span x = dict_stack(d, a), y = dict_stack(d, b);
    uint32_t n = 0, most = x.n < y.n ? x.n : y.n;
    while (n < most && d->frames.v[x.at + x.n - 1 - n] == d->frames.v[y.at + y.n - 1 - n]) n++;
    return n;
}

/* Writes stacks sorted from the root: columns of number, depth and frames shared with the previous
 * stack, then the other frames, from the root. */
static void put_stacks(writer *w, uint32_t from, uint32_t to)
{
    const dict *d = w->d;
    uint32_t n = to - from, *order = arena_array(&w->a, n + 1, sizeof *order),
             *same = arena_array(&w->a, n + 1, sizeof *same);
    if (!order || !same) {
        w->out->failed = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++) order[i] = from + i;
    if (n) qsort_r(order, n, sizeof *order, by_root, (void *)(uintptr_t)d);
    size_t own = 0;
    for (uint32_t i = 0; i < n; i++) {
        same[i] = i ? shared(d, order[i - 1], order[i]) : 0;
        own += dict_stack(d, order[i]).n - same[i];
    }
    COLUMN(w, 0, n, order[i] - from);
    COLUMN(w, 0, n, dict_stack(d, order[i]).n);
    COLUMN(w, 0, n, same[i]);
    put_varint(w->out, own);
    w->v.n = 0;
    if (!vec_reserve(&w->a, &w->v, own)) {
        w->out->failed = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        span s = dict_stack(d, order[i]);
        for (uint32_t k = s.n - same[i]; k-- > 0;) w->v.v[w->v.n++] = d->frames.v[s.at + k];
    }
    put_column(w->out, w->v.v, w->v.n, COLUMN_ANY, w->z);
}

void tables_put(const tables *t, const tables_size *from, buf *out, zipper *z)
{
    writer w = {.t = t, .d = &t->m.dict, .out = out, .z = z};
    tables_size to = tables_count(t);
    const uint32_t *a = &from->strings, *b = &to.strings;
    for (size_t i = 0; i < sizeof to / sizeof *b; i++) put_varint(out, b[i] - a[i]);
    put_texts(&w, from->strings, to.strings);
    put_attribute_table(&w, from->attributes, to.attributes);
    put_mappings(&w, from->mappings, to.mappings);
    put_functions(&w, from->functions, to.functions);
    put_locations(&w, from->locations, to.locations);
    put_stacks(&w, from->stacks, to.stacks);
    REFS(&w, from->lists, to.lists, t->lists.v[i]);
    arena_free(&w.a);
}

/* ---- reading ---- */

typedef struct reader {
    tables *t;
    dict *d;
    taker in;
    zipper *z;
    arena tmp;
    tables_size n, all; /* number of new entries; of new and existing ones */
} reader;

static uint32_t *take_numbers(reader *r, size_t n, uint32_t limit)
{
    uint32_t *v = arena_array(&r->tmp, n + 1, sizeof *v);
    return v && take_column_u32(&r->in, v, n, limit, r->z) ? v : NULL;
}

static int64_t *take_wide(reader *r, size_t n)
{
    int64_t *v = arena_array(&r->tmp, n + 1, sizeof *v);
    return v && take_column(&r->in, v, n, r->z) ? v : NULL;
}

static bool take_texts(reader *r)
{
    uint32_t *n = take_numbers(r, r->n.strings, UINT32_MAX);
    str all;
    if (!n || !take_zipped(&r->in, UINT32_MAX, r->z, &r->tmp, &all) ||
        !vec_reserve(r->t->a, &r->d->strings, r->n.strings))
        return false;
    char *p = arena_alloc(r->t->a, all.n); /* the delta does not live as long */
    if (!p) return false;
    if (all.n) memcpy(p, all.p, all.n);
    size_t at = 0;
    for (uint32_t i = 0; i < r->n.strings; at += n[i++]) {
        if (n[i] > all.n - at) return false;
        r->d->strings.v[r->d->strings.n++] = (str){p + at, n[i]};
    }
    return at == all.n;
}

static bool take_attribute_table(reader *r)
{
    uint32_t n = r->n.attributes, *key = take_numbers(r, n, r->all.strings),
             *unit = key ? take_numbers(r, n, r->all.strings) : NULL;
    str all;
    if (!unit || !take_zipped(&r->in, UINT32_MAX, r->z, &r->tmp, &all) ||
        !vec_reserve(r->t->a, &r->d->attributes, n))
        return false;
    taker t = taker_of(all);
    for (uint32_t i = 0; i < n; i++) {
        attribute *x = &r->d->attributes.v[r->d->attributes.n];
        x->key = key[i];
        x->unit = unit[i];
        if (!take_any(&t, r->t->a, &x->value)) return false;
        r->d->attributes.n++;
    }
    return taker_left(&t) == 0;
}

/* Decodes n lists of references to attributes. Returns their spans. */
static span *take_refs(reader *r, uint32_t n)
{
    uint32_t *count = take_numbers(r, n, UINT32_MAX);
    uint64_t all = take_varint(&r->in), sum = 0;
    if (!count || r->in.bad || all > UINT32_MAX - r->d->attr_refs.n) return NULL;
    uint32_t *refs = take_numbers(r, (size_t)all, r->all.attributes);
    span *s = arena_array(&r->tmp, n + 1, sizeof *s);
    if (!refs || !s || !vec_reserve(r->t->a, &r->d->attr_refs, all)) return NULL;
    for (uint32_t i = 0; i < n; sum += count[i++])
        s[i] = (span){(uint32_t)(r->d->attr_refs.n + sum), count[i]};
    if (sum != all) return NULL;
    if (all) memcpy(r->d->attr_refs.v + r->d->attr_refs.n, refs, (size_t)all * sizeof *refs);
    r->d->attr_refs.n += (size_t)all;
    return s;
}

static bool take_mappings(reader *r)
{
    uint32_t n = r->n.mappings;
    int64_t *start = take_wide(r, n), *size = start ? take_wide(r, n) : NULL,
            *off = size ? take_wide(r, n) : NULL;
    uint32_t *file = off ? take_numbers(r, n, r->all.strings) : NULL;
    span *attrs = file ? take_refs(r, n) : NULL;
    if (!attrs || !vec_reserve(r->t->a, &r->d->mappings, n)) return false;
    for (uint32_t i = 0; i < n; i++)
        r->d->mappings.v[r->d->mappings.n++] =
            (mapping){(uint64_t)start[i], (uint64_t)start[i] + (uint64_t)size[i], (uint64_t)off[i],
                      file[i], attrs[i]};
    return true;
}

static bool take_functions(reader *r)
{
    uint32_t n = r->n.functions, *name = take_numbers(r, n, r->all.strings),
             *system = name ? take_numbers(r, n, r->all.strings) : NULL,
             *file = system ? take_numbers(r, n, r->all.strings) : NULL;
    int64_t *start = file ? take_wide(r, n) : NULL;
    if (!start || !vec_reserve(r->t->a, &r->d->functions, n)) return false;
    for (uint32_t i = 0; i < n; i++)
        r->d->functions.v[r->d->functions.n++] = (function){start[i], name[i], system[i], file[i]};
    return true;
}

static bool take_lines(reader *r, const uint32_t *count, uint32_t n)
{
    uint64_t all = take_varint(&r->in), sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += count[i];
    if (r->in.bad || sum != all || all > UINT32_MAX - r->d->lines.n) return false;
    uint32_t *f = take_numbers(r, (size_t)all, r->all.functions);
    int64_t *number = f ? take_wide(r, (size_t)all) : NULL,
            *column = number ? take_wide(r, (size_t)all) : NULL;
    if (!column || !vec_reserve(r->t->a, &r->d->lines, all)) return false;
    for (size_t i = 0; i < all; i++)
        r->d->lines.v[r->d->lines.n++] = (line){number[i], column[i], f[i]};
    return true;
}

static bool take_locations(reader *r)
{
    uint32_t n = r->n.locations, *of = take_numbers(r, n, r->all.mappings);
    int64_t *address = of ? take_wide(r, n) : NULL;
    uint32_t *lines = address ? take_numbers(r, n, UINT32_MAX) : NULL, at = (uint32_t)r->d->lines.n;
    if (!lines || !take_lines(r, lines, n)) return false;
    span *attrs = take_refs(r, n);
    if (!attrs || !vec_reserve(r->t->a, &r->d->locations, n)) return false;
    uint64_t last = r->d->locations.v[r->d->locations.n - 1].address;
    for (uint32_t i = 0; i < n; at += lines[i++]) {
        last += (uint64_t)address[i];
        r->d->locations.v[r->d->locations.n++] = (location){
            .address = last, .mapping = of[i], .lines = {at, lines[i]}, .attrs = attrs[i]};
    }
    return true;
}

/* Computes where each new stack begins in the pool, by number. */
static bool lay_out_stacks(reader *r, const uint32_t *rank, const uint32_t *depth, uint32_t n)
{
    dict *d = r->d;
    uint32_t first = (uint32_t)d->stacks.n; /* entry i + 1 is where stack i ends */
    uint64_t at = d->frames.n;
    if (!vec_reserve(r->t->a, &d->stacks, n)) return false;
    for (uint32_t i = 0; i < n; i++) d->stacks.v[first + i] = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (d->stacks.v[first + rank[i]] != UINT32_MAX) return false; /* a duplicate number */
        d->stacks.v[first + rank[i]] = depth[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        at += d->stacks.v[first + i];
        if (at > UINT32_MAX) return false;
        d->stacks.v[first + i] = (uint32_t)at;
    }
    d->stacks.n += n;
    return vec_reserve(r->t->a, &d->frames, at - d->frames.n);
}

static bool take_stacks(reader *r)
{
    dict *d = r->d;
    uint32_t n = r->n.stacks, *rank = take_numbers(r, n, n),
             *depth = rank ? take_numbers(r, n, UINT32_MAX) : NULL,
             *same = depth ? take_numbers(r, n, UINT32_MAX) : NULL,
             base = (uint32_t)dict_n_stacks(d);
    uint64_t all = take_varint(&r->in), at = 0;
    if (!same || r->in.bad || all > UINT32_MAX) return false;
    uint32_t *own = take_numbers(r, (size_t)all, r->all.locations);
    if (!own || !lay_out_stacks(r, rank, depth, n)) return false;
    const uint32_t *before = NULL; /* the previous stack, leaf first */
    uint32_t n_before = 0;
    for (uint32_t i = 0; i < n; i++) {
        span s = dict_stack(d, base + rank[i]);
        uint32_t *to = s.n ? d->frames.v + s.at : NULL; /* without frames there is no pool */
        if (same[i] > s.n || same[i] > n_before || s.n - same[i] > all - at) return false;
        for (uint32_t k = 0; k < same[i]; k++) to[s.n - 1 - k] = before[n_before - 1 - k];
        for (uint32_t k = s.n - same[i]; k-- > 0;) to[k] = own[at++];
        before = to;
        n_before = s.n;
    }
    d->frames.n = d->stacks.v[d->stacks.n - 1];
    return at == all;
}

static bool take_lists(reader *r)
{
    span *s = take_refs(r, r->n.lists);
    if (!s || !vec_reserve(r->t->a, &r->t->lists, r->n.lists)) return false;
    for (uint32_t i = 0; i < r->n.lists; i++) r->t->lists.v[r->t->lists.n++] = s[i];
    return true;
}

bool tables_take(tables *t, str delta, zipper *z)
{
    reader r = {.t = t,
                .d = &t->m.dict,
                .in = taker_of(delta),
                .z = z,
                .all = tables_count(t),
                .tmp = {.budget = t->a->budget}};
    uint32_t *n = &r.n.strings, *all = &r.all.strings;
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof r.n / sizeof *n; i++) {
        uint64_t more = take_varint(&r.in);
        ok = !r.in.bad && more < UINT32_MAX - all[i];
        n[i] = (uint32_t)more;
        all[i] += n[i];
    }
    ok = ok && take_texts(&r) && take_attribute_table(&r) && take_mappings(&r) &&
         take_functions(&r) && take_locations(&r) && take_stacks(&r) && take_lists(&r) &&
         taker_left(&r.in) == 0;
    arena_free(&r.tmp);
    return ok;
}
