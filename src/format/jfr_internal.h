/* format/jfr_internal.h - Java Flight Recorder, shared by the jfr_*.c files.
 *
 *   file:   [chunk][chunk]...        each with its own types, constants and clock
 *   chunk:  [header, 68 bytes][event][event]...   event: size, type id, fields
 *   type 0 = metadata (describes every type), type 1 = checkpoint (constants: key -> value by type)
 *
 * A chunk is walked three times: metadata and checkpoints first, since an event may refer to a
 * constant that follows it; then settings, which say what a sample is worth; then the events.
 * Nothing is read by a fixed layout: a *plan* made from the metadata says which field of a type goes
 * to which slot.  Constants stay bytes until something refers to them, and are resolved once. */
#pragma once
#include "base/hash.h"
#include "format/format.h"
#include "model/builder.h"

enum {
    JFR_HEADER = 68,
    JFR_MAX_NESTING = 24, /* elements of the metadata tree, structs in structs, text in text */
    JFR_MAX_KINDS = 512,  /* kinds of events that become profiles */
    JFR_MAX_MEASURES = 3,
    JFR_MAX_SYMBOL = 64 * 1024, /* bytes of a name; the JVM's own limit is 65535 */
};
#define JFR_MAX_CHUNK ((uint64_t)UINT32_MAX)

/* ---- bytes ---- */

/* Cannot overrun: what does not fit empties the cursor, reads as 0 and is remembered. */
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

/* LEB128 of at most 9 bytes, the ninth with 8 bits. */
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

/* A string as it stands: `key` for JSTR_REF, otherwise text: the input itself if that is UTF-8, memory
 * of `m` if not. */
typedef struct jstring {
    jtag tag;
    uint64_t key;
    str text;
} jstring;

typedef struct jtexts {
    arena *a;
    bool failed;    /* the budget was reached */
    uint64_t n_bad; /* texts that were no UTF-8 */
} jtexts;
jstring jcur_str(jcur *c, jtexts *m);

/* ---- types ---- */

typedef struct jtype jtype;
typedef struct jpool jpool;
typedef struct jkind jkind;

typedef enum jprim {
    J_STRUCT,
    J_BYTE, /* boolean too: one byte in either width */
    J_SHORT,
    J_CHAR,
    J_INT,
    J_LONG,
    J_FLOAT,
    J_DOUBLE,
    J_STRING,
} jprim;

typedef enum junit { /* of a Timestamp or Timespan */
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
    jtype *type; /* NULL: nobody defined class_id */
    bool constant, array;
    junit unit;
} jfield;

/* Which fields of a type are wanted, in the order of its bytes. */
typedef enum jop_kind { OP_VARS, OP_KEEP, OP_SKIP, OP_AT } jop_kind;
typedef struct jop {
    uint8_t kind; /* jop_kind */
    uint8_t slot; /* KEEP: the value; AT: where it begins */
    uint32_t n;   /* VARS: how many integers to pass over */
    const jfield *f;
} jop;

enum { JFR_SLOTS = 16 };
typedef struct jplan {
    jop *ops;
    size_t n;
    const jfield *field[JFR_SLOTS]; /* NULL: the type has no such field */
} jplan;

struct jtype {
    uint64_t id;
    str name;
    jprim prim;
    VEC(jfield) fields;
    uint32_t n_vars;             /* all its fields are integers, this many; 0: not so */
    bool laid_out, zero, broken; /* takes no bytes at all; cannot be read (contains itself) */
    uint8_t nesting;
    jpool *pool;               /* constants of this type */
    jplan *plan;               /* of a constant, or of an event */
    jkind *kind;               /* events: what it becomes, or NULL */
    uint8_t role;              /* events: jrole */
    bool bound_info;           /* it was asked whether it is about the recording */
    uint64_t n_events, n_left; /* met; of these no sample */
};

typedef struct jmeta {
    VEC(jtype *) types;
    hash_index by_id;
} jmeta;

