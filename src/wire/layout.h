/* wire/layout.h - the released layouts of the OTLP profiles messages, named after the release of
 * opentelemetry-proto that introduced them.  v1.3 is OTEP 0239; v1.11 changed no field of v1.10. */
#pragma once
#include "base/str.h"

typedef enum layout {
    LAYOUT_UNKNOWN,
    LAYOUT_1_3,
    LAYOUT_1_4,
    LAYOUT_1_5,
    LAYOUT_1_6,
    LAYOUT_1_7,
    LAYOUT_1_8,
    LAYOUT_1_9,
    LAYOUT_1_10,
    LAYOUT_COUNT,
    LAYOUT_CURRENT = LAYOUT_1_10
} layout;

const char *layout_name(layout l); /* "1.9"; "unknown" */
layout layout_from_name(str name); /* "1.9", "v1.9", "1.11" (= 1.10), "current"; else UNKNOWN */

/* ---- detection (docs/spec/layouts.md, "Detection") ---- */

typedef enum layout_confidence {
    LAYOUT_FORCED,    /* the caller named the layout */
    LAYOUT_UNIQUE,    /* one layout fits the shape and the ranges */
    LAYOUT_TIE_EQUAL, /* several fit, and the fields present mean the same; the newest is used */
    LAYOUT_TIE_RULE,  /* several fit; a tie rule decided */
    LAYOUT_AMBIGUOUS, /* several fit and would decode differently; the newest is used */
    LAYOUT_NONE,      /* none fits: `layout` is the one with the most known fields */
} layout_confidence;

typedef struct layout_verdict {
    layout layout;
    layout_confidence confidence;
    uint32_t fits;      /* bit (1 << layout) for each layout that fits */
    char evidence[200]; /* the reason, one line of text */
    char against[200];  /* LAYOUT_NONE: first violation (path, field, wire type), else "" */
} layout_verdict;

const char *layout_confidence_name(layout_confidence c);

/* Finds the layout of p[0..n), a ProfilesData or export request in protobuf.  Never fails:
 * malformed bytes and other formats give LAYOUT_NONE with the reason.  The walk for each candidate
 * reads at most LAYOUT_PROBE_BYTES; the decoder checks the rest. */
enum { LAYOUT_PROBE_BYTES = 4 << 20 };
void layout_detect(const void *p, size_t n, layout_verdict *v);
/* Finds the same layout, but may leave `evidence` and `against` empty, because formatting them is
 * most of the cost. */
void layout_detect_brief(const void *p, size_t n, layout_verdict *v);
