/* kiln.h - OpenTelemetry profiles: read, look, ask, build, merge, write, convert, check.
 *
 * C11 and C++11; link with `pkg-config --cflags --libs kiln`.  docs/api.md is the guided tour and
 * examples/ has whole programs.
 *
 *   bytes ── kiln_read ──┐                         ┌── kiln_write ── bytes
 *   file  ── kiln_read_file ──►  kiln_profiles  ───┼── kiln_write_file ── file
 *   calls ── kiln_builder ──┘    (never changes)   └── kiln_merge ── kiln_profiles
 *
 * Ownership.  What a `_new`, `_finish`, kiln_read, kiln_merge or kiln_check returns belongs to the
 *   caller and has one `_free`; every `_free` takes NULL.  Everything that is looked at (text, arrays,
 *   view structs) points into its handle and lives as long as that.  Input is copied unless an option
 *   says otherwise.
 * Errors.  Functions that can fail return false or NULL and fill the caller's kiln_error, which needs
 *   no initialisation and may be NULL.  A NULL handle is an error (KILN_USAGE) or nothing (0, false),
 *   never a crash.  The library has no global state, prints nothing, and does not abort: lack of memory
 *   is KILN_LIMIT.
 * Threads.  kiln_profiles and kiln_report never change after they were made: any number of threads may
 *   look at one.  A kiln_builder or kiln_ledger has one thread at a time.  Different handles are
 *   independent.
 * Versions.  A struct that begins with `size` may grow at its end: set size = sizeof before the call.
 *   Programs compiled against an older header keep working (they see and set what they knew); an option
 *   that the library is too old to know is refused unless it is zero.  The other structs never change.
 *   Enums may gain members.  Functions keep their meaning, new ones are added.
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

/* The text of a terminated string; NULL is "". */
static inline kiln_str kiln_str_of(const char *z)
{
    kiln_str s;
    s.p = z;
    s.n = z ? strlen(z) : 0;
    return s;
}

/* The release of the library in use, "0.1.0". */
KILN_API const char *kiln_version(void);

/* ---- errors ---- */

typedef enum kiln_code {
    KILN_OK = 0,
    KILN_MALFORMED,   /* the bytes break the rules of their format */
    KILN_LIMIT,       /* a limit or the memory budget was reached, or memory ran out */
    KILN_MISMATCH,    /* two things that must agree do not */
    KILN_UNSUPPORTED, /* well formed, but nothing that this library knows */
    KILN_USAGE,       /* the call makes no sense: NULL, an unknown name, an index of nothing */
    KILN_SYSTEM       /* the system said no; kiln_error.sys is errno */
} kiln_code;

#define KILN_NO_OFFSET UINT64_MAX

typedef struct kiln_error {
    kiln_code code;    /* KILN_OK after a call that succeeded */
    int sys;           /* errno with KILN_SYSTEM, else 0 */
    uint64_t offset;   /* byte in the decompressed input, or KILN_NO_OFFSET */
    char path[256];    /* "location_table[12].lines[1]", or "" */
    char message[256]; /* one sentence, no newline */
} kiln_error;

/* "sentence (byte 11, at location_table[12].lines[1])" into buf, cut to n bytes and terminated (when
 * n is not 0); returns buf. */
KILN_API const char *kiln_error_text(const kiln_error *e, char *buf, size_t n);
KILN_API const char *kiln_code_name(kiln_code code); /* "malformed"; "unknown" for other numbers */

/* ---- handles ---- */

typedef struct kiln_profiles
    kiln_profiles;                        /* resources, scopes, profiles, samples, one dictionary */
typedef struct kiln_builder kiln_builder; /* kiln_profiles in the making */
typedef struct kiln_ledger kiln_ledger;   /* what could not be carried */
typedef struct kiln_report kiln_report;   /* what is wrong with some bytes */

/* ---- the loss ledger ---- */

/* Reading, merging and writing add to the ledger that their options name: one entry for each kind of
 * thing that could not be carried as it was.  One ledger may go through several calls. */
