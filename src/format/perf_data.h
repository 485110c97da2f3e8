/* format/perf_data.h - the reader of Linux perf.data, shared by perf_data*.c. Pure.
 *
 *   header, attrs, features      perf_data_header.c, perf_data_feature.c, perf_data_trace.c
 *   records ─ inflate ─ index    perf_data_scan.c      one entry for each record to replay
 *   sort by time                 perf_data_scan.c      because each CPU writes its own stream
 *   replay                       perf_data_replay.c    threads, address spaces (perf_data_maps.c),
 *                                                      samples (perf_data_sample.c), stacks
 *                                                      (perf_data_stack.c, perf_data_copied.c),
 *                                                      off-CPU
 *   model                        perf_data_model.c
 *
 * The input is not trusted: every length is checked against the bytes that are left, and the work
 * is bounded by the size of the input, including its decompressed records. */
#pragma once
#include "format/format.h"
#include "format/stack_walk.h"
#include "model/builder.h"
#include "model/executable.h"

/* ---- constants of the format (perf_event_open(2), tools/perf/Documentation/perf.data-file-format)
 * ---- */

enum {
    PERF_TYPE_HARDWARE = 0,
    PERF_TYPE_SOFTWARE = 1,
    PERF_TYPE_TRACEPOINT = 2,
    PERF_TYPE_HW_CACHE = 3,
    PERF_TYPE_RAW = 4,
    PERF_TYPE_BREAKPOINT = 5,
};
enum { PERF_SW_CPU_CLOCK = 0, PERF_SW_TASK_CLOCK = 1, PERF_SW_DUMMY = 9 };

enum {
    PERF_SAMPLE_IP = 1 << 0,
    PERF_SAMPLE_TID = 1 << 1,
    PERF_SAMPLE_TIME = 1 << 2,
    PERF_SAMPLE_ADDR = 1 << 3,
    PERF_SAMPLE_READ = 1 << 4,
    PERF_SAMPLE_CALLCHAIN = 1 << 5,
    PERF_SAMPLE_ID = 1 << 6,
    PERF_SAMPLE_CPU = 1 << 7,
    PERF_SAMPLE_PERIOD = 1 << 8,
    PERF_SAMPLE_STREAM_ID = 1 << 9,
    PERF_SAMPLE_RAW = 1 << 10,
    PERF_SAMPLE_BRANCH_STACK = 1 << 11,
    PERF_SAMPLE_REGS_USER = 1 << 12,
    PERF_SAMPLE_STACK_USER = 1 << 13,
    PERF_SAMPLE_WEIGHT = 1 << 14,
    PERF_SAMPLE_DATA_SRC = 1 << 15,
    PERF_SAMPLE_IDENTIFIER = 1 << 16,
    PERF_SAMPLE_TRANSACTION = 1 << 17,
    PERF_SAMPLE_REGS_INTR = 1 << 18,
    PERF_SAMPLE_PHYS_ADDR = 1 << 19,
    PERF_SAMPLE_AUX = 1 << 20,
    PERF_SAMPLE_CGROUP = 1 << 21,
    PERF_SAMPLE_DATA_PAGE_SIZE = 1 << 22,
    PERF_SAMPLE_CODE_PAGE_SIZE = 1 << 23,
    PERF_SAMPLE_WEIGHT_STRUCT = 1 << 24,
};
enum {
    PERF_FORMAT_TIME_ENABLED = 1,
    PERF_FORMAT_TIME_RUNNING = 2,
    PERF_FORMAT_ID = 4,
    PERF_FORMAT_GROUP = 8,
    PERF_FORMAT_LOST = 16,
};

