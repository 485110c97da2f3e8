/* store/store.h - the contract of a store of profiles (docs/store.md). Every engine implements it;
 * the only engine is the embedded one.
 *
 *   store_put ─► queue ─ one write and one sync for many ─► acknowledged ─ compaction ─► columns
 *                                                               └───────────┬──────────────┘
 *   store_read, store_read_sums, store_counts ... ◄────────────────────────┘   reads cover both
 *
 * tests/unit/store/test_conformance.c tests each engine against this contract:
 *   - Acknowledged means durable: the store calls `done` after the data survives a crash, and the
 *     data is stored exactly once.
 *   - A profile is identified by its id and type, or without an id by the hash of resource, scope
 *     and profile. A second profile with the same identity is a duplicate, also after a restart and
 *     inside one group, within the last STORE_MAX_KEYS profiles.
 *   - Reads return the profiles field by field as they were put, and in the same order.
 *     Dictionaries have only the entries in use. Resources and scopes without a profile are not
 *     stored.
 *   - A reader sees whole items: all profiles of a store_put or none of them.
 *
 * One process opens a store for writing (store_open). Any number of processes read it at the same
 * time, each through readers (store_open_reader, store_add_reader). Any thread may call store_put
 * and the functions that return counters, at any time. Reads on one reader run one after the other;
 * a process that reads in several threads opens one reader for each. Results are allocated in the
 * caller's arena, whose budget is the limit. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "model/ledger.h"
#include "model/model.h"
#include "net/world.h"
#include "wire/layout.h"

typedef struct store store;               /* open for writing */
typedef struct store_reader store_reader; /* open for reading */

#define STORE_MAX_AGE (UINT64_C(7) * 24 * 3600 * NS_PER_S)
#define STORE_MAX_BYTES (UINT64_C(10) << 30)
#define STORE_MAX_QUEUE ((size_t)64 << 20)
#define STORE_MEMORY ((size_t)128 << 20)
#define STORE_MIN_AGE (UINT64_C(3600) * NS_PER_S)
enum { STORE_MAX_KEYS = 1 << 19 };

/* The kind of event that a log line is about. */
typedef enum store_event {
    STORE_REMOVED,    /* retention removed data; the other events are problems */
    STORE_QUARANTINE, /* a damaged file was set aside or skipped */
    STORE_FAILURE,
} store_event;

/* Receives one line of text, in any thread. */
typedef void store_log(void *ctx, store_event event, const char *line);

/* The zero value selects the defaults. */
typedef struct store_opts {
    bool must_exist;    /* fail when there is no store; otherwise one is created */
    uint64_t max_age;   /* ns since arrival; 0: STORE_MAX_AGE, UINT64_MAX: no limit */
    uint64_t max_bytes; /* on disk; 0: STORE_MAX_BYTES, UINT64_MAX: no limit */
    /* ns since arrival; 0: STORE_MIN_AGE. Retention by size removes nothing younger: puts are
     * rejected instead */
    uint64_t min_age;
    /* bytes that wait for compaction at which puts are rejected; 0: an eighth of max_bytes, between
     * 4 MiB and 1 GiB; UINT64_MAX: no limit */
    uint64_t max_backlog;
    /* retention by age neither pauses after a clock jump nor limits how much it removes at once */
    bool drop_at_once;
    size_t max_queue; /* bytes that wait to be written; 0: STORE_MAX_QUEUE */
    /* bytes for compaction and the caches of the store's own reader together; 0: STORE_MEMORY */
    size_t memory;
    /* compaction starts when so many bytes wait; 0: 64 MiB; at most half of max_backlog */
    uint64_t compact_bytes;
    uint64_t compact_age; /* or when the oldest item has waited so many ns; 0: 10 minutes */
    const world *world;   /* NULL: the system's clock */
    store_log *log;       /* quarantine, rejection, removal by retention; may be NULL */
    void *ctx;            /* for log */
} store_opts;

