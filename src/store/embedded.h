/* store/embedded.h - the embedded engine: a directory with a journal for new items and day files
 * for compacted ones.
 *
 *   put (any thread) ─► group ─► writer thread: journal, one sync ─► done
 *                                                          └─► compaction thread: day file
 *
 *   lock       file with the OFD lock of the process that has the store open for writing
 *   catalog.db, 2026-11-15.0.db ..., raw-00000007.log ...
 *
 * Mutexes: `lock` guards the state that put and the threads share and is never held during I/O.
 * `work` is held during compaction and retention, the lock of a reader during a read. `writing`
 * guards the journal, `listing` the manifest. Lock order: a reader's lock or `work`, then
 * `writing`, then `lock` or `listing`. A thread never holds both `lock` and `listing`. */
#pragma once
#include "store/day_write.h"
#include "store/embedded_options.h"
#include "store/engine.h"
#include "store/keys.h"
#include "store/reader.h"
#include <pthread.h>
#include <stdatomic.h>

#define RETRY_NS NS_PER_S /* interval between two tries of a broken disk */

/* Why an item is rejected although the disk is fine. Each reason is logged separately. */
typedef enum embedded_reason { REJECT_BACKLOG, REJECT_YOUNG, EMBEDDED_REASONS } embedded_reason;

/* An item of a group, waiting for its `done`. */
typedef struct pending {
    store_done *done;
    void *cookie;
    size_t n_profiles, n_stored, n_duplicates, n_samples;
} pending;

typedef struct group {
    journal_group records;
    pending *v;
    size_t n, cap;
    content_key *keys; /* of the profiles of its items */
    size_t n_keys, cap_keys;
    uint64_t n_items, n_bytes; /* records, without padding */
    uint64_t oldest, newest;   /* first and last arrival */
} group;

/* The state of retention between its runs. */
typedef struct retention {
    uint64_t bytes_seen, raw_seen; /* at the last run: bytes of day files; embedded.raw_done */
    double raw, shrunk; /* measured: `raw` bytes of items became `shrunk` bytes in day files */
    /* compacted bytes per thousand raw bytes: initial estimate; value saved in the catalog */
    uint64_t guess, saved;
    uint64_t wall, now;   /* wall clock and world_now at the last check */
    uint64_t pause_saved; /* world_now when the pause was last saved */
    uint64_t ahead;       /* ns by which the clock jumped forward */
    uint64_t aged_to;     /* arrival time: all older data was removed */
    /* end of the window (world_now); samples that may still be removed in it */
    uint64_t window_end, window_left;
    bool logged_held;
} retention;

typedef struct embedded_reader {
    store_reader base;
    pthread_mutex_t lock; /* held during a read */
    reader r;
    /* the store that owns this reader and counts damage; NULL for other readers */
    struct embedded *owner;
    char *dir;                  /* allocated; NULL if there is an owner */
    _Atomic uint64_t n_damaged; /* used if there is no owner */
    store_log *log;
    void *ctx;
} embedded_reader;

typedef struct embedded {
    store base;
    embedded_opts o;
    _Atomic uint64_t max_age, max_bytes; /* limits of retention */
    uint64_t min_age;                    /* retention by size removes no data younger than this */
    _Atomic uint64_t max_backlog, max_raw, journal_bytes; /* limits; bytes of all segment files */
    const world *world;
    char *dir;
    sqlite3_vfs *vfs;
    day_opts files;
    int lock_fd;

    pthread_mutex_t lock;
    pthread_cond_t filled, settled, worked; /* wake the writer, store_commit, the compactor */
    bool threads, closing, writer_waits;
    pthread_t writer, compactor;

    /* under lock */
    group next;                /* being filled */
    size_t in_flight;          /* bytes of the group being written */
    uint64_t n_put, n_settled; /* items since the store was opened */
    keys keys;
    uint64_t durable, through; /* last durable and last compacted number of the journal */
    uint64_t raw_bytes, raw_items, oldest_raw;
    uint64_t raw_done; /* bytes compacted since the store was opened */
    uint64_t newest;   /* newest arrival in the store; 0: empty */
    bool full_of_young;
    /* some items at the end of the journal could not be read when the store was opened */
    bool doubtful;
    struct {
        uint64_t n;            /* items since rejection began */
        uint64_t last, behind; /* world_now of the last one: for any reason; by the backlog */
        uint64_t next_line[EMBEDDED_REASONS];
    } rejected;
    uint64_t kept_items;
    uint64_t broken_until; /* world_now; the disk is not tried before */
    err broken;
    store_counters n;

    /* under `preparing`, which is locked before `lock` */
    pthread_mutex_t preparing;
    arena scratch; /* for decoding and keys in put */
    buf encoded;

    pthread_mutex_t listing;
    manifest listed; /* under `listing`, which is held during its I/O */

    pthread_mutex_t writing;
    journal j; /* under `writing` */
    /* used by the writer */
    group busy;
    err group_error;

    /* under `work` */
    pthread_mutex_t work;
    day_writer *w;
    catalog catalog;
    arena item;
    /* number of an item that did not fit the memory and is compacted alone; 0: none */
    uint64_t heavy;
    err heavy_why; /* set when `heavy` did not fit alone either: it is stored as received */
    bool unsure;   /* the effect of the last commit to unsure_of is unknown */
    day_name unsure_of;
    uint64_t next_retention;
    retention retention;
    /* end of the pause (world_now; 0: no pause); 1 while more data is old than may be removed */
    _Atomic uint64_t paused_until, retention_held;

    /* state of following (follow.c) */
    _Atomic uint64_t followed; /* the consumer finished the items up to this number; NOT_FOLLOWED */
    _Atomic uint64_t follow_max;  /* bytes that the journal may keep for the consumer */
    _Atomic uint64_t follow_held; /* bytes that the journal keeps for the consumer */
    journal_place follow_place;   /* used by the follower */

    embedded_reader own;
} embedded;

