/* store/item.h - one received item as the journal stores it: its facts, the keys of its profiles,
 * its OTLP bytes. Pure. */
#pragma once
#include "store/bytes.h"
#include "store/content.h"
#include "model/ledger.h"
#include "wire/layout.h"

typedef struct item {
    uint64_t received;
    uint64_t first, last; /* times of its observations, inclusive; first > last: none */
    uint64_t n_bytes;     /* size on the wire */
    uint64_t n_samples;
    layout layout;
    str sender, recognised, ledger; /* ledger: encoded by put_ledger; empty: no losses */
    size_t n_profiles;
    const uint8_t *keys; /* n_profiles * 16 bytes, not aligned */
    const uint8_t *skip; /* bit i: profile i is a duplicate */
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
/* Writes everything except the bytes, which begin `gap` bytes later. The content of the gap is
 * ignored. */
enum { ITEM_GAP = 2 }; /* size of the gap field, which comes last */
void put_item_head(buf *b, const item *x);
/* Decodes an item as views into `bytes`. Returns false when it is damaged. */
NODISCARD bool take_item(str bytes, item *out);

void put_ledger(buf *b, const ledger *l);
/* Decodes a ledger into the arena. Returns NULL when it is empty or damaged, or out of memory. */
const ledger *take_ledger(str bytes, arena *a);

/* Returns the time of samples without timestamps. */
static inline uint64_t profile_moment(const profile *p, uint64_t received)
{
    return p->time_unix_nano ? p->time_unix_nano : received;
}

/* Extends [*first, *last] by the times of all observations of the profile. */
void profile_times(const model *m, const profile *p, uint64_t received, uint64_t *first,
                   uint64_t *last);
