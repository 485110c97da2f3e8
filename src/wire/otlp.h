/* wire/otlp.h - OTLP profiles in protobuf: reads every layout, writes the current one and v1.9. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "model/ledger.h"
#include "model/model.h"
#include "wire/cpu.h"
#include "wire/layout.h"

/* Named limits; 0 in the options means the default. */
enum {
    OTLP_MAX_DEPTH = 64,         /* nesting of AnyValue */
    OTLP_MAX_BYTES = 2147483647, /* size of one message, as in protobuf */
};

typedef struct otlp_decode_opts {
    layout layout; /* LAYOUT_UNKNOWN: detect it */
    bool lenient;  /* keep indices outside their tables; model.checked is then false */
    simd_mode simd;
    ledger *ledger;          /* records what the model cannot represent; may be NULL */
    layout_verdict *verdict; /* filled when not NULL */
    bool brief;              /* the texts of the verdict are not needed */
} otlp_decode_opts;

/* Decodes one ProfilesData or ExportProfilesServiceRequest.  Strings stay views into p.  `o` may be
 * NULL for the defaults.  Memory comes from `a`, whose budget limits it.  It is at most a multiple
 * of n: two bytes can encode an empty table entry (48 times n) or an empty Profile (256 times); see
 * tests/unit/wire/test_memory.c. Fails with ERR_MALFORMED, byte and path, or with ERR_MEMORY at a
 * limit or the budget. */
NODISCARD bool otlp_decode(const void *p, size_t n, const otlp_decode_opts *o, arena *a, model *out,
                           err *e);

/* A message may be written in pieces: some of its profiles at a time, then the dictionary that they
 * share.  The concatenated pieces are the message. */
typedef enum otlp_part {
    OTLP_PART_ALL,
    OTLP_PART_PROFILES, /* resource_profiles; uses only attr_refs of the dictionary, no string_refs */
    OTLP_PART_DICTIONARY,
} otlp_part;

typedef struct otlp_encode_opts {
    layout layout; /* LAYOUT_UNKNOWN or LAYOUT_CURRENT, or LAYOUT_1_9 */
    otlp_part part;
    bool string_refs; /* write key_strindex and string_value_strindex where the string table has
                          the text (not in v1.9, which has no such fields: ledger) */
    simd_mode simd;
    ledger *ledger;
} otlp_encode_opts;

/* Encodes a checked model and appends it to `out`, with ascending fields, packed lists and no
 * defaults. */
NODISCARD bool otlp_encode(const model *m, const otlp_encode_opts *o, buf *out, err *e);

/* ExportProfilesServiceResponse. */
typedef struct otlp_response {
    bool partial; /* partial_success is present */
    int64_t rejected_profiles;
    str error_message; /* view into the input */
} otlp_response;

NODISCARD bool otlp_response_decode(const void *p, size_t n, otlp_response *out, err *e);

/* Finds the first fault of the bytes in this layout.  Returns false with message, byte and path in
 * `e`, or true when there is none.  With `ranges`, checks indices and UTF-8 too.  Slow, because it
 * walks by the schema tables; for errors only. */
bool otlp_locate(const void *p, size_t n, layout l, bool ranges, err *e);