/* ---- constants ---- */

typedef struct jentry {
    uint64_t key;
    uint32_t at;   /* in the chunk */
    uint32_t memo; /* what it was resolved to, + 1 */
} jentry;

/* What the constants of a pool are resolved to.  The first use decides; a recording that asks for the
 * same ones as something else gets nothing. */
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

typedef enum jslot { /* of an event */
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

typedef enum jsource { /* of a measure's value */
                       M_ONE,
                       M_COUNT,
                       M_BYTES,
                       M_TIMESPAN,
                       M_PERIOD,       /* one period */
                       M_COUNT_PERIOD, /* count periods */
} jsource;

typedef struct jmeasure {
    const char *type, *unit;
    jsource source;
} jmeasure;

typedef enum jperiod { P_NONE, P_EXECUTION, P_NATIVE, P_WALL, P_COUNT } jperiod;

typedef struct jkind_spec {
    const char *events;                   /* full names, a blank between two */
    jmeasure measures[JFR_MAX_MEASURES];  /* up to the first without a type */
    const char *timespan, *count, *bytes; /* fields, or NULL */
    jperiod period;                       /* which setting says what a sample is worth */
} jkind_spec;

typedef struct jgroup { /* events of one stack, link and set of attributes */
    uint32_t stack, link, attrs_at, n_attrs, n;
} jgroup;

struct jkind {
    str event;
    str type_name;          /* of measures without one: an event of somebody's own, a counter */
    const jkind_spec *spec; /* NULL: an event of somebody's own */
    jmeasure measures[JFR_MAX_MEASURES];
    size_t n_measures;
    bool known[JFR_MAX_MEASURES]; /* some event had the field, some chunk the period */
    VEC(jgroup) groups;
    u32s attrs; /* pool of groups */
    hash_index by_group;
    u32s group; /* columns of the events */
    u64s times;
    i64s values[JFR_MAX_MEASURES]; /* empty where the source is M_ONE */
};

/* ---- the reader ---- */

typedef struct jclock {
    uint64_t start_ns;
    int64_t start_ticks;
    uint64_t ticks_per_s;
} jclock;

typedef struct jclass {
    str name;      /* java.lang.String */
    uint32_t attr; /* 0: not made yet */
} jclass;

typedef struct jthread {
    uint32_t attrs[3], n;
} jthread;

typedef struct jframe_memo { /* a frame met before */
    uint64_t method, type;
    int32_t line;
    uint32_t location; /* 0: free */
} jframe_memo;
enum { JFR_FRAME_MEMOS = 2048 };

typedef struct jfr {
    const read_opts *o;
    str in;
    arena *a;      /* the model's */
    arena work;    /* until the read ends: kinds, columns */
    arena chunk_a; /* until the chunk ends: types, constants */
    builder b;
    jtexts made; /* texts that could not stay where they are */
    err *e;

    /* the chunk at hand */
    size_t n_chunk;
    const uint8_t *chunk, *chunk_end;
    bool fixed;
    bool open;  /* its recorder did not finish it */
    bool whole; /* finished, and all of it is there */
    jclock clock;
    jmeta meta;
    jframe_memo *frames;
    u32s locations; /* scratch of a stack */
    VEC(str) texts; /* resolved texts, classes, threads: memos are positions */
    VEC(jclass) classes;
    VEC(jthread) threads;
    uint64_t n_frames;      /* whose bytecode index was left behind */
    uint64_t n_descriptors; /* of methods, left behind */
    uint64_t n_unknown;     /* events of a type that the metadata does not have */
    uint64_t n_no_stack;    /* events whose stack is not among the constants */

    /* the recording */
    VEC(jkind *) kinds;
    uint64_t start_ns, end_ns;
    int64_t period[P_COUNT]; /* of a sample, in ns (a counter: events); 0: not known */
    str async_event;         /* async-profiler's settings */
    int64_t async_interval, async_wall;
    int64_t pid;
    str jvm_name, jvm_version, os;
    uint64_t lost_samples;
    uint32_t frame_attr[3]; /* jvm, native, kernel */
} jfr;

/* jfr_meta.c: all metadata of a chunk, each event added to the last.  Offsets of errors are bytes of
 * the input. */
NODISCARD bool jfr_metadata(jfr *r, jcur c);
void jfr_lay_out(jfr *r); /* once all metadata is read: resolves classes of fields */
jtype *jfr_type(const jfr *r, uint64_t id); /* NULL: none */
void jfr_skip_type(jcur *c, const jtype *t);
void jfr_skip_field(jcur *c, const jfield *f);
/* A plan that puts field names[i] into slot i (NULL: slot unused; "a b" takes the first that the type
 * has).  `full`: the cursor stands behind the value afterwards.  NULL at the budget. */
jplan *jfr_plan(jfr *r, const jtype *t, const char *const *names, size_t n, bool full);
/* Integers sign-extended, floats rounded, constants their key, strings and arrays the place where
 * they begin (offset in the chunk).  Slots without a field are 0. */
void jfr_run(const jfr *r, const jplan *p, jcur *c, uint64_t slots[JFR_SLOTS]);

/* jfr_pool.c */
NODISCARD bool jfr_checkpoint(jfr *r, jcur c);
jentry *jfr_constant(const jtype *t, uint64_t key, juse use); /* NULL: not in this chunk */
jcur jfr_at(const jfr *r, uint32_t at); /* from there to the end of the chunk */
str jfr_text(jfr *r, const jtype *t,
             uint64_t key); /* of Symbol, String, ...; "" if there is none */
str jfr_constant_text(jfr *r, const jtype *t, uint32_t at); /* the first text in a constant */
str jfr_slot_text(jfr *r, const jplan *p, unsigned slot, const uint64_t *slots);

/* jfr_frames.c: constants as entries of the model. */
bool jfr_stack(jfr *r, jtype *t, uint64_t key, uint32_t *stack,
               bool *truncated); /* false: unresolved */
jthread jfr_thread(jfr *r, jtype *t, uint64_t key);
uint32_t jfr_class_attr(jfr *r, jtype *t, uint64_t key); /* 0: none */
uint32_t jfr_state_attr(jfr *r, jtype *t, uint64_t key);

/* jfr_kinds.c */
/* Role, kind and plan of an event type: those about the recording first, since they decide what the
 * others mean. */
NODISCARD bool jfr_bind_info(jfr *r, jtype *t);
NODISCARD bool jfr_bind_sample(jfr *r, jtype *t);
void jfr_setting(jfr *r, str event, str name, str value);
void jfr_settings_done(jfr *r); /* of a chunk */
size_t jfr_n_ranks(void);
size_t jfr_rank(const jkind *k); /* place among the profiles; jfr_n_ranks() for somebody's own */
bool jfr_word_is(const char *words, str name); /* is it one of those, with blanks between? */

/* jfr_samples.c */
NODISCARD bool jfr_sample(jfr *r, jtype *t, jcur c);
NODISCARD bool jfr_emit(jfr *r);
uint64_t jfr_unix_ns(const jclock *k, junit u, uint64_t v);
int64_t jfr_span_ns(const jclock *k, junit u, int64_t v);

/* jfr_chunk.c: one chunk from `at`; *next is where the next one begins. */
NODISCARD bool jfr_chunk(jfr *r, size_t at, size_t *next);

static inline bool jfr_no_memory(jfr *r)
{
    return err_set(r->e, ERR_LIMIT, "the recording does not fit the memory budget");
}
static inline uint64_t jfr_offset(const jfr *r, const uint8_t *p)
{
    return (uint64_t)(p - (const uint8_t *)r->in.p);
}
static inline void jfr_lose(const jfr *r, loss_concept c, uint64_t n, const char *path, str value)
{
    ledger_add_n(r->o->ledger, STAGE_READ, c, NULL, n, path, value);
}
