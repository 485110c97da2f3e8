/* format/jfr_internal.h - types and functions that the jfr_*.c files share.
 *
 *   file:   [chunk][chunk]...        each with its own types, constants and clock
 *   chunk:  [header, 68 bytes][event][event]...   event: size, type id, fields
 *   type 0 = metadata (describes every type), type 1 = checkpoint (constants: key -> value by type)
 *
 * The reader makes three passes over a chunk: metadata and checkpoints first, because an event may
 * refer to a constant that follows it; then settings, which define the weight of a sample; then the
 * events. No event has a fixed layout: a *plan*, built from the metadata, maps the fields of a type
 * to slots. Constants stay bytes until an event refers to them, and are resolved once. */
#pragma once
#include "base/hash.h"
#include "format/format.h"
#include "model/builder.h"

enum {
    JFR_HEADER = 68,
    JFR_MAX_NESTING = 24, /* limit for the metadata tree, structs in structs, texts in texts */
    JFR_MAX_KINDS = 512,  /* kinds of events that become profiles */
    JFR_MAX_MEASURES = 3,
    JFR_MAX_SYMBOL = 64 * 1024, /* maximum length of a name; the JVM's limit is 65535 */
};
#define JFR_MAX_CHUNK ((uint64_t)UINT32_MAX)

/* ---- bytes ---- */

/* A cursor that cannot overrun: a read past the end empties it, returns 0 and sets a flag. */
typedef struct jcur {
    const uint8_t *p, *end;
    bool fixed; /* integers have their full width, big endian, instead of LEB128 */
    bool failed;
} jcur;

uint64_t jcur_var_slow(jcur *c);

static inline void jcur_fail(jcur *c)
{
    c->failed = true;
    c->end = c->p;
}

/* Reads LEB128 of at most 9 bytes, of which the ninth has 8 bits. */
static inline uint64_t jcur_var(jcur *c)
{
    return LIKELY(c->p < c->end && *c->p < 0x80) ? *c->p++ : jcur_var_slow(c);
}

uint64_t jcur_fixed(jcur *c, unsigned bytes);
void jcur_skip(jcur *c, uint64_t n);
static inline uint64_t jcur_long(jcur *c)
{
    return LIKELY(!c->fixed) ? jcur_var(c) : jcur_fixed(c, 8);
}
static inline uint32_t jcur_int(jcur *c)
{
    return (uint32_t)(LIKELY(!c->fixed) ? jcur_var(c) : jcur_fixed(c, 4));
}
void jcur_skip_str(jcur *c);

typedef enum jtag { JSTR_NULL, JSTR_EMPTY, JSTR_REF, JSTR_UTF8, JSTR_CHARS, JSTR_LATIN1 } jtag;

/* A string as it is encoded: JSTR_REF has a `key`, all others have `text`. The text views the input
 * if that is valid UTF-8; otherwise it is a copy in memory of the jtexts. */
typedef struct jstring {
    jtag tag;
    uint64_t key;
    str text;
} jstring;

typedef struct jtexts {
    arena *a;
    bool failed;    /* the budget is exhausted */
    uint64_t n_bad; /* texts that were not UTF-8 */
} jtexts;
jstring jcur_str(jcur *c, jtexts *m);

/* ---- types ---- */

typedef struct jtype jtype;
typedef struct jpool jpool;
typedef struct jkind jkind;

typedef enum jprim {
    J_STRUCT,
    J_BYTE, /* also boolean: one byte in either encoding */
    J_SHORT,
    J_CHAR,
    J_INT,
    J_LONG,
    J_FLOAT,
    J_DOUBLE,
    J_STRING,
} jprim;

typedef enum junit { /* unit of a Timestamp or Timespan */
                     JU_NONE,
                     JU_TICKS,
                     JU_NS,
                     JU_US,
                     JU_MS,
                     JU_S,
                     JU_EPOCH_MS,
                     JU_EPOCH_NS,
} junit;

typedef struct jfield {
    str name;
    uint64_t class_id;
    jtype *type; /* NULL: no type has class_id */
    bool constant, array;
    junit unit;
} jfield;

/* An operation of a plan. Operations are in the order of the fields' bytes. */
typedef enum jop_kind { OP_VARS, OP_KEEP, OP_SKIP, OP_AT } jop_kind;
typedef struct jop {
    uint8_t kind; /* jop_kind */
    uint8_t slot; /* KEEP: slot of the value; AT: slot of its position */
    uint32_t n;   /* VARS: number of integers to skip */
    const jfield *f;
} jop;

enum { JFR_SLOTS = 16 };
typedef struct jplan {
    jop *ops;
    size_t n;
    const jfield *field[JFR_SLOTS]; /* NULL: the type lacks the field */
} jplan;

