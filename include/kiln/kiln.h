/* kiln.h - OpenTelemetry profiles: read, inspect, query, build, merge, write, convert, check.
 *
 * C11 and C++11; link with `pkg-config --cflags --libs kiln`.  docs/api.md is the guide, and
 * examples/ has complete programs.
 *
 *   bytes ── kiln_read ──┐                         ┌── kiln_write ── bytes
 *   file  ── kiln_read_file ──►  kiln_profiles  ───┼── kiln_write_file ── file
 *   calls ── kiln_builder ──┘    (never changes)   └── kiln_merge ── kiln_profiles
 *
 * Ownership.  The result of a `_new`, `_finish`, kiln_read, kiln_merge or kiln_check belongs to the
 *   caller and has one `_free`; every `_free` accepts NULL.  Text, arrays and structs that
 *   functions fill in point into the handle and live as long as the handle.  Input is copied unless
 *   `borrow` is set.
 * Errors.  Functions that can fail return false or NULL and fill the caller's kiln_error.  It
 *   needs no initialisation and may be NULL.  Passing a NULL handle gives KILN_USAGE, 0 or false,
 *   never a crash.  The library has no global state, prints nothing, and does not abort; out of
 *   memory is KILN_LIMIT.
 * Threads.  kiln_profiles, kiln_answer and kiln_report are immutable: any number of threads may
 *   read one.  Only one thread at a time may use a kiln_builder or kiln_ledger.  Different handles
 *   are independent.
 * Versions.  A struct that begins with `size` may grow at its end: set size = sizeof before the
 *   call.  Programs compiled against an older header keep working.  A library that is older than
 *   the header rejects an option that it does not know unless it is zero.  The other structs never
 *   change.  Enums may gain members.  Functions keep their meaning; new ones may be added.
 *     C:    kiln_read_options o = {.size = sizeof o, .lenient = true};
 *     C++:  kiln_read_options o = {}; o.size = sizeof o; o.lenient = true;
 *   A NULL options pointer means all defaults; 0, false or NULL in a field is its default. */
#ifndef KILN_KILN_H
#define KILN_KILN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define KILN_API __attribute__((visibility("default")))
#define KILN_MUST_USE __attribute__((warn_unused_result))
#else
#define KILN_API
#define KILN_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- text ---- */

/* A view of bytes: not owned, not terminated.  Print with "%.*s", (int)s.n, s.p. */
typedef struct kiln_str {
    const char *p; /* may be NULL when n is 0 */
    size_t n;
} kiln_str;

/* Returns a view of a NUL-terminated string; NULL gives "". */
static inline kiln_str kiln_str_of(const char *z)
{
    kiln_str s;
    s.p = z;
    s.n = z ? strlen(z) : 0;
    return s;
}

/* Returns the version of the library in use, such as "0.1.0". */
KILN_API const char *kiln_version(void);

/* ---- errors ---- */

typedef enum kiln_code {
    KILN_OK = 0,
    KILN_MALFORMED,   /* the bytes break the rules of their format */
    KILN_LIMIT,       /* a limit or the memory budget was reached, or memory ran out */
    KILN_MISMATCH,    /* two inputs that must agree do not */
    KILN_UNSUPPORTED, /* well formed, but not supported by this library */
    KILN_USAGE,       /* an invalid argument: NULL, an unknown name, an index out of range */
    KILN_SYSTEM       /* a system call failed; kiln_error.sys is errno */
} kiln_code;

#define KILN_NO_OFFSET UINT64_MAX

typedef struct kiln_error {
    kiln_code code;    /* KILN_OK after a call that succeeded */
    int sys;           /* errno with KILN_SYSTEM, else 0 */
    uint64_t offset;   /* byte in the decompressed input, or KILN_NO_OFFSET */
    char path[256];    /* "location_table[12].lines[1]", or "" */
    char message[256]; /* one sentence, no newline */
} kiln_error;

/* Writes "sentence (byte 11, at location_table[12].lines[1])" to buf, truncated to n bytes and
 * NUL-terminated (unless n is 0); returns buf. */
KILN_API const char *kiln_error_text(const kiln_error *e, char *buf, size_t n);
KILN_API const char *kiln_code_name(kiln_code code); /* "malformed"; "unknown" for other numbers */

/* ---- handles ---- */

typedef struct kiln_profiles
    kiln_profiles;                        /* resources, scopes, profiles, samples, one dictionary */