enum {
    REC_MMAP = 1,
    REC_LOST = 2,
    REC_COMM = 3,
    REC_EXIT = 4,
    REC_FORK = 7,
    REC_SAMPLE = 9,
    REC_MMAP2 = 10,
    REC_LOST_SAMPLES = 13,
    REC_SWITCH = 14,
    REC_SWITCH_CPU_WIDE = 15,
    REC_CGROUP = 19,
    REC_CALLCHAIN_DEFERRED = 22,
    REC_KERNEL_LIMIT =
        64, /* smaller types are the kernel's and end in a sample id; others are perf's own */
    REC_ATTR = 64,
    REC_EVENT_TYPE = 65,
    REC_TRACING_DATA = 66,
    REC_BUILD_ID = 67,
    REC_FINISHED_ROUND = 68,
    REC_ID_INDEX = 69,
    REC_AUXTRACE_INFO = 70,
    REC_AUXTRACE = 71,
    REC_THREAD_MAP = 73,
    REC_CPU_MAP = 74,
    REC_EVENT_UPDATE = 78,
    REC_TIME_CONV = 79,
    REC_FEATURE = 80,
    REC_COMPRESSED = 81,
    REC_FINISHED_INIT = 82,
    REC_COMPRESSED2 = 83,
    REC_COUNT = 96, /* types that are counted separately */
};
enum {
    MISC_CPUMODE = 7,
    MISC_MMAP_BUILD_ID = 1 << 14,
    MISC_BUILD_ID_SIZE = 1 << 15,
    MISC_MMAP_DATA = 1 << 13, /* the mapping is not executable */
    MISC_COMM_EXEC = 1 << 13,
    MISC_FORK_EXEC = 1 << 13,
    MISC_SWITCH_OUT = 1 << 13,
    MISC_SWITCH_OUT_PREEMPT = 1 << 14,
};
enum { MODE_UNKNOWN, MODE_KERNEL, MODE_USER, MODE_HYPERVISOR, MODE_GUEST_KERNEL, MODE_GUEST_USER };

enum { REC_HEADER = 8, BUILD_ID_MAX = 20, PERF_ATTR_MIN = 64, PERF_N_FEATURES = 256 };

/* ---- an event: one perf_event_attr ---- */

typedef struct perf_row { /* one sample, ready for its profile */
    uint64_t time;
    int64_t value;
    uint32_t stack, task;
    uint32_t cpu;       /* NO_CPU: unknown */
    uint32_t container; /* index + 1 of cgroups; 0 = none */
    uint8_t state;      /* off-CPU: index + 1 of perf_states; 0 = unknown */
    bool upper;         /* off-CPU: the value is an upper bound */
    bool cut;           /* the copied bytes end before the stack */
} perf_row;
#define NO_CPU UINT32_MAX
#define OPEN_INTERVAL INT64_MIN /* value of an off-CPU row without an end so far */

typedef struct perf_event {
    uint32_t type;
    uint64_t config, period, sample_type, read_format, branch_type, flags;
    uint64_t regs_user; /* mask of recorded registers */
    uint32_t n_regs_intr;
    int32_t clockid;
    bool freq, sample_id_all, use_clockid, is_sched_switch;
    bool no_user_chain; /* call chains of the kernel only: the user part must be unwound */
    int user_ip;        /* position of the user's ip in regs_user; -1: missing */
    str name;           /* from the file, or derived from type and config */
    uint64_t lost;      /* samples that the kernel dropped */
    VEC(perf_row) rows;
} perf_event;

typedef struct perf_id { /* a counter: one event on one CPU or thread */
    uint64_t id, last;   /* last: value of the previous READ record */
    uint32_t event;
} perf_id;

/* ---- address spaces (perf_data_maps.c) ---- */

typedef struct perf_map { /* one MMAP record */
    uint64_t start, limit, offset;
    str filename, build_id; /* build id: raw bytes; empty = not in the record */
    uint32_t mapping;       /* index in the dictionary; 0 = not added yet */
    bool data;              /* not executable */
    uint32_t frame_type;    /* attribute of its locations; 0 = none */
} perf_map;

typedef struct perf_node {
    uint64_t start, limit; /* the part of `map` that no newer map covers */
    uint32_t map, left, right, owner, height;
} perf_node;

/* A set of maps that do not overlap, as a balanced tree. A process and its forked children share
 * nodes until one of them changes (`owner`), so a fork copies nothing. */
typedef struct perf_space {
    uint32_t root, owner;
    uint32_t version; /* equal versions have equal maps, also across processes */
} perf_space;

typedef struct perf_maps {
    arena *a;
    VEC(perf_map) maps;
    VEC(perf_node) nodes; /* [0] is nil */
    uint32_t n_owners, n_versions;
} perf_maps;

#define NO_MAP UINT32_MAX
NODISCARD bool perf_maps_init(perf_maps *m, arena *a);
/* Adds maps.v[map] over [start, limit); the parts of older maps that it covers are removed. false:
 * out of memory. */