struct jtype {
    uint64_t id;
    str name;
    jprim prim;
    VEC(jfield) fields;
    uint32_t n_vars;             /* number of fields when all are integers; 0: not all are */
    bool laid_out, zero, broken; /* zero: without bytes; broken: contains itself */
    uint8_t nesting;
    jpool *pool;               /* constants of this type */
    jplan *plan;               /* plan for constants or events of this type */
    jkind *kind;               /* events: their kind, or NULL */
    uint8_t role;              /* events: jrole */
    bool bound_info;           /* jfr_bind_info has been called */
    uint64_t n_events, n_left; /* number of events; number of those that did not become samples */
};

typedef struct jmeta {
    VEC(jtype *) types;
    hash_index by_id;
} jmeta;

/* ---- constants ---- */

typedef struct jentry {
    uint64_t key;
    uint32_t at;   /* offset in the chunk */
    uint32_t memo; /* index of the resolved entry + 1; 0: not resolved */
} jentry;

/* The kind of entry that the constants of a pool resolve to. The first use decides; lookups as
 * another kind then find nothing. */
typedef enum juse {
    USE_NONE,
    USE_TEXT,
    USE_CLASS,
    USE_METHOD,
    USE_FRAME,
    USE_STACK,
    USE_THREAD,
    USE_STATE
} juse;

struct jpool {
    VEC(jentry) entries;
    hash_index by_key;
    juse use;
};

/* ---- kinds of events ---- */

typedef enum jslot { /* slots of an event */
                     S_TIME,
                     S_THREAD,
                     S_STACK,
                     S_STATE,
                     S_CLASS,
                     S_TIMESPAN,
                     S_COUNT,
                     S_BYTES,
                     S_SPAN,
                     S_ROOT_SPAN,
                     S_SPAN_NAME,
                     S_CONTEXT,
                     S_TRACE,
} jslot;

typedef enum jrole { R_NONE, R_SAMPLE, R_SETTING, R_JVM, R_OS, R_LOST } jrole;

typedef enum jsource { /* source of a measure's value */
                       M_ONE,
                       M_COUNT,
                       M_BYTES,
                       M_TIMESPAN,
                       M_PERIOD,       /* one period */
                       M_COUNT_PERIOD, /* count times period */
} jsource;

typedef struct jmeasure {
    const char *type, *unit;
    jsource source;
} jmeasure;

typedef enum jperiod { P_NONE, P_EXECUTION, P_NATIVE, P_WALL, P_COUNT } jperiod;

typedef struct jkind_spec {
    const char *events;                   /* full names, separated by spaces */
    jmeasure measures[JFR_MAX_MEASURES];  /* ends at the first entry without a type */
    const char *timespan, *count, *bytes; /* fields, or NULL */
    jperiod period;                       /* the setting that defines the weight of a sample */
} jkind_spec;

typedef struct jgroup { /* events with equal stack, link and attributes */
    uint32_t stack, link, attrs_at, n_attrs, n;
} jgroup;

struct jkind {
    str event;
    str type_name;          /* type of measures that name none: application's event, counter */
    const jkind_spec *spec; /* NULL: an application's event */
    jmeasure measures[JFR_MAX_MEASURES];
    size_t n_measures;
    bool known[JFR_MAX_MEASURES]; /* an event had the field, or a chunk the period */
    VEC(jgroup) groups;
    u32s attrs; /* attributes of the groups */
    hash_index by_group;
    u32s group; /* columns: group, time and values of each event */
    u64s times;
    i64s values[JFR_MAX_MEASURES]; /* empty if the source is M_ONE */
};

/* ---- the reader ---- */

typedef struct jclock {
    uint64_t start_ns;
    int64_t start_ticks;
    uint64_t ticks_per_s;
} jclock;

typedef struct jclass {
    str name;      /* such as java.lang.String */
    uint32_t attr; /* 0: not created yet */
} jclass;

typedef struct jthread {
    uint32_t attrs[3], n;
} jthread;

typedef struct jframe_memo { /* cache entry of a frame */
    uint64_t method, type;
    int32_t line;
    uint32_t location; /* 0: empty */
} jframe_memo;
enum { JFR_FRAME_MEMOS = 2048 };