typedef struct kiln_builder kiln_builder; /* builds kiln_profiles */
typedef struct kiln_ledger kiln_ledger;   /* losses of reading, merging and writing */
typedef struct kiln_report kiln_report;   /* findings of kiln_check */

/* ---- the loss ledger ---- */

/* Reading, merging and writing add to the ledger in their options: one entry for each kind of
 * information that was lost or moved to an attribute.  Several calls may share one ledger. */
KILN_API KILN_MUST_USE kiln_ledger *kiln_ledger_new(void); /* NULL: out of memory */
KILN_API void kiln_ledger_free(kiln_ledger *l);

typedef struct kiln_loss {
    size_t size;
    const char *kind;       /* "comments"; the closed list is docs/losses.md */
    const char *what;       /* a description of the kind */
    const char *stage;      /* "read", "write", "merge" */
    const char *carried_as; /* the attribute that carries it; NULL: it is lost */
    const char *path;       /* of the first occurrence, or "" */
    const char *value;      /* of the first occurrence, or "" */
    uint64_t count;
} kiln_loss;

/* Fills *out with entry i, in order of appearance.  Returns false past the last. */
KILN_API bool kiln_loss_at(const kiln_ledger *l, size_t i, kiln_loss *out);
/* Returns whether an entry without carried_as exists. */
KILN_API bool kiln_ledger_lost(const kiln_ledger *l);

/* ---- reading ---- */

/* Returns the name of format i ("otlp", "otlp-1.9", "otlp-json", ...), or NULL past the last. */
KILN_API const char *kiln_format_name(size_t i);

typedef struct kiln_read_options {
    size_t size;
    const char *format;  /* NULL: detected from the bytes */
    const char *layout;  /* of OTLP protobuf, "1.3" ... "1.11"; NULL: detected from the bytes */
    size_t max_memory;   /* limit for the handle and for reading; 0 = 4 GiB */
    size_t max_input;    /* decompressed bytes; 0 = 1 GiB */
    kiln_ledger *ledger; /* may be NULL */
    uint64_t seed;       /* of hash tables: use a random one for untrusted bytes; results do not
                            depend on it */
    bool lenient;        /* repair broken references (docs/check.md, --fix) instead of failing */
    bool borrow;         /* do not copy `bytes`: they must outlive the handle unchanged */
    bool reserved[6];
} kiln_read_options;

/* Reads bytes of any known format: OTLP in protobuf (every released layout) or JSON, one payload or
 * many (the Collector's file exporter), compressed with gzip or zstd or not.  Several payloads
 * become one handle.  Returns NULL on failure: KILN_MALFORMED, KILN_LIMIT, KILN_UNSUPPORTED or
 * KILN_USAGE; *e has the location. */
KILN_API KILN_MUST_USE kiln_profiles *kiln_read(const void *bytes, size_t n,
                                                const kiln_read_options *o, kiln_error *e);

/* Like kiln_read, from a file, which is closed before the function returns; `borrow` is ignored.
 * Fails also with KILN_SYSTEM. */
KILN_API KILN_MUST_USE kiln_profiles *kiln_read_file(const char *path, const kiln_read_options *o,
                                                     kiln_error *e);
KILN_API void kiln_profiles_free(kiln_profiles *p);

/* The detected format, layout and compression of an input. */
typedef struct kiln_origin {
    size_t size;
    const char *format;      /* "otlp"; all text is "" for built or merged profiles */
    const char *layout;      /* "1.10", of the first payload; "" if the format has none */
    const char *confidence;  /* of the layout: "unique", "tie-rule", "forced", ... */
    const char *evidence;    /* for the layout, one line of text */
    const char *compression; /* the outermost: "gzip", "zstd" or "" */
    size_t n_payloads;
    uint64_t n_bytes;   /* decompressed */
    uint64_t n_unknown; /* skipped fields that no layout has */
} kiln_origin;

/* Fills *out.  Returns false if p is NULL or out->size is not set. */
KILN_API bool kiln_origin_of(const kiln_profiles *p, kiln_origin *out);

/* ---- inspecting ----
 *
 * Every `_at` function fills the caller's struct, whose `size` must be set.  It does not allocate,
 * and returns false past the end.  The tables are those of OTLP: a resource has a range of scopes,
 * a scope has a range of profiles, and one dictionary has the entries that samples refer to by
 * index; index 0 means "not set". */

