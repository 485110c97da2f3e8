/* Limits the rate of log lines, so that a misconfigured sender cannot flood the log. */
#include "server/refusals.h"

#include "base/ban.h"

static bool is_known(const refusals *r, const char *sender)
{
    for (size_t i = 0; i < r->n; i++)
        if (!strncmp(r->senders[i], sender, sizeof r->senders[i] - 1)) return true;
    return false;
}

bool refusals_note(refusals *r, const char *sender, uint64_t now, uint64_t *suppressed)
{
    if (now >= r->until) r->until = now + REFUSALS_NS, r->n = 0;
    if (is_known(r, sender) || r->n == REFUSALS_SENDERS) {
        r->suppressed++;
        return false;
    }
    snprintf(r->senders[r->n++], sizeof r->senders[0], "%s", sender);
    *suppressed = r->suppressed;
    r->suppressed = 0;
    return true;
}
