/* Encodes a block: profiles of one series to columns. Samples are added one by one, and the columns
 * are encoded at the end, possibly by another thread. */
#include "store/block.h"

#include "store/item.h"
#include "base/ban.h"

static bool push(arena *a, i64s *v, uint64_t x)
{
    int64_t *slot = vec_push(a, v);
    if (slot) *slot = (int64_t)x;
    return slot != NULL;
}

/* Adds the first value that differs. From now on the column stores every value. */
static bool steady_vary(steady *s, arena *a, int64_t x)
{
    if (!vec_reserve(a, &s->varied, s->n + 1)) return false;
    for (size_t i = 0; i < s->n; i++) s->varied.v[i] = s->value;
    s->varied.v[s->n++] = x;
    s->varied.n = s->n;
    return true;
}

static inline bool steady_push(steady *s, arena *a, uint64_t v)
{
    int64_t x = (int64_t)v;
    if (!s->n) s->value = x;
    if (LIKELY(!s->varied.n && x == s->value)) return s->n++, true;
    if (!s->varied.n) return steady_vary(s, a, x);
    if (!push(a, &s->varied, v)) return false;
    s->n = s->varied.n;
    return true;
}

/* Encodes a link. Code 0: no link; 1: a new link; 2 + k: the link k before the newest. */
static bool link_code(block_builder *b, arena *a, const link_ids *l, uint64_t *code)
{
    static const link_ids none;
    *code = 0;
    if (memcmp(l, &none, sizeof none) == 0) return true;
    if (!hash_index_room(&b->link_index, a)) return false;
    uint64_t h = hash_bytes(l, sizeof *l, b->link_index.seed);
    uint32_t i = hash_first(&b->link_index, h);
    for (uint32_t at; hash_next(&b->link_index, &i, h, &at); i++)
        if (memcmp(&b->links.v[at], l, sizeof *l) == 0) {
            *code = 2 + (b->links.n - 1 - at);
            return true;
        }
    link_ids *slot = vec_push(a, &b->links);
    if (!slot) return false;
    *slot = *l;
    hash_put(&b->link_index, i, h, (uint32_t)(b->links.n - 1));
    *code = 1;
    return true;
}

static bool add_links(block_builder *b, arena *a, const model *m, const profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        uint64_t code;
        if (!link_code(b, a, &m->dict.links.v[p->link ? p->link[i] : 0], &code) ||
            !steady_push(&b->link, a, code))
            return false;
    }
    return true;
}

static void see_time(block_builder *b, uint64_t t)
{
    b->first = t < b->first ? t : b->first;
    b->last = t > b->last ? t : b->last;
}

/* Returns the entries of a pool that belong to the samples of a profile; they are adjacent. */
static span pool_of(const spans *s, size_t n)
{
    if (!n) return (span){0};
    span first = spans_at(s, 0), last = spans_at(s, n - 1);
    return (span){first.at, last.at + last.n - first.at};
}

static bool add_values(block_builder *b, arena *a, const model *m, const profile *p)
{
    span all = pool_of(&p->value_span, p->n_samples);
    uint64_t total = (uint64_t)b->total;
    for (uint32_t i = 0; i < all.n; i++) {
        uint64_t v = (uint64_t)m->values.v[all.at + i];
        if (!steady_push(&b->values, a, v)) return false;
        total += v;
    }
    for (size_t i = 0; i < p->n_samples; i++)
        if (!steady_push(&b->n_values, a, spans_at(&p->value_span, i).n)) return false;
    b->total = (int64_t)total;
    return true;
}

static bool add_times(block_builder *b, arena *a, const model *m, const profile *p, uint64_t moment)
{
    span all = pool_of(&p->time_span, p->n_samples);
    if (!vec_reserve(a, &b->times, all.n)) return false;
    for (uint32_t i = 0; i < all.n; i++) {
        uint64_t t = m->times.v[all.at + i];
        b->times.v[b->times.n++] = (int64_t)t;
        see_time(b, t);
    }
    for (size_t i = 0; i < p->n_samples; i++) {
        uint32_t n = spans_at(&p->time_span, i).n, n_values = spans_at(&p->value_span, i).n;
        if (!steady_push(&b->n_times, a, n)) return false;
        b->n_observations += n_values ? n_values : n;
        if (!n_values) b->total = (int64_t)((uint64_t)b->total + n);
        if (!n) see_time(b, moment);
    }
    return true;
}

static bool add_facts(block_builder *b, arena *a, const profile *p, const block_profile *f)
{
    bool known = !id_is_zero(p->profile_id, 16);
    content_key *id = vec_push(a, &b->ids);
    if (!id) return false;
    *id = f->key;
    if (known) memcpy(id, p->profile_id, 16);
    return push(a, &b->seq, f->seq) && push(a, &b->received, f->received) &&
           push(a, &b->time, p->time_unix_nano) && steady_push(&b->samples, a, p->n_samples) &&
           steady_push(&b->duration, a, p->duration_nano) && steady_push(&b->identity, a, known) &&
           steady_push(&b->dropped, a, p->dropped_attributes_count) &&
           steady_push(&b->attrs, a, f->attrs) && steady_push(&b->format, a, f->format) &&
           steady_push(&b->payload, a, f->payload) && steady_push(&b->sender, a, f->sender) &&
           steady_push(&b->recognised, a, f->recognised) && steady_push(&b->ledger, a, f->ledger) &&
           steady_push(&b->n_bytes, a, f->n_bytes);
}