typedef enum kiln_table {
    KILN_RESOURCES,
    KILN_SCOPES,
    KILN_PROFILES,
    KILN_STRINGS,
    KILN_MAPPINGS,
    KILN_LOCATIONS,
    KILN_FUNCTIONS,
    KILN_LINKS,
    KILN_ATTRIBUTES,
    KILN_STACKS
} kiln_table;

/* Returns the number of entries of a table; in tables of the dictionary this includes entry 0. */
KILN_API size_t kiln_count(const kiln_profiles *p, kiln_table t);

typedef enum kiln_kind {
    KILN_KIND_EMPTY, /* an AnyValue without a value, which OTLP allows */
    KILN_KIND_STRING,
    KILN_KIND_BOOL,
    KILN_KIND_INT,
    KILN_KIND_DOUBLE,
    KILN_KIND_ARRAY,
    KILN_KIND_MAP,
    KILN_KIND_BYTES
} kiln_kind;

typedef struct kiln_value kiln_value;
typedef struct kiln_member kiln_member;

/* The value of an attribute. */
struct kiln_value {
    uint32_t kind; /* kiln_kind */
    uint32_t n;    /* bytes of a string, elements of an array or map */
    union {
        const char *text; /* STRING, BYTES; not terminated */
        int64_t integer;  /* INT; BOOL as 0 or 1 */
        double real;
        const kiln_value *array;
        const kiln_member *map;
    } as;
};

/* A key and its value: members of maps, attributes of resources and scopes. */
struct kiln_member {
    kiln_str key;
    uint32_t reserved; /* 0 */
    kiln_value value;
};

static inline kiln_value kiln_value_text(kiln_str s) /* functions reject a text over 4 GiB */
{
    kiln_value v;
    v.kind = s.n <= UINT32_MAX ? (uint32_t)KILN_KIND_STRING : UINT32_MAX;
    v.n = (uint32_t)s.n;
    v.as.text = s.p;
    return v;
}

static inline kiln_value kiln_value_int(int64_t i)
{
    kiln_value v;
    v.kind = KILN_KIND_INT;
    v.n = 0;
    v.as.integer = i;
    return v;
}

static inline kiln_value kiln_value_bool(bool b)
{
    kiln_value v = kiln_value_int(b);
    v.kind = KILN_KIND_BOOL;
    return v;
}

static inline kiln_value kiln_value_double(double d)
{
    kiln_value v;
    v.kind = KILN_KIND_DOUBLE;
    v.n = 0;
    v.as.real = d;
    return v;
}

static inline kiln_member kiln_member_of(const char *key, kiln_value value)
{
    kiln_member m;
    m.key = kiln_str_of(key);
    m.reserved = 0;
    m.value = value;
    return m;
}

/* Returns the value of the first member with this key, or NULL. */
KILN_API const kiln_value *kiln_member_find(const kiln_member *members, size_t n, kiln_str key);

typedef struct kiln_resource {
    size_t size;
    const kiln_member *attributes;
    size_t n_attributes;
    kiln_str schema_url;
    size_t first_scope, n_scopes; /* its scopes; ignored by a builder */
    uint64_t dropped_attributes;  /* number of attributes that the sender dropped */
} kiln_resource;

KILN_API bool kiln_resource_at(const kiln_profiles *p, size_t i, kiln_resource *out);

typedef struct kiln_scope {
    size_t size;
    kiln_str name, version, schema_url;
    const kiln_member *attributes;
    size_t n_attributes;
    size_t resource;                  /* index of its resource; ignored by a builder */
    size_t first_profile, n_profiles; /* its profiles; ignored by a builder */
    uint64_t dropped_attributes;
} kiln_scope;

KILN_API bool kiln_scope_at(const kiln_profiles *p, size_t i, kiln_scope *out);

typedef struct kiln_profile {
    size_t size;
    kiln_str sample_type, sample_unit; /* "cpu", "nanoseconds" */
    kiln_str period_type, period_unit;
    int64_t period;
    uint64_t time_unix_nano, duration_nano;
    uint8_t id[16];             /* all zero: none */
    const uint32_t *attributes; /* indices for kiln_attribute_at */
    size_t n_attributes;
    kiln_str original_payload_format, original_payload;
    size_t n_samples;       /* ignored by a builder */
    size_t scope, resource; /* indices; ignored by a builder */
    uint64_t dropped_attributes;
} kiln_profile;

KILN_API bool kiln_profile_at(const kiln_profiles *p, size_t i, kiln_profile *out);

