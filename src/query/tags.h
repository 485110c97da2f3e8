/* query/tags.h - attributes of samples as text, like labels of pprof.  Pure. */
#pragma once
#include "base/err.h"
#include "model/model.h"

/* Caches the text of every attribute and link. */
typedef struct tag_texts {
    const model *m;
    arena *a;
    str *text;         /* by attribute; p == NULL: not computed yet */
    str *trace, *span; /* by link */
} tag_texts;

NODISCARD bool tag_texts_init(tag_texts *t, const model *m, arena *a, err *e);

/* Returns the values of `key` on a sample: strings, then numbers with their units, joined by
 * commas; "" when there are none.  The keys trace_id and span_id refer to its link. */
NODISCARD bool tag_text(tag_texts *t, const sample *s, str key, str *out, err *e);

/* Returns the value of one attribute. */
NODISCARD bool tag_text_of(tag_texts *t, uint32_t attr, str *out, err *e);
