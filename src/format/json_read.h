/* format/json_read.h - what the readers of JSON profiles share: parts of the input that are read
 * later, exact decimal numbers, and which profile format a JSON text is.  Pure.
 *
 * JSON objects have no order, and a profile's samples may come before the tables they refer to.  A
 * part that cannot be read yet is kept as a slice of the input and opened when its time has come:
 * no tree is ever built. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "wire/json.h"

typedef struct json_slice {
    str bytes;   /* the text of one value; n = 0: there is none */
    uint64_t at; /* its first byte in the input */
} json_slice;

/* The value that comes next, checked and skipped; j must look at the whole input. */
NODISCARD bool json_take_slice(json *j, json_slice *out);
/* A reader of a slice; its errors have the byte in the input. */
json json_open_slice(json_slice s, arena *a, err *e);
/* As a reader of all bytes; a byte order mark is skipped. */
json json_open_text(str bytes, arena *a, err *e);

/* while (json_key(j)) ...: the keys of the object that was just entered; false at its end. */
static inline bool json_key(json *j) { return json_next(j) == JSON_KEY; }
/* while (json_element(j)) ...: first tokens of the elements of an array. */
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
/* The next token must be {, [ or the beginning of text. */
NODISCARD bool json_want_object(json *j);
NODISCARD bool json_want_array(json *j);

/* ---- numbers ---- */

typedef __int128 wide;

/* The token just taken (a number, or a string that holds one) times 10^scale, cut to an integer
 * towards zero; *exact says whether nothing was cut.  Fails beyond about 38 digits. */
NODISCARD bool json_to_wide(json *j, int scale, wide *v, bool *exact);

/* The same, rounded half to even, in 64 bits.  *rounded is set (never cleared) when it had to be. */
NODISCARD bool json_to_scaled(json *j, int scale, int64_t *v, bool *rounded);

/* v / 10^digits, rounded half to even. */
wide wide_round(wide v, int digits);

/* ---- which format ---- */

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
        64 *
        1024, /* bytes that are looked at, of the text and of each value of its outermost object */
    JSON_KIND_SURE = 96, /* above OTLP/JSON, which looks for words anywhere */
};

json_kind json_kind_of(str bytes);