/* The observations of one stack: values, or timestamps that count 1 each, or pairs of both. */
typedef struct kiln_sample {
    size_t size;
    uint32_t stack; /* for kiln_frames_begin */
    uint32_t link;  /* for kiln_link_at; 0: none */
    const int64_t *values;
    size_t n_values;
    const uint64_t *times; /* Unix ns */
    size_t n_times;
    const uint32_t *attributes; /* indices for kiln_attribute_at */
    size_t n_attributes;
} kiln_sample;

/* Fills *out with sample i of a profile, without lookup or allocation:
 *     kiln_sample s = {.size = sizeof s};
 *     for (size_t i = 0; kiln_sample_at(p, profile, i, &s); i++) ... */
KILN_API bool kiln_sample_at(const kiln_profiles *p, size_t profile, size_t i, kiln_sample *out);
/* Returns the sum of the values, or the number of timestamps if there are no values.  The sum
 * saturates.  Returns 0 for NULL. */
KILN_API int64_t kiln_sample_total(const kiln_sample *s);

/* One frame of a stack; inlined calls are frames of their own. */
typedef struct kiln_frame {
    size_t size;
    kiln_str function, system_name; /* demangled and mangled; "" when not symbolized */
    kiln_str file;                  /* source file */
    int64_t line, column;           /* 0: not known */
    int64_t start_line;             /* of the function */
    uint64_t address;               /* 0: not known */
    kiln_str mapping_file;          /* the binary */
    uint32_t mapping;               /* for kiln_mapping_at; 0: none */
    uint32_t location;              /* frames of one location share address, mapping, attributes */
    const uint32_t *attributes;     /* of the location, e.g. profile.frame.type */
    size_t n_attributes;
    bool inlined; /* inlined into the next frame */
    bool reserved[7];
} kiln_frame;

/* The state of a walk over a stack; private, initialised by kiln_frames_begin. */
typedef struct kiln_frames {
    const kiln_profiles *profiles;
    uint32_t at, end, line, reserved;
} kiln_frames;

/* Walks a stack from the leaf to the root:
 *     kiln_frames walk;
 *     kiln_frame f = {.size = sizeof f};
 *     for (kiln_frames_begin(p, s.stack, &walk); kiln_frames_next(&walk, &f);) ... */
KILN_API void kiln_frames_begin(const kiln_profiles *p, uint32_t stack, kiln_frames *walk);
KILN_API bool kiln_frames_next(kiln_frames *walk, kiln_frame *out);

/* Returns the location indices of a stack, leaf first, or NULL if the stack is empty.  Equal lists
 * mean equal stacks. */
KILN_API const uint32_t *kiln_stack_locations(const kiln_profiles *p, uint32_t stack, size_t *n);

typedef struct kiln_mapping {
    size_t size;
    uint64_t start, limit, offset; /* memory [start, limit) maps the file from `offset` */
    kiln_str file;
    const uint32_t *attributes; /* including build ids */
    size_t n_attributes;
} kiln_mapping;

KILN_API bool kiln_mapping_at(const kiln_profiles *p, uint32_t i, kiln_mapping *out);

typedef struct kiln_attribute {
    size_t size;
    kiln_str key;
    kiln_value value;
    kiln_str unit;
} kiln_attribute;

KILN_API bool kiln_attribute_at(const kiln_profiles *p, uint32_t i, kiln_attribute *out);
/* Fills *out with the first of the n attributes that has this key.  Returns false if none has
 * it. */
KILN_API bool kiln_attribute_find(const kiln_profiles *p, const uint32_t *indices, size_t n,
                                  kiln_str key, kiln_attribute *out);

typedef struct kiln_link {
    uint8_t trace_id[16], span_id[8];
} kiln_link;

/* Returns false for index 0, which means "no link", and past the end. */
KILN_API bool kiln_link_at(const kiln_profiles *p, uint32_t i, kiln_link *out);

/* Returns entry i of the string table; "" past the end. */
KILN_API kiln_str kiln_string_at(const kiln_profiles *p, uint32_t i);

/* ---- queries ----
 *
 * A query selects samples with pprof's options (docs/query.md) and computes a table of frames or a
 * call tree with the same numbers as pprof.  Patterns are regular expressions (PCRE).  They match
 * anywhere in a text, and their cost is limited. */

typedef struct kiln_answer kiln_answer;

