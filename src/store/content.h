/* store/content.h - the identity of a profile, independent of how its tables are numbered. Pure.
 *
 * The key of a profile with an id is the XXH128 of the id, the sample type and its unit: the
 * profiles of one recording have different types and may share an id. The key of a profile without
 * an id is the XXH128 of resource, scope and profile, with every reference into the dictionary
 * replaced by the XXH128 of the entry. So a retry has the same key, however the sender numbers its
 * tables. Times that were moved to a date (wire/anchor.h) count with their original value, so that
 * a file sent twice has the same keys. */
#pragma once
#include "store/bytes.h"
#include "base/hash.h"
#include "model/model.h"

typedef struct content_key {
    uint64_t low, high;
} content_key;

static inline bool content_key_equal(content_key a, content_key b)
{
    return a.low == b.low && a.high == b.high;
}

/* Returns the key of a profile with an id. */
content_key content_key_of(str type, str unit, const uint8_t id[16]);
/* Computes the keys of all profiles of a checked model into `out`. Scratch memory comes from `a`.
 * Fails with ERR_MEMORY. */
NODISCARD bool content_keys(const model *m, arena *a, content_key *out, err *e);

/* Encode values, resources and scopes. Equal inputs give equal bytes. */
void put_resource(buf *b, const resource *r);
void put_scope(buf *b, const scope *s);
void put_any(buf *b, const any *v);
void put_keyvalues(buf *b, const keyvalues *kv);

/* Decode them into the arena. Return false when the data is damaged or nested too deeply, or the
 * arena's budget is spent. */
NODISCARD bool take_any(taker *t, arena *a, any *out);
NODISCARD bool take_resource(taker *t, arena *a, resource *out);
NODISCARD bool take_scope(taker *t, arena *a, scope *out);
