/* wire/otlp.h - OTLP profiles in protobuf: every released layout in, the current one and v1.9 out. */
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
    OTLP_MAX_BYTES = 2147483647, /* of one message, as protobuf itself */
};

typedef struct otlp_decode_opts {
    layout layout; /* LAYOUT_UNKNOWN: find out */
    bool lenient;  /* keep indices outside their tables and strrefs: model.checked = false */
    simd_mode simd;
    ledger *ledger;          /* what could not be carried; may be NULL */
    layout_verdict *verdict; /* filled when not NULL */
    bool brief;              /* nobody reads the verdict's texts */
} otlp_decode_opts;

/* Decodes one ProfilesData or ExportProfilesServiceRequest.  Strings stay views into p.  `o` may be
 * NULL for the defaults.  Memory comes from `a` (its budget is the limit): a multiple of n whatever
 * the bytes claim.  The worst that two bytes can ask for is an empty table entry (48 times n) or an
 * empty Profile (256 times); tests/unit/wire/test_memory.c has the list.
 * ERR_MALFORMED with byte and path; ERR_LIMIT at a limit or the budget. */
NODISCARD bool otlp_decode(const void *p, size_t n, const otlp_decode_opts *o, arena *a, model *out,
                           err *e);

/* A message may be written in pieces: its profiles, some at a time, and then the dictionary that all of them refer to.  The bytes of
 * the pieces, one after the other, are the message. */
typedef enum otlp_part {
    OTLP_PART_ALL,
    OTLP_PART_PROFILES, /* resource_profiles; of the model's dictionary only attr_refs is used, without string_refs */
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

/* Encodes a checked model: ascending fields, packed, defaults left out.  Appends to `out`. */
NODISCARD bool otlp_encode(const model *m, const otlp_encode_opts *o, buf *out, err *e);

/* ExportProfilesServiceResponse. */
typedef struct otlp_response {
    bool partial; /* partial_success is present */
    int64_t rejected_profiles;
    str error_message; /* view into the input */
} otlp_response;

NODISCARD bool otlp_response_decode(const void *p, size_t n, otlp_response *out, err *e);

/* Finds the first thing wrong with the bytes under this layout and puts sentence, byte and path
 * into `e` (false); true when the shape is right.  `ranges`: indices and UTF-8 too.  Walks by the
 * schema tables: slow, for errors. */
bool otlp_locate(const void *p, size_t n, layout l, bool ranges, err *e);