NODISCARD bool perf_space_add(perf_maps *m, perf_space *s, uint32_t map);
uint32_t perf_space_find(const perf_maps *m, const perf_space *s, uint64_t address);
void perf_space_fork(perf_maps *m, perf_space *parent, perf_space *child);
void perf_space_clear(perf_maps *m, perf_space *s);
/* Calls `each` for the maps of a space in order of address, with their visible parts, until it
 * returns false. */
void perf_space_each(const perf_maps *m, const perf_space *s,
                     bool (*each)(void *ctx, const perf_node *n), void *ctx);

/* ---- threads ---- */

typedef struct perf_task { /* a thread while its name does not change */
    uint32_t pid, tid;
    str comm;                               /* empty = unknown */
    uint32_t pid_attr, tid_attr, comm_attr; /* attributes; 0 = not created yet */
} perf_task;

typedef struct perf_thread {
    uint32_t tid, pid;
    str comm;
    uint32_t task;       /* index + 1 in perf_data.tasks; 0 = not created yet */
    uint32_t off;        /* row + 1 of off_cpu that has no end yet; 0 = running */
    uint32_t stopped_at; /* stack of the newest context-switches sample; 0 = none since it ran */
} perf_thread;

typedef struct perf_process {
    uint32_t pid;
    uint32_t main; /* map + 1 of its executable, which the kernel maps first; 0 = unknown */
    bool noted;    /* `main` is in perf_data.mains */
    perf_space space;
} perf_process;

/* ---- the reader ---- */

typedef struct perf_entry { /* a record to replay */
    uint64_t time;
    uint64_t at; /* offset in the input or, with IN_INFLATED set, in `inflated` */
} perf_entry;
#define IN_INFLATED ((uint64_t)1 << 63)

typedef struct perf_build_id {
    str filename;
    const uint8_t *id;
    uint32_t n;
} perf_build_id;

typedef struct perf_switch_fields { /* layout of the raw data of sched:sched_switch */
    bool found;
    uint32_t prev_pid, prev_state, prev_state_size, next_pid; /* byte offsets */
} perf_switch_fields;

typedef struct perf_tracepoint {
    uint64_t id; /* config of the event */
    str system, name;
} perf_tracepoint;

typedef struct perf_cgroup {
    uint64_t id;
    str container;
} perf_cgroup;

/* The scheduler's tracepoints have pids of the initial namespace, samples those of perf's
 * namespace. The thread that is switched out has both, which connects the two. */
typedef struct perf_raw_pid {
    uint32_t raw, thread; /* pid in a tracepoint; index of threads */
} perf_raw_pid;

typedef struct perf_chain { /* cache entry of a call chain */
    const uint8_t *p;       /* its n addresses, markers included */
    uint64_t n, ip, user_ip;
    uint32_t user, kernel; /* versions of the address spaces */
    uint32_t mode, stack;
} perf_chain;

typedef struct perf_place { /* cache entry of an address */
    uint64_t address;
    uint32_t version, location;
    uint32_t kernel; /* 0 or 1 */
} perf_place;

typedef struct perf_data {
    str in;
    const read_opts *o;
    arena *a;
    err *e;
    bool swap; /* the writer had the other byte order */
    bool pipe;

    /* from the header */
    uint64_t data_at, data_end; /* bytes of the record stream */
    bool truncated;
    uint64_t features[PERF_N_FEATURES / 64];
    VEC(perf_event) events;
    VEC(perf_id) ids;
    uint64_t n_ids_claimed; /* number of ids, including duplicates */
    hash_index by_id;
    VEC(perf_build_id) build_ids;
    hash_index by_filename;
    str hostname, os_release, perf_version, arch, cpu_desc;
    VEC(str) cmdline;
    bool has_clock_data;
    uint32_t clock_id;
    uint64_t clock_wall_ns, clock_ns;
    perf_switch_fields sched;
    VEC(perf_tracepoint) tracepoints;
    hash_index by_tracepoint;

    /* records */
    VEC(perf_entry) entries;
    struct {
        uint8_t *p;
        size_t n, cap;
    } inflated;
    void *zstd; /* ZSTD_DCtx */
    uint64_t seen[REC_COUNT];
    uint64_t last_time;
    bool unsorted;

    /* replay */
    builder b;
    perf_maps maps;
    perf_space kernel;
    VEC(perf_process) processes;
    VEC(perf_thread) threads;
    VEC(perf_task) task;
    hash_index by_pid, by_tid, by_raw_pid, by_chain, by_place;
    VEC(perf_chain) chains;
    VEC(perf_place) places;
    u32s frames; /* scratch */
    VEC(perf_cgroup) cgroups;
    hash_index by_cgroup;
    VEC(perf_raw_pid) raw_pids;
    perf_event off_cpu;     /* not an event of the file; its rows are off-CPU intervals */
    bool has_sched_switch;  /* its tracepoint begins intervals; SWITCH records only end them */
    uint64_t n_deferred;    /* chains whose user part is in a later record */
    uint64_t n_unknown_ids; /* samples and counters of unknown events */
    uint32_t attr_kernel, attr_native;
    uint64_t first_time, last_time_noted;
    bool has_times;
    uint64_t n_samples;
    uint32_t last_cpu, last_cpu_attr;
    uint32_t one_pid; /* the process of all samples so far */
    bool several_pids;
    uint32_t mains[MODEL_EXECUTABLES]; /* executables of processes with samples: map + 1 */
    size_t n_mains;

    /* copied stacks (perf_data_copied.c) */
    struct {
        VEC(walk_map) maps;        /* scratch */
        uint64_t n_maps;           /* maps passed to the walk so far */
        uint64_t ends[WALK_ENDS];  /* samples by the end of their stack */
        str first_file[WALK_ENDS]; /* of the frame at which the first such stack ended */
    } copied;
} perf_data;