/* Opens a store for writing. `where` is a directory, or a URL when an engine supports its scheme.
 * ERR_MISMATCH: another process has it open for writing, or a newer kiln wrote it; ERR_SYS. A
 * damaged file is not an error: the store renames it to *.corrupt, logs and counts it, and serves
 * the rest. */
NODISCARD store *store_open(const char *where, const store_opts *o, err *e);

/* Makes all items durable (and calls their `done`), then ends the threads.  NULL is allowed. */
void store_close(store *s);

/* Changes the limits of retention, which mean the same as in store_opts. The change takes effect
 * within a minute. Callable from any thread. */
void store_retain(store *s, uint64_t max_age, uint64_t max_bytes);

/* The zero value selects the defaults. */
typedef struct store_reader_opts {
    size_t memory;      /* bytes cached between reads; 0: half of STORE_MEMORY */
    const world *world; /* NULL: the system's clock */
    store_log *log;     /* damage that a read skips; may be NULL */
    void *ctx;          /* for log */
} store_reader_opts;

/* Opens a store for reading.  Another process may have it open for writing. */
NODISCARD store_reader *store_open_reader(const char *where, const store_reader_opts *o, err *e);
/* Opens a reader of a store that this process has open for writing. The caller closes it before the
 * store. */
NODISCARD store_reader *store_add_reader(store *s, const store_reader_opts *o, err *e);
/* Returns the store's own reader, which quarantines damaged files that it finds. It is closed with
 * the store. */
store_reader *store_own_reader(store *s);
/* NULL is allowed. */
void store_close_reader(store_reader *r);
/* Returns the number of blocks and items that failed their checksum since the reader was opened.
 * Callable from any thread. */
uint64_t store_reader_damaged(const store_reader *r);

/* ---- put ---- */

typedef struct store_put_result {
    size_t n_profiles;             /* in the item */
    size_t n_stored, n_duplicates; /* n_stored + n_duplicates = n_profiles unless refused */
    /* NULL: the item is durable. ERR_BUSY, ERR_LIMIT: overload; ERR_SYS: the disk is full or
     * broken. Nothing of the item is stored, and the sender may retry */
    const err *refused;
} store_put_result;

typedef void store_done(void *cookie, const store_put_result *r);

/* An item: the profiles of one request or file. The store does not change bytes and model, and uses
 * them only until store_put returns. */
typedef struct store_item {
    const model *model; /* checked; NULL: the store decodes `bytes` */
    /* the same profiles as uncompressed OTLP protobuf of `layout`; empty: the store encodes
     * `model` */
    str bytes;
    layout layout; /* of bytes; LAYOUT_UNKNOWN: the store detects it */
    /* writable memory around `bytes`, for the embedded engine; NULL: none */
    const struct embedded_room *room;

    str sender;        /* for people: "10.0.0.7:51234 grpc OTel-OTLP-Exporter/1.2"; may be empty */
    str recognised;    /* format of the payload: "otlp 1.9", "pprof", "splunk-logs"; may be empty */
    uint64_t received; /* Unix ns; 0: now */
    uint64_t n_bytes;  /* size on the wire */
    const ledger *ledger; /* losses of the conversion; may be NULL */

    /* the caller puts more items right away and then calls store_push: one sync for all of them */
    bool more;

    store_done *done; /* called once, never from inside store_put; may be NULL */
    void *cookie;     /* for done */
} store_item;

/* Puts one item. On failure `done` will not be called. ERR_BUSY: the queue is full; ERR_LIMIT: too
 * much waits for compaction, or the store is full of data younger than min_age: try later; ERR_SYS:
 * the disk is full or broken (the store retries every second); ERR_MALFORMED, ERR_USAGE. */
NODISCARD bool store_put(store *s, const store_item *i, err *e);

/* Starts writing the items that were put with `more`. */
void store_push(store *s);