/* The granularity of the rows of a result. */
typedef enum kiln_granularity {
    KILN_BY_FUNCTION,
    KILN_BY_FILE_FUNCTION,
    KILN_BY_FILE,
    KILN_BY_LINE,
    KILN_BY_ADDRESS,
    KILN_BY_MAPPING
} kiln_granularity;

typedef struct kiln_query_options {
    size_t size;
    const char *sample_type; /* "cpu", "cpu/nanoseconds" or a number; NULL: the first profile */
    const char *profile_id;  /* hex digits, a prefix of the id */
    const char *resource;    /* "service.name=PATTERN": all matching profiles of the type */
    const char *tagfocus, *tagignore;
    const char *thread; /* thread.id, or a pattern for thread.name */
    const char *trace_id, *span_id;
    const char *focus, *ignore, *hide, *show, *show_from;
    const char *tagroot, *tagleaf;
    uint64_t start, end;  /* time range of observations in Unix ns: start inclusive, end exclusive;
                             0: unbounded */
    size_t max_rows;      /* of a table; 0: all */
    double min_fraction;  /* of a table: omit rows below this fraction of the total */
    size_t max_memory;    /* 0 = 4 GiB */
    uint64_t seed;        /* as for reading */
    uint32_t granularity; /* kiln_granularity */
    uint32_t max_depth;   /* of a tree: deeper frames are added to their callers; 0: no limit */
    bool all;             /* add up all profiles of the type instead of using the first */
    bool literal;         /* patterns are plain text */
    bool no_inlines;
    bool all_frames; /* keep frames that the profile marks as to be dropped */
    bool by_total;   /* of a table: sort by total instead of self */
    bool inverted;   /* of a tree: from the leaves to their callers */
    bool reserved[2];
    const char *collapse, *collapse_library, *collapse_recursion; /* since 0.2 */
    const char *collapse_direct_recursion, *focus_category;       /* since 0.2 */
} kiln_query_options;

/* kiln_query_top returns one row per frame, largest first.  kiln_query_tree returns one row per
 * path from the root, depth first with the largest child first; row 0 is the root and has no name.
 * The profiles must outlive the result.  Both return NULL on failure: KILN_USAGE (no profile
 * matches, or an invalid pattern), KILN_LIMIT (memory, or a pattern that is too costly). */
KILN_API KILN_MUST_USE kiln_answer *kiln_query_top(const kiln_profiles *p,
                                                   const kiln_query_options *o, kiln_error *e);
KILN_API KILN_MUST_USE kiln_answer *kiln_query_tree(const kiln_profiles *p,
                                                    const kiln_query_options *o, kiln_error *e);
KILN_API void kiln_answer_free(kiln_answer *a);

typedef struct kiln_answer_facts {
    size_t size;
    kiln_str sample_type, sample_unit;
    int64_t total;      /* sum of the absolute values before selection, the base of percentages */
    int64_t selected;   /* sum of the selected values, as in row 0 of a tree */
    uint64_t n_samples; /* before selection */
    size_t n_rows;
    const char *unmatched; /* options whose pattern had no match: "focus, hide"; or "" */
} kiln_answer_facts;

KILN_API bool kiln_answer_facts_of(const kiln_answer *a, kiln_answer_facts *out);

typedef struct kiln_row {
    size_t size;
    kiln_str label;                        /* the text to show */
    kiln_str function, file, mapping_file; /* set according to the granularity; else "" */
    int64_t line;
    uint64_t address;
    int64_t self;  /* sum over stacks whose leaf is this frame */
    int64_t total; /* sum over stacks that contain it; recursion counts once */
    size_t parent; /* of a tree: the row of the caller */
    uint32_t depth;
    bool inlined; /* in all stacks */
    bool reserved[3];
} kiln_row;

KILN_API bool kiln_row_at(const kiln_answer *a, size_t i, kiln_row *out);

/* ---- building ----
 *
 * A scope belongs to the most recent resource, a profile to the most recent scope, a sample to the
 * most recent profile; missing parents are created empty.  Everything is copied, and equal
 * dictionary entries become one.  After the first error later calls do nothing, so checking
 * kiln_builder_finish is enough. Text must be UTF-8. */

typedef struct kiln_builder_options {
    size_t size;
    size_t max_memory; /* 0 = 4 GiB */
    uint64_t seed;     /* as for reading */
} kiln_builder_options;

