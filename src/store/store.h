/* store/store.h - profiles kept: put what was received, ask for what is wanted.  docs/store.md.
 *
 *   store_put ─► queue ─ one write and one sync for many ─► acknowledged ─ compaction ─► columns by series and time
 *                                                               └───────────┬──────────────┘
 *   store_read, store_read_sums, store_counts, store_labels ... ◄──────────┘      both are part of every answer
 *
 * The contract that every engine keeps (tests/unit/store/test_conformance.c runs over all of them):
 *   - Acknowledged means durable: `done` is called after the data survives a crash, and then it is there exactly once.
 *   - A profile is known by its id and type, otherwise by the hash of resource, scope and profile: what was put before is a
 *     duplicate, also after a restart and inside one group (within the last STORE_MAX_KEYS profiles).
 *   - What comes out is what went in, field by field and in the same order; dictionaries hold what is used.  Resources and
 *     scopes without a profile are nothing to keep.
 *   - A reader sees whole items: all profiles of a store_put or none of them.
 *
 * One process writes a directory; any number may read it at the same time.  Threads: store_put and the counters may be
 * called by any thread at any time.  Questions to one store are answered one after the other: who wants several at once
 * opens the directory again with `read_only`.  Memory of answers is the caller's arena, and its budget the limit. */
#pragma once
#include <limits.h>
#include "base/err.h"
#include "base/str.h"
#include "model/ledger.h"
#include "model/model.h"
#include "net/world.h"
#include "wire/layout.h"

typedef struct store store;

#define STORE_MAX_AGE (UINT64_C(7) * 24 * 3600 * NS_PER_S)
#define STORE_MAX_BYTES (UINT64_C(10) << 30)
#define STORE_MAX_QUEUE ((size_t)64 << 20)
#define STORE_MEMORY ((size_t)128 << 20)
#define STORE_MIN_AGE (UINT64_C(3600) * NS_PER_S)
enum { STORE_MAX_KEYS = 1 << 19 };
#define STORE_ALL_CORES UINT_MAX

/* What a line is about. */
typedef enum store_said {
    STORE_REMOVED,    /* by retention; all else is trouble */
    STORE_QUARANTINE, /* a damaged file was set aside or left out */
    STORE_TROUBLE,
} store_said;

/* The zero value is fine. */
typedef struct store_opts {
    bool read_only;     /* ask only; another process may be writing */
    bool must_exist;    /* do not make the directory (implied by read_only) */
    uint64_t max_age;   /* ns since arrival; 0: STORE_MAX_AGE, UINT64_MAX: for ever */
    uint64_t max_bytes; /* on disk; 0: STORE_MAX_BYTES, UINT64_MAX: no limit */
    uint64_t
        min_age; /* ns since arrival: retention by bytes removes nothing younger, puts are rejected; 0: STORE_MIN_AGE */
    uint64_t
        max_backlog; /* bytes that may wait for compaction before puts are rejected; 0: an eighth of max_bytes, between
                             4 MiB and 1 GiB; UINT64_MAX: no limit */
    bool
        drop_at_once; /* retention by age neither pauses after a jump of the clock nor limits what it removes at once */
    size_t max_queue; /* bytes waiting to be written; 0: STORE_MAX_QUEUE */
    size_t memory;    /* compaction and caches of readers together; 0: STORE_MEMORY */
    uint64_t
        max_raw; /* bytes that wait for compaction before it begins; 0: 64 MiB; at most half of max_backlog */
    uint64_t max_raw_age; /* ns that they may wait; 0: 10 minutes */
    bool no_sync;         /* "durable" means: handed to the kernel.  For tests and benches */
    bool
        no_threads; /* nothing happens but in store_commit and store_work, which the caller calls */
    unsigned
        threads; /* that compact when more waits than max_raw; 0: STORE_ALL_CORES, or one with no_threads */
    const world *world; /* NULL: the machine's own */
    const char *vfs;    /* name of an SQLite VFS that all files go through; NULL: the usual */
    /* Failpoints of tests: called with "written", "synced", "compacted", ...; NULL: nobody. */
    void (*at)(void *who, const char *point);
    /* One line for people, in whatever thread it happens: what was quarantined, refused, dropped by retention. */
    void (*say)(void *who, store_said what, const char *line);
    void *who;
} store_opts;

/* `where` is a directory (or, once there is an engine for it, a URL with its scheme).  Directories are made.
 * ERR_MISMATCH: another process writes it, or a newer kiln did; ERR_SYS.  A damaged file is no reason to fail: it is renamed
 * *.corrupt, said and counted, and the rest is served. */