/* Returns false while the disk is full or broken, so that puts are refused. The store tests the
 * disk when it is opened; after a failure it tests the disk every second, also without puts.
 * Callable from any thread. */
bool store_takes(const store *s);

/* Waits until all items are written and synced, and every `done` was called. Returns false when an
 * item was refused; `e` has the first reason. */
bool store_commit(store *s, err *e);

/* Compacts everything, whatever its age, and applies retention.  Returns when both are done. */
NODISCARD bool store_compact(store *s, err *e);

/* ---- select ---- */

/* Labels are attributes as text: integers in decimal, true, false, other kinds as JSON. The store
 * looks a key up in the resource, the scope (otel.scope.name and otel.scope.version are its name
 * and version), the profile and then the sample. A missing label equals "". trace_id and span_id
 * are the ids of the sample's link in hex, "" without a link. Patterns match the whole value. */
typedef enum store_op { STORE_IS, STORE_IS_NOT, STORE_LIKE, STORE_NOT_LIKE } store_op;

typedef struct store_matcher {
    str key;
    store_op op;
    str value;
} store_matcher;

/* A series is identified by resource, scope, type and period. */
typedef struct store_series {
    const resource *resource; /* with attributes, without scopes */
    const scope *scope;
    str type, unit, period_type, period_unit;
    int64_t period;
    uint64_t first, last; /* times of all stored observations */
    uint64_t n_profiles, n_samples;
} store_series;

typedef VEC(store_series) store_series_list;

/* The zero value selects everything. The time of an observation is its timestamp. The time of a
 * sample without timestamps is the start of its profile, or without a start the arrival. A sample
 * whose values and timestamps do not pair up has the time of its first timestamp. */
typedef struct store_selector {
    const store_matcher *matchers;
    size_t n_matchers;
    str type;            /* "cpu", "cpu/nanoseconds", "/" for profiles without a type; empty: any */
    uint64_t start, end; /* Unix ns, [start, end); 0: open */
    const uint8_t *trace_id, *span_id, *profile_id; /* 16, 8 and 16 bytes; NULL: any */
    /* Only these series, such as a part of what store_list_series lists; NULL: any. Times and counts
     * in the list are ignored. */
    const store_series_list *series;
} store_selector;

/* Parses  cpu/nanoseconds{service.name="checkout", thread.name=~"worker.*"}  ; both parts are
 * optional. trace_id="hex", span_id="hex" and profile_id="hex" become ids of *out; other operators
 * on trace_id and span_id become matchers. Allocates in the arena. ERR_MALFORMED with the byte. */
NODISCARD bool store_selector_parse(str text, arena *a, store_selector *out, err *e);

/* Parses 2 n hex digits as an id of n bytes, allocated in the arena.  ERR_USAGE. */
NODISCARD bool store_id_parse(str hex, size_t n, arena *a, const uint8_t **out, err *e);

/* Limits of one read. At a limit the read stops and returns what it found so far, with `partial`
 * set. */
typedef struct store_budget {
    uint64_t max_samples; /* in the result; 0: no limit */
    size_t max_bytes;     /* allocated in the arena; 0: its budget */
    uint64_t max_ns;      /* duration; 0: no limit */
    struct stopper *stop; /* polled during the read; may be NULL */
} store_budget;

/* The result of a read in numbers, and its cost. */
typedef struct store_read_result {
    bool partial;       /* a limit was reached, or data is damaged or missing */
    char why[96];       /* the reason, for people */
    uint64_t n_samples; /* selected */
    uint64_t n_profiles, n_series;
    uint64_t n_blocks, n_items; /* scanned: compacted blocks, items that are not compacted */
    uint64_t n_bytes;           /* read from disk */
    uint64_t n_damaged;         /* blocks and items that were skipped because they are damaged */
    uint64_t n_compared;        /* comparisons of one series with another; tests bound this work */
    uint64_t ns;                /* elapsed time */
} store_read_result;

/* ---- read ---- */

