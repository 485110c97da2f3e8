/* store/chunk.h - the input of reads: some profiles with one dictionary, from a block or from an
 * item of the journal. */
#pragma once
#include "store/content.h"

typedef struct profile_facts {
    uint64_t seq;      /* number of its item */
    uint64_t received; /* Unix ns */
    uint64_t n_bytes;  /* of the item */
    str sender, recognised, ledger;
    content_key key;
    bool skip; /* a duplicate, or its series is not selected: reads skip it */
} profile_facts;

typedef struct chunk {
    const model *m;             /* checked */
    const profile_facts *facts; /* by profile */
    uint64_t first, last;       /* times of the first and last observation */
} chunk;

/* Sets `out` to the id of the profile, or to one derived from its content. */
static inline void profile_identity(const profile *p, const profile_facts *f, uint8_t out[16])
{
    if (id_is_zero(p->profile_id, 16))
        memcpy(out, &f->key, 16);
    else
        memcpy(out, p->profile_id, 16);
}