NODISCARD store *store_open(const char *where, const store_opts *o, err *e);

/* Makes durable what was put (and calls its `done`), ends the threads.  NULL is fine. */
void store_close(store *s);

/* Other limits of retention, as in store_opts: from the next look on, which comes within a minute.  Any thread. */
void store_retain(store *s, uint64_t max_age, uint64_t max_bytes);

/* ---- put ---- */

typedef struct store_result {
    size_t n_profiles;             /* of the item */
    size_t n_stored, n_duplicates; /* n_stored + n_duplicates = n_profiles unless refused */
    const err *
        refused; /* NULL: all is durable.  ERR_LIMIT: pressure; ERR_SYS: disk full or broken: nothing of the
                                     item is acknowledged; the sender may try again */
} store_result;

typedef void store_done(void *cookie, const store_result *r);

/* What was received.  Bytes and model are only read, until store_put returns. */
typedef struct store_item {
    const model *model; /* checked; NULL: the store decodes `bytes` */
    str bytes; /* the same as OTLP protobuf of `layout`, without compression; empty: the store encodes `model` */
    size_t before,
        after; /* bytes around them that the store may write to, as it may read `bytes`, until `done`: it need not copy then */
    layout layout; /* of bytes, LAYOUT_UNKNOWN: find out */

    str sender; /* who sent it, for people: "10.0.0.7:51234 grpc OTel-OTLP-Exporter/1.2"; may be empty */
    str recognised;    /* what the payload was: "otlp 1.9", "pprof", "splunk-logs"; may be empty */
    uint64_t received; /* Unix ns; 0: now */
    uint64_t n_bytes;  /* on the wire */
    const ledger *ledger; /* what reading it could not carry; may be NULL */

    bool
        more; /* the caller goes on at once, and says store_push when it does not: one sync for all of it */

    store_done *done; /* called once, never from inside store_put; may be NULL */
    void *cookie;
} store_item;

/* Hands in one item.  false: `done` will not be called.  ERR_LIMIT: the queue is full, too much waits for compaction, or the store
 * is full of data younger than min_age: try later; ERR_SYS: the disk is full or
 * broken (it is tried again every second); ERR_MALFORMED, ERR_USAGE. */
NODISCARD bool store_put(store *s, const store_item *i, err *e);

/* What was put with `more` is written now (it may have been before). */
void store_push(store *s);

/* Does it take what is put now?  false: the disk is full or broken, and was so when it was last tried, which happens at open and every
 * second (with no_threads in store_work) whether or not somebody puts.  Any thread. */
bool store_takes(const store *s);

/* With no_threads: writes and syncs all that waits as one group and calls every `done`.  Otherwise: waits until that has
 * happened.  false: something was refused; `e` has the first reason. */
bool store_commit(store *s, err *e);

/* With no_threads: one bounded step of what the background does (compaction, retention); *more: there is more to do now. */
NODISCARD bool store_work(store *s, bool *more, err *e);

/* Compacts everything, whatever its age, and applies retention; returns when done. */
NODISCARD bool store_compact(store *s, err *e);

/* ---- choose ---- */

/* Labels are attributes as text (integers in decimal, true, false, other kinds as JSON).  A key is looked for in the resource,
 * the scope (where otel.scope.name and otel.scope.version are its name and version), the profile and then the sample; one
 * that nothing has is "".  trace_id and span_id are those of the sample's link in hex, "" without one.  Patterns match the whole
 * value. */
typedef enum store_op { STORE_IS, STORE_IS_NOT, STORE_LIKE, STORE_NOT_LIKE } store_op;

typedef struct store_matcher {
    str key;
    store_op op;
    str value;
} store_matcher;

/* The zero value selects everything.  An observation belongs to the range by its timestamp, a sample without timestamps by
 * the start of its profile (or its arrival, when it has none); a sample whose values and timestamps do not pair up by its
 * first timestamp. */
typedef struct store_selector {
    const store_matcher *matchers;
    size_t n_matchers;
    str type;            /* "cpu", "cpu/nanoseconds", "/" of profiles without a type; empty: any */
    uint64_t start, end; /* Unix ns, [start, end); 0: open */
    const uint8_t *trace_id, *span_id, *profile_id; /* 16, 8 and 16 bytes; NULL: any */
} store_selector;

/* Reads  cpu/nanoseconds{service.name="checkout", thread.name=~"worker.*"}  ; both parts may be left out.  trace_id="hex",
 * span_id="hex" and profile_id="hex" become ids of *out, other matchers of trace_id and span_id are matchers.  Memory is the
 * arena's.  ERR_MALFORMED with the byte. */
