/* agent/report.h - KILN_REPORT: counters of captured samples, losses and cost, as JSON
 * (docs/agent.md). */
#pragma once
#include "agent/shipper.h"

typedef struct agent_report {
    uint64_t start, end; /* Unix ns */
    const char *const *advice;
    size_t n_advice;
} agent_report;

/* Appends the report as text. */
void agent_report_print(const shipper *s, const agent_report *r, buf *out);

/* Writes the report to KILN_REPORT, if it is set, completely or not at all. */
NODISCARD bool agent_report_write(const shipper *s, const agent_report *r, err *e);
