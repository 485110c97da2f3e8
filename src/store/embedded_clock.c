/* A clock that jumps must not make data old: retention by age pauses until somebody had time to look.  All under `work`, or
 * while the store is opened. */
#include "store/embedded.h"

#include <inttypes.h>
#include "base/ban.h"

#define HOUR_NS (UINT64_C(3600) * NS_PER_S)
#define PAUSE_NS (24 * HOUR_NS)
#define SAVE_NS (600 * NS_PER_S) /* how often the rest of a pause is saved */

/* What is no drift and no leap second any more. */
static uint64_t jump_of(const embedded *x)
{
    uint64_t part = x->max_age / 4;
    return part < HOUR_NS ? HOUR_NS : part > 24 * HOUR_NS ? 24 * HOUR_NS : part;
}

static bool is_watched(const embedded *x) { return x->max_age != UINT64_MAX && !x->o.drop_at_once; }

bool embedded_paused(const embedded *x)
{
    return is_watched(x) && x->paused_until > world_now(x->world);
}

uint64_t embedded_likely_time(const embedded *x)
{
    uint64_t wall = x->world->wall(x->world->who), ahead = x->retention.ahead;
    return embedded_paused(x) && ahead < wall ? wall - ahead : wall;
}

/* by: of the clock; ahead: it is later by so much now than it was likely to be. */
static bool pause_retention(embedded *x, const char *what, uint64_t by, uint64_t ahead, err *e)
{
    uint64_t now = world_now(x->world);
    x->retention.ahead = ahead;
    x->paused_until = now + PAUSE_NS;
    x->retention.pause_saved = now;
    pthread_mutex_lock(&x->lock);
    x->n.clock_jumps++;
    pthread_mutex_unlock(&x->lock);
    embedded_say(x, STORE_TROUBLE,
                 "store: %s by %" PRIu64 " s: removal by age pauses for %" PRIu64
                 " hours (store.drop-at-once goes on)",
                 what, by / NS_PER_S, (uint64_t)(PAUSE_NS / HOUR_NS));
    return catalog_set(&x->catalog, "pause", PAUSE_NS, e);
}

/* The rest of the pause holds after a restart, too. */
static bool save_pause(embedded *x, err *e)
{
    uint64_t now = world_now(x->world), until = x->paused_until;
    if (!until) return true;
    if (until <= now) {
        x->paused_until = 0;
        embedded_say(x, STORE_REMOVED, "store: removal by age goes on");
        return catalog_set(&x->catalog, "pause", 0, e);
    }
    if (now - x->retention.pause_saved < SAVE_NS) return true;
    x->retention.pause_saved = now;
    return catalog_set(&x->catalog, "pause", until - now, e);
}

bool embedded_watch_clock(embedded *x, err *e)
{
    retention *r = &x->retention;
    uint64_t wall = x->world->wall(x->world->who), now = world_now(x->world);
    uint64_t expected = r->wall + (now - r->now);
    uint64_t by = wall > expected ? wall - expected : expected - wall;
    r->wall = wall;
    r->now = now;
    if (!is_watched(x)) return true;
    bool forward = wall > expected;
    if (by > jump_of(x))
        return pause_retention(x, forward ? "the clock jumped forward" : "the clock jumped back",
                               by, forward ? by : 0, e);
    return save_pause(x, e);
}

bool embedded_meet_clock(embedded *x, err *e)
{
    retention *r = &x->retention;
    uint64_t left = 0;
    r->wall = x->world->wall(x->world->who);
    r->now = world_now(x->world);
    if (!catalog_get(&x->catalog, "pause", &left, e)) return false;
    if (left) x->paused_until = r->now + (left < PAUSE_NS ? left : PAUSE_NS);
    r->pause_saved = r->now;
    if (!is_watched(x) || !x->newest) return true;
    bool ahead = r->wall > x->newest;
    uint64_t by = ahead ? r->wall - x->newest : x->newest - r->wall;
    if (by > jump_of(x))
        return pause_retention(x,
                               ahead ? "the clock is ahead of the newest data"
                                     : "the clock is behind the newest data",
                               by, ahead ? by : 0, e);
    return true;
}

void embedded_gauge_retention(const embedded *x, store_gauges *out)
{
    uint64_t now = world_now(x->world), until = x->paused_until;
    bool paused = embedded_paused(x);
    out->retention_paused_seconds = paused ? (until - now + NS_PER_S - 1) / NS_PER_S : 0;
    out->retention_held = x->retention_held;
}
