/* wire/dump.h - protobuf bytes as text for people: what `kiln cat` prints.  Pure. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "wire/layout.h"
#include "wire/schema.h"

typedef enum dump_format {
    DUMP_YAML, /* YAML 1.2, names as in the schema, ids in hex, other bytes !!binary */
    DUMP_JSON, /* OTLP/JSON, indented */
    DUMP_TEXT, /* as protoc --decode prints and protoc --encode reads; enums as numbers */
} dump_format;

typedef struct dump_opts {
    dump_format format;
    bool (*write)(void *ctx, str text,
                  err *e); /* takes text as it comes (64 KiB); NULL: to the buf */
    void *ctx;
} dump_opts;

/* p[0..n) of layout l, appended to `out`.  ERR_MALFORMED with byte and path, after the text of what
 * came before; ERR_LIMIT when `out` is full. */
NODISCARD bool dump_pb(const void *p, size_t n, layout l, const dump_opts *o, buf *out, err *e);
NODISCARD bool dump_message(const void *p, size_t n, const message_desc *root, const dump_opts *o,
                            buf *out, err *e);

dump_format dump_format_from_name(str name, bool *known); /* "yaml", "json", "text" */
