/* query/tags.h - attributes of samples as text: pprof's labels.  Pure. */
#pragma once
#include "base/err.h"
#include "model/model.h"

/* The text of every attribute and link is made once. */
typedef struct tag_texts {
    const model *m;
    arena *a;
    str *text;         /* by attribute; p == NULL: not yet */
    str *trace, *span; /* by link */
} tag_texts;

NODISCARD bool tag_texts_init(tag_texts *t, const model *m, arena *a, err *e);

/* The values of `key` on a sample: strings, then numbers with their units, joined by commas; "" when it has
 * none.  trace_id and span_id are those of its link. */
NODISCARD bool tag_text(tag_texts *t, const sample *s, str key, str *out, err *e);

/* The value of one attribute. */
NODISCARD bool tag_text_of(tag_texts *t, uint32_t attr, str *out, err *e);
