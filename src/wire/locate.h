/* wire/locate.h - the slow walk over a message by the schema tables that holds every field to the rules.  Shared by
 * otlp_locate.c (finds the first error) and otlp_sift.c (finds every broken profile). */
#pragma once
#include "wire/otlp_sift.h"
#include "wire/pb.h"
#include "wire/schema.h"

typedef struct locator {
    size_t table[TABLE_COUNT]; /* entries seen so far, or (ranges) in all */
    size_t seen[TABLE_COUNT];  /* ranges: entries passed, for the path */
    bool strict;               /* UTF-8 and the length of ids count */
    bool ranges;               /* this is the second walk: indices count too */
    const uint8_t
        *broken[TABLE_COUNT]; /* ranges: flags of entries that may not be referred to; NULL: none */
    otlp_fault fault; /* of the walk that failed; OTLP_FAULT_WIRE: the bytes are not protobuf */
} locator;

/* Walks one message; false with sentence, byte and path in c.e, and w->fault set. */
bool locate_message(locator *w, const message_desc *m, pb_cur c, unsigned depth);

/* Walks one field of a message.  *packed: elements of a packed list that were walked. */
bool locate_field(locator *w, const field_desc *fd, pb_cur *c, const pb_field *f, unsigned depth,
                  size_t *packed);

/* Does the field have a wire type of its schema?  Parsers skip it otherwise. */
bool locate_takes(const field_desc *fd, const pb_field *f);