KILN_API KILN_MUST_USE kiln_builder *kiln_builder_new(const kiln_builder_options *o, kiln_error *e);
KILN_API void kiln_builder_free(kiln_builder *b); /* for a builder that was not finished */

/* Begins a resource, scope or profile.  NULL instead of the struct begins an empty one. */
KILN_API bool kiln_builder_resource(kiln_builder *b, const kiln_resource *r);
KILN_API bool kiln_builder_scope(kiln_builder *b, const kiln_scope *s);
KILN_API bool kiln_builder_profile(kiln_builder *b, const kiln_profile *p);

/* Add an entry to the dictionary and return its index, or 0 for an empty entry and after an
 * error. */
KILN_API uint32_t kiln_builder_attribute(kiln_builder *b, kiln_str key, const kiln_value *value,
                                         kiln_str unit);
KILN_API uint32_t kiln_builder_link(kiln_builder *b, const kiln_link *l);
KILN_API uint32_t kiln_builder_mapping(kiln_builder *b, const kiln_mapping *m);

/* Adds a location with n >= 1 frames: frames[n - 1] is the physical function, and those before it
 * are inlined, the innermost first.  frames[0] provides address, mapping and attributes of the
 * location.  A mapping_file without a mapping creates a mapping with that name.  `location` and
 * `inlined` are ignored. */
KILN_API uint32_t kiln_builder_location(kiln_builder *b, const kiln_frame *frames, size_t n);
/* Adds a location with one function and no address, for interpreters and tests. */
KILN_API uint32_t kiln_builder_frame(kiln_builder *b, kiln_str function, kiln_str file,
                                     int64_t line);
/* Adds a stack of n locations, leaf first. */
KILN_API uint32_t kiln_builder_stack(kiln_builder *b, const uint32_t *locations, size_t n);

/* Adds a sample with values, with timestamps, or with equally many of both; all samples of a
 * profile must have the same shape.  Pass a stack that was observed several times with equal
 * attributes and link as one sample. */
KILN_API bool kiln_builder_sample(kiln_builder *b, const kiln_sample *s);

/* Returns true if there was no error so far; otherwise *e is the first one. */
KILN_API bool kiln_builder_ok(const kiln_builder *b, kiln_error *e);

/* Turns the builder into profiles and frees it, even when NULL is returned. */
KILN_API KILN_MUST_USE kiln_profiles *kiln_builder_finish(kiln_builder *b, kiln_error *e);

/* ---- merging ---- */

typedef struct kiln_merge_options {
    size_t size;
    size_t max_memory;   /* 0 = 4 GiB */
    kiln_ledger *ledger; /* records saturated sums and joined shapes; may be NULL */
    bool join;           /* join profiles with equal resource, scope, types, period and attributes,
                       and their samples with equal stack, attributes and link */
    bool canonical;      /* order for compression: stacks from the root, samples by stack */
    bool reserved[6];
} kiln_merge_options;

/* Returns all profiles of n handles with one new dictionary, without duplicate and unused entries.
 * The result does not refer to the inputs.  Merging one handle gives a compact copy. */
KILN_API KILN_MUST_USE kiln_profiles *kiln_merge(const kiln_profiles *const *in, size_t n,
                                                 const kiln_merge_options *o, kiln_error *e);

/* ---- writing ---- */

typedef struct kiln_write_options {
    size_t size;
    const char *format;      /* NULL: "otlp", the current layout */
    const char *compression; /* "gzip", "zstd", "none"; NULL: none */
    size_t max_memory;       /* for the result and for sorting; 0 = 4 GiB */
    kiln_ledger *ledger;     /* may be NULL */
    bool canonical;          /* equal contents give equal bytes, in an order that compresses well */
    bool string_refs;        /* write strings of attributes as references into the string table */
    bool reserved[6];
} kiln_write_options;

/* Bytes that the library allocated. */
typedef struct kiln_bytes {
    const char *p;
    size_t n;
    void *memory; /* private */
} kiln_bytes;

KILN_API void kiln_free_bytes(kiln_bytes *b); /* *b is empty afterwards; accepts an empty one */

/* Writes to memory; free *out with kiln_free_bytes.  On failure *out is empty. */
KILN_API KILN_MUST_USE bool kiln_write(const kiln_profiles *p, const kiln_write_options *o,
                                       kiln_bytes *out, kiln_error *e);