typedef struct jfr {
    const read_opts *o;
    str in;
    arena *a;      /* memory of the model */
    arena work;    /* memory for one input: kinds, columns */
    arena chunk_a; /* memory for one chunk: types, constants */
    builder b;
    jtexts made; /* texts that had to be converted */
    err *e;

    /* the current chunk */
    size_t n_chunk;
    const uint8_t *chunk, *chunk_end;
    bool fixed;
    bool open;  /* the recorder did not finish it */
    bool whole; /* finished and complete */
    jclock clock;
    jmeta meta;
    jframe_memo *frames;
    u32s locations; /* scratch for a stack */
    VEC(str) texts; /* resolved texts, classes, threads, indexed by memos */
    VEC(jclass) classes;
    VEC(jthread) threads;
    uint64_t n_frames;      /* frames whose bytecode index was dropped */
    uint64_t n_descriptors; /* descriptors of methods that were dropped */
    uint64_t n_unknown;     /* events whose type is missing in the metadata */
    uint64_t n_no_stack;    /* events whose stack is missing in the constants */

    /* the recording */
    VEC(jkind *) kinds;
    uint64_t start_ns, end_ns;
    int64_t period[P_COUNT]; /* period of a sample, in ns (for a counter: in events); 0: unknown */
    str async_event;         /* async-profiler's settings */
    int64_t async_interval, async_wall;
    int64_t pid;
    str jvm_name, jvm_version, os;
    uint64_t lost_samples;
    uint32_t frame_attr[3]; /* attributes of frame types: jvm, native, kernel */
} jfr;

/* jfr_meta.c: reads a metadata event of a chunk; later ones add to earlier ones. Errors have
 * offsets in the input. */
NODISCARD bool jfr_metadata(jfr *r, jcur c);
void jfr_lay_out(jfr *r); /* call after all metadata is read: resolves the classes of fields */
jtype *jfr_type(const jfr *r, uint64_t id); /* NULL: none */
void jfr_skip_type(jcur *c, const jtype *t);
void jfr_skip_field(jcur *c, const jfield *f);
/* Creates a plan that puts the field names[i] into slot i (NULL: the slot is unused; "a b": the
 * first of these that the type has). `full`: after a run the cursor is past the whole value.
 * Returns NULL when the budget is exhausted. */
jplan *jfr_plan(jfr *r, const jtype *t, const char *const *names, size_t n, bool full);
/* Runs a plan, which fills the slots: with sign-extended integers, rounded floats, the keys of
 * constants, and the offsets of strings and arrays in the chunk. Slots without a field are 0. */
void jfr_run(const jfr *r, const jplan *p, jcur *c, uint64_t slots[JFR_SLOTS]);

/* jfr_pool.c */
NODISCARD bool jfr_checkpoint(jfr *r, jcur c);
jentry *jfr_constant(const jtype *t, uint64_t key, juse use); /* NULL: not in this chunk */
jcur jfr_at(const jfr *r, uint32_t at); /* cursor from `at` to the end of the chunk */
str jfr_text(jfr *r, const jtype *t,
             uint64_t key); /* text of a Symbol, String, ...; "" if there is none */
str jfr_constant_text(jfr *r, const jtype *t, uint32_t at); /* the first text in a constant */
str jfr_slot_text(jfr *r, const jplan *p, unsigned slot, const uint64_t *slots);

/* jfr_frames.c: turns constants into entries of the model. */
bool jfr_stack(jfr *r, jtype *t, uint64_t key, uint32_t *stack,
               bool *truncated); /* false: unresolved */
jthread jfr_thread(jfr *r, jtype *t, uint64_t key);
uint32_t jfr_class_attr(jfr *r, jtype *t, uint64_t key); /* 0: none */
uint32_t jfr_state_attr(jfr *r, jtype *t, uint64_t key);

/* jfr_kinds.c */
/* Set role, kind and plan of an event type. jfr_bind_info handles types about the recording and
 * comes first, because these define the meaning of the others. */
NODISCARD bool jfr_bind_info(jfr *r, jtype *t);
NODISCARD bool jfr_bind_sample(jfr *r, jtype *t);
void jfr_setting(jfr *r, str event, str name, str value);
void jfr_settings_done(jfr *r); /* call after the settings of a chunk */
size_t jfr_n_ranks(void);
size_t jfr_rank(const jkind *k); /* order of profiles; jfr_n_ranks() for applications' events */
bool jfr_word_is(const char *words, str name); /* whether `words` contains the name */

/* jfr_samples.c */
NODISCARD bool jfr_sample(jfr *r, jtype *t, jcur c);
NODISCARD bool jfr_emit(jfr *r);
uint64_t jfr_unix_ns(const jclock *k, junit u, uint64_t v);
int64_t jfr_span_ns(const jclock *k, junit u, int64_t v);

/* jfr_chunk.c: reads the chunk at `at`; *next is the start of the next one. */
NODISCARD bool jfr_chunk(jfr *r, size_t at, size_t *next);

static inline uint64_t jfr_offset(const jfr *r, const uint8_t *p)
{
    return (uint64_t)(p - (const uint8_t *)r->in.p);
}
static inline void jfr_lose(const jfr *r, loss_concept c, uint64_t n, const char *path, str value)
{
    ledger_add_n(r->o->ledger, STAGE_READ, c, NULL, n, path, value);
}