typedef struct store_read_opts {
    store_budget budget;
    /* locations without names get the names stored for their build id and address
     * (store_put_names) */
    bool names;

    /* the rest is for store_read_sums */
    /* one profile for each resource, scope, type and period. It has the attributes kiln.sum.samples
     * and kiln.sum.squares and those that change how samples are read (drop_frames, cumulative); a
     * cumulative profile is not added to others. false: one profile for each type and unit */
    bool by_series;
    /* with by_series: merges series whose samples are read alike into one profile without resource
     * and scope, except levels and cumulative profiles. For views, which add the series up
     * anyway */
    bool by_reading;
    bool by_attributes; /* samples with different attributes stay apart */
    /* with by_reading: profiles that differ in this label of their resource or scope stay apart.
     * Their resource in the result has only this label, except for levels and cumulative
     * profiles */
    str by_label;
    /* with by_reading, not with by_attributes: a stack is only its leaf, unless its profile names
     * frames to drop. Enough for self values, and faster. Profiles have no kiln.sum attributes,
     * and their time and duration are those that the profiles of the sum cover within the range */
    bool leaves;
} store_read_opts;

/* In all reads `o`, `b` and `result` may be NULL: default options, no limits, no report. */

/* Returns the selected samples, those of a series in order of arrival, without timestamps outside
 * the range. A profile of which no sample is left is omitted, unless it had none and its time is in
 * the range. `out` is checked. */
NODISCARD bool store_read(store_reader *r, const store_selector *q, const store_read_opts *o,
                          arena *a, model *out, store_read_result *result, err *e);

/* Returns one sample for each stack, with the sum of what store_read would return: for flame graphs
 * and tables. Levels (profile_is_level) are not added up: the newest profile of each series in the
 * range becomes a profile of its own. With by_series the same applies to cumulative profiles that
 * include each other. */
NODISCARD bool store_read_sums(store_reader *r, const store_selector *q, const store_read_opts *o,
                               arena *a, model *out, store_read_result *result, err *e);

/* Passes the selection as several models of bounded size to `each`, in order of arrival: for
 * exports and imports. The model lives until `each` returns. When `each` returns false, the read
 * stops with its error. */
typedef bool store_each(void *ctx, const model *m, err *e);
NODISCARD bool store_read_each(store_reader *r, const store_selector *q, store_each *each,
                               void *ctx, store_read_result *result, err *e);

/* Like store_read, in bounded memory: passes the profiles to `each` in pieces of a few MiB (at
 * least one profile), in the same order. All pieces share one dictionary, which grows in `a` and is
 * complete on return: *shared has no profiles. Indices in a piece refer to *shared; the piece's own
 * dictionary has only attr_refs. A partial result has passed some of the pieces. */
NODISCARD bool store_read_pieces(store_reader *r, const store_selector *q, const store_read_opts *o,
                                 arena *a, store_each *each, void *ctx, model *shared,
                                 store_read_result *result, err *e);

/* Lists the series that have blocks in the range and match by resource, scope, profile and sample
 * attributes. Counts are of whole blocks. */
NODISCARD bool store_list_series(store_reader *r, const store_selector *q, const store_budget *b,
                                 arena *a, store_series_list *out, store_read_result *result,
                                 err *e);

typedef struct store_type {
    str type, unit;
    uint64_t n_samples;
} store_type;

typedef VEC(store_type) store_type_list;
/* Lists the types of the selection, in the order in which they are found. Counts are of whole
 * blocks. When there is only one type, its count may be too low. */
NODISCARD bool store_list_types(store_reader *r, const store_selector *q, const store_budget *b,
                                arena *a, store_type_list *out, store_read_result *result, err *e);

/* Chooses the type for a selector without a type or unit: by the rule of query/default_type.h, then
 * the type with more samples, then the first by name. Sets q->type ("cpu/nanoseconds", in the
 * arena). Leaves q->type unchanged when it is complete or nothing is selected. */