KILN_API KILN_MUST_USE kiln_ledger *kiln_ledger_new(void); /* NULL: out of memory */
KILN_API void kiln_ledger_free(kiln_ledger *l);

typedef struct kiln_loss {
    size_t size;
    const char *kind;       /* "comments"; the closed list is docs/losses.md */
    const char *what;       /* the same for people */
    const char *stage;      /* "read", "write", "merge" */
    const char *carried_as; /* the attribute that holds it now; NULL: it is lost */
    const char *path;       /* of the first one, or "" */
    const char *value;      /* of the first one, or "" */
    uint64_t count;
} kiln_loss;

/* Entry i, in order of appearance; false past the last. */
KILN_API bool kiln_loss_at(const kiln_ledger *l, size_t i, kiln_loss *out);
/* Whether anything was lost that no attribute carries. */
KILN_API bool kiln_ledger_lost(const kiln_ledger *l);

/* ---- reading ---- */

/* Names of the formats: "otlp", "otlp-1.9", "otlp-json", ...; NULL past the last. */
KILN_API const char *kiln_format_name(size_t i);

typedef struct kiln_read_options {
    size_t size;
    const char *format;  /* NULL: found from the bytes */
    const char *layout;  /* of OTLP protobuf, "1.3" ... "1.11"; NULL: found from the bytes */
    size_t max_memory;   /* for the handle and all that is needed to make it; 0 = 4 GiB */
    size_t max_input;    /* decompressed bytes; 0 = 1 GiB */
    kiln_ledger *ledger; /* may be NULL */
    uint64_t seed;       /* of hash tables: random where strangers choose the bytes; never shows */
    bool lenient;        /* repair broken references (docs/check.md, --fix) rather than refuse */
    bool borrow;         /* `bytes` outlive the handle and do not change: nothing is copied */
    bool reserved[6];
} kiln_read_options;

/* Reads bytes of any known format: OTLP in protobuf (every released layout) or JSON, one payload or
 * many (the Collector's file exporter), inside gzip or zstd.  Several payloads become one.
 * NULL: *e has the place.  KILN_MALFORMED, KILN_LIMIT, KILN_UNSUPPORTED, KILN_USAGE. */
KILN_API KILN_MUST_USE kiln_profiles *kiln_read(const void *bytes, size_t n,
                                                const kiln_read_options *o, kiln_error *e);

/* The same from a file, which is closed again; `borrow` has no meaning.  KILN_SYSTEM too. */
KILN_API KILN_MUST_USE kiln_profiles *kiln_read_file(const char *path, const kiln_read_options *o,
                                                     kiln_error *e);
KILN_API void kiln_profiles_free(kiln_profiles *p);

/* What the bytes turned out to be. */
typedef struct kiln_origin {
    size_t size;
    const char *format;      /* "otlp"; "" for built or merged profiles, as all text below */
    const char *layout;      /* "1.10", of the first payload; "" if the format has none */
    const char *confidence;  /* how sure that is: "unique", "tie-rule", "forced", ... */
    const char *evidence;    /* why, one line for people */
    const char *compression; /* the outermost: "gzip", "zstd" or "" */
    size_t n_payloads;
    uint64_t n_bytes;   /* decompressed */
    uint64_t n_unknown; /* fields skipped because no layout knows them */
} kiln_origin;

/* false: NULL, or out->size is not set. */
KILN_API bool kiln_origin_of(const kiln_profiles *p, kiln_origin *out);

/* ---- looking ----
 *
 * Every `_at` fills the caller's struct, whose size must be set, without allocating, and returns false
 * past the end.  Tables are those of OTLP: resources hold scopes, scopes hold profiles (neighbours
 * lie together), and one dictionary holds what samples refer to by index; index 0 means "not set". */

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

KILN_API size_t kiln_count(const kiln_profiles *p, kiln_table t);

