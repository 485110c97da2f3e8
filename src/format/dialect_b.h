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

void b_put_tables(dw *w);     /* mapping, location, function, string_table: 3 to 6 */
void b_gather_units(dw *w);   /* strings of attribute_units */
void b_put_attributes(dw *w); /* attribute_table, attribute_units, link_table: 16 to 18 */

/* Which of the profiles p[0..n) is type 0, 1, ... such that a reader puts them back as they are; and
 * the default type by name, or "".  s: the scope, if p are all its profiles; else NULL. */
const uint32_t *b_type_order(dw *w, const scope *s, const profile *p, size_t n, str *default_type);

/* Reading: layout 1.3, or a Profile (also a pprof file) without its container. */
enum { B_DETECT_MOST = 85 }; /* a pprof file that says so is one */
unsigned b_detect(str bytes);
bool b_is_current(str bytes); /* in its container */
bool b_read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
            layout_verdict *verdict, err *e);
