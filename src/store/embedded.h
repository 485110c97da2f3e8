/* store/embedded.h - the engine in a directory: a journal that takes, day files that keep, readers beside.
 *
 *   put (any thread) ─ lock ─► group ─► writer thread: journal, one sync ─► done ─► compaction thread: day file ─► journal released
 *
 *   lock       held by the process that writes (flock)
 *   catalog.db, 2026-11-15.0.db ..., raw-00000007.log ...
 *
 * Locks: `lock` guards what put and the threads share, and is never held over I/O; `work` is held by who compacts or applies
 * retention; `reading` by who asks; `writing` guards the journal.  Order: reading
 * or work, then writing or lock; neither of these two inside the other. */
#pragma once
#include "store/day_write.h"
#include "store/engine.h"
#include "store/keys.h"
#include "store/reader.h"
#include <pthread.h>

#define RETRY_NS NS_PER_S /* a broken disk is not asked before */

/* Who waits for a group. */
typedef struct pending {
    store_done *done;
    void *cookie;
    size_t n_profiles, n_stored, n_duplicates, n_samples;
} pending;

typedef struct group {
    journal_group records;
    pending *v;
    size_t n, cap;
    content_key *keys; /* that its items brought */
    size_t n_keys, cap_keys;
    uint64_t n_items, n_bytes, oldest; /* records, without what pads them; first arrival */
} group;

typedef struct embedded {
    store base;
    store_opts o;
    _Atomic uint64_t max_age, max_bytes; /* of retention */
    const world *world;
    char *dir;
    sqlite3_vfs *vfs;
    day_opts files;
    int lock_fd;
    bool read_only;

    pthread_mutex_t lock;
    pthread_cond_t filled, settled,
        worked; /* for the writer, for store_commit, for the compactor */
    bool threads, closing, writer_waits;
    pthread_t writer, compactor;

    /* under lock */
    group next;                /* being filled */
    size_t in_flight;          /* bytes of the group being written */
    uint64_t n_put, n_settled; /* items, ever */
    keys keys;
    uint64_t durable, through; /* numbers of the journal */
    uint64_t raw_bytes, raw_items, oldest_raw;
    uint64_t kept_items;
    uint64_t broken_until; /* of world_now: the disk is not asked before */
    err broken;
    store_counters n;

    /* under `preparing`, which comes before lock */
    pthread_mutex_t preparing;
    arena scratch; /* put: decoding, keys */
    buf encoded;

    pthread_mutex_t writing;
    journal j; /* under `writing` */
    /* the writer's */
    group busy;
    err group_error;

    /* under `work` */
    pthread_mutex_t work;
    day_writer *w;
    catalog catalog;
    arena item;
    uint64_t heavy; /* number of an item that did not fit the memory: it is taken alone; 0: none */
    err heavy_why;  /* set: nor did it alone, so that it is kept as received */
    bool unsure;    /* what the last commit to unsure_of did is not known */
    day_name unsure_of;
    uint64_t next_retention;

    /* of who follows (follow.c) */
    _Atomic uint64_t followed;    /* all through this was handed on; FOLLOWED_BY_NOBODY */
    _Atomic uint64_t follow_max;  /* bytes that the journal may keep for it */
    _Atomic uint64_t follow_held; /* bytes that it does */
    journal_place follow_place;   /* the follower's */

    /* under `reading` */
    pthread_mutex_t reading;
    reader r;
} embedded;

void embedded_say(embedded *x, store_said what, const char *fmt, ...) PRINTF(3, 4);
static inline void embedded_at(embedded *x, const char *point)
{
    if (x->o.at) x->o.at(x->o.who, point);
}

/* embedded_put.c */
bool embedded_put(store *s, const store_item *i, err *e);
void embedded_push(store *s);
bool embedded_commit(store *s, err *e);
void *embedded_writer(void *who);
void group_free(group *g);

/* follow.c */
#define FOLLOWED_BY_NOBODY UINT64_MAX
/* What an earlier process left; after the journal was opened. */
void follow_load(embedded *x);
/* Records through which number may the journal forget, of those that were compacted?  Under `writing`. */
uint64_t follow_floor(embedded *x, uint64_t through);
bool embedded_follow(store *s, uint64_t max_bytes, uint64_t *through, err *e);
void embedded_unfollow(store *s);
bool embedded_follow_read(store *s, uint64_t *through, store_follower *each, void *who,
                          uint64_t *lost, err *e);
bool embedded_followed(store *s, uint64_t through, err *e);
store_lag embedded_lag(const store *s);

/* embedded_compact.c */
/* One run: up to max_raw bytes of the journal; *done: nothing was to do. */
NODISCARD bool embedded_run(embedded *x, bool force, bool *done, err *e);
bool embedded_work(store *s, bool *more, err *e);
bool embedded_compact(store *s, err *e);
void *embedded_compactor(void *who);

/* embedded_files.c, all under `work` */
uint64_t embedded_file_bytes(const embedded *x, day_name name);
void embedded_count_kept(embedded *x);
/* Finds out what became of a commit, if that is not known: *through grows to what is there. */
NODISCARD bool embedded_settle(embedded *x, uint64_t *through, err *e);
NODISCARD bool embedded_retain(embedded *x, err *e);
void embedded_quarantine(embedded *x, day_name name, const err *why);
void embedded_set_aside(embedded *x, const char *name, const err *why);

/* embedded_look.c */
store_gauges embedded_gauged(const store *s);
bool embedded_stats(store *s, arena *a, store_stats *out, err *e);
bool embedded_verify(store *s, void (*problem)(void *who, const char *line), void *who,
                     store_check *out, err *e);
