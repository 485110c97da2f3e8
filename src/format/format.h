/* format/format.h - every format kiln knows, in one table; reading any input into the model.  Pure.
 *
 *   input ─ unpack (gzip, zstd) ─ which format? ─ payloads ─ read each ─ models ─ one model
 *
 * The format is decided from the bytes; where bytes fit several, the suffix of the input's name may
 * choose among these.  A format that comes in payloads
 * (wire/frames.h) is read one by one; the others are one payload. */
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

typedef struct read_opts {
    const format *from; /* NULL: look at the bytes */
    str name;           /* of the input: its suffix breaks ties; may be empty */
    layout layout;      /* of OTLP; LAYOUT_UNKNOWN: find out */
    bool lenient;       /* keep what is broken (otlp.h); for `check` */
    size_t max_bytes;   /* decompressed input; 0 = UNPACK_MAX_BYTES */
    size_t max_payload; /* one payload of a stream, one compressed frame; 0 = FRAMES_MAX_PAYLOAD */
    ledger *ledger;     /* what could not be carried; may be NULL */
    bool brief;         /* nobody reads the texts of verdicts (wire/layout.h) */

    /* What a source may lack (kiln convert); readers that have a use for one take it. */
    str sample_type, sample_unit; /* name and unit of the values; empty: the format's own guess */
    time_anchor anchor;           /* when it was recorded, for clocks that do not count from 1970 */
    unsigned keep_original;       /* the input itself goes into original_payload; 2: also where the
                             * specification advises against it (ORIGINAL_ADVISED_AGAINST) */
    bool percent;                 /* text: %3B and the like in names are decoded */
    /* Called now and then with the bytes read so far, for long inputs; NULL: nobody looks. */
    void (*progress)(void *who, uint64_t done, uint64_t all);
    void *who;
} read_opts;

typedef struct write_opts {
    bool string_refs; /* otlp.h */
    otlp_part part;   /* of a format with `parts` */
    bool percent;     /* text: what a name may not hold is written as %3B and the like */
    bool threads;     /* text: a first frame "[name tid=1]" from thread.name and thread.id */
    bool timestamps;  /* pprof: a sample per observation with a label, instead of their sum */
    str title;        /* html: what the page is called, the name of the input */
    ledger *ledger;   /* may be NULL */
} write_opts;

/* What a format can carry, as `kiln formats` prints it.  Attributes named kiln.* do not count: a
 * format that needs one for a feature lacks the feature. */
#define FORMAT_FEATURES(X)                                                                         \
    X(STACKS, "stacks", "stacks and values") /* implied by any other */                            \
    X(TYPES, "value_types", "several value types")                                                 \
    X(UNITS, "units", "names and units of values")                                                 \
    X(VALUES, "values", "several values a sample")                                                 \
    X(TIMESTAMPS, "timestamps", "timestamps")                                                      \
    X(LINKS, "links", "trace links")                                                               \
    X(SAMPLE_ATTRIBUTES, "sample_attributes", "attributes of samples")                             \
    X(ATTRIBUTE_TYPES, "attribute_types", "attributes that are no text")                           \
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

/* May a file of this format travel in the original_payload of what was read from it? */
typedef enum original_rule {
    ORIGINAL_KEPT,
    ORIGINAL_ADVISED_AGAINST, /* "SHOULD NOT be included": the profile holds all of it */
    ORIGINAL_IS_PROFILE,      /* OTLP: the profile is the file */
} original_rule;

#define CARRIES(id) (UINT32_C(1) << FEATURE_##id)
#define CARRIES_ALL ((UINT32_C(1) << FEATURE_COUNT) - 1)

struct format {
    const char *name;       /* "otlp" */
    const char *what;       /* for people, no full stop */
    const char *suffixes;   /* ".otlp .pb", the first is its own; NULL: never chosen by a name */
    bool payloads;          /* wire/frames.h splits it */
    layout layout;          /* OTLP: the layout it is bound to, or LAYOUT_UNKNOWN */
    uint32_t carries;       /* CARRIES(LINKS) | ...; 0: not stated */
    bool parts;             /* can be written in pieces (otlp.h) */
    bool text;              /* may be shown on a terminal */
    codec pack;             /* its files are always compressed, whatever they are called; or NONE */
    original_rule original; /* --keep-original */
    const char *original_name; /* in original_payload_format; NULL: `name` */

