/* Encodes and decodes the items of the journal (item.h). Decoding is checked, because the bytes
 * come from disk. */
#include "store/item.h"

#include "base/ban.h"

enum { ITEM_VERSION = 1, ITEM_WITH_GAP = 2 };

static void put_facts(buf *b, const item *x)
{
    put_fixed64(b, x->received);
    put_fixed64(b, x->first);
    put_fixed64(b, x->last);
    put_varint(b, x->n_bytes);
    put_varint(b, x->n_samples);
    put_varint(b, (uint64_t)x->layout);
    put_str(b, x->sender);
    put_str(b, x->recognised);
    put_str(b, x->ledger);
    put_varint(b, x->n_profiles);
    buf_put(b, x->keys, x->n_profiles * sizeof(content_key));
    buf_put(b, x->skip, (x->n_profiles + 7) / 8);
}

void put_item(buf *b, const item *x)
{
    put_varint(b, ITEM_VERSION);
    put_facts(b, x);
    buf_put(b, x->bytes.p, x->bytes.n);
}

void put_item_head(buf *b, const item *x)
{
    put_varint(b, ITEM_WITH_GAP);
    put_facts(b, x);
    buf_put(b, "\0", ITEM_GAP);
}

bool take_item(str bytes, item *out)
{
    taker t = taker_of(bytes);
    uint64_t version = take_varint(&t);
    if (version != ITEM_VERSION && version != ITEM_WITH_GAP) return false;
    *out = (item){0};
    out->received = take_fixed64(&t);
    out->first = take_fixed64(&t);
    out->last = take_fixed64(&t);
    out->n_bytes = take_varint(&t);
    out->n_samples = take_varint(&t);
    uint64_t l = take_varint(&t);
    out->layout = l < LAYOUT_COUNT ? (layout)l : LAYOUT_UNKNOWN;
    out->sender = take_str(&t);
    out->recognised = take_str(&t);
    out->ledger = take_str(&t);
    uint64_t n = take_varint(&t);
    if (t.bad || n > taker_left(&t) / sizeof(content_key)) return false;
    out->n_profiles = (size_t)n;
    out->keys = (const uint8_t *)take_bytes(&t, n * sizeof(content_key)).p;
    out->skip = (const uint8_t *)take_bytes(&t, (n + 7) / 8).p;
    if (version == ITEM_WITH_GAP) {
        str gap = take_bytes(&t, ITEM_GAP);
        if (t.bad) return false;
        (void)take_bytes(&t, (uint64_t)(uint8_t)gap.p[0] | (uint64_t)(uint8_t)gap.p[1] << 8);
    }
    out->bytes = (str){(const char *)t.p, taker_left(&t)};
    return !t.bad;
}

/* ---- ledgers ---- */

void put_ledger(buf *b, const ledger *l)
{
    if (!l || !l->n) return;
    put_varint(b, l->n);
    for (size_t i = 0; i < l->n; i++) {
        const loss *x = &l->v[i];
        put_str(b, str_of(loss_name(x->concept)));
        put_varint(b, (uint64_t)x->stage);
        put_varint(b, x->count);
        put_str(b, str_of(x->path));
        put_str(b, str_of(x->value));
        put_varint(b, x->carried_as != NULL);
        put_str(b, str_of(x->carried_as));
    }
}

static loss_concept concept_named(str name)
{
    unsigned i = 0;
    while (i < LOSS_CONCEPT_COUNT && !str_eq(name, str_of(loss_name((loss_concept)i)))) i++;
    return (loss_concept)i;
}

static void take_text(taker *t, char *out, size_t size)
{
    str s = take_str(t);
    size_t n = s.n < size - 1 ? s.n : size - 1;
    if (n) memcpy(out, s.p, n);
    out[n] = 0;
}

const ledger *take_ledger(str bytes, arena *a)
{
    if (!bytes.n) return NULL;
    taker t = taker_of(bytes);
    ledger *l = arena_new(a, ledger, 1);
    uint64_t n = take_varint(&t);
    for (uint64_t i = 0; l && !t.bad && i < n && l->n < ARRAY_LEN(l->v); i++) {
        loss *x = &l->v[l->n];
        *x = (loss){.concept = concept_named(take_str(&t))};
        x->stage = (loss_stage)(take_varint(&t) & 3);
        x->count = take_varint(&t);
        take_text(&t, x->path, sizeof x->path);
        take_text(&t, x->value, sizeof x->value);
        bool carried = take_varint(&t);
        str as = take_str(&t);
        char *z = arena_alloc(a, as.n + 1);
        if (!z) return NULL;
        if (as.n) memcpy(z, as.p, as.n);
        z[as.n] = 0;
        x->carried_as = carried ? z : NULL;
        if (x->concept < LOSS_CONCEPT_COUNT) l->n++; /* skips concepts of a newer kiln */
    }
    return t.bad ? NULL : l;
}

/* ---- times ---- */

void profile_times(const model *m, const profile *p, uint64_t received, uint64_t *first,
                   uint64_t *last)
{
    uint64_t low = *first, high = *last, moment = profile_moment(p, received);
    bool untimed = p->n_samples == 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        span s = spans_at(&p->time_span, i);
        untimed |= s.n == 0;
        for (uint32_t k = 0; k < s.n; k++) {
            uint64_t t = m->times.v[s.at + k];
            low = t < low ? t : low;
            high = t > high ? t : high;
        }
    }
    if (untimed) {
        low = moment < low ? moment : low;
        high = moment > high ? moment : high;
    }
    *first = low;
    *last = high;
}
