/* wire/otlp_json.h - reads and writes OTLP/JSON in every layout, by the tables of schema.h.  Pure.
 *
 * The reader transcodes JSON to protobuf bytes of the same layout, which the ordinary decoder
 * reads.  The writer is the walk of wire/walk.h with a JSON emitter.
 *
 *   JSON --otlp_json_to_pb--> protobuf --otlp_decode--> model --otlp_encode--> protobuf --> JSON
 *
 * The reader accepts (docs/spec/coverage.md, T-30 to T-37): lowerCamelCase or snake_case keys;
 * integers bare or quoted, also as 1.0 and 1e3; enums as integers; traceId and spanId in hex,
 * profileId in hex or base64, other bytes in base64 of either alphabet.  null means absent; unknown
 * keys are skipped and counted; a repeated key is an error; empty elements of lists are kept. */
#pragma once
#include "wire/json.h"
#include "wire/otlp.h"
#include "wire/schema.h"

/* Properties of the text that are not in the model. */
typedef struct otlp_json_found {
    layout layout;
    uint64_t n_unknown;                   /* unknown keys */
    char unknown_in[40], unknown_key[64]; /* the first one: its message and name */
} otlp_json_found;

/* ---- JSON to protobuf ---- */

/* Appends p[0..n), one ProfilesData or ExportProfilesServiceRequest, to `out` as protobuf that is
 * valid but not canonical (lengths of large messages are padded varints).  LAYOUT_UNKNOWN: the
 * names of keys decide.  `found` may be NULL.  Fails with ERR_MALFORMED, byte and path, or with
 * ERR_LIMIT when less than about 1 KiB is left of out->limit. */
NODISCARD bool otlp_json_to_pb(const void *p, size_t n, layout l, buf *out, otlp_json_found *found,
                               err *e);

/* Transcodes the next value of a reader, which can then continue with the value after it (JSON
 * lines). If the layout is unknown, the keys in the reader's window decide. */
NODISCARD bool otlp_json_read(json *j, layout l, buf *out, otlp_json_found *found);

/* Transcodes any message of the schema, such as the export response; does not set found->layout. */
NODISCARD bool otlp_json_read_message(json *j, const message_desc *root, buf *out,
                                      otlp_json_found *found);

/* Detects the layout by the names of the keys in p[0..n) (docs/spec/layouts.md, "Detection").  v1.9
 * and v1.10 are the same in JSON; the result is v1.10.  For truncated or malformed text, the keys
 * before the error decide.  Returns LAYOUT_CURRENT if there is no known key. */
layout otlp_json_layout(const void *p, size_t n);

/* ---- protobuf to JSON ---- */

/* Receives the text in pieces of about 64 KiB, so that it does not accumulate in the buf.  To end
 * the walk it sets *e and returns false. */
typedef bool (*otlp_json_write)(void *ctx, str text, err *e);

typedef struct otlp_json_opts {
    bool pretty;           /* indented by 2, lists of numbers on one line, newline at the end */
    otlp_json_write write; /* NULL: all text stays in the buf */
    void *ctx;
} otlp_json_opts;

/* Appends p[0..n), a message of layout l, to `out` as JSON.  64-bit integers become strings, ids
 * hex, other bytes base64.  Omits defaults, as on the wire, and unknown fields.  `o` may be NULL
 * for the defaults. */
NODISCARD bool otlp_pb_to_json(const void *p, size_t n, layout l, const otlp_json_opts *o, buf *out,
                               err *e);
NODISCARD bool otlp_message_to_json(const void *p, size_t n, const message_desc *root,
                                    const otlp_json_opts *o, buf *out, err *e);

/* ---- models ---- */

/* Decodes JSON to a model.  The strings of the model are in `a`.  Errors found after transcoding
 * have a path but no byte. */
NODISCARD bool otlp_json_decode(const void *p, size_t n, const otlp_decode_opts *o, arena *a,
                                model *out, err *e);

/* Encodes a model as compact JSON.  v1.9 and v1.10 give the same text, except for string
 * references. */
NODISCARD bool otlp_json_encode(const model *m, const otlp_encode_opts *o, buf *out, err *e);
