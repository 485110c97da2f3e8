#include "store/block.h"

#include "store/item.h"
#include "base/ban.h"

static bool push(arena *a, i64s *v, uint64_t x)
{
    int64_t *slot = vec_push(a, v);
    if (slot) *slot = (int64_t)x;
    return slot != NULL;
}

/* 0: none; 1: one that the block has not seen; 2 + k: the one k before the newest. */
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
        if (!link_code(b, a, &m->dict.links.v[p->link ? p->link[i] : 0], &code)) return false;
        b->link.v[b->link.n++] = (int64_t)code;
    }
    return true;
}

static void see_time(block_builder *b, uint64_t t)
{
    b->first = t < b->first ? t : b->first;
    b->last = t > b->last ? t : b->last;
}

/* Entries of a pool that all samples of a profile have together: they lie one after the other. */
static span pool_of(const spans *s, size_t n)
{
    if (!n) return (span){0};
    span first = spans_at(s, 0), last = spans_at(s, n - 1);
    return (span){first.at, last.at + last.n - first.at};
}

static bool add_values(block_builder *b, arena *a, const model *m, const profile *p)
{
    span all = pool_of(&p->value_span, p->n_samples);
    if (!vec_reserve(a, &b->values, all.n)) return false;
    uint64_t total = (uint64_t)b->total;
    for (uint32_t i = 0; i < all.n; i++) {
        int64_t v = m->values.v[all.at + i];
        b->values.v[b->values.n++] = v;
        total += (uint64_t)v;
    }
    for (size_t i = 0; i < p->n_samples; i++)
        b->n_values.v[b->n_values.n++] = spans_at(&p->value_span, i).n;
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
    size_t first = b->n_times.n;
    for (size_t i = 0; i < p->n_samples; i++) {
        uint32_t n = spans_at(&p->time_span, i).n;
        uint64_t n_values = (uint64_t)b->n_values.v[first + i];
        b->n_times.v[b->n_times.n++] = n;
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
    return push(a, &b->samples, p->n_samples) && push(a, &b->seq, f->seq) &&
           push(a, &b->received, f->received) && push(a, &b->time, p->time_unix_nano) &&
           push(a, &b->duration, p->duration_nano) && push(a, &b->identity, known) &&
           push(a, &b->dropped, p->dropped_attributes_count) && push(a, &b->attrs, f->attrs) &&
           push(a, &b->format, f->format) && push(a, &b->payload, f->payload) &&
           push(a, &b->sender, f->sender) && push(a, &b->recognised, f->recognised) &&
           push(a, &b->ledger, f->ledger) && push(a, &b->n_bytes, f->n_bytes);
}

bool block_add_profile(block_builder *b, arena *a, const model *m, const profile *p,
                       const block_profile *f)
{
    size_t n = p->n_samples;
    i64s *columns[] = {&b->stack, &b->far, &b->list, &b->link, &b->n_values, &b->n_times};
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (!vec_reserve(a, columns[i], n)) return false;
    uint64_t moment = profile_moment(p, f->received);
    if (!b->ids.n) b->first = UINT64_MAX;
    if (!n) see_time(b, moment);
    return add_facts(b, a, p, f) && add_links(b, a, m, p) && add_values(b, a, m, p) &&
           add_times(b, a, m, p, moment);
}

/* ---- bytes ---- */

/* The distances of neighbours: the first is that to `from`. */
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

static void put_plain(buf *out, const i64s *v, zipper *z)
{
    put_column(out, v->v, v->n, COLUMN_ANY, z);
}

void block_put(const block_builder *b, buf *out, zipper *z)
{
    put_varint(out, b->ids.n);
    put_varint(out, b->stack.n);
    put_varint(out, b->values.n);
    put_varint(out, b->times.n);
    put_varint(out, b->links.n);
    put_fixed64(out, b->first);
    put_plain(out, &b->samples, z);
    put_steps(out, &b->time, b->first, COLUMN_ANY, z);
    put_plain(out, &b->duration, z);
    put_plain(out, &b->identity, z);
    put_plain(out, &b->dropped, z);
    put_plain(out, &b->attrs, z);
    put_plain(out, &b->format, z);
    put_plain(out, &b->payload, z);
    put_steps(out, &b->seq, 0, COLUMN_ANY, z);
    put_steps(out, &b->received, b->first, COLUMN_ANY, z);
    put_plain(out, &b->sender, z);
    put_plain(out, &b->recognised, z);
    put_plain(out, &b->ledger, z);
    put_plain(out, &b->n_bytes, z);
    buf_put(out, b->ids.v, b->ids.n * sizeof *b->ids.v);
    put_plain(out, &b->stack, z);
    put_varint(out, b->far.n);
    put_plain(out, &b->far, z);
    put_plain(out, &b->list, z);
    put_plain(out, &b->link, z);
    buf_put(out, b->links.v, b->links.n * sizeof *b->links.v);
    put_plain(out, &b->n_values, z);
    put_plain(out, &b->values, z);
    put_plain(out, &b->n_times, z);
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
