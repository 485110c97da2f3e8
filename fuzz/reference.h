/* fuzz/reference.h - a slow reference decoder of OTLP protobuf. It reads a message into a tree by
 * the schema, with proto3's rules for merging, and writes it in canonical form. It shares no code
 * with the hot decoder. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "wire/layout.h"

/* Writes the message p[0..n) of layout l (v1.9 or v1.10) as otlp_encode would: fields ascending,
 * lists packed; defaults, all-zero ids and empty singular messages omitted; string references
 * resolved; missing tables with their zero entry. Returns false when the bytes or an index break a
 * rule that the decoder enforces. */
bool reference_canonical(const void *p, size_t n, layout l, arena *a, buf *out);
