/* format/json_read.h - shared parts of the readers of JSON profiles: slices of the input that are
 * read later, exact decimal numbers, and detection of the format of a JSON text. Pure.
 *
 * JSON objects have no order, and a profile's samples may precede the tables that they refer to. A
 * part that cannot be read yet is stored as a slice of the input and opened when its tables are
 * known. No tree is ever built. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "wire/json.h"

typedef struct json_slice {
    str bytes;   /* the text of one value; n = 0: none */
    uint64_t at; /* offset of its first byte in the input */
} json_slice;

/* Checks and skips the next value; sets *out to its text. j must have the whole input in memory. */
NODISCARD bool json_take_slice(json *j, json_slice *out);
/* Opens a slice; errors have offsets in the input. */
json json_open_slice(json_slice s, arena *a, err *e);
/* Opens all bytes; skips a byte order mark. */
json json_open_text(str bytes, arena *a, err *e);

/* Copies the text of the current token into `a`. */
NODISCARD bool json_copy_text(const json *j, arena *a, str *out);
/* Reads the next value: copies a string into `a`, skips anything else and leaves *out as it is. */
NODISCARD bool json_take_text(json *j, arena *a, str *out);

/* while (json_key(j)) ...: iterates over the keys of the object that was just entered. */
static inline bool json_key(json *j) { return json_next(j) == JSON_KEY; }
/* while (json_element(j)) ...: iterates over the elements of an array, by their first tokens. */
static inline bool json_element(json *j)
{
    json_token t = json_next(j);
    return t != JSON_ARRAY_END && t != JSON_FAIL;
}
static inline bool json_is(const json *j, const char *key)
{
    size_t n = strlen(key);
    return j->text.n == n && memcmp(j->text.p, key, n) == 0;
}
/* Require that the next token is {, [ or a string. */
NODISCARD bool json_expect_object(json *j);
NODISCARD bool json_expect_array(json *j);

/* ---- numbers ---- */

typedef __int128 wide;

/* Converts the token just read (a number, or a string that contains one), times 10^scale, to an
 * integer rounded towards zero. Sets *exact to whether this is exact. Fails beyond about 38
 * digits. */
NODISCARD bool json_to_wide(json *j, int scale, wide *v, bool *exact);

/* As json_to_wide, but rounds half to even and requires that the result fits in 64 bits. Sets
 * *rounded (and never clears it) when digits were lost. */
NODISCARD bool json_to_scaled(json *j, int scale, int64_t *v, bool *rounded);

/* Returns v / 10^digits, rounded half to even. */
wide wide_round(wide v, int digits);

/* ---- format detection ---- */

typedef enum json_kind {
    JSON_KIND_OTHER,
    JSON_KIND_CHROME,
    JSON_KIND_SPEEDSCOPE,
    JSON_KIND_CPUPROFILE,
    JSON_KIND_HEAPPROFILE,
    JSON_KIND_GECKO,
} json_kind;

enum {
    JSON_KIND_LOOK =
        64 * 1024, /* limit of bytes read from the text, and from each value of its outer object */
    JSON_KIND_SURE = 96, /* detection score; above OTLP/JSON, which searches for words anywhere */
};

json_kind json_kind_of(str bytes);
