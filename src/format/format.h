/* format/format.h - every format kiln knows, in one table; reading any input into the model.  Pure.
 *
 *   input ─ unpack (gzip, zstd) ─ which format? ─ payloads ─ read each ─ models ─ one model
 *
 * The format is decided from the bytes, never from a name.  A format that comes in payloads
 * (wire/frames.h) is read one by one; the others are one payload. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/source.h"
#include "model/ledger.h"
#include "model/model.h"
#include "wire/compress.h"
#include "wire/frames.h"
#include "wire/layout.h"

typedef struct format format;

typedef struct read_opts {
    const format *from; /* NULL: look at the bytes */
    layout layout;      /* of OTLP; LAYOUT_UNKNOWN: find out */
    bool lenient;       /* keep what is broken (otlp.h); for `check` */
    size_t max_bytes;   /* decompressed input; 0 = UNPACK_MAX_BYTES */
    size_t max_payload; /* one payload of a stream, one compressed frame; 0 = FRAMES_MAX_PAYLOAD */
    ledger *ledger;     /* what could not be carried; may be NULL */
} read_opts;

typedef struct write_opts {
    bool string_refs; /* otlp.h */
    ledger *ledger;   /* may be NULL */
} write_opts;

struct format {
    const char *name;     /* "otlp" */
    const char *what;     /* for people, no full stop */
    const char *suffixes; /* ".otlp .pb", the first is its own; NULL: never chosen by a name */
    bool payloads;        /* wire/frames.h splits it */
    layout layout;        /* OTLP: the layout it is bound to, or LAYOUT_UNKNOWN */

    /* 0 no, 100 certain.  Bounded work: sees the whole decompressed input.  NULL: only by name. */
    unsigned (*detect)(str bytes);
    /* One payload into a model in `a`; strings may view `bytes`.  `verdict` is filled by OTLP. */
    bool (*read)(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e);
    /* Appends the model to `out`. */
    bool (*write)(const format *f, const model *m, const write_opts *o, buf *out, err *e);
};

extern const format format_otlp, format_otlp_1_9, format_otlp_json;

const format *const *formats(size_t *n);
const format *format_named(str name);   /* NULL: none */
const format *format_detect(str bytes); /* decompressed; NULL: nothing kiln knows */
/* By the suffix of an output's name, .gz and .zst left aside; NULL: the name says nothing. */
const format *format_for_path(str path);

/* ---- whole inputs ---- */

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
    model model; /* all parts, one dictionary */
} document;

/* Reads all of `in`, which must outlive *out; memory is the arena's and its budget the limit.
 * An error has its byte in the decompressed input and, of several payloads, "payload[3]" in front
 * of its path.  `o` may be NULL. */
NODISCARD bool format_read(str in, const read_opts *o, arena *a, document *out, err *e);

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
