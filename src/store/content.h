/* store/content.h - what a profile is known by, whatever the numbers of its tables.  Pure.
 *
 * The key of a profile with an id is the XXH128 of the id, the sample type and its unit (several types of one recording may
 * share an id); of one without, the XXH128 of resource, scope and profile, where every reference into the dictionary stands
 * for the XXH128 of what it refers to: a sender may number its tables as it likes, a retry is a retry.  Times that were moved to
 * a date (wire/anchor.h) count as the recording had them: a file sent a second time is the same, whatever date it got. */
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

/* The key of a profile with an id. */
content_key content_key_of(str type, str unit, const uint8_t id[16]);
/* The keys of all profiles of a checked model, n of them into `out`.  Scratch comes from `a`.  ERR_LIMIT. */
NODISCARD bool content_keys(const model *m, arena *a, content_key *out, err *e);

/* Values, resources and scopes as bytes: equal ones have equal bytes. */
void put_resource(buf *b, const resource *r);
void put_scope(buf *b, const scope *s);
void put_any(buf *b, const any *v);
void put_keyvalues(buf *b, const keyvalues *kv);

/* And back, copied into the arena.  false: damaged, too deep, or the budget. */
NODISCARD bool take_any(taker *t, arena *a, any *out);
NODISCARD bool take_resource(taker *t, arena *a, resource *out);
NODISCARD bool take_scope(taker *t, arena *a, scope *out);
