/* format/dialect_a_write.h - writes the tables of dialect A, which `normalized` shares. */
#pragma once
#include "format/dialect_write.h"

void a_gather_stack(dw *w, uint32_t stack_i);
void a_gather_profile(dw *w, const profile *p); /* gathers stacks, links and attribute sets */
void a_put_stacks(dw *w, uint32_t number);
/* Writes mappings as field `first`, then locations, functions, links, attribute sets, strings. */
void a_put_tables(dw *w, uint32_t first);
/* Records the loss of the format of an original payload, for which the draft has no field. */
void a_note_payload(dw *w, const profile *p);
