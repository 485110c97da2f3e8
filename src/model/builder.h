/* model/builder.h - makes a model entry by entry: every table interned, entry 0 the zero value.
 *
 * The same value always gets the same index; order is first use.  Strings and bytes are copied into
 * the arena unless `borrow` is set.  Functions that can run out of memory return false and remember
 * it: a caller may check once, at builder_finish.
 *
 *     builder b;
 *     builder_init(&b, &arena);
 *     builder_resource(&b, NULL), builder_scope(&b, NULL);
 *     profile *p = builder_profile(&b);             fill in sample_type and so on
 *     builder_sample(&b, &(sample){.stack = s, .values = v, .n_values = 1});
 *     builder_finish(&b, &model, &e);
 *
 * Scopes are added to the newest resource, profiles to the newest scope, samples to the newest
 * profile: that is the order every reader meets them in. */
#pragma once
#include "base/err.h"
#include "base/hash.h"
#include "model/model.h"

typedef struct builder {
    arena *a;
    model m;       /* grows; not a model until builder_finish */
    uint64_t seed; /* the arena's */
    bool borrow;   /* strings outlive the model: keep views, copy nothing */
    bool failed;   /* the budget was reached */
    bool unique; /* what is handed in is known to be new: entries are not looked for, nor indexed */
    hash_index strings, mappings, locations, functions, links, attributes, stacks;
    u32s stack, link, attr_off, value_off, time_off; /* columns of all samples */
    u64s first_sample;                               /* per profile */
    resource lost_resource;                          /* out of memory: callers may still write */
    scope lost_scope;
    profile lost_profile;
} builder;

NODISCARD bool builder_init(builder *b, arena *a);

/* Interners: the index of the value; 0 for the zero value (and when out of memory). */
uint32_t builder_string(builder *b, str s);
uint32_t builder_mapping(builder *b, const mapping *m, const uint32_t *attrs, size_t n_attrs);
uint32_t builder_function(builder *b, const function *f);
uint32_t builder_location(builder *b, uint32_t mapping, uint64_t address, const line *lines,
                          size_t n_lines, const uint32_t *attrs, size_t n_attrs);
uint32_t builder_link(builder *b, const uint8_t trace_id[16], const uint8_t span_id[8]);
uint32_t builder_attribute(builder *b, str key, const any *value, str unit);
/* The same of strings that are in the builder already. */
uint32_t builder_attribute_at(builder *b, uint32_t key, const any *value, uint32_t unit);
uint32_t builder_stack(builder *b, const uint32_t *locations, size_t n); /* leaf first */

/* Shorthands for builder_attribute. */
uint32_t builder_attribute_str(builder *b, str key, str value);
uint32_t builder_attribute_int(builder *b, str key, int64_t value);
uint32_t builder_attribute_bool(builder *b, str key, bool value);

/* Ends `unique`: what was handed in is indexed, so that what comes now can be found to be the same.  false at the budget. */
NODISCARD bool builder_index(builder *b);

/* Equal values (any_equal) have equal hashes. */
uint64_t builder_hash_any(const any *v, uint64_t seed);

/* s in memory that lives as long as the model (s itself if `borrow`): for the texts of a profile. */
str builder_copy_str(builder *b, str s);

/* Deep copy of a value into the arena (strings too unless `borrow`). */
NODISCARD bool builder_copy_any(builder *b, const any *from, any *to);
NODISCARD bool builder_copy_keyvalues(builder *b, const keyvalues *from, keyvalues *to);

/* The envelope.  `from` may be NULL (all default); its attributes are copied.  The returned pointers
 * live until the next call of the same function. */
resource *builder_resource(builder *b, const resource *from);
scope *builder_scope(builder *b, const scope *from);
profile *builder_profile(builder *b);
/* Attributes of the newest profile (indices of the attribute table). */
void builder_profile_attrs(builder *b, const uint32_t *attrs, size_t n);

void builder_sample(builder *b, const sample *s);

/* Hands the model out; ERR_LIMIT if memory ran out on the way.  The builder is used up. */
NODISCARD bool builder_finish(builder *b, model *out, err *e);
