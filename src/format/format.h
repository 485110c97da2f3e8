/* format/format.h - the table of all formats that Kiln knows, and the reader of any input. Pure.
 *
 *   input ─ unpack (gzip, zstd) ─ which format? ─ payloads ─ read each ─ models ─ one model
 *
 * The format is detected from the bytes; if the bytes fit several formats, the suffix of the
 * input's name may select one of these. A format that comes in payloads (wire/frames.h) is read
 * payload by payload; any other input is one payload. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/source.h"
#include "model/ledger.h"
#include "model/model.h"
#include "wire/anchor.h"
#include "wire/compress.h"
#include "wire/frames.h"
#include "wire/layout.h"
#include "wire/otlp.h"

typedef struct format format;
struct stack_walk;

typedef struct read_opts {
    const format *from; /* NULL: detect */
    str name;           /* name of the input, whose suffix breaks ties; may be empty */
    layout layout;      /* layout of OTLP; LAYOUT_UNKNOWN: detect */
    bool lenient;       /* keep broken parts (otlp.h); for `check` */
    size_t max_bytes;   /* limit of the decompressed input; 0 = UNPACK_MAX_BYTES */
    size_t max_payload; /* limit of a payload and of a compressed frame; 0 = FRAMES_MAX_PAYLOAD */
    ledger *ledger;     /* receives the losses; may be NULL */
    bool brief;         /* omit the texts of verdicts (wire/layout.h) */

    /* Facts that an input may lack (options of `kiln convert`); not all readers use them. */
    str sample_type, sample_unit; /* name and unit of the values; empty: the format's default */
    time_anchor anchor;           /* date of the recording, for clocks that do not start in 1970 */
    unsigned keep_original;       /* store the input in original_payload; 2: even if the
                                   * specification advises against it (ORIGINAL_ADVISED_AGAINST) */
    bool percent;                 /* text: decode %3B and the like in names */
    /* perf-data: unwinds copied stacks (format/stack_walk.h); NULL: only their innermost frames */
    const struct stack_walk *walk;
    /* Called regularly with the number of bytes read so far; NULL: no progress reports. */
    void (*progress)(void *ctx, uint64_t done, uint64_t all);
    void *ctx;
} read_opts;

typedef struct write_opts {
    bool string_refs; /* OTLP: strings by reference (otlp.h) */
    otlp_part part;   /* only formats with `parts`: the part to write */
    bool percent;     /* text: write bytes that a name may not contain as %3B and the like */
    bool threads;     /* text: add a first frame "[name tid=1]" from thread.name and thread.id */
    bool timestamps;  /* pprof: one sample per observation with a label, instead of their sum */
    str title;        /* html: title of the page */
    ledger *ledger;   /* may be NULL */
} write_opts;

/* The features that a format can represent, as `kiln formats` prints them. Attributes named kiln.*
 * do not count: a format that needs one for a feature lacks the feature. */
#define FORMAT_FEATURES(X)                                                                         \
    X(STACKS, "stacks", "stacks and values") /* implied by every other */                          \
    X(TYPES, "value_types", "several value types")                                                 \
    X(UNITS, "units", "names and units of values")                                                 \
    X(VALUES, "values", "several values per sample")                                               \
    X(TIMESTAMPS, "timestamps", "timestamps")                                                      \
    X(LINKS, "links", "trace links")                                                               \
    X(SAMPLE_ATTRIBUTES, "sample_attributes", "attributes of samples")                             \
    X(ATTRIBUTE_TYPES, "attribute_types", "attributes that are not text")                          \
    X(ATTRIBUTE_UNITS, "attribute_units", "units of attributes")                                   \
    X(LOCATION_ATTRIBUTES, "location_attributes", "attributes of locations")                       \
    X(MAPPING_ATTRIBUTES, "mapping_attributes", "attributes of mappings")                          \
    X(PROFILE_ATTRIBUTES, "profile_attributes", "attributes of profiles")                          \
    X(RESOURCE, "resource", "resource and scope")                                                  \
    X(PROFILE_ID, "profile_id", "profile id")                                                      \
    X(TIME, "time", "start and duration")                                                          \
    X(PERIOD, "period", "sampling period")                                                         \
    X(ADDRESSES, "addresses", "addresses")                                                         \
    X(MAPPINGS, "mappings", "mappings")                                                            \
    X(BUILD_IDS, "build_ids", "build ids")                                                         \
    X(LINES, "lines", "source files and lines")                                                    \
    X(COLUMNS, "columns", "source columns")                                                        \
    X(SYSTEM_NAMES, "system_names", "mangled names")                                               \
    X(INLINES, "inlines", "inlined calls")                                                         \
    X(FRAME_TYPES, "frame_types", "frame types")                                                   \
    X(ORIGINAL, "original_payload", "the original file")

typedef enum format_feature {
#define X(id, name, what) FEATURE_##id,
    FORMAT_FEATURES(X)
#undef X
        FEATURE_COUNT
} format_feature;

/* Whether a file of this format may be stored in the original_payload of a profile read from it. */
typedef enum original_rule {
    ORIGINAL_KEPT,
    ORIGINAL_ADVISED_AGAINST, /* "SHOULD NOT be included": the profile represents all of it */
    ORIGINAL_IS_PROFILE,      /* OTLP: the profile is the file */
} original_rule;

#define CARRIES(id) (UINT32_C(1) << FEATURE_##id)
#define CARRIES_ALL ((UINT32_C(1) << FEATURE_COUNT) - 1)