    /* 0 no, 100 certain.  Bounded work: sees the whole decompressed input.  NULL: only by name. */
    unsigned (*detect)(str bytes);
    unsigned most; /* that detect can say, so that it need not be asked in vain; 0: 100 */
    /* Could these bytes be of this format, although they could be of another?  Asked when the input's name says so. NULL: what
     * detect says is all that can be said. */
    bool (*may_be)(const format *f, str bytes);
    /* One payload into a model in `a`; strings may view `bytes`.  `verdict` is filled by OTLP. */
    bool (*read)(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e);
    /* Are these bytes what `write` makes, rather than an older kind that is only read?  NULL: yes. */
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
const format *format_named(str name); /* NULL: none */
/* Decompressed bytes; NULL: nothing kiln knows (format/foreign.h says what it is). */
const format *format_detect(str bytes);
/* The same, with the name of the input; it may be empty. */
const format *format_detect_named(str bytes, str name);
/* By the suffix of an output's name, .gz and .zst left aside; NULL: the name says nothing. */
const format *format_for_path(str path);
uint32_t format_carries(const format *f);          /* with what is implied; 0: not stated */
const char *format_feature_name(format_feature f); /* "links" */
const char *format_feature_what(format_feature f); /* for people */

/* What `o` says of a payload of OTLP goes before what its bytes say: sets its kind and gives its
 * layout, or LAYOUT_UNKNOWN. */
layout format_force(const read_opts *o, payload *p);

/* ---- whole inputs ---- */

/* Takes the compression off a whole input (wire/compress.h).  Refuses one that holds nothing: no bytes, or only zeros. */
NODISCARD bool format_unpack(str in, size_t max_bytes, arena *a, unpacked *out, err *e);

typedef struct part {
    const format *format;
    payload payload;
    layout_verdict verdict; /* OTLP; zero otherwise */
    model model;
} part;

typedef struct document {
    const format *format; /* of the first payload */
    str bytes;            /* the input without compression */
    codec layers[UNPACK_MAX_LAYERS];
    size_t n_layers;
    framing framing;
    VEC(part) parts;
    model model;   /* all parts, one dictionary */
    bool anchored; /* its times were moved: it says something else than its bytes */
} document;

/* Reads all of `in`, which must outlive *out; memory is the arena's and its budget the limit.
 * An error has its byte in the decompressed input and, of several payloads, "payload[3]" in front
 * of its path.  `o` may be NULL. */
NODISCARD bool format_read(str in, const read_opts *o, arena *a, document *out, err *e);

/* Dates the profiles of a document that was read without an anchor. */
NODISCARD bool document_anchor(document *d, const time_anchor *t, ledger *l, arena *a, err *e);

/* The same payload by payload, each with an anchor of its own, without the model of all: memory for the bytes without compression (none when there is no compression) and
 * for one payload.  out->parts holds only the payload at hand, which lives until `each` returns; false stops with its error. */
typedef bool format_each(void *who, const part *p, err *e);
NODISCARD bool format_read_each(str in, const read_opts *o, arena *a, document *out,
                                format_each *each, void *who, err *e);

/* Would writing the document as `to`, with no wish besides, change nothing?  One payload, the same
 * format and layout: its bytes can be handed on as they are. */
bool document_is(const document *d, const format *to);

/* ---- streams: one payload at a time, memory for one ---- */

typedef struct format_stream {
    read_opts o;
    source *in; /* decompressed */
    frames frames;
    arena *a;
} format_stream;

/* Takes `from` over, also on failure.  `a` belongs to the stream until it is closed. */
NODISCARD bool format_stream_open(format_stream *s, source *from, const read_opts *o, arena *a,
                                  err *e);

/* The next payload; *out lives until the next call, which resets the arena.  false at the end or on
 * failure (e->code). */
NODISCARD bool format_stream_next(format_stream *s, part *out, err *e);
void format_stream_close(format_stream *s);