typedef enum kiln_kind {
    KILN_KIND_EMPTY, /* a value without a value, which OTLP has */
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

static inline kiln_value
kiln_value_text(kiln_str s) /* a text over 4 GiB is refused where it is used */
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

/* The value of the first member with this key, or NULL. */
KILN_API const kiln_value *kiln_member_find(const kiln_member *members, size_t n, kiln_str key);

typedef struct kiln_resource {
    size_t size;
    const kiln_member *attributes;
    size_t n_attributes;
    kiln_str schema_url;
    size_t first_scope, n_scopes; /* its scopes; a builder does not look at these */
    uint64_t dropped_attributes;  /* left out by the sender */
} kiln_resource;

KILN_API bool kiln_resource_at(const kiln_profiles *p, size_t i, kiln_resource *out);

typedef struct kiln_scope {
    size_t size;
    kiln_str name, version, schema_url;
    const kiln_member *attributes;
    size_t n_attributes;
    size_t resource;                  /* a builder does not look at these: index of its resource, */
    size_t first_profile, n_profiles; /* its profiles */
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
    size_t n_samples;       /* a builder does not look at these: */
    size_t scope, resource; /* indices */
    uint64_t dropped_attributes;
} kiln_profile;

KILN_API bool kiln_profile_at(const kiln_profiles *p, size_t i, kiln_profile *out);

/* One stack with what was observed there: values, or timestamps that count 1 each, or both in pairs. */
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

/* Sample i of a profile; nothing is looked up or allocated:
 *     kiln_sample s = {.size = sizeof s};
 *     for (size_t i = 0; kiln_sample_at(p, profile, i, &s); i++) ... */
KILN_API bool kiln_sample_at(const kiln_profiles *p, size_t profile, size_t i, kiln_sample *out);
/* Sum of the values, or the number of timestamps if there are none; saturates.  0 for NULL. */
KILN_API int64_t kiln_sample_total(const kiln_sample *s);

/* A line of a stack as people read it. */
typedef struct kiln_frame {
    size_t size;
    kiln_str function, system_name; /* readable and mangled; "" when not symbolized */
    kiln_str file;                  /* source */
    int64_t line, column;           /* 0: not known */
    int64_t start_line;             /* of the function */
    uint64_t address;               /* 0: not known */
    kiln_str mapping_file;          /* the binary */
    uint32_t mapping;               /* for kiln_mapping_at; 0: none */
    uint32_t location;              /* frames of one location share address, mapping, attributes */
    const uint32_t *attributes;     /* of the location, e.g. profile.frame.type */
    size_t n_attributes;
    bool inlined; /* the compiler put it into the frame that comes next */
    bool reserved[7];
} kiln_frame;

/* Where a walk over a stack is; private, and made by kiln_frames_begin. */
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

/* The location indices of a stack, leaf first: equal lists are equal stacks.  NULL: there are none. */
KILN_API const uint32_t *kiln_stack_locations(const kiln_profiles *p, uint32_t stack, size_t *n);

typedef struct kiln_mapping {
    size_t size;
    uint64_t start, limit, offset; /* memory [start, limit) shows the file from `offset` on */
    kiln_str file;
    const uint32_t *attributes; /* build ids among them */
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
/* The first of the n listed attributes with this key; false: none has it. */
KILN_API bool kiln_attribute_find(const kiln_profiles *p, const uint32_t *indices, size_t n,
                                  kiln_str key, kiln_attribute *out);

typedef struct kiln_link {
    uint8_t trace_id[16], span_id[8];
} kiln_link;

/* false for 0, which is no link, and past the end. */
KILN_API bool kiln_link_at(const kiln_profiles *p, uint32_t i, kiln_link *out);

/* Entry i of the string table; "" past the end. */
KILN_API kiln_str kiln_string_at(const kiln_profiles *p, uint32_t i);

/* ---- asking ----
 *
 * A selection of the profiles, by pprof's words and with pprof's numbers (docs/query.md), as a table of
 * frames or as a call tree.  Patterns are regular expressions (PCRE) with a limit on their cost, found
 * anywhere in a text. */

typedef struct kiln_answer kiln_answer;

/* What a row of an answer is. */
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
    const char *profile_id;  /* hex digits it begins with */
    const char *resource;    /* "service.name=PATTERN": all profiles of the type that have it */
    const char *tagfocus, *tagignore;
    const char *thread; /* thread.id, or a pattern for thread.name */
    const char *trace_id, *span_id;
    const char *focus, *ignore, *hide, *show, *show_from;
    const char *tagroot, *tagleaf;
    uint64_t start, end;  /* Unix ns, [start, end) of the observations; 0: open */
    size_t max_rows;      /* of a table; 0: all */
    double min_fraction;  /* of a table: rows with less than this part of the sum are left out */
    size_t max_memory;    /* 0 = 4 GiB */
    uint64_t seed;        /* as for reading */
    uint32_t granularity; /* kiln_granularity */
    uint32_t max_depth;   /* of a tree: deeper frames count for the one above; 0: no limit */
    bool all;             /* every profile of the type, added up, not the first alone */
    bool literal;         /* patterns are plain text */
    bool no_inlines;
    bool all_frames; /* also those that the profile asks to drop */
    bool by_total;   /* of a table: sorted by total, not self */
    bool inverted;   /* of a tree: from the leaves to their callers */
    bool reserved[2];
} kiln_query_options;

/* A row for each frame, largest first; or a node for each path from the root, depth first with the larger
 * child first, of which row 0 is the root and has no name.  The profiles must outlive the answer.
 * NULL: KILN_USAGE (nothing fits; no expression), KILN_LIMIT (memory; an expression too costly). */
KILN_API KILN_MUST_USE kiln_answer *kiln_query_top(const kiln_profiles *p,
                                                   const kiln_query_options *o, kiln_error *e);
KILN_API KILN_MUST_USE kiln_answer *kiln_query_tree(const kiln_profiles *p,
                                                    const kiln_query_options *o, kiln_error *e);
KILN_API void kiln_answer_free(kiln_answer *a);

typedef struct kiln_answer_facts {
    size_t size;
    kiln_str sample_type, sample_unit;
    int64_t total;      /* of the absolute values before any selection: percentages are of it */
    int64_t selected;   /* of what was selected; row 0 of a tree has it too */
    uint64_t n_samples; /* looked at */
    size_t n_rows;
    const char *unmatched; /* options whose pattern matched nothing: "focus, hide"; or "" */
} kiln_answer_facts;

KILN_API bool kiln_answer_facts_of(const kiln_answer *a, kiln_answer_facts *out);

typedef struct kiln_row {
    size_t size;
    kiln_str label;                        /* for people */
    kiln_str function, file, mapping_file; /* what of them makes the row; else "" */
    int64_t line;
    uint64_t address;
    int64_t self;  /* of stacks that end here */
    int64_t total; /* of stacks that have it; recursion counts once */
    size_t parent; /* of a tree: row of the caller */
    uint32_t depth;
    bool inlined; /* wherever it was met */
    bool reserved[3];
} kiln_row;

KILN_API bool kiln_row_at(const kiln_answer *a, size_t i, kiln_row *out);

/* ---- building ----
 *
 * Scopes go to the newest resource, profiles to the newest scope, samples to the newest profile; what
 * is missing above is made, empty.  Everything is copied; equal entries become one.  The first mistake
 * is remembered and later calls do nothing, so it is enough to look at kiln_builder_finish.  Text must
 * be UTF-8. */

typedef struct kiln_builder_options {
    size_t size;
    size_t max_memory; /* 0 = 4 GiB */
    uint64_t seed;     /* as for reading */
} kiln_builder_options;

KILN_API KILN_MUST_USE kiln_builder *kiln_builder_new(const kiln_builder_options *o, kiln_error *e);
KILN_API void kiln_builder_free(kiln_builder *b); /* only for a builder that was not finished */

/* Begins a resource, scope or profile.  NULL for the struct: one without content. */
KILN_API bool kiln_builder_resource(kiln_builder *b, const kiln_resource *r);
KILN_API bool kiln_builder_scope(kiln_builder *b, const kiln_scope *s);
KILN_API bool kiln_builder_profile(kiln_builder *b, const kiln_profile *p);

/* Entries of the dictionary.  These return the index, which is 0 for nothing and after a mistake. */
KILN_API uint32_t kiln_builder_attribute(kiln_builder *b, kiln_str key, const kiln_value *value,
                                         kiln_str unit);
KILN_API uint32_t kiln_builder_link(kiln_builder *b, const kiln_link *l);
KILN_API uint32_t kiln_builder_mapping(kiln_builder *b, const kiln_mapping *m);

/* A location: frames[n - 1] is the function that the machine called, those before it are inlined, the
 * innermost first; n is 1 or more.  Address, mapping and attributes are those of frames[0].
 * A mapping_file without a mapping makes a mapping of that name.  `location` and `inlined` are not
 * looked at. */
KILN_API uint32_t kiln_builder_location(kiln_builder *b, const kiln_frame *frames, size_t n);
/* A location with one function, known by name: for interpreters, and for tests. */
KILN_API uint32_t kiln_builder_frame(kiln_builder *b, kiln_str function, kiln_str file,
                                     int64_t line);
/* n locations, leaf first. */
KILN_API uint32_t kiln_builder_stack(kiln_builder *b, const uint32_t *locations, size_t n);

/* Values, timestamps, or as many of the one as of the other: the same shape in all samples of a
 * profile.  A stack that was seen several times with the same attributes and link is one sample. */
KILN_API bool kiln_builder_sample(kiln_builder *b, const kiln_sample *s);

/* true: no mistake so far.  Otherwise *e is the first one. */
KILN_API bool kiln_builder_ok(const kiln_builder *b, kiln_error *e);

/* Turns the builder into profiles.  The builder is gone, also when NULL is returned. */
KILN_API KILN_MUST_USE kiln_profiles *kiln_builder_finish(kiln_builder *b, kiln_error *e);

/* ---- merging ---- */

typedef struct kiln_merge_options {
    size_t size;
    size_t max_memory;   /* 0 = 4 GiB */
    kiln_ledger *ledger; /* saturated sums, joined shapes; may be NULL */
    bool join;      /* profiles of equal resource, scope, types, period and attributes become one,
                            and in it samples of equal stack, attributes and link */
    bool canonical; /* order for compression: stacks from the root, samples by stack */
    bool reserved[6];
} kiln_merge_options;

/* All profiles of n handles under one new dictionary, without duplicates and unused entries.  The
 * result does not refer to the inputs.  Of one handle: a tidy copy. */
KILN_API KILN_MUST_USE kiln_profiles *kiln_merge(const kiln_profiles *const *in, size_t n,
                                                 const kiln_merge_options *o, kiln_error *e);

/* ---- writing ---- */

typedef struct kiln_write_options {
    size_t size;
    const char *format;      /* NULL: "otlp", the current layout */
    const char *compression; /* "gzip", "zstd", "none"; NULL: none */
    size_t max_memory;       /* for the result, and for what canonical order needs; 0 = 4 GiB */
    kiln_ledger *ledger;     /* may be NULL */
    bool canonical;   /* the same facts give the same bytes, in an order that compresses well */
    bool string_refs; /* write strings of attributes as references into the string table */
    bool reserved[6];
} kiln_write_options;

/* Bytes that the library allocated. */
typedef struct kiln_bytes {
    const char *p;
    size_t n;
    void *memory; /* private */
} kiln_bytes;

KILN_API void kiln_free_bytes(kiln_bytes *b); /* *b is empty afterwards; an empty one is fine */

/* Writes into memory; free *out with kiln_free_bytes.  After false *out is empty. */
KILN_API KILN_MUST_USE bool kiln_write(const kiln_profiles *p, const kiln_write_options *o,
                                       kiln_bytes *out, kiln_error *e);

/* Writes a file that appears whole or not at all.  Without a format or compression in the options its
 * name decides: x.otlp, x.json.gz, x.otlp.zst; otherwise OTLP, not compressed.  KILN_UNSUPPORTED
 * for the name of a picture or a page (x.svg, x.html). */
KILN_API KILN_MUST_USE bool kiln_write_file(const kiln_profiles *p, const char *path,
                                            const kiln_write_options *o, kiln_error *e);

/* ---- converting ---- */

/* kiln_read and kiln_write in one.  Where there is nothing to change the bytes themselves come out
 * (without the compression they had).  Losses of both sides are in the ledgers of the options, which
 * may be one and the same. */
KILN_API KILN_MUST_USE bool kiln_convert(const void *bytes, size_t n, const kiln_read_options *from,
                                         const kiln_write_options *to, kiln_bytes *out,
                                         kiln_error *e);

/* ---- checking ---- */

typedef enum kiln_severity {
    KILN_SEVERITY_INFO,
    KILN_SEVERITY_WARNING, /* the specification says SHOULD */
    KILN_SEVERITY_ERROR    /* the specification says MUST */
} kiln_severity;

KILN_API const char *kiln_severity_name(kiln_severity s); /* "info", "warning", "error" */

typedef struct kiln_rule {
    size_t size;
    const char *id;       /* "P-01" */
    const char *level;    /* the word of the specification */
    const char *title;    /* short */
    const char *expected; /* one sentence */
    const char *fix;      /* what a producer changes */
    const char *source;   /* "profiles.proto", ... */
    kiln_severity severity;
    bool fixable; /* reading leniently removes every violation */
    bool reserved[3];
} kiln_rule;

/* Rule i of the list that docs/check.md has; false past the last. */
KILN_API bool kiln_rule_at(size_t i, kiln_rule *out);

typedef struct kiln_check_options {
    size_t size;
    const char *format, *layout; /* as for reading */
    const char *const *only;     /* ids of rules; none: all */
    size_t n_only;
    const char *const *ignore;
    size_t n_ignore;
    size_t max_memory; /* 0 = 4 GiB */
    size_t max_input;  /* decompressed bytes; 0 = 1 GiB */
    kiln_severity min_severity;
    uint32_t max_examples; /* for each rule; 0 = 5 */
    uint64_t seed;         /* as for reading */
} kiln_check_options;

/* Holds bytes (any compression, layout and framing, and formats that have rules of their own: arrays,
 * events, call stacks in log records) to every rule of their document.  A report,
 * however bad, is a success; bytes that do not parse as protobuf are a finding too.
 * NULL: KILN_USAGE for an unknown rule or name, KILN_LIMIT, KILN_MALFORMED for broken compression,
 * JSON or framing. */
KILN_API KILN_MUST_USE kiln_report *kiln_check(const void *bytes, size_t n,
                                               const kiln_check_options *o, kiln_error *e);
KILN_API void kiln_report_free(kiln_report *r);

/* Violations of this severity, in all payloads. */
KILN_API uint64_t kiln_report_count(const kiln_report *r, kiln_severity s);

/* All violations of one rule in one payload. */
typedef struct kiln_finding {
    size_t size;
    const char *rule, *level, *title, *fix; /* as in kiln_rule */
    kiln_severity severity;
    uint32_t n_examples;
    uint64_t count;       /* violations; the examples are the first of them */
    size_t payload;       /* 0 unless the input has several */
    const char *path;     /* the first example: "dictionary.stack_table[3]"; "" is the message */
    const char *found;    /* "index 99, the table has 12 entries" */
    const char *expected; /* "an index below 12" */
    uint64_t offset;      /* byte in the decompressed input, or KILN_NO_OFFSET */
} kiln_finding;

/* Finding i, by payload and rule; false past the last. */
KILN_API bool kiln_finding_at(const kiln_report *r, size_t i, kiln_finding *out);

typedef struct kiln_example {
    size_t size;
    const char *path, *found, *expected;
    uint64_t offset;
} kiln_example;

/* Example k of finding i; the first (0) is the one in the finding. */
KILN_API bool kiln_example_at(const kiln_report *r, size_t i, size_t k, kiln_example *out);

/* What was not looked at and why, a sentence each; NULL past the last. */
KILN_API const char *kiln_report_note(const kiln_report *r, size_t i);

#ifdef __cplusplus
}
#endif

#endif
