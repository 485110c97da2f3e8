/* format/dialect_a_write.h - tables of dialect A, which `normalized` shares. */
#pragma once
#include "format/dialect_write.h"

void a_gather_stack(dw *w, uint32_t stack_i);
void a_gather_profile(dw *w,
                      const profile *p); /* stacks, links and attribute sets of its samples */
void a_put_stacks(dw *w, uint32_t number);
/* Mappings as field `first`, then locations, functions, links, attribute sets and strings. */
void a_put_tables(dw *w, uint32_t first);
/* The draft has no field for the format of an original payload. */
void a_note_payload(dw *w, const profile *p);
