/* wire/dump.h - protobuf bytes as readable text, for `kiln cat`.  Pure. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "wire/layout.h"
#include "wire/schema.h"

typedef enum dump_format {
    DUMP_YAML, /* YAML 1.2, names as in the schema, ids in hex, other bytes !!binary */
    DUMP_JSON, /* OTLP/JSON, indented */
    DUMP_TEXT, /* protobuf text format, as protoc --decode prints; enums as numbers */
} dump_format;

typedef struct dump_opts {
    dump_format format;
    bool (*write)(void *ctx, str text,
                  err *e); /* receives pieces of 64 KiB; NULL: the text stays in the buf */
    void *ctx;
} dump_opts;

/* Appends the text of p[0..n), a message of layout l, to `out`.  Fails with ERR_MALFORMED, byte and
 * path; `out` then has the text of the fields before the error.  Fails with ERR_MEMORY when `out`
 * is full. */
NODISCARD bool dump_pb(const void *p, size_t n, layout l, const dump_opts *o, buf *out, err *e);
NODISCARD bool dump_message(const void *p, size_t n, const message_desc *root, const dump_opts *o,
                            buf *out, err *e);

dump_format dump_format_from_name(str name, bool *known); /* "yaml", "json", "text" */
