/* Implements the formula of backoff.h in integers. */
#include "otlp/backoff.h"

#include "base/ban.h"

uint64_t backoff_next(backoff *b, uint64_t asked, uint64_t random)
{
    uint64_t wait = b->first ? b->first : UINT64_C(1000000000);
    uint64_t most = b->most ? b->most : UINT64_C(30000000000);
    for (unsigned i = 0; i < b->tries && wait < most; i++) wait += wait / 2;
    if (wait > most) wait = most;
    b->tries += b->tries < 1000;
    wait = wait / 2 + (uint64_t)(((unsigned __int128)wait * (random >> 1)) >> 63);
    return wait > asked ? wait : asked;
}
