/* wire/json.h - a pull parser for JSON, and a writer of JSON to a buf.  Pure.
 *
 * The reader has a window over the input.  From memory the window is the whole input.  From a
 * source it is the current piece, so that 500 MB need about 1 MB of memory (more only for a token
 * that is longer).
 *
 *     json j = json_open(p, n, &scratch, e);
 *     if (json_next(&j) != JSON_OBJECT) ...
 *     while (json_next(&j) == JSON_KEY) {
 *         if (str_eq(j.text, STR("name")) ...json_next(&j)... else if (!json_skip_value(&j)) break;
 *     }
 *     return json_finish(&j);
 *
 * The reader checks grammar, UTF-8, escapes and nesting (RFC 8259), so the caller receives only
 * valid token sequences.  A failure sets the message and the absolute byte of the error.  Every
 * later call returns JSON_FAIL, so loops end. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/source.h"
#include "base/str.h"

enum {
    JSON_MAX_DEPTH = 128,  /* nested objects and arrays, unless the caller sets max_depth */
    JSON_DEPTH_CAP = 512,  /* upper limit of max_depth */
    JSON_WINDOW = 1 << 20, /* default number of bytes to read from a source at a time */
};

typedef enum json_token {
    JSON_FAIL, /* see the error */
    JSON_END,  /* the value is complete and only spaces follow */
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
} json_token;

/* The tokens that the grammar allows next. */
typedef enum json_expect {
    JSON_EXPECT_VALUE,       /* at the start, after a colon, after a comma of an array */
    JSON_EXPECT_FIRST_VALUE, /* after [ */
    JSON_EXPECT_KEY,         /* after a comma of an object */
    JSON_EXPECT_FIRST_KEY,   /* after { */
    JSON_EXPECT_COLON,       /* after a key */
    JSON_EXPECT_COMMA,       /* after a value in an array or object */
    JSON_EXPECT_NOTHING,     /* after the outermost value */
} json_expect;

typedef struct json {
    /* the token */
    json_token tok;
    str text;    /* key and string: unescaped; number: as written.  Valid until the next token */
    uint64_t at; /* offset of its first byte */

    /* the window */
    const char *p, *end; /* the unread part of the window */
    const char *window;  /* its first byte ... */
    uint64_t base;       /* ... and where that is in the input */
    source *from;        /* NULL: the window is the whole input */
    size_t cap;          /* size of the window, when the reader owns it */
    bool over;           /* `from` is at its end */

    /* the grammar */
    bool bad;       /* failed */
    uint8_t expect; /* json_expect */
    bool in_object;
    uint32_t depth, max_depth;
    uint64_t objects[JSON_DEPTH_CAP / 64]; /* bit d: the container at depth d is an object */

    /* memory for strings with escapes */
    arena *a;
    char *scratch;
    size_t scratch_n, scratch_cap;
    err *e;
} json;

/* Returns a reader of p[0..n), which must outlive it.  Memory for escapes comes from `a`. */
json json_open(const void *p, size_t n, arena *a, err *e);

/* Returns a reader of `from`; window = 0 means JSON_WINDOW.  The window is allocated from `a`. */
json json_open_source(source *from, size_t window, arena *a, err *e);

/* Reads the next token, stores it in j->tok and returns it. */
json_token json_next(json *j);

/* Skips the next value (after a key, in an array). */
NODISCARD bool json_skip_value(json *j);
/* Skips the rest of the value whose first token was read last.  Does nothing for a scalar. */
NODISCARD bool json_skip_open(json *j);

/* After a complete value: returns whether only spaces are left.  Returns false after any
 * failure. */
NODISCARD bool json_finish(json *j);
/* After a complete value: returns whether another one follows (JSON lines), which json_next then
 * reads. */
NODISCARD bool json_another(json *j);

/* Fills the window and skips spaces.  Returns false at the end of the input. */
NODISCARD bool json_window(json *j);

/* Converts the last token: a number, or a string that holds one.  Integers may be written as 1.0 or
 * 1e3 (proto3 JSON); doubles may be the strings NaN, Infinity and -Infinity. */
NODISCARD bool json_to_i64(json *j, int64_t min, int64_t max, int64_t *v);
NODISCARD bool json_to_u64(json *j, uint64_t max, uint64_t *v);
NODISCARD bool json_to_double(json *j, double *v);

/* Fails at the first byte of the token; always returns false. */
bool json_fail(json *j, const char *fmt, ...) PRINTF(2, 3);
/* Fails with "expected <what>, found <token>"; always returns false. */
bool json_expected(json *j, const char *what);
const char *json_token_name(json_token t); /* "an object", "a number" */

/* ---- writing ---- */

typedef struct json_out {
    buf *b;
    bool pretty; /* line breaks, two spaces per level */
    bool filled; /* the open container has an element */
    bool after_key;
    uint32_t depth;
    uint32_t flat_at; /* pretty: containers at this depth and below are on one line; 0: none */
} json_out;

/* The writer adds commas, colons, line breaks and escapes; the caller balances brackets.  The buf's
 * `failed` reports a failure. */
void json_put_object(json_out *o);
void json_put_object_end(json_out *o);
void json_put_array(json_out *o);
void json_put_array_flat(json_out *o); /* on one line, even when pretty */
void json_put_array_end(json_out *o);
void json_put_key(json_out *o, str key);
void json_put_str(json_out *o, str text); /* UTF-8 */
void json_put_i64(json_out *o, int64_t v);
void json_put_u64(json_out *o, uint64_t v);
void json_put_i64_quoted(json_out *o, int64_t v); /* proto3 JSON: 64-bit integers are strings */
void json_put_u64_quoted(json_out *o, uint64_t v);
void json_put_double(json_out *o, double v); /* NaN and infinities as the strings of proto3 JSON */
void json_put_bool(json_out *o, bool v);
void json_put_null(json_out *o);
void json_put_hex(json_out *o, str bytes);    /* a string of lower-case digits */
void json_put_base64(json_out *o, str bytes); /* a string, standard alphabet, padded */

/* Write the escaped text with and without quotes, but no commas; for other writers (YAML). */
void json_quote(buf *b, str text);
void json_escape(buf *b, str text);

/* Writes the shortest decimal text that reads back as v (finite), in any locale, and returns its
 * length. 32 bytes are enough. */
size_t double_text(double v, char *out, size_t n);
