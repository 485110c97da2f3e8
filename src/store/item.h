/* store/item.h - one received item as the journal keeps it: its facts, the keys of its profiles, its OTLP bytes.  Pure. */
#pragma once
#include "store/bytes.h"
#include "store/content.h"
#include "model/ledger.h"
#include "wire/layout.h"

typedef struct item {
    uint64_t received;
    uint64_t first, last; /* times of its observations, both inside; first > last: there are none */
    uint64_t n_bytes;     /* on the wire */
    uint64_t n_samples;
    layout layout;
    str sender, recognised, ledger; /* ledger: put_ledger; empty: nothing was lost */
    size_t n_profiles;
    const uint8_t *keys; /* n_profiles * 16 bytes, not aligned */
    const uint8_t *skip; /* bit i: profile i was there already */
    str bytes;           /* OTLP */
} item;

static inline bool item_skips(const item *x, size_t i) { return x->skip[i / 8] >> (i & 7) & 1; }

static inline content_key item_key(const item *x, size_t i)
{
    content_key k;
    memcpy(&k, x->keys + i * sizeof k, sizeof k);
    return k;
}

void put_item(buf *b, const item *x);
/* All but the bytes, which begin `gap` bytes behind it: what lies between is written, but means nothing. */
enum { ITEM_GAP = 2 }; /* bytes that the gap itself takes, the last ones */
void put_item_head(buf *b, const item *x);
/* Views into `bytes`.  false: damaged. */
NODISCARD bool take_item(str bytes, item *out);

void put_ledger(buf *b, const ledger *l);
/* In the arena, or NULL: empty, damaged or no memory. */
const ledger *take_ledger(str bytes, arena *a);

/* The time by which samples without timestamps are found. */
static inline uint64_t profile_moment(const profile *p, uint64_t received)
{
    return p->time_unix_nano ? p->time_unix_nano : received;
}

/* Times of all observations of the profile, added to [*first, *last]. */
void profile_times(const model *m, const profile *p, uint64_t received, uint64_t *first,
                   uint64_t *last);