NODISCARD bool store_main_type(store_reader *r, store_selector *q, const store_budget *b, arena *a,
                               store_read_result *result, err *e);

typedef struct store_label {
    str text; /* key or value */
    uint64_t n_series;
} store_label;

typedef VEC(store_label) store_label_list;
/* Lists the label keys (`key` empty) or the values of a key, sorted by text. */
NODISCARD bool store_list_labels(store_reader *r, const store_selector *q, const store_budget *b,
                                 str key, arena *a, store_label_list *out,
                                 store_read_result *result, err *e);

typedef struct store_row {
    str label, split;
    int64_t *sum; /* by bucket */
    uint64_t *count;
    uint32_t *series;  /* levels that are held: number of series in the sum; 0 is a gap. Or NULL */
    uint64_t complete; /* Unix ns: later data of the row has not arrived yet */
} store_row;

typedef struct store_buckets {
    uint64_t start, step; /* bucket i is [start + i * step, + step), restricted to the range */
    size_t n;
    bool levels;         /* the rows have `series` */
    VEC(store_row) rows; /* by label, then by split */
} store_buckets;

typedef struct store_counts_opts {
    uint64_t step;
    str by;       /* one row for each value of this label; empty: one row */
    str split;    /* and for each value of this one */
    bool hold;    /* levels hold until the next profile of their series, or its end (levels.h) */
    uint64_t now; /* for store_row.complete; 0: everything has arrived */
} store_counts_opts;

enum { STORE_MAX_BUCKETS = 1 << 22 };
/* Returns sums and numbers of observations in time buckets, without reading stacks: for charts and
 * heat maps. Levels and cumulative profiles are not added up: only the newest of the profiles of a
 * series that begin in a bucket counts there. The value of an interval, such as a wait, is spread
 * over the buckets that it covers; its part outside of the range does not count. Of the type
 * off_cpu, that includes intervals that begin up to a minute before the range. `count` has those
 * that begin in the bucket. Requires q->start, q->end and o->step. */
NODISCARD bool store_counts(store_reader *r, const store_selector *q, const store_budget *b,
                            const store_counts_opts *o, arena *a, store_buckets *out,
                            store_read_result *result, err *e);

/* A profile in a list of recordings. */
typedef struct store_profile {
    uint8_t id[16]; /* the profile's id, or one derived from its content */
    uint64_t time, duration, received;
    uint64_t n_samples;
    uint32_t series; /* index into *series */
    str sender, recognised;
    const ledger *ledger; /* NULL: the conversion lost nothing */
} store_profile;

typedef VEC(store_profile) store_profile_list;
/* Lists the newest `max` profiles by arrival (0: 1000), newest first, selected by series, profile
 * attributes, id and time. */
NODISCARD bool store_list_profiles(store_reader *r, const store_selector *q, const store_budget *b,
                                   size_t max, arena *a, store_profile_list *out,
                                   store_series_list *series, store_read_result *result, err *e);

/* Stores the names of every location that has a build id, an address and lines, for reads with
 * `names`. The names are durable on return. The argument is a reader, because names may be added
 * while another process has the store open for writing. A callback of store_read_each may call
 * this function. */
NODISCARD bool store_put_names(store_reader *r, const model *m, uint64_t *n, err *e);

/* ---- follow ---- */

/* Following: one consumer receives every acknowledged item, in order and at its own pace; the
 * server uses this for forwarding. The consumer's position is on disk (store_followed), so that it
 * continues there after a restart or crash: every item is delivered at least once. The journal
 * keeps items for the consumer after compaction, up to max_bytes of whole segments; then it drops
 * the oldest, and the next read counts them as lost. Item numbers start at 1.
 *
 * store_follow starts with the items that are acknowledged from now on, or at the position on disk,
 * and sets *through to that position. Every process that opens the store for writing keeps items
 * for the consumer, until store_unfollow. */
