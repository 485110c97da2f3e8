/* wire/otlp_json.h - OTLP/JSON: every layout in and out, by the tables of schema.h.  Pure.
 *
 * JSON is transcoded to protobuf bytes of the same layout, which the ordinary decoder reads; back
 * it goes by the walk of wire/walk.h with a JSON emitter.
 *
 *   JSON --otlp_json_to_pb--> protobuf --otlp_decode--> model --otlp_encode--> protobuf --> JSON
 *
 * Rules of OTLP/JSON (otlp-profiles.md 5.2) as read here: lowerCamelCase or snake_case keys;
 * integers bare or quoted, also as 1.0 and 1e3; enums as integers; traceId and spanId in hex,
 * profileId in hex or base64, other bytes in base64 of either alphabet; null is absent; unknown
 * keys are skipped and counted; a key twice is an error; elements of lists survive, even empty. */
#pragma once
#include "wire/json.h"
#include "wire/otlp.h"
#include "wire/schema.h"

/* What a transcoding saw besides the data. */
typedef struct otlp_json_found {
    layout layout;
    uint64_t n_unknown;                   /* keys that the layout does not know */
    char unknown_in[40], unknown_key[64]; /* the first one: its message and name */
} otlp_json_found;

/* ---- JSON to protobuf ---- */

/* One ProfilesData or ExportProfilesServiceRequest, all of p[0..n), appended to `out`: valid
 * protobuf, not canonical (lengths of large messages are padded varints).  LAYOUT_UNKNOWN: names of
 * keys decide.  `found` may be NULL.  ERR_MALFORMED with byte and path; ERR_LIMIT when
 * less than about 1 KiB is left of out->limit. */
NODISCARD bool otlp_json_to_pb(const void *p, size_t n, layout l, buf *out, otlp_json_found *found,
                               err *e);

/* The same for the next value of a reader, which goes on behind it (JSON lines).  An unknown layout
 * is judged by what the reader's window holds. */
NODISCARD bool otlp_json_read(json *j, layout l, buf *out, otlp_json_found *found);

/* The same for any message of the schema (the export response); found->layout stays as it is. */
NODISCARD bool otlp_json_read_message(json *j, const message_desc *root, buf *out,
                                      otlp_json_found *found);

/* The layout that the names of the keys in p[0..n) speak for (seed-formats.md 4.2); v1.9 and v1.10
 * are the same JSON, which is called v1.10.  Text that is cut off or broken is judged by what came
 * before.  Nothing known: LAYOUT_CURRENT. */
layout otlp_json_layout(const void *p, size_t n);

/* ---- protobuf to JSON ---- */

/* Where text goes when it should not pile up: called with at most about 64 KiB, after which the buf
 * is empty again.  False ends the walk, with *e set. */
typedef bool (*otlp_json_write)(void *ctx, str text, err *e);

typedef struct otlp_json_opts {
    bool pretty;           /* indented by 2, lists of numbers on one line, newline at the end */
    otlp_json_write write; /* NULL: all text stays in the buf */
    void *ctx;
} otlp_json_opts;

/* p[0..n) of layout l as JSON, appended to `out`.  64-bit integers are strings, ids hex, other
 * bytes base64; defaults are left out as on the wire; unknown fields are skipped.  `o` may be NULL
 * for the defaults. */
NODISCARD bool otlp_pb_to_json(const void *p, size_t n, layout l, const otlp_json_opts *o, buf *out,
                               err *e);
NODISCARD bool otlp_message_to_json(const void *p, size_t n, const message_desc *root,
                                    const otlp_json_opts *o, buf *out, err *e);

/* ---- models ---- */

/* otlp_decode for JSON.  The strings of the model lie in `a`.  Errors that show only after
 * transcoding have a path but no byte. */
NODISCARD bool otlp_json_decode(const void *p, size_t n, const otlp_decode_opts *o, arena *a,
                                model *out, err *e);

/* otlp_encode for JSON, compact; v1.9 and v1.10 are the same text but for string references. */
NODISCARD bool otlp_json_encode(const model *m, const otlp_encode_opts *o, buf *out, err *e);
