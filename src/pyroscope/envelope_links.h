/* pyroscope/envelope_links.h - sample labels that name a span become links. For envelope.c. */
#pragma once
#include "model/model.h"
#include "pyroscope/labels_snapshot.h"

/* Turns the sample attributes span_id, profile_id (its old name) and trace_id into links, and the
 * contexts of a JFR recording (may be NULL) into attributes and links. A sample that has a link
 * keeps it and its attributes. Returns false when out of memory. */
NODISCARD bool pyro_envelope_links(const labels_snapshot *jfr, model *m, arena *a);