void embedded_log(embedded *x, store_event event, const char *fmt, ...) PRINTF(3, 4);
static inline void embedded_at(embedded *x, const char *point)
{
    if (x->o.at) x->o.at(x->o.store.ctx, point);
}

/* embedded_put.c */
bool embedded_put(store *s, const store_item *i, err *e);
void embedded_push(store *s);
bool embedded_commit(store *s, err *e);
void *embedded_writer(void *ctx);
void group_free(group *g);

/* follow.c */
#define NOT_FOLLOWED UINT64_MAX
/* Loads the position that an earlier process saved. Requires an open journal. */
void follow_load(embedded *x);
/* Returns up to which number the journal may release compacted records. Requires `writing`. */
uint64_t follow_floor(embedded *x, uint64_t through);
bool embedded_follow(store *s, uint64_t max_bytes, uint64_t *through, err *e);
void embedded_unfollow(store *s);
bool embedded_follow_read(store *s, uint64_t *through, store_follower *each, void *ctx,
                          uint64_t *lost, err *e);
bool embedded_followed(store *s, uint64_t through, err *e);
store_lag embedded_lag(const store *s);

/* embedded_admit.c */
/* Derives the limits of the journal from max_bytes. Callable from any thread, without a lock. */
void embedded_set_bounds(embedded *x);
/* Checks whether an item may be put. ERR_LIMIT: too much waits for compaction, or the store is full
 * of young data; the rejection is counted and logged. Requires `lock`. */
NODISCARD bool embedded_admit(embedded *x, size_t bytes, err *e);
/* Logs that items are no longer rejected. */
void embedded_end_rejection(embedded *x);
uint64_t embedded_oldest_age(const embedded *x);               /* ns; requires `lock` */
void embedded_gauge_lag(const embedded *x, store_gauges *out); /* requires `lock` */

/* embedded_compact.c */
/* Compacts up to max_raw bytes of the journal. Sets *done when there was nothing to do. */
NODISCARD bool embedded_run(embedded *x, bool force, bool *done, err *e);
/* Called at open: tries to write, so that store_takes is right before the first put. */
void embedded_probe(embedded *x);
bool embedded_compact(store *s, err *e);
void *embedded_compactor(void *ctx);

/* embedded_files.c; all functions require `work` */
uint64_t embedded_file_bytes(const embedded *x, day_name name);
void embedded_count_raw(embedded *x);
/* Determines whether an unsure commit took effect, and raises *through to the number that the file
 * records. */
NODISCARD bool embedded_settle(embedded *x, uint64_t *through, err *e);
/* Returns a number from the file; 0 when it cannot be read. */
uint64_t embedded_file_number(const embedded *x, day_name name, const char *sql);
/* Removes a day file, counts and logs it. All removals of files go through here. The caller saves
 * `through` in the catalog before. */
void embedded_remove_file(embedded *x, day_name name, const char *why);
/* Removes data that arrived before `before` from inside the file, counts and logs it.
 * ERR_MALFORMED: the file is damaged. */
NODISCARD bool embedded_trim_file(embedded *x, day_name name, uint64_t before, day_trimmed *out,
                                  err *e);
void embedded_quarantine(embedded *x, day_name name, const err *why);
void embedded_set_aside(embedded *x, const char *name, const err *why);