bool block_add_profile(block_builder *b, arena *a, const model *m, const profile *p,
                       const block_profile *f)
{
    size_t n = p->n_samples;
    u32s *columns[] = {&b->stack, &b->far, &b->list};
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (!vec_reserve(a, columns[i], n)) return false;
    uint64_t moment = profile_moment(p, f->received);
    if (!b->ids.n) b->first = UINT64_MAX;
    if (!n) see_time(b, moment);
    return add_facts(b, a, p, f) && add_links(b, a, m, p) && add_values(b, a, m, p) &&
           add_times(b, a, m, p, moment);
}

/* ---- bytes ---- */

/* Writes the differences between neighbours. The first is the difference to `from`. */
static void put_steps(buf *out, const i64s *v, uint64_t from, column_hint hint, zipper *z)
{
    buf scratch = {0};
    if (!buf_reserve(&scratch, v->n * sizeof(int64_t) + 8)) {
        out->failed = true;
        return;
    }
    int64_t *d = (int64_t *)(void *)scratch.p;
    for (size_t i = 0; i < v->n; i++) {
        d[i] = (int64_t)((uint64_t)v->v[i] - from);
        from = (uint64_t)v->v[i];
    }
    put_column(out, d, v->n, hint, z);
    buf_free(&scratch);
}

static void put_steady(buf *out, const steady *s, zipper *z)
{
    if (s->varied.n)
        put_column(out, s->varied.v, s->n, COLUMN_ANY, z);
    else
        /* a constant column needs one value */
        put_column(out, &s->value, s->n ? 1 : 0, COLUMN_ANY, z);
}

void block_put(const block_builder *b, buf *out, zipper *z)
{
    put_varint(out, b->ids.n);
    put_varint(out, b->stack.n);
    put_varint(out, b->values.n);
    put_varint(out, b->times.n);
    put_varint(out, b->links.n);
    put_fixed64(out, b->first);
    put_steady(out, &b->samples, z);
    put_steps(out, &b->time, b->first, COLUMN_ANY, z);
    put_steady(out, &b->duration, z);
    put_steady(out, &b->identity, z);
    put_steady(out, &b->dropped, z);
    put_steady(out, &b->attrs, z);
    put_steady(out, &b->format, z);
    put_steady(out, &b->payload, z);
    put_steps(out, &b->seq, 0, COLUMN_ANY, z);
    put_steps(out, &b->received, b->first, COLUMN_ANY, z);
    put_steady(out, &b->sender, z);
    put_steady(out, &b->recognised, z);
    put_steady(out, &b->ledger, z);
    put_steady(out, &b->n_bytes, z);
    buf_put(out, b->ids.v, b->ids.n * sizeof *b->ids.v);
    put_numbers(out, b->stack.v, b->stack.n, z);
    put_varint(out, b->far.n);
    put_numbers(out, b->far.v, b->far.n, z);
    put_numbers(out, b->list.v, b->list.n, z);
    put_steady(out, &b->link, z);
    buf_put(out, b->links.v, b->links.n * sizeof *b->links.v);
    put_steady(out, &b->n_values, z);
    put_steady(out, &b->values, z);
    put_steady(out, &b->n_times, z);
    put_steps(out, &b->times, b->first, COLUMN_NOISE, z);
}

/* ---- marks ---- */

uint32_t mark_of(mark_kind kind, const uint8_t *id, size_t n)
{
    return (uint32_t)XXH3_64bits_withSeed(id, n, (uint64_t)kind);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

bool block_put_marks(const block_builder *b, arena *a, buf *out)
{
    size_t n = 0, k = 0;
    uint32_t *v = arena_array(a, b->ids.n + 2 * b->links.n + 1, sizeof *v);
    if (!v) return false;
    for (size_t i = 0; i < b->ids.n; i++)
        v[n++] = mark_of(MARK_PROFILE, (const uint8_t *)&b->ids.v[i], 16);
    for (size_t i = 0; i < b->links.n; i++) {
        v[n++] = mark_of(MARK_TRACE, b->links.v[i].trace_id, 16);
        v[n++] = mark_of(MARK_SPAN, b->links.v[i].span_id, 8);
    }
    qsort(v, n, sizeof *v, by_number);
    for (size_t i = 0; i < n; i++)
        if (!i || v[i] != v[k - 1]) v[k++] = v[i];
    buf_put(out, v, k * sizeof *v);
    return true;
}

bool marks_have(str marks, uint32_t mark)
{
    size_t low = 0, high = marks.n / sizeof mark;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        uint32_t v;
        memcpy(&v, marks.p + mid * sizeof v, sizeof v);
        if (v == mark) return true;
        if (v < mark)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}