NODISCARD bool store_follow(store *s, uint64_t max_bytes, uint64_t *through, err *e);
/* Ends following: from now on the journal releases segments once they are compacted. */
void store_unfollow(store *s);

typedef struct store_follow_item {
    uint64_t number;
    str bytes; /* OTLP protobuf of `layout` */
    layout layout;
    str recognised; /* as in store_item */
    size_t n_profiles;
} store_follow_item;

/* Receives one item, which lives until the callback returns. Returns false to stop; the next read
 * then starts with this item. */
typedef bool store_follower(void *ctx, const store_follow_item *i);

/* Passes the durable items after *through to `each` and advances *through; adds the number of items
 * that were dropped or are damaged to *lost. Only one thread may call it at a time. */
NODISCARD bool store_follow_read(store *s, uint64_t *through, store_follower *each, void *ctx,
                                 uint64_t *lost, err *e);

/* Records that the consumer has finished all items up to this number.  Durable on return. */
NODISCARD bool store_followed(store *s, uint64_t through, err *e);

typedef struct store_lag {
    uint64_t items; /* acknowledged and not finished by the consumer */
    uint64_t bytes; /* of compacted items that the journal keeps only for the consumer */
} store_lag;

store_lag store_lag_of(const store *s); /* any thread */

/* ---- counters and gauges ---- */

#define STORE_COUNTERS(X)                                                                          \
    X(items, "items acknowledged")                                                                 \
    X(profiles, "profiles stored")                                                                 \
    X(samples, "samples stored")                                                                   \
    X(duplicates, "profiles that were stored already")                                             \
    X(bytes, "bytes of OTLP stored")                                                               \
    X(refused_full, "items refused because the queue was full")                                    \
    X(refused_disk, "items refused because the disk was full or broken")                           \
    X(rejected_backlog, "items rejected because of a compaction backlog")                          \
    X(rejected_young, "items rejected because the store was full of data younger than min-age")    \
    X(groups, "groups written, each with one sync")                                                \
    X(compactions, "compactions")                                                                  \
    X(compaction_failed, "compactions that failed and will be retried")                            \
    X(undecodable, "items that compaction could not convert to columns and stores as received")    \
    X(damaged, "blocks and items that failed their checksum")                                      \
    X(quarantined, "files set aside as damaged")                                                   \
    X(dropped_files, "files removed by retention")                                                 \
    X(dropped_samples, "samples removed by retention")                                             \
    X(clock_jumps, "jumps of the clock after which retention by age paused")

typedef struct store_counters {
#define X(name, what) uint64_t name;
    STORE_COUNTERS(X)
#undef X
} store_counters;

/* Returns the counters since the store was opened. */
store_counters store_counted(const store *s);

#define STORE_GAUGES(X)                                                                            \
    X(disk_bytes, "bytes of all files of the store")                                               \
    X(raw_items, "items acknowledged that wait for compaction")                                    \
    X(raw_bytes, "bytes of items that wait for compaction")                                        \
    X(raw_oldest_seconds, "age of the oldest item that waits for compaction")                      \
    X(backlog_limit_bytes, "bytes waiting for compaction at which new items are rejected")         \
    X(rejecting_backlog,                                                                           \
      "1: items were rejected in the last 10 s because too much waits for compaction")             \
    X(rejecting_young, "1: the store is full of data younger than min-age")                        \
    X(retention_paused_seconds, "seconds until age-based retention resumes; 0: not paused")        \
    X(retention_held, "1: more data is past max-age than retention removes at once")               \
    X(kept_items, "items stored as received because compaction could not convert them to columns") \
    X(queue_items, "items that are not written to disk yet")                                       \
    X(queue_bytes, "bytes of items that are not written to disk yet")

typedef struct store_gauges {
#define X(name, what) uint64_t name;
    STORE_GAUGES(X)
#undef X
} store_gauges;

/* Returns the current values. Reads no file, so that a caller may poll every few seconds. */
store_gauges store_gauged(const store *s);
