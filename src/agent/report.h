/* agent/report.h - KILN_REPORT: what was captured, lost and spent, as JSON (docs/agent.md). */
#pragma once
#include "agent/shipper.h"

typedef struct agent_report {
    uint64_t start, end; /* Unix ns */
    const char *const *advice;
    size_t n_advice;
} agent_report;

/* The text of it. */
void agent_report_print(const shipper *s, const agent_report *r, buf *out);

/* Writes it whole to KILN_REPORT, if that is set. */
NODISCARD bool agent_report_write(const shipper *s, const agent_report *r, err *e);
