/* format/dialect_b.h - parts of the writer of dialect B. */
#pragma once
#include "format/dialect_write.h"

/* Slices of Profile.location_indices, by position in w->stacks. */
typedef struct b_slices {
    span *v;
    u32s indices; /* location_indices: positions in w->locations */
} b_slices;

NODISCARD bool b_slices_of(dw *w, size_t n_samples, b_slices *out);
void b_put_slices(dw *w, const b_slices *s, uint32_t number);

void b_put_tables(dw *w);     /* fields 3 to 6: mapping, location, function, string_table */
void b_gather_units(dw *w);   /* collects the strings of attribute_units */
void b_put_attributes(dw *w); /* fields 16 to 18: attribute_table, attribute_units, link_table */

/* Returns the order in which the profiles p[0..n) become types so that a reader restores their
 * order. Sets *default_type to the name of the default type, or "". s: the scope if p are all its
 * profiles, else NULL. */
const uint32_t *b_type_order(dw *w, const scope *s, const profile *p, size_t n, str *default_type);

/* The reader accepts layout 1.3, or a Profile (also a pprof file) without its container. */
enum { B_DETECT_MOST = 85 }; /* detection score, below that of a pprof file */
unsigned b_detect(str bytes);
bool b_is_current(str bytes); /* whether the Profile is in its container */
bool b_read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
            layout_verdict *verdict, err *e);