/* ---- scalars in the byte order of the file ---- */

static inline uint32_t perf_u32(const perf_data *d, const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return d->swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t perf_u64(const perf_data *d, const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return d->swap ? __builtin_bswap64(v) : v;
}

static inline uint16_t perf_u16(const perf_data *d, const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return d->swap ? __builtin_bswap16(v) : v;
}

static inline unsigned perf_n_bits(uint64_t bits) { return (unsigned)__builtin_popcountll(bits); }

/* Returns the text up to its NUL or the end of the n bytes. */
static inline str perf_text(const uint8_t *p, size_t n)
{
    return (str){(const char *)p, n ? strnlen((const char *)p, n) : 0};
}

static inline const uint8_t *perf_bytes(const perf_data *d) { return (const uint8_t *)d->in.p; }

/* Returns whether [at, at + n) is inside the input. */
static inline bool perf_inside(const perf_data *d, uint64_t at, uint64_t n)
{
    return at <= d->in.n && n <= d->in.n - at;
}

/* ---- a record ---- */

typedef struct perf_record {
    uint32_t type;
    uint16_t misc, size;
    const uint8_t *body; /* size - REC_HEADER bytes */
    uint64_t at;         /* same as perf_entry.at */
} perf_record;

static inline size_t perf_body_size(const perf_record *r) { return (size_t)r->size - REC_HEADER; }

/* Sets an error at byte `in_body` of the record; always returns false. */
bool perf_fail(const perf_data *d, const perf_record *r, size_t in_body, const char *fmt, ...)
    PRINTF(4, 5);

/* ---- header and features ---- */

/* Reads header, attributes and, in file mode, the features; sets data_at and data_end. */
NODISCARD bool perf_read_header(perf_data *d);
/* Adds an event from a perf_event_attr of `n` bytes at p, which is byte `at` of the input. Returns
 * NULL on failure. */
NODISCARD perf_event *perf_add_event(perf_data *d, const uint8_t *p, size_t n, uint64_t at);
/* Adds n ids to events.v[event]. */
NODISCARD bool perf_add_ids(perf_data *d, uint32_t event, const uint8_t *p, uint64_t n,
                            uint64_t at);
/* Returns the entry of a counter's id, or NULL if it is unknown. */
perf_id *perf_find_id(const perf_data *d, uint64_t id);
/* Reads one feature section. Skips a damaged one, because features only describe the recording. */
NODISCARD bool perf_read_feature(perf_data *d, unsigned bit, const uint8_t *p, size_t n);
NODISCARD bool perf_add_build_id(perf_data *d, uint16_t misc, const uint8_t *body, size_t n);
const perf_build_id *perf_find_build_id(const perf_data *d, str filename);
/* Reads the formats of tracepoints: the fields of sched_switch, and names for events without
 * one. */
NODISCARD bool perf_read_tracing(perf_data *d, const uint8_t *p, size_t n);
/* Names an event that the file does not name. */
NODISCARD bool perf_name_event(perf_data *d, perf_event *v);
const char *perf_feature_name(unsigned bit);
bool perf_feature_used(unsigned bit);

/* ---- records ---- */

NODISCARD bool perf_scan(perf_data *d);
void perf_sort(perf_entry *v, perf_entry *scratch, size_t n);
/* Returns the record of an entry; the scan has checked its bounds. */
perf_record perf_record_of(const perf_data *d, uint64_t at);

/* ---- samples ---- */

typedef struct perf_sample {
    perf_event *event;
    uint64_t ip, time, id, period, cgroup, user_ip;
    uint32_t pid, tid, cpu;
    bool has_user_ip, has_time, has_ip, has_read, has_chain;
    const uint8_t *chain, *raw, *read; /* chain: n_chain addresses */
    const uint8_t *regs;               /* values of event->regs_user; NULL: none */
    str stack;                         /* copied bytes of the user stack */
    bool regs_64;                      /* the registers are those of a 64-bit process */
    bool stack_partial;                /* the stack may be longer than its copy */
    uint64_t n_chain;
    uint32_t n_raw, n_read; /* bytes of RAW, counters of READ */
} perf_sample;

#define NO_ID UINT64_MAX
/* Returns the event that a record belongs to: by its id, otherwise the first. Returns NULL if there
 * are no events. */
perf_event *perf_event_of(const perf_data *d, const perf_record *r);
/* Reads only the time of a sample. Returns false if it has none. */
bool perf_sample_time(const perf_data *d, const perf_record *r, uint64_t *time);
NODISCARD bool perf_decode_sample(perf_data *d, const perf_record *r, perf_sample *out);
/* Finds the user's ip among the registers of an event (perf_event.user_ip). */
void perf_find_user_ip(const perf_data *d, perf_event *v);
/* Reads the fields at the end of a kernel record that is not a sample; missing ones stay 0 (id:
 * NO_ID). */
void perf_decode_trailer(const perf_data *d, const perf_record *r, perf_sample *out);
/* Returns the size of the fields at the end of a record, which are not part of its texts. */
size_t perf_trailer_size(const perf_event *v);

/* ---- replay, model ---- */

NODISCARD bool perf_replay(perf_data *d);
perf_thread *perf_thread_of(perf_data *d, uint32_t pid, uint32_t tid); /* NULL: out of memory */
perf_process *perf_process_of(perf_data *d, uint32_t pid);             /* NULL: out of memory */
uint32_t perf_task_of(perf_data *d, perf_thread *t);
void perf_note_time(perf_data *d, uint64_t time); /* extends the time range of the profiles */
NODISCARD bool perf_push_row(perf_data *d, perf_event *v, const perf_row *row);

/* Adds the executable of the first process with samples to the model, also when no sample is in
 * it. */
void perf_use_main(perf_data *d);

/* Returns the stack of a sample. Sets d->b.failed when out of memory. Sets *cut when the copied
 * bytes end before the stack. */
uint32_t perf_stack_of(perf_data *d, const perf_sample *s, uint16_t misc, const perf_process *p,
                       bool *cut);

/* Unwinds the copied stack of a sample. Returns false if it has none, or if it cannot be unwound at
 * all; otherwise the user's frames are w->pcs. */
bool perf_walk_copied(perf_data *d, const perf_sample *s, const perf_process *p, walked_stack *w);
/* Returns whether the registers and stacks of an event become stacks of the model. */
bool perf_uses_copies(const perf_data *d, const perf_event *v);
/* Records in the ledger how many copied stacks are incomplete. */
void perf_account_copied(const perf_data *d);
/* Returns the build id of a map, from its record or the BUILD_ID list; empty: none. */
str perf_build_id_of(const perf_data *d, const perf_map *m);

/* Off-CPU time from samples and SWITCH records (perf_data_offcpu.c). */
extern const char perf_states[]; /* states of threads, as letters of ps: "RSDT..." */
void perf_off_init(perf_data *d);
NODISCARD bool perf_off_sample(perf_data *d, const perf_sample *s, perf_thread *t, uint32_t stack);
NODISCARD bool perf_off_record(perf_data *d, const perf_record *r);

NODISCARD bool perf_build(perf_data *d, model *out);

/* Returns whether the name suggests a file of compiled code; other code may be generated at run
 * time. */
bool perf_is_native(str filename);

/* Returns the text as UTF-8. If it has invalid bytes, returns a copy in the arena with U+FFFD
 * instead. */
str perf_utf8(perf_data *d, str s);
