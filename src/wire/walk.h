/* wire/walk.h - walks protobuf bytes by the schema and passes each field to an emitter.
 *
 * The emitter receives messages by proto3's semantics, not in wire order: fields in the order of
 * the schema, all elements of a list together (even if they are interleaved, split or unpacked on
 * the wire), repeated submessages merged, the last value of a oneof or scalar, no defaults of
 * fields without presence, no unknown fields.  The walk allocates only to merge. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "wire/schema.h"

enum {
    WALK_FLUSH = 64 * 1024,      /* bytes of output before `write` is called */
    WALK_MERGE_BYTES = 64 << 20, /* bytes that may be copied at a time to merge messages */
};

/* One scalar, by the type of its field. */
typedef union walk_value {
    int64_t i;  /* FT_INT32, FT_INT64, FT_ENUM */
    uint64_t u; /* FT_UINT32, FT_UINT64, FT_FIXED64, FT_BOOL */
    double d;   /* FT_DOUBLE */
    str s;      /* FT_STRING (UTF-8, checked), FT_BYTES: a view into the input */
} walk_value;

typedef struct emitter emitter;

/* Calls nest: message ... message_end, list ... list_end.  A repeated field comes as one list, with
 * messages or scalars of that same field in it.  The field of the outermost message is NULL. */
typedef struct emitter_ops {
    void (*message)(emitter *to, const field_desc *f);
    void (*message_end)(emitter *to, const field_desc *f);
    void (*list)(emitter *to, const field_desc *f);
    void (*list_end)(emitter *to, const field_desc *f);
    void (*scalar)(emitter *to, const field_desc *f, const walk_value *v);
} emitter_ops;

struct emitter {
    const emitter_ops *ops;
    buf *out;
    bool (*write)(void *ctx, str text, err *e); /* receives the output; NULL: it stays in `out` */
    void *ctx;
};

/* Walks p[0..n).  Fails with ERR_MALFORMED, byte and path, with ERR_LIMIT when values nest too
 * deeply or a merge is too large, or with the error of `write`. */
NODISCARD bool walk_message(const void *p, size_t n, const message_desc *root, emitter *to, err *e);
