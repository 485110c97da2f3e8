/* agent/config.h - what the environment asks of the agent (docs/agent.md has the table).
 *
 * Read once, at the start, through a function like getenv; opens nothing.  Pure. */
#pragma once
#include "agent/capture.h"
#include "otlp/config.h"

typedef enum agent_export { EXPORT_OTLP, EXPORT_SPLUNK, EXPORT_FILE } agent_export;

enum {
    AGENT_WALL_MS = 1000,          /* between two rounds of the wall clock (S-10) */
    AGENT_WALL_FLOOR_MS = 10,      /* of SPLUNK_PROFILER_CALL_STACK_INTERVAL */
    AGENT_CPU_HZ = 99,             /* samples a second of CPU time */
    AGENT_HEAP_BYTES = 512 << 10,  /* between two sampled allocations, on average */
    AGENT_UNWIND_BYTES = 64 << 20, /* of compiled unwind tables, at most */
    AGENT_FLUSH_MS = 10000,
    AGENT_EXIT_MS = 2000,
};

typedef struct agent_config {
    bool cpu, wall, heap; /* none: off */
    agent_export to;
    uint32_t cpu_hz;
    cpu_source source;
    uint64_t wall_ns, flush_ns, exit_ns;
    uint64_t heap_bytes, unwind_bytes;
    uint32_t max_frames, file_keep;
    bool symbolize, follow_fork, quiet;
    bool splunk_pprof; /* bodies of log records: pprof-gzip-base64 instead of text */
    /* NULL: not set */
    const char *file, *spool, *exclude, *report;
    const char *logs_endpoint;           /* SPLUNK_PROFILER_LOGS_ENDPOINT */
    const char *service_name, *resource; /* OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES */
} agent_config;

/* Is the agent asked for?  A value that says neither is warned of and means no.  Allocates nothing. */
bool agent_wanted(const otlp_environment *env);

/* The rest; texts are copied into `a`.  A value that makes no sense is warned of and the default holds.
 * ERR_LIMIT: no memory; ERR_USAGE: nothing could be done with it (KILN_EXPORT=file without KILN_FILE). */
NODISCARD bool agent_config_read(const otlp_environment *env, arena *a, agent_config *out, err *e);
