/* model/importer.h - copies entries of one model's dictionary into a builder, on first use.  Pure.
 *
 * Entries that nothing refers to are never copied: this is how merges drop unused entries.
 * Entries are copied by value, so a model whose entry 0 is not the zero value, or that holds
 * duplicates, is imported correctly. */
#pragma once
#include "model/builder.h"

typedef struct importer {
    builder *to;
    builder *profiles; /* receives the profiles of importer_profile_head; `to` unless changed */
    arena *work;       /* holds the maps */
    const model *m;    /* checked; its profiles are ignored */
    uint32_t *string, *mapping, *function, *location, *link, *attribute,
        *stack;   /* new index + 1; 0: not imported yet */
    u32s scratch; /* filled by importer_attrs */
    VEC(line) lines;
} importer;

/* The model and the builder must outlive the importer.  Returns false when `work` is out of
 * memory. */
NODISCARD bool importer_init(importer *g, builder *to, const model *m, arena *work);

/* Returns the index in the builder of entry i; 0 when out of memory, and then the builder has
 * failed. */
uint32_t importer_string(importer *g, uint32_t i);
uint32_t importer_attribute(importer *g, uint32_t i);
uint32_t importer_link(importer *g, uint32_t i);
uint32_t importer_mapping(importer *g, uint32_t i);
uint32_t importer_location(importer *g, uint32_t i);
uint32_t importer_stack(importer *g, uint32_t i);

/* Imports a list of attributes into g->scratch, which any other call may overwrite.  Returns
 * false when out of memory. */
NODISCARD bool importer_attrs(importer *g, const uint32_t *v, size_t n);

/* Adds a profile to g->profiles: all of p except its samples. */
void importer_profile_head(importer *g, const profile *p);
