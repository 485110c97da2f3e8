/* collect/published.h - the resource and the attribute names that a program publishes (OTEP 4719).
 *
 * A program publishes at any time, and again for each new attribute name, so an external reader has
 * to poll. */
#pragma once
#include "ctx/process_context.h"

typedef struct published {
    process_context context;
    bool has;
    arena mem; /* holds `context` */
} published;

/* Reads the context at this address.  If it cannot be read, *u is unchanged. */
void published_read(published *u, uint32_t pid, uint64_t address);

/* Reads the context again if the program has changed it; otherwise only its header. */
void published_refresh(published *u, uint32_t pid);

/* Returns whether each of the attributes (entries {u8 key, u8 length, text}) has a name. */
bool published_names(const published *u, const uint8_t *attrs, size_t n);

void published_free(published *u);
