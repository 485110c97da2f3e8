/* wire/otlp_cold.h - the envelope of a message: resources, scopes, attributes.  Read with the
 * checked cursor; bytes here are few. */
#pragma once
#include "wire/otlp_hot.h"
#include "wire/pb.h"

/* Appends what [c] holds to *out: a singular message may occur twice and is then merged. */
NODISCARD bool otlp_decode_resource(hot *h, pb_cur c, resource *out);
NODISCARD bool otlp_decode_scope(hot *h, pb_cur c, scope *out);
NODISCARD bool otlp_decode_value_type(hot *h, pb_cur c, value_type *out, uint64_t *temporality);

/* Replaces string references by the strings; every index has been checked. */
void otlp_resolve_refs(model *m);