NODISCARD bool store_selector_parse(str text, arena *a, store_selector *out, err *e);

/* n bytes of an id from 2 n hex digits.  Memory is the arena's.  ERR_USAGE. */
NODISCARD bool store_id_parse(str hex, size_t n, arena *a, const uint8_t **out, err *e);

/* What an answer may cost; what it cost.  At a limit the answer is what was found so far, and says so. */
typedef struct store_budget {
    uint64_t max_samples; /* in the answer; 0: no limit */
    size_t max_bytes;     /* of the arena; 0: its budget */
    uint64_t max_ns;      /* of time; 0: no limit */
    struct stopper *stop; /* asked now and then; may be NULL */
} store_budget;

typedef struct store_answer {
    bool partial;       /* a budget was reached, or something is damaged or missing: */
    char why[96];       /* which, for people */
    uint64_t n_samples; /* selected */
    uint64_t n_profiles, n_series;
    uint64_t n_blocks, n_items; /* looked at: compacted blocks, items not yet compacted */
    uint64_t n_bytes;           /* read for it */
    uint64_t n_damaged;         /* blocks and items that had to be left out */
    uint64_t n_compared; /* times that a series was compared with another: work that tests count */
    uint64_t ns;         /* taken */
} store_answer;

/* ---- ask ---- */

typedef struct store_read_opts {
    store_budget budget;
    bool
        names; /* places without names get those that were stored for their build id and address (store_put_names) */

    /* store_read_sums */
    bool
        by_series; /* one profile for each resource, scope, type and period, which says kiln.sum.samples and kiln.sum.squares and
                      keeps what tells how to read it (drop_frames, cumulative: such a profile is not added to others);
                      otherwise one for each type and unit */
    bool
        by_reading; /* with by_series: series that are read alike become one profile without a resource and a scope, unless
                        they are not added up at all; for views, which add them up anyway */
    bool by_attributes; /* samples of different attributes stay apart */
} store_read_opts;

/* The selected samples, those of a series in order of arrival, timestamps cut to the range; profiles of which no sample is left are not
 * there, unless they had none and their time is in the range.  `out` is checked.  `o` and `answer` may be NULL. */
NODISCARD bool store_read(store *s, const store_selector *q, const store_read_opts *o, arena *a,
                          model *out, store_answer *answer, err *e);

/* One sample for each stack with the sum of what store_read would give: what flame graphs and tables want.  Levels
 * (profile_is_level) are not added up: of each series the newest profile in the range counts, and has a profile of its own.
 * So does, with by_series, the newest of cumulative profiles that hold each other. */
NODISCARD bool store_read_sums(store *s, const store_selector *q, const store_read_opts *o,
                               arena *a, model *out, store_answer *answer, err *e);

/* Several models in turn, in order of arrival, each of bounded size: for exports and imports.  The model lives until `each`
 * returns; false stops with its error. */
typedef bool store_each(void *who, const model *m, err *e);
NODISCARD bool store_read_each(store *s, const store_selector *q, store_each *each, void *who,
                               store_answer *answer, err *e);

/* As store_read, in bounded memory: `each` gets the profiles in pieces of a few MiB (one profile at least), in the same order.  All
 * pieces share one dictionary, which grows in `a` meanwhile and is complete on return: *shared has no profiles.  Indices of a piece
 * are those of *shared; its own dictionary has nothing but attr_refs.  A partial answer has some of the pieces. */
NODISCARD bool store_read_pieces(store *s, const store_selector *q, const store_read_opts *o,
                                 arena *a, store_each *each, void *who, model *shared,
                                 store_answer *answer, err *e);

typedef struct store_series {
    const resource *resource; /* its attributes; scopes are not set */
    const scope *scope;
    str type, unit, period_type, period_unit;
    int64_t period;
    uint64_t first, last; /* time of observations in all that is stored */
    uint64_t n_profiles, n_samples;
} store_series;

typedef VEC(store_series) store_series_list;
/* Here and below `b` may be NULL: no limits.
 * Series that have blocks in the range and fit by resource, scope, profile and sample attributes.  Counts are of whole blocks. */
NODISCARD bool store_list_series(store *s, const store_selector *q, const store_budget *b, arena *a,
                                 store_series_list *out, store_answer *answer, err *e);

typedef struct store_type {
    str type, unit;
    uint64_t n_samples;
} store_type;

typedef VEC(store_type) store_type_list;
/* Types of the selection, in the order in which they are found.  Counts are of whole blocks; where there is one type alone, not all of
 * them may have been counted. */
