/* model/builder.h - builds a model entry by entry.  All tables are interned; entry 0 is the zero
 * value.
 *
 * The same value always gets the same index.  Indices are given in order of first use.  The builder
 * copies strings and bytes into the arena unless `borrow` is set.  Running
 * out of memory sets `failed`, so a caller may check once, at builder_finish.
 *
 *     builder b;
 *     builder_init(&b, &arena);
 *     builder_resource(&b, NULL), builder_scope(&b, NULL);
 *     profile *p = builder_profile(&b);             fill in sample_type and so on
 *     builder_sample(&b, &(sample){.stack = s, .values = v, .n_values = 1});
 *     builder_finish(&b, &model, &e);
 *
 * Scopes are added to the newest resource, profiles to the newest scope, samples to the newest
 * profile, which is the order in which readers find them. */
#pragma once
#include "base/err.h"
#include "base/hash.h"
#include "model/model.h"

typedef struct builder {
    arena *a;
    model m;       /* under construction until builder_finish */
    uint64_t seed; /* seed of the arena */
    bool borrow;   /* strings outlive the model, so views are stored instead of copies */
    bool failed;   /* the budget was reached */
    bool unique;   /* the caller only adds new values: they are neither looked up nor indexed */
    hash_index strings, mappings, locations, functions, links, attributes, stacks;
    u32s stack, link, attr_off, value_off, time_off; /* columns of all samples */
    u64s first_sample;                               /* by profile: its first sample */
    resource lost_resource; /* returned when out of memory, so that callers can write */
    scope lost_scope;
    profile lost_profile;
} builder;

NODISCARD bool builder_init(builder *b, arena *a);

/* Return the index of the value; 0 for the zero value and when out of memory. */
uint32_t builder_string(builder *b, str s);
uint32_t builder_mapping(builder *b, const mapping *m, const uint32_t *attrs, size_t n_attrs);
uint32_t builder_function(builder *b, const function *f);
uint32_t builder_location(builder *b, uint32_t mapping, uint64_t address, const line *lines,
                          size_t n_lines, const uint32_t *attrs, size_t n_attrs);
uint32_t builder_link(builder *b, const uint8_t trace_id[16], const uint8_t span_id[8]);
uint32_t builder_attribute(builder *b, str key, const any *value, str unit);
/* Returns the index of an attribute whose key and unit are already interned. */
uint32_t builder_attribute_at(builder *b, uint32_t key, const any *value, uint32_t unit);
uint32_t builder_stack(builder *b, const uint32_t *locations, size_t n); /* leaf first */

/* Shorthands for builder_attribute. */
uint32_t builder_attribute_str(builder *b, str key, str value);
uint32_t builder_attribute_int(builder *b, str key, int64_t value);
uint32_t builder_attribute_bool(builder *b, str key, bool value);

/* Ends `unique` and indexes all entries, so that further values are interned.  Returns false
 * when out of memory. */
NODISCARD bool builder_index(builder *b);

/* Returns a hash of a value; equal values (any_equal) have equal hashes. */
uint64_t builder_hash_any(const any *v, uint64_t seed);

/* Returns a copy of s that lives as long as the model (s itself if `borrow`).  For the texts of
 * a profile. */
str builder_copy_str(builder *b, str s);

/* Copies a value deeply into the arena (strings too unless `borrow`). */
NODISCARD bool builder_copy_any(builder *b, const any *from, any *to);
NODISCARD bool builder_copy_keyvalues(builder *b, const keyvalues *from, keyvalues *to);

/* Add a resource, scope or profile.  `from` may be NULL for the default; its attributes are
 * copied.  The returned pointer is valid until the next call of the same function. */
resource *builder_resource(builder *b, const resource *from);
scope *builder_scope(builder *b, const scope *from);
profile *builder_profile(builder *b);
/* Sets the attributes of the newest profile, as indices of the attribute table. */
void builder_profile_attrs(builder *b, const uint32_t *attrs, size_t n);

void builder_sample(builder *b, const sample *s);

/* Finishes the model.  ERR_MEMORY if memory ran out before.  The builder must not be used again. */
NODISCARD bool builder_finish(builder *b, model *out, err *e);
