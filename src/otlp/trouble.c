#include "otlp/trouble.h"

#include "base/ban.h"
#include <inttypes.h>

#define SAY_AGAIN_NS (60 * UINT64_C(1000000000))

static void say(trouble *t, const char *what)
{
    char text[512];
    snprintf(text, sizeof text, "%s: %s", otlp_signal_name(t->signal), what);
    if (t->say) t->say(t->who, text);
}

void trouble_failed(trouble *t, uint64_t now, const char *why)
{
    t->failed++;
    snprintf(t->why, sizeof t->why, "%s", why);
    if (t->failing && (now - t->said_at < SAY_AGAIN_NS || !strcmp(t->said, t->why))) return;
    t->failing = true;
    t->said_at = now;
    memcpy(t->said, t->why, sizeof t->said);
    say(t, why);
}

static void say_dropped(trouble *t, uint64_t now)
{
    char text[160];
    if (!t->dropped.batches) return;
    snprintf(text, sizeof text,
             "the spool dropped %zu batches with %" PRIu64 " items: it is full, or its disk fails",
             t->dropped.batches, t->dropped.items);
    t->dropped = (spool_lost){0};
    t->dropped_said_at = now;
    say(t, text);
}

void trouble_dropped(trouble *t, uint64_t now, const spool_lost *lost)
{
    t->dropped.batches += lost->batches;
    t->dropped.items += lost->items;
    if (!t->dropped_said_at || now - t->dropped_said_at >= SAY_AGAIN_NS) say_dropped(t, now);
}

void trouble_over(trouble *t, uint64_t now)
{
    char text[128];
    say_dropped(t, now);
    if (!t->failing) return;
    snprintf(text, sizeof text, "delivered again after %" PRIu64 " failures", t->failed);
    t->failing = false;
    t->failed = 0;
    say(t, text);
}

void trouble_end(trouble *t, uint64_t now) { say_dropped(t, now); }