NODISCARD bool store_list_types(store *s, const store_selector *q, const store_budget *b, arena *a,
                                store_type_list *out, store_answer *answer, err *e);

/* Which type is meant when nobody says, or says it without its unit: the rule of query/lead.h over the selection, of equals the
 * one with more samples, then the first by name.  Sets q->type ("cpu/nanoseconds", in the arena), unless it is whole or there is nothing. */
NODISCARD bool store_main_type(store *s, store_selector *q, const store_budget *b, arena *a,
                               store_answer *answer, err *e);

typedef struct store_label {
    str text; /* key or value */
    uint64_t n_series;
} store_label;

typedef VEC(store_label) store_label_list;
/* Keys (key empty) or the values of a key, by text. */
NODISCARD bool store_list_labels(store *s, const store_selector *q, const store_budget *b, str key,
                                 arena *a, store_label_list *out, store_answer *answer, err *e);

/* Sums and numbers of observations in steps of time, without looking at stacks: charts and heat maps.  Levels and
 * cumulative profiles are not added up: in each step the newest profile of a series that began in it counts.  q->start and q->end must be set.  `by`: a row for each value of a label; empty: one row. */
typedef struct store_row {
    str label;
    int64_t *sum; /* by bucket */
    uint64_t *count;
} store_row;

typedef struct store_buckets {
    uint64_t start, step; /* bucket i is [start + i * step, + step), cut to the range */
    size_t n;
    VEC(store_row) rows; /* by label */
} store_buckets;

enum { STORE_MAX_BUCKETS = 1 << 22 };
NODISCARD bool store_counts(store *s, const store_selector *q, const store_budget *b, uint64_t step,
                            str by, arena *a, store_buckets *out, store_answer *answer, err *e);

/* Profiles one by one: what a list of recordings shows. */
typedef struct store_profile {
    uint8_t id[16]; /* that of the profile, or the one made from its content */
    uint64_t time, duration, received;
    uint64_t n_samples;
    uint32_t series; /* in *series */
    str sender, recognised;
    const ledger *ledger; /* NULL: nothing was lost */
} store_profile;

typedef VEC(store_profile) store_profile_list;
/* The newest `max` by arrival (0: 1000), newest first, chosen by series, profile attributes, id and time. */
NODISCARD bool store_list_profiles(store *s, const store_selector *q, const store_budget *b,
                                   size_t max, arena *a, store_profile_list *out,
                                   store_series_list *series, store_answer *answer, err *e);

/* Keeps the names of every location that has a build id, an address and lines, for answers with `names`.  Durable on return.
 * Also with read_only, while another process writes the store. */
NODISCARD bool store_put_names(store *s, const model *m, uint64_t *n, err *e);

/* ---- follow ---- */

/* One consumer gets every item that is acknowledged, in order and at its own pace, across restarts and kills: the server's forward.
 * How far it came is on disk (store_followed), so that a restart begins there: at least once, never less.  The journal keeps the
 * items beyond after they were compacted, up to max_bytes of whole segments; then the oldest go, and the next read counts them as
 * lost.  Items are counted from 1.
 *
 * Begins with what is acknowledged from now on, or where an earlier process left off; *through: so far it came.  Any process that
 * opens the store to write keeps what the consumer needs, until store_unfollow. */
NODISCARD bool store_follow(store *s, uint64_t max_bytes, uint64_t *through, err *e);
/* Nobody follows any more: the journal goes as it is compacted. */
void store_unfollow(store *s);

typedef struct store_follow_item {
    uint64_t number;
    str bytes; /* OTLP protobuf of `layout` */
    layout layout;
    str recognised; /* as in store_item */
    size_t n_profiles;
} store_follow_item;

/* false: not now; the next read begins with it.  What the item points to lives until the return. */
typedef bool store_follower(void *who, const store_follow_item *i);

/* Visits what is durable beyond *through, which moves on; *lost grows by the items that are gone or damaged.  One thread at a time. */
NODISCARD bool store_follow_read(store *s, uint64_t *through, store_follower *each, void *who,
                                 uint64_t *lost, err *e);

/* All through this number was handed on, or is kept elsewhere.  Durable on return. */
NODISCARD bool store_followed(store *s, uint64_t through, err *e);

typedef struct store_lag {
    uint64_t items; /* acknowledged and not handed on */
    uint64_t bytes; /* of the journal that are kept for them alone: they were compacted */
} store_lag;

store_lag store_lag_of(const store *s); /* any thread */

/* ---- look after it ---- */

