/* Detects jumps of the wall clock. A jump must not make data old, so retention by age pauses for a
 * day. All functions require `work`, or run while the store is opened. */
#include "store/embedded.h"
#include "base/time.h"

#include <inttypes.h>
#include "base/ban.h"

#define PAUSE_NS (24 * NS_PER_HOUR)
#define SAVE_NS (600 * NS_PER_S) /* interval for saving the rest of a pause */

/* Returns the difference from which on a change of the clock counts as a jump: more than drift and
 * leap seconds. */
static uint64_t jump_of(const embedded *x)
{
    uint64_t part = x->max_age / 4;
    return part < NS_PER_HOUR ? NS_PER_HOUR : part > 24 * NS_PER_HOUR ? 24 * NS_PER_HOUR : part;
}

static bool is_watched(const embedded *x)
{
    return x->max_age != UINT64_MAX && !x->o.store.drop_at_once;
}

bool embedded_paused(const embedded *x)
{
    return is_watched(x) && x->paused_until > world_now(x->world);
}

uint64_t embedded_likely_time(const embedded *x)
{
    uint64_t wall = x->world->wall(x->world->ctx), ahead = x->retention.ahead;
    return embedded_paused(x) && ahead < wall ? wall - ahead : wall;
}

/* Pauses retention by age. by: size of the jump; ahead: by how much the clock is now later than
 * expected. */
static bool pause_retention(embedded *x, const char *what, uint64_t by, uint64_t ahead, err *e)
{
    uint64_t now = world_now(x->world);
    x->retention.ahead = ahead;
    x->paused_until = now + PAUSE_NS;
    x->retention.pause_saved = now;
    pthread_mutex_lock(&x->lock);
    x->n.clock_jumps++;
    pthread_mutex_unlock(&x->lock);
    embedded_log(x, STORE_FAILURE,
                 "store: %s by %" PRIu64 " s: retention by age pauses for %" PRIu64
                 " hours (store.drop-at-once: true prevents the pause)",
                 what, by / NS_PER_S, (uint64_t)(PAUSE_NS / NS_PER_HOUR));
    return catalog_set(&x->catalog, "pause", PAUSE_NS, e);
}

/* The rest of the pause also applies after a restart. */
static bool save_pause(embedded *x, err *e)
{
    uint64_t now = world_now(x->world), until = x->paused_until;
    if (!until) return true;
    if (until <= now) {
        x->paused_until = 0;
        embedded_log(x, STORE_REMOVED, "store: retention by age continues");
        return catalog_set(&x->catalog, "pause", 0, e);
    }
    if (now - x->retention.pause_saved < SAVE_NS) return true;
    x->retention.pause_saved = now;
    return catalog_set(&x->catalog, "pause", until - now, e);
}

bool embedded_watch_clock(embedded *x, err *e)
{
    retention *r = &x->retention;
    uint64_t wall = x->world->wall(x->world->ctx), now = world_now(x->world);
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
    r->wall = x->world->wall(x->world->ctx);
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
