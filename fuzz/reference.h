/* fuzz/reference.h - the meaning of OTLP protobuf bytes, slowly: a tree by the schema tables with
 * proto3's rules for merging, written back in one spelling.  Shares nothing with the hot decoder. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "wire/layout.h"

/* The message p[0..n) of layout l (v1.9 or v1.10) as otlp_encode would write it: fields ascending,
 * lists packed, defaults, all-zero ids and empty singular messages left out, string references
 * resolved, missing tables with their zero entry.  False when the bytes or an index in them break a
 * rule that the decoder holds. */
bool reference_canonical(const void *p, size_t n, layout l, arena *a, buf *out);
