/* server/answer.h - what a question found, before anybody decides how it travels.  Pure.
 *
 *   question ─► answer: names, numbers, texts, columns ─┬► answer_json    docs/query-api.md
 *                                                       └► answer_binary  the same, columns as little-endian arrays
 *
 * Questions put and encoders look: neither knows of the other, and another encoding is another row of answer_encodings.  Columns
 * and texts are not copied: they live as long as the arena that they came from. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/stopper.h"
#include "base/str.h"
#include "model/model.h"

typedef enum answer_kind {
    ANSWER_OBJECT, /* members */
    ANSWER_LIST,   /* elements, without keys */
    ANSWER_BOOL,
    ANSWER_INT,
    ANSWER_UINT,
    ANSWER_REAL,
    ANSWER_TEXT,
    ANSWER_HEX,        /* n bytes as text of hex digits */
    ANSWER_ATTRIBUTES, /* n keyvalues as an object */
    /* columns of n */
    ANSWER_I64S,
    ANSWER_U64S,
    ANSWER_U32S, /* UINT32_MAX is -1: none */
    ANSWER_F64S,
    ANSWER_TEXTS,
} answer_kind;

typedef struct answer_node answer_node;
typedef struct answer answer;

struct answer_node {
    answer *of;
    str key;
    answer_kind kind;
    bool cuts; /* may lose its last elements */
    size_t n;
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double d;
        const void *p; /* a column, text or bytes */
        struct {
            answer_node *first, *last; /* members */
        };
    };
    answer_node *next;
};

struct answer {
    arena *a;
    bool failed;   /* no memory: what was put last is not there */
    stopper *stop; /* of encoding; may be NULL */
    err why;       /* it was given up */
    answer_node root, spare;
};

/* An empty object as the root. */
void answer_init(answer *w, arena *a);

/* Members of an object (key) or elements of a list (key NULL).  Without memory they set `failed` and give a node that goes
 * nowhere. */
answer_node *answer_object(answer_node *in, const char *key);
answer_node *answer_list(answer_node *in, const char *key);
void answer_bool(answer_node *in, const char *key, bool v);
void answer_i64(answer_node *in, const char *key, int64_t v);
void answer_u64(answer_node *in, const char *key, uint64_t v);
void answer_f64(answer_node *in, const char *key, double v);
void answer_text(answer_node *in, const char *key, str v);
void answer_hex(answer_node *in, const char *key, const uint8_t *p, size_t n);
void answer_attributes(answer_node *in, const char *key, const keyvalue *v, size_t n);
void answer_i64s(answer_node *in, const char *key, const int64_t *v, size_t n);
void answer_u64s(answer_node *in, const char *key, const uint64_t *v, size_t n);
void answer_u32s(answer_node *in, const char *key, const uint32_t *v, size_t n);
void answer_f64s(answer_node *in, const char *key, const double *v, size_t n);
void answer_texts(answer_node *in, const char *key, const str *v, size_t n);

/* A list, or an object of columns, whose end matters least: answer_shorten may take it.  All of them are as long as the longest,
 * or shorter, together. */
void answer_may_cut(answer_node *x);
/* Halves what may be cut; *left: of the longest.  false: there is nothing left to cut. */
bool answer_shorten(answer *w, size_t *left);
/* Takes the members behind `last` off an object. */
void answer_drop_after(answer_node *in, answer_node *last);

/* ---- encodings ---- */

/* Before a node is put; false: it is given up, and x->of->why says why. */
bool answer_goes_on(const answer_node *x);

/* Puts the whole answer; out->limit is its budget.  ERR_LIMIT. */
typedef bool answer_encode(const answer *w, buf *out, err *e);
bool answer_json(const answer *w, buf *out, err *e);
bool answer_binary(const answer *w, buf *out, err *e);

typedef struct answer_encoding {
    const char *name; /* ?encoding= */
    const char *type; /* of the body, and in Accept */
    answer_encode *encode;
} answer_encoding;

extern const answer_encoding answer_encodings[];
enum { ANSWER_ENCODINGS = 2 };
