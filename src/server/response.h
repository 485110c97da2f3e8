/* server/response.h - the result of a query, before it is encoded.  Pure.
 *
 *   query ─► response: names, numbers, texts, columns ─┬► response_json    docs/query-api.md
 *                                                      └► response_binary  the same, columns as
 *                                                                          little-endian arrays
 *
 * Queries build the tree and encoders read it; neither depends on the other.  A new encoding is a
 * new row of response_encodings.  Columns and texts are not copied: they must live as long as the
 * response. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/stopper.h"
#include "base/str.h"
#include "model/model.h"

typedef enum response_kind {
    RESPONSE_OBJECT, /* members */
    RESPONSE_LIST,   /* elements, without keys */
    RESPONSE_BOOL,
    RESPONSE_INT,
    RESPONSE_UINT,
    RESPONSE_REAL,
    RESPONSE_TEXT,
    RESPONSE_HEX,        /* n bytes as text of hex digits */
    RESPONSE_ATTRIBUTES, /* n keyvalues as an object */
    /* columns of n values */
    RESPONSE_I64S,
    RESPONSE_U64S,
    RESPONSE_U32S, /* UINT32_MAX is -1: none */
    RESPONSE_F64S,
    RESPONSE_TEXTS,
} response_kind;

typedef struct response_node response_node;
typedef struct response response;

struct response_node {
    response *of;
    str key;
    response_kind kind;
    bool cuts; /* response_shorten may remove its last elements */
    size_t n;
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double d;
        const void *p; /* a column, text or bytes */
        struct {
            response_node *first, *last; /* members */
        };
    };
    response_node *next;
};

struct response {
    arena *a;
    bool failed;   /* out of memory: values are missing */
    stopper *stop; /* ends encoding early; may be NULL */
    err why;       /* why encoding ended early */
    response_node root, spare;
};

/* Initializes a response with an empty object as the root. */
void response_init(response *w, arena *a);

/* Add a member to an object (key) or an element to a list (key NULL). When out of memory, they set
 * `failed` and return a node that is not part of the response. */
response_node *response_object(response_node *in, const char *key);
response_node *response_list(response_node *in, const char *key);
void response_bool(response_node *in, const char *key, bool v);
void response_i64(response_node *in, const char *key, int64_t v);
void response_u64(response_node *in, const char *key, uint64_t v);
void response_f64(response_node *in, const char *key, double v);
void response_text(response_node *in, const char *key, str v);
void response_hex(response_node *in, const char *key, const uint8_t *p, size_t n);
void response_attributes(response_node *in, const char *key, const keyvalue *v, size_t n);
void response_i64s(response_node *in, const char *key, const int64_t *v, size_t n);
void response_u64s(response_node *in, const char *key, const uint64_t *v, size_t n);
void response_u32s(response_node *in, const char *key, const uint32_t *v, size_t n);
void response_f64s(response_node *in, const char *key, const double *v, size_t n);
void response_texts(response_node *in, const char *key, const str *v, size_t n);

/* Marks a list, or an object of columns, whose end response_shorten may remove. All marked nodes
 * are shortened to the same length. */
void response_may_cut(response_node *x);
/* Halves the marked nodes. Sets *left to the new length of the longest. Returns false when nothing
 * is left to remove. */
bool response_shorten(response *w, size_t *left);
/* Removes the members after `last` from an object. */
void response_drop_after(response_node *in, response_node *last);

/* ---- encodings ---- */

/* Called by encoders before each node. Returns false when encoding must end; x->of->why has the
 * reason. */
bool response_continue(const response_node *x);

/* Appends the whole response. ERR_LIMIT: it does not fit out->limit. */
typedef bool response_encode(const response *w, buf *out, err *e);
bool response_json(const response *w, buf *out, err *e);
bool response_binary(const response *w, buf *out, err *e);

typedef struct response_encoding {
    const char *name; /* ?encoding= */
    const char *type; /* media type */
    response_encode *encode;
} response_encoding;

extern const response_encoding response_encodings[];
enum { RESPONSE_ENCODINGS = 2 };