/* Writes a file, which is replaced only when it is complete.  Without format or compression in the
 * options, the name determines them: x.otlp, x.json.gz, x.otlp.zst; other names give uncompressed
 * OTLP. Fails with KILN_UNSUPPORTED for the name of a picture or a page (x.svg, x.html). */
KILN_API KILN_MUST_USE bool kiln_write_file(const kiln_profiles *p, const char *path,
                                            const kiln_write_options *o, kiln_error *e);

/* ---- converting ---- */

/* Does kiln_read and kiln_write in one call.  If nothing has to change, copies the decompressed
 * bytes.  Records losses in the ledgers of both options, which may be the same ledger. */
KILN_API KILN_MUST_USE bool kiln_convert(const void *bytes, size_t n, const kiln_read_options *from,
                                         const kiln_write_options *to, kiln_bytes *out,
                                         kiln_error *e);

/* ---- checking ---- */

typedef enum kiln_severity {
    KILN_SEVERITY_INFO,
    KILN_SEVERITY_WARNING, /* violates a SHOULD of the specification */
    KILN_SEVERITY_ERROR    /* violates a MUST of the specification */
} kiln_severity;

KILN_API const char *kiln_severity_name(kiln_severity s); /* "info", "warning", "error" */

typedef struct kiln_rule {
    size_t size;
    const char *id;       /* "P-01" */
    const char *level;    /* "MUST", "SHOULD", ... */
    const char *title;    /* short */
    const char *expected; /* one sentence */
    const char *fix;      /* what a producer has to change */
    const char *source;   /* "profiles.proto", ... */
    kiln_severity severity;
    bool fixable; /* reading leniently removes every violation */
    bool reserved[3];
} kiln_rule;

/* Fills *out with rule i of the list in docs/check.md.  Returns false past the last. */
KILN_API bool kiln_rule_at(size_t i, kiln_rule *out);

typedef struct kiln_check_options {
    size_t size;
    const char *format, *layout; /* as for reading */
    const char *const *only;     /* ids of rules; NULL: all */
    size_t n_only;
    const char *const *ignore;
    size_t n_ignore;
    size_t max_memory; /* 0 = 4 GiB */
    size_t max_input;  /* decompressed bytes; 0 = 1 GiB */
    kiln_severity min_severity;
    uint32_t max_examples; /* for each rule; 0 = 5 */
    uint64_t seed;         /* as for reading */
} kiln_check_options;

/* Checks bytes (any compression, layout and framing, and formats with rules of their own: arrays,
 * events, call stacks in log records) against every rule of their specification.  Returns a report
 * even if the bytes do not parse as protobuf, which is a finding.  Returns NULL on failure:
 * KILN_USAGE for an unknown rule or name, KILN_LIMIT, or KILN_MALFORMED for broken compression,
 * JSON or framing. */
KILN_API KILN_MUST_USE kiln_report *kiln_check(const void *bytes, size_t n,
                                               const kiln_check_options *o, kiln_error *e);
KILN_API void kiln_report_free(kiln_report *r);

/* Returns the number of violations of this severity in all payloads. */
KILN_API uint64_t kiln_report_count(const kiln_report *r, kiln_severity s);

/* All violations of one rule in one payload. */
typedef struct kiln_finding {
    size_t size;
    const char *rule, *level, *title, *fix; /* as in kiln_rule */
    kiln_severity severity;
    uint32_t n_examples;
    uint64_t count;   /* violations; the examples are the first ones */
    size_t payload;   /* index; 0 unless the input has several payloads */
    const char *path; /* of the first example: "dictionary.stack_table[3]"; "": the whole message */
    const char *found;    /* "index 99, the table has 12 entries" */
    const char *expected; /* "an index below 12" */
    uint64_t offset;      /* byte in the decompressed input, or KILN_NO_OFFSET */
} kiln_finding;

/* Fills *out with finding i, ordered by payload and rule.  Returns false past the last. */
KILN_API bool kiln_finding_at(const kiln_report *r, size_t i, kiln_finding *out);

typedef struct kiln_example {
    size_t size;
    const char *path, *found, *expected;
    uint64_t offset;
} kiln_example;

/* Fills *out with example k of finding i; example 0 is the one in kiln_finding. */
KILN_API bool kiln_example_at(const kiln_report *r, size_t i, size_t k, kiln_example *out);

/* Returns note i, a sentence about something that was not checked and why, or NULL past the
 * last. */
KILN_API const char *kiln_report_note(const kiln_report *r, size_t i);

#ifdef __cplusplus
}
#endif

#endif
