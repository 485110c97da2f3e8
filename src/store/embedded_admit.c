/* Admission: the backlog (acknowledged, not yet compacted) and the store have limits. An item that
 * would exceed them is rejected before it is acknowledged. */
#include "store/embedded.h"

#include <inttypes.h>
#include <string.h>
#include "base/ban.h"

#define MIB (UINT64_C(1) << 20)
#define BACKLOG_MIN (4 * MIB)
#define BACKLOG_MAX (1024 * MIB)
enum { BACKLOG_SHARE = 8, SEGMENTS = 16 }; /* part of max_bytes; part of the backlog */
#define LINE_NS (60 * NS_PER_S)            /* between two log lines */
#define QUIET_NS (10 * NS_PER_S) /* without a rejection, after which rejecting counts as over */

static uint64_t clamp(uint64_t v, uint64_t low, uint64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* ---- limits ---- */

static uint64_t segment_bytes(uint64_t backlog)
{
    return clamp(backlog / SEGMENTS, JOURNAL_SEGMENT_MIN, JOURNAL_SEGMENT) &
           ~(uint64_t)(JOURNAL_EVEN - 1);
}

void embedded_set_bounds(embedded *x)
{
    uint64_t limit = x->max_bytes, backlog = x->o.store.max_backlog;
    if (!backlog)
        backlog = limit == UINT64_MAX ? BACKLOG_MAX
                                      : clamp(limit / BACKLOG_SHARE, BACKLOG_MIN, BACKLOG_MAX);
    x->max_backlog = backlog;
    x->max_raw = x->o.store.compact_bytes < backlog / 2 ? x->o.store.compact_bytes : backlog / 2;
    pthread_mutex_lock(&x->writing);
    x->j.segment = segment_bytes(backlog);
    pthread_mutex_unlock(&x->writing);
}

/* Bytes that segment files may have in addition to the backlog: those kept for reuse, the one being
 * written, the one partly compacted, and the padding of small groups. */
static uint64_t journal_slack(uint64_t backlog)
{
    return (JOURNAL_SPARES + 2) * segment_bytes(backlog);
}

/* ---- rejecting ---- */

/* Logs one line per minute and reason. */
static void say_rejected(embedded *x, embedded_reason reason, const char *why)
{
    uint64_t now = world_now(x->world), *next_line = &x->rejected.next_line[reason];
    x->rejected.n++;
    x->rejected.last = now;
    if (now < *next_line) return;
    *next_line = now + LINE_NS;
    embedded_log(x, STORE_FAILURE, "store: new data is rejected: %s", why);
}

static bool reject(embedded *x, embedded_reason reason, const char *why, err *e)
{
    ++*(reason == REJECT_BACKLOG ? &x->n.rejected_backlog : &x->n.rejected_young);
    say_rejected(x, reason, why);
    return err_set(e, ERR_LIMIT, "%s", why);
}

static bool reject_backlog(embedded *x, uint64_t queued, err *e)
{
    char why[160];
    uint64_t age = embedded_oldest_age(x) / NS_PER_S;
    x->rejected.behind = world_now(x->world);
    snprintf(why, sizeof why,
             "%" PRIu64 " items (%" PRIu64 " bytes) wait for compaction, the oldest for %" PRIu64
             " s; at most %" PRIu64 " bytes may wait",
             x->raw_items + x->n_put - x->n_settled, x->raw_bytes + queued, age,
             (uint64_t)x->max_backlog);
    return reject(x, REJECT_BACKLOG, why, e);
}

static bool reject_young(embedded *x, err *e)
{
    char why[160];
    snprintf(why, sizeof why,
             "the store is at its limit of %" PRIu64 " bytes, and all of it arrived in the last "
             "%" PRIu64 " s (store.min-age)",
             (uint64_t)x->max_bytes, x->min_age / NS_PER_S);
    return reject(x, REJECT_YOUNG, why, e);
}

bool embedded_admit(embedded *x, size_t bytes, err *e)
{
    uint64_t queued = journal_group_bytes(&x->next.records) + x->in_flight,
             waiting = x->raw_bytes + queued, most = x->max_backlog;
    /* When no item waits, an item of any size is accepted: otherwise it would never fit. */
    uint64_t on_disk = x->journal_bytes + (waiting ? queued + bytes : 0);
    bool behind = (waiting && waiting + bytes > most) ||
                  on_disk > most + journal_slack(most) + x->follow_held;
    if (most != UINT64_MAX && behind) return reject_backlog(x, queued, e);
    return !x->full_of_young || reject_young(x, e);
}

void embedded_end_rejection(embedded *x)
{
    pthread_mutex_lock(&x->lock);
    uint64_t n = x->rejected.n, now = world_now(x->world);
    bool over = n && now - x->rejected.last > QUIET_NS;
    if (over) {
        x->rejected.n = 0;
        memset(x->rejected.next_line, 0, sizeof x->rejected.next_line);
    }
    pthread_mutex_unlock(&x->lock);
    if (over)
        embedded_log(x, STORE_FAILURE,
                     "store: new data is accepted again; %" PRIu64 " items were rejected", n);
}

/* ---- gauges ---- */

uint64_t embedded_oldest_age(const embedded *x)
{
    uint64_t now = x->world->wall(x->world->ctx);
    return x->raw_items && x->oldest_raw && now > x->oldest_raw ? now - x->oldest_raw : 0;
}

void embedded_gauge_lag(const embedded *x, store_gauges *out)
{
    uint64_t now = world_now(x->world);
    out->raw_oldest_seconds = embedded_oldest_age(x) / NS_PER_S;
    out->backlog_limit_bytes = x->max_backlog;
    out->rejecting_backlog = x->rejected.behind && now - x->rejected.behind < QUIET_NS;
    out->rejecting_young = x->full_of_young;
}
