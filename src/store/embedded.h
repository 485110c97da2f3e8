/* store/embedded.h - the engine in a directory: a journal that takes, day files that keep, readers beside.
 *
 *   put (any thread) ─ lock ─► group ─► writer thread: journal, one sync ─► done ─► compaction thread: day file ─► journal released
 *
 *   lock       held by the process that writes (flock)
 *   catalog.db, 2026-11-15.0.db ..., raw-00000007.log ...
 *
 * Locks: `lock` guards what put and the threads share, and is never held over I/O; `work` is held by who compacts or applies
 * retention; `reading` by who asks; `writing` guards the journal,
 * `listing` the manifest.  Order: reading or work, then writing, then lock or listing; neither of these two inside the other. */
#pragma once
#include "store/day_write.h"
#include "store/engine.h"
#include "store/keys.h"
#include "store/reader.h"
#include <pthread.h>

#define RETRY_NS NS_PER_S /* a broken disk is not asked before */

/* Why an item is rejected although the disk takes it; each reason has a line in the log. */
typedef enum embedded_reason { REJECT_BACKLOG, REJECT_YOUNG, EMBEDDED_REASONS } embedded_reason;

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
    uint64_t n_items, n_bytes; /* records, without what pads them */
    uint64_t oldest, newest;   /* first and last arrival */
} group;

/* What retention remembers from look to look. */
typedef struct retention {
    uint64_t bytes_seen, raw_seen; /* of day files; embedded.raw_done */
    double raw, shrunk;            /* measured: so many bytes became so many */
    uint64_t guess, saved;         /* of a thousand: before anything was measured; in the catalog */
    uint64_t wall, now;            /* both clocks */
    uint64_t pause_saved;          /* world_now */
    uint64_t ahead;                /* ns by which the clock jumped forward */
    uint64_t aged_to;              /* arrival: all that is older was removed */
    uint64_t window_end, window_left; /* world_now; samples that may still be removed in it */
    bool said_held;
} retention;

typedef struct embedded {
    store base;
    store_opts o;
    _Atomic uint64_t max_age, max_bytes; /* of retention */
    uint64_t min_age;                    /* retention by bytes removes nothing younger */
    _Atomic uint64_t max_backlog, max_raw, journal_bytes; /* bounds; bytes of segment files now */
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
    uint64_t raw_done; /* bytes compacted since the store was opened */
    uint64_t newest;   /* arrival of all that is stored; 0: nothing is */
    bool full_of_young;
    bool
        doubtful; /* some items at the end of the journal could not be read when the store was opened */
    struct {
        uint64_t n;            /* since it began */
        uint64_t last, behind; /* world_now: any rejection, one for the backlog */
        uint64_t next_line[EMBEDDED_REASONS];
    } rejected;
    uint64_t kept_items;
    uint64_t broken_until; /* of world_now: the disk is not asked before */
    err broken;
    store_counters n;

    /* under `preparing`, which comes before lock */
    pthread_mutex_t preparing;
    arena scratch; /* put: decoding, keys */
    buf encoded;

    pthread_mutex_t listing;
    manifest listed; /* under `listing`, and held over its I/O */

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
    retention retention;
    _Atomic uint64_t paused_until, retention_held; /* world_now, 0: no pause; 1: more is old */

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

/* embedded_admit.c */
/* Derives the bounds of the journal from max_bytes.  Any thread, without a lock. */
void embedded_set_bounds(embedded *x);
/* Under `lock`.  ERR_LIMIT: too much waits for compaction, or the store is full of young data; counted and logged. */
NODISCARD bool embedded_admit(embedded *x, size_t bytes, err *e);
/* Logs the end of a time in which items were rejected. */
void embedded_end_rejection(embedded *x);
uint64_t embedded_oldest_age(const embedded *x);               /* ns; under `lock` */
void embedded_gauge_lag(const embedded *x, store_gauges *out); /* under `lock` */

/* embedded_compact.c */
/* One run: up to max_raw bytes of the journal; *done: nothing was to do. */
NODISCARD bool embedded_run(embedded *x, bool force, bool *done, err *e);
bool embedded_work(store *s, bool *more, err *e);
/* At open: tries to write, so that store_takes is honest before anybody puts. */
void embedded_probe(embedded *x);
bool embedded_compact(store *s, err *e);
void *embedded_compactor(void *who);

/* embedded_files.c, all under `work` */
uint64_t embedded_file_bytes(const embedded *x, day_name name);
void embedded_count_kept(embedded *x);
/* Finds out what became of a commit, if that is not known: *through grows to what is there. */
NODISCARD bool embedded_settle(embedded *x, uint64_t *through, err *e);
/* A number that the file has; 0 when it cannot be asked. */
uint64_t embedded_ask_file(const embedded *x, day_name name, const char *sql);
/* The one place where files of data are removed: counted and logged.  The catalog has `through` by then. */
void embedded_remove_file(embedded *x, day_name name, const char *why);
/* Removes what arrived before `before` from inside the file: counted and logged.  ERR_MALFORMED: the file is damaged. */
NODISCARD bool embedded_trim_file(embedded *x, day_name name, uint64_t before, day_trimmed *out,
                                  err *e);
void embedded_quarantine(embedded *x, day_name name, const err *why);
void embedded_set_aside(embedded *x, const char *name, const err *why);

/* embedded_retain.c, under `work` */
NODISCARD bool embedded_retain(embedded *x, err *e);
/* While the store is opened: what the files say of the past. */
NODISCARD bool embedded_retain_open(embedded *x, err *e);

/* embedded_clock.c */
NODISCARD bool embedded_watch_clock(embedded *x, err *e); /* under `work` */
NODISCARD bool embedded_meet_clock(embedded *x, err *e);  /* while the store is opened */
bool embedded_paused(const embedded *x);                  /* retention by age */
uint64_t embedded_likely_time(
    const embedded *x); /* during a pause: as if the clock had not jumped forward */
void embedded_gauge_retention(const embedded *x, store_gauges *out);

/* embedded_manifest.c */
/* Compares what is there with the manifest; makes one of what is there when there is none.  At the start, between reader_begin and
 * reader_end. */
void embedded_compare(embedded *x);
/* Before that: a damaged manifest is set aside. */
void embedded_load_manifest(embedded *x);
/* A commit to the day file took effect. */
void embedded_list_file(embedded *x, database *d, day_name name);
/* The file is about to be removed, or was set aside (lost). */
NODISCARD bool embedded_unlist_file(embedded *x, day_name name, bool lost, err *e);
/* Segments through this number are about to be removed or written over; `next`: the number behind the last one. */
void embedded_unlist_segments(embedded *x, uint64_t through, uint64_t next);
/* Once more, after it could not be written. */
void embedded_save_manifest(embedded *x);
/* Before the store is closed: all that was acknowledged is there at the next start. */
void embedded_list_durable(embedded *x);
/* Items of the journal were damaged and are compacted without. */
void embedded_lose_items(embedded *x, uint64_t n);
/* Takes up the segments of the journal once they are synced, repairs headers that the manifest has a copy of, and saves. */
void embedded_repair_segments(embedded *x);

/* embedded_look.c */
store_gauges embedded_gauged(const store *s);
bool embedded_stats(store *s, arena *a, store_stats *out, err *e);
bool embedded_backup(store *s, const char *dest, const store_backup_opts *o,
                     store_backup_result *out, err *e);

/* embedded_verify.c */
bool embedded_verify(store *s, void (*problem)(void *who, const char *line), void *who,
                     store_check *out, err *e);