/* embedded_retain.c; requires `work` */
NODISCARD bool embedded_retain(embedded *x, err *e);
/* Called at open: reads the state of retention from the files. */
NODISCARD bool embedded_retain_open(embedded *x, err *e);

/* embedded_clock.c */
NODISCARD bool embedded_watch_clock(embedded *x, err *e); /* requires `work` */
NODISCARD bool embedded_meet_clock(embedded *x, err *e);  /* called at open */
bool embedded_paused(const embedded *x);                  /* whether retention by age is paused */
uint64_t embedded_likely_time(
    const embedded *x); /* the wall clock; during a pause as if it had not jumped forward */
void embedded_gauge_retention(const embedded *x, store_gauges *out);

/* embedded_manifest.c */
/* Compares the files with the manifest, or creates the manifest from the files. Called at open,
 * between reader_begin and reader_end. */
void embedded_compare(embedded *x);
/* Called before embedded_compare: loads the manifest, and sets a damaged one aside. */
void embedded_load_manifest(embedded *x);
/* Updates the line of a day file. Called after a commit to it took effect. */
void embedded_list_file(embedded *x, database *d, day_name name);
/* Removes the line of a day file. Called before the file is removed, or after it was set aside
 * (lost). */
NODISCARD bool embedded_unlist_file(embedded *x, day_name name, bool lost, err *e);
/* Removes the lines of segments whose records are all <= through. Called before they are removed or
 * overwritten. `next`: the number after the last record. */
void embedded_unlist_segments(embedded *x, uint64_t through, uint64_t next);
/* Retries saving after a failure. */
void embedded_save_manifest(embedded *x);
/* Called before the store is closed: records that all acknowledged items are durable. */
void embedded_list_durable(embedded *x);
/* Records that n items of the journal are damaged, so that compaction skips them. */
void embedded_lose_items(embedded *x, uint64_t n);
/* Lists the segments of the journal once they are synced, repairs damaged headers from the
 * manifest, and saves. */
void embedded_repair_segments(embedded *x);

/* embedded_stats.c */
store_gauges embedded_gauged(const store *s);
bool embedded_stats(store_reader *r, arena *a, store_stats *out, err *e);
bool embedded_backup(store_reader *r, const char *dest, const store_backup_opts *o,
                     store_backup_result *out, err *e);

/* embedded_verify.c */
bool embedded_verify(store_reader *r, void (*problem)(void *ctx, const char *line), void *ctx,
                     store_check *out, err *e);

/* embedded_reader.c */
void embedded_reader_init(embedded_reader *x, const day_opts *files, const store_reader_opts *o);
void embedded_reader_free(embedded_reader *x);
/* Checks that the directory exists. ERR_SYS: it does not. */
NODISCARD bool embedded_has_directory(const char *dir, err *e);
store_reader *embedded_reader_open(const char *where, const store_reader_opts *o, err *e);
store_reader *embedded_reader_add(store *s, const store_reader_opts *o, err *e);
store_reader *embedded_reader_own(store *s);
void embedded_reader_close(store_reader *r);
uint64_t embedded_reader_damaged(const store_reader *r);
bool embedded_read(store_reader *s, const store_selector *q, const store_read_opts *o, arena *a,
                   model *out, store_read_result *result, err *e);
bool embedded_read_sums(store_reader *s, const store_selector *q, const store_read_opts *o,
                        arena *a, model *out, store_read_result *result, err *e);
bool embedded_read_pieces(store_reader *s, const store_selector *q, const store_read_opts *o,
                          arena *a, store_each *each, void *ctx, model *shared,
                          store_read_result *result, err *e);
bool embedded_read_each(store_reader *s, const store_selector *q, store_each *each, void *ctx,
                        store_read_result *result, err *e);
bool embedded_list_series(store_reader *s, const store_selector *q, const store_budget *b, arena *a,
                          store_series_list *out, store_read_result *result, err *e);
bool embedded_list_types(store_reader *s, const store_selector *q, const store_budget *b, arena *a,
                         store_type_list *out, store_read_result *result, err *e);
bool embedded_list_labels(store_reader *s, const store_selector *q, const store_budget *b, str key,
                          arena *a, store_label_list *out, store_read_result *result, err *e);
bool embedded_list_profiles(store_reader *s, const store_selector *q, const store_budget *b,
                            size_t max, arena *a, store_profile_list *out,
                            store_series_list *series, store_read_result *result, err *e);
bool embedded_counts(store_reader *s, const store_selector *q, const store_budget *b,
                     const store_counts_opts *o, arena *a, store_buckets *out,
                     store_read_result *result, err *e);
bool embedded_put_names(store_reader *s, const model *m, uint64_t *n, err *e);