struct format {
    const char *name;       /* "otlp" */
    const char *what;       /* description for users, without a full stop */
    const char *suffixes;   /* ".otlp .pb", the preferred one first; NULL: never chosen by a name */
    bool payloads;          /* its files may hold several payloads (wire/frames.h) */
    layout layout;          /* OTLP: the layout it is bound to, or LAYOUT_UNKNOWN */
    uint32_t carries;       /* CARRIES(LINKS) | ...; 0: unspecified */
    bool parts;             /* can be written in parts (otlp.h) */
    bool text;              /* may be printed to a terminal */
    codec pack;             /* compression of all its files, whatever their names; or NONE */
    original_rule original; /* --keep-original */
    const char *original_name; /* value of original_payload_format; NULL: `name` */

    /* Scores the whole decompressed input from 0 (no) to 100 (certain) in bounded time. NULL: the
     * format is selected by name only. */
    unsigned (*detect)(str bytes);
    unsigned most; /* the highest score of detect, so that useless calls can be skipped; 0: 100 */
    /* Whether these bytes could be of this format although another format fits too. Called when the
     * input's name has a suffix of this format. NULL: only detect decides. */
    bool (*may_be)(const format *f, str bytes);
    /* Reads one payload into a model in `a`; strings may view `bytes`. OTLP fills `verdict`. */
    bool (*read)(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e);
    /* Whether these bytes are the variant that `write` writes, not an older one that is only read.
     * NULL: always. */
    bool (*is_current)(str bytes);
    /* Appends the model to `out`. */
    bool (*write)(const format *f, const model *m, const write_opts *o, buf *out, err *e);
};

extern const format format_otlp, format_otlp_1_9, format_otlp_json;
extern const format format_html, format_html_base;
extern const format format_folded, format_collapsed, format_original;
extern const format format_jfr;
extern const format format_pprof;
extern const format format_splunk_logs;
extern const format format_perf_data, format_perf_script;
extern const format format_chrome, format_speedscope, format_cpuprofile, format_heapprofile,
    format_gecko;
extern const format format_arrays, format_normalized, format_denormalized, format_otep239,
    format_events, format_events_text;

const format *const *formats(size_t *n);
const format *format_named(str name); /* NULL: unknown */
/* Detects the format of decompressed bytes. NULL: Kiln cannot read them (see format/foreign.h). */
const format *format_detect(str bytes);
/* Detects the format from the bytes and the name of the input, which may be empty. */
const format *format_detect_named(str bytes, str name);
/* Returns the format for the suffix of an output's name, ignoring .gz and .zst; NULL: unknown. */
const format *format_for_path(str path);
uint32_t format_carries(const format *f);          /* with implied features; 0: unspecified */
const char *format_feature_name(format_feature f); /* "links" */
const char *format_feature_what(format_feature f); /* description for users */

/* Applies the format and layout that `o` names to a payload of OTLP, before detection: sets its
 * kind and returns its layout, or LAYOUT_UNKNOWN. */
layout format_force(const read_opts *o, payload *p);

/* ---- whole inputs ---- */

/* Decompresses a whole input (wire/compress.h). Rejects empty or all-zero input. */
NODISCARD bool format_unpack(str in, size_t max_bytes, arena *a, unpacked *out, err *e);

typedef struct part {
    const format *format;
    payload payload;
    layout_verdict verdict; /* only OTLP; otherwise zero */
    model model;
} part;

typedef struct document {
    const format *format; /* format of the first payload */
    str bytes;            /* the decompressed input */
    codec layers[UNPACK_MAX_LAYERS];
    size_t n_layers;
    framing framing;
    VEC(part) parts;
    model model;   /* all parts merged, with one dictionary */
    bool anchored; /* the anchor changed its times, so it differs from its bytes */
} document;

/* Reads all of `in`, which must outlive *out. Memory comes from the arena, whose budget is the
 * limit. An error has its offset in the decompressed input and, with several payloads, a path such
 * as "payload[3]". `o` may be NULL. */
NODISCARD bool format_read(str in, const read_opts *o, arena *a, document *out, err *e);

/* Sets the dates of the profiles of a document that was read without an anchor. */
NODISCARD bool document_anchor(document *d, const time_anchor *t, ledger *l, arena *a, err *e);

/* Reads an input payload by payload, each with its own anchor, and builds no model of the whole.
 * Requires memory for the decompressed bytes (none for uncompressed input) and for one payload.
 * out->parts holds only the current payload, which lives until `each` returns. When `each` returns
 * false, reading stops with its error. */
typedef bool format_each(void *ctx, const part *p, err *e);
NODISCARD bool format_read_each(str in, const read_opts *o, arena *a, document *out,
                                format_each *each, void *ctx, err *e);

/* Whether the document's bytes can be copied instead of written as `to` without further options: it
 * has one payload, in the same format and layout. */
bool document_is(const document *d, const format *to);

/* ---- streams: payload by payload, with memory for one ---- */

typedef struct format_stream {
    read_opts o;
    source *in; /* decompressed input */
    frames frames;
    arena *a;
} format_stream;

/* Takes ownership of `from`, even on failure. `a` belongs to the stream until it is closed. */
NODISCARD bool format_stream_open(format_stream *s, source *from, const read_opts *o, arena *a,
                                  err *e);

/* Reads the next payload. *out lives until the next call, which resets the arena. Returns false at
 * the end or on failure (e->code). */
NODISCARD bool format_stream_next(format_stream *s, part *out, err *e);
void format_stream_close(format_stream *s);
