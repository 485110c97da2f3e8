/* wire/locate.h - the slow walk over a message by the schema tables, which checks every field.
 * otlp_locate.c uses it to find the first error, otlp_filter.c to find every broken profile. */
#pragma once
#include "wire/otlp_filter.h"
#include "wire/pb.h"
#include "wire/schema.h"

typedef struct locator {
    size_t table[TABLE_COUNT];          /* number of entries: so far, or (ranges) in total */
    size_t seen[TABLE_COUNT];           /* ranges: entries walked so far, for the path */
    bool strict;                        /* checks UTF-8 and the length of ids */
    bool ranges;                        /* the second walk: checks indices too */
    const uint8_t *broken[TABLE_COUNT]; /* ranges: flags of the malformed entries; NULL: none */
    otlp_fault fault; /* the violated rule; OTLP_FAULT_WIRE: the bytes are not protobuf */
} locator;

/* Walks one message.  On failure returns false, with message, byte and path in c.e, and sets
 * w->fault. */
bool locate_message(locator *w, const message_desc *m, pb_cur c, unsigned depth);

/* Walks one field of a message.  Adds the walked elements of a packed list to *packed. */
bool locate_field(locator *w, const field_desc *fd, pb_cur *c, const pb_field *f, unsigned depth,
                  size_t *packed);

/* Returns whether the field has the wire type of its schema.  Parsers skip other fields. */
bool locate_takes(const field_desc *fd, const pb_field *f);
