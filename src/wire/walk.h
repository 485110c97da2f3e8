/* wire/walk.h - the one way through protobuf bytes by the schema; what it meets goes to an emitter.
 *
 * The emitter sees messages as proto3 means them, not as they lie: fields in the order of the
 * schema, all elements of a list together (also when they are interleaved, split or unpacked on the
 * wire), submessages that occur twice merged, the last of a oneof or of a scalar, no defaults
 * without presence, no unknown fields.  Nothing is allocated but for merging. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "wire/schema.h"

enum {
    WALK_FLUSH = 64 * 1024,      /* bytes that may wait in the buf when a sink is set */
    WALK_MERGE_BYTES = 64 << 20, /* copied at one time to merge messages that occur twice */
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
    bool (*write)(void *ctx, str text, err *e); /* takes what waits in out; NULL: all stays there */
    void *ctx;
};

/* Walks p[0..n).  ERR_MALFORMED with byte and path; ERR_LIMIT when out is full or values nest too
 * deeply; what `write` says. */
NODISCARD bool walk_message(const void *p, size_t n, const message_desc *root, emitter *to, err *e);