#define STORE_COUNTERS(X)                                                                          \
    X(items, "items acknowledged")                                                                 \
    X(profiles, "profiles stored")                                                                 \
    X(samples, "samples stored")                                                                   \
    X(duplicates, "profiles that were there already")                                              \
    X(bytes, "bytes of OTLP stored")                                                               \
    X(refused_full, "items refused because the queue was full")                                    \
    X(refused_disk, "items refused because the disk was full or broken")                           \
    X(rejected_backlog, "items rejected because too much waited for compaction")                   \
    X(rejected_young, "items rejected because the store was full of data younger than min-age")    \
    X(groups, "groups written, each with one sync")                                                \
    X(compactions, "compactions")                                                                  \
    X(compaction_failed, "compactions that will be tried again")                                   \
    X(undecodable, "items that compaction could not make columns of and keeps as received")        \
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

/* Since the store was opened. */
store_counters store_counted(const store *s);

#define STORE_GAUGES(X)                                                                            \
    X(disk_bytes, "bytes of all files of the store now")                                           \
    X(raw_items, "items acknowledged that wait for compaction")                                    \
    X(raw_bytes, "bytes of them in the journal")                                                   \
    X(raw_oldest_seconds, "age of the oldest of them")                                             \
    X(backlog_limit_bytes, "bytes of them at which new items are rejected")                        \
    X(rejecting_backlog, "1: items were rejected in the last 10 s because too much waits")         \
    X(rejecting_young, "1: the store is full of data younger than min-age")                        \
    X(retention_paused_seconds, "time left for which retention by age pauses; 0: it does not")     \
    X(retention_held, "1: more is past max-age than is removed at once")                           \
    X(kept_items, "items that are kept as received: compaction could not make columns of them")    \
    X(queue_items, "items put that are not on disk yet")                                           \
    X(queue_bytes, "bytes of them")

typedef struct store_gauges {
#define X(name, what) uint64_t name;
    STORE_GAUGES(X)
#undef X
} store_gauges;

/* As it is now, of a store that is open for writing; cheap, no file is read: for whoever asks every few seconds. */
store_gauges store_gauged(const store *s);

typedef struct store_file {
    str name;
    uint64_t bytes;       /* with its write-ahead log */
    uint64_t first, last; /* times of observations */
    uint64_t n_series, n_profiles, n_samples, n_blocks;
    uint64_t n_strings, n_locations, n_stacks;
    bool corrupt; /* set aside; nothing else is known */
} store_file;

typedef struct store_stats {
    uint64_t bytes;                /* all files */
    uint64_t raw_items, raw_bytes; /* acknowledged and not yet compacted */
    uint64_t kept_items;           /* kept as received: no columns could be made of them */
    uint64_t n_series, n_profiles, n_samples; /* compacted */
    uint64_t max_age, max_bytes;
    VEC(store_file) files; /* oldest first */
} store_stats;

NODISCARD bool store_get_stats(store *s, arena *a, store_stats *out, err *e);

typedef struct store_backup_result {
    uint64_t n_files;            /* day files in the copy */
    uint64_t n_copied, n_linked; /* files that were copied; day files that the destination had */
    uint64_t bytes;              /* copied */
    uint64_t n_samples, n_items; /* in day files; not yet compacted */
    uint64_t n_damaged;          /* files and items that the store lacks, and so does the copy */
} store_backup_result;

typedef struct store_backup_opts {
    /* Called now and then with the file at hand; may be NULL. */
    void (*progress)(void *who, const char *name, const store_backup_result *so_far);
    void *who;
} store_backup_opts;

/* Copies the store as it is at one moment to the directory `dest`, which is a store then: all that was acknowledged before the
 * call is in it.  Another process may write the store meanwhile.  Day files that an earlier copy in `dest` has are linked, not
 * copied; `dest` is replaced at the end, at once.  ERR_USAGE: it holds something else; ERR_MISMATCH: it is being written. */
NODISCARD bool store_backup(store *s, const char *dest, const store_backup_opts *o,
                            store_backup_result *out, err *e);

typedef struct store_check {
    uint64_t n_files, n_blocks, n_samples;
    uint64_t n_items; /* not yet compacted */
    uint64_t n_kept;  /* kept as received; each that cannot be answered is a problem */
    uint64_t n_problems;
} store_check;

/* Reads everything: checksums, structure, references.  `problem` gets a line for each fault ("2026-11-15.0.db: block 12: ...");
 * false only when it could not look. */
NODISCARD bool store_verify(store *s, void (*problem)(void *who, const char *line), void *who,
                            store_check *out, err *e);
