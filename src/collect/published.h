/* collect/published.h - the resource and the attribute names that a program publishes about itself (OTEP 4719).
 *
 * A program publishes when it likes, and publishes again for a new attribute name, so a reader outside has to poll. */
#pragma once
#include "ctx/process_context.h"

typedef struct published {
    process_context context;
    bool has;
    arena mem; /* of context */
} published;

/* Reads the context at this address.  When it cannot be read, *u stays as it was. */
void published_read(published *u, uint32_t pid, uint64_t address);

/* Reads it again when the program has changed it: 32 bytes when it has not. */
void published_refresh(published *u, uint32_t pid);

/* Does each of the attributes ({u8 key, u8 length, text} each) have a name? */
bool published_names(const published *u, const uint8_t *attrs, size_t n);

void published_free(published *u);
