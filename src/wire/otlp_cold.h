/* wire/otlp_cold.h - reads resources, scopes and attributes with the checked cursor: they are a small
 * part of a message. */
#pragma once
#include "wire/otlp_hot.h"
#include "wire/pb.h"

/* Reads the message at c into *out.  If a singular message occurs twice, the second is merged into
 * the first. */
NODISCARD bool otlp_decode_resource(hot *h, pb_cur c, resource *out);
NODISCARD bool otlp_decode_scope(hot *h, pb_cur c, scope *out);
NODISCARD bool otlp_decode_value_type(hot *h, pb_cur c, value_type *out, uint64_t *temporality);

/* Replaces string references by the strings.  All indices must have been checked. */
void otlp_resolve_refs(model *m);
