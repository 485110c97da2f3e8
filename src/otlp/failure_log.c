/* Formats log lines about deliveries and limits their rate. */
#include "otlp/failure_log.h"
#include "base/time.h"

#include "base/ban.h"
#include <inttypes.h>

#define REPEAT_NS (60 * NS_PER_S)

static void say(failure_log *t, const char *what)
{
    char text[512];
    snprintf(text, sizeof text, "%s: %s", otlp_signal_name(t->signal), what);
    if (t->say) t->say(t->ctx, text);
}

void failure_log_failed(failure_log *t, uint64_t now, const char *why)
{
    t->failed++;
    snprintf(t->why, sizeof t->why, "%s", why);
    if (t->failing && (now - t->logged_at < REPEAT_NS || !strcmp(t->logged, t->why))) return;
    t->failing = true;
    t->logged_at = now;
    memcpy(t->logged, t->why, sizeof t->logged);
    say(t, why);
}

static void log_dropped(failure_log *t, uint64_t now)
{
    char text[160];
    if (!t->dropped.batches) return;
    snprintf(text, sizeof text,
             "the spool dropped %zu batches with %" PRIu64 " items: it is full, or its disk fails",
             t->dropped.batches, t->dropped.items);
    t->dropped = (spool_lost){0};
    t->dropped_logged_at = now;
    say(t, text);
}

void failure_log_dropped(failure_log *t, uint64_t now, const spool_lost *lost)
{
    t->dropped.batches += lost->batches;
    t->dropped.items += lost->items;
    if (!t->dropped_logged_at || now - t->dropped_logged_at >= REPEAT_NS) log_dropped(t, now);
}

void failure_log_recovered(failure_log *t, uint64_t now)
{
    char text[128];
    log_dropped(t, now);
    if (!t->failing) return;
    snprintf(text, sizeof text, "delivered again after %" PRIu64 " failures", t->failed);
    t->failing = false;
    t->failed = 0;
    say(t, text);
}

void failure_log_end(failure_log *t, uint64_t now) { log_dropped(t, now); }
