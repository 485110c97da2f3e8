/* agent/config.h - the agent's configuration from the environment (docs/agent.md has the table).
 *
 * It is read once, at the start, through a function like getenv.  Pure. */
#pragma once
#include "agent/capture.h"
#include "otlp/config.h"

typedef enum agent_export { EXPORT_OTLP, EXPORT_SPLUNK, EXPORT_FILE } agent_export;

enum {
    AGENT_WALL_MS = 1000,          /* interval of wall-clock rounds (S-10) */
    AGENT_WALL_FLOOR_MS = 10,      /* minimum of SPLUNK_PROFILER_CALL_STACK_INTERVAL */
    AGENT_CPU_HZ = 99,             /* samples per second of CPU time */
    AGENT_HEAP_BYTES = 512 << 10,  /* mean number of bytes between two sampled allocations */
    AGENT_UNWIND_BYTES = 64 << 20, /* maximum size of compiled unwind tables */
    AGENT_FLUSH_MS = 10000,
    AGENT_EXIT_MS = 2000,
};

typedef struct agent_config {
    bool cpu, wall, heap; /* all false: off */
    agent_export to;
    uint32_t cpu_hz;
    cpu_source source;
    uint64_t wall_ns, flush_ns, exit_ns;
    uint64_t heap_bytes, unwind_bytes;
    uint32_t max_frames, file_keep;
    bool symbolize, follow_fork, quiet;
    bool splunk_pprof; /* log record bodies as pprof-gzip-base64 instead of text */
    /* NULL: not set */
    const char *file, *spool, *exclude, *report;
    const char *logs_endpoint;           /* SPLUNK_PROFILER_LOGS_ENDPOINT */
    const char *service_name, *resource; /* OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES */
} agent_config;

/* Returns whether the environment enables the agent.  Warns about an invalid value and then returns
 * false.  Does not allocate. */
bool agent_wanted(const otlp_environment *env);

/* Reads the other variables; strings are copied into `a`.  Warns about an invalid value and uses
 * the default.  Fails with ERR_MEMORY when out of memory, and with ERR_USAGE when the settings are
 * contradictory (KILN_EXPORT=file without KILN_FILE). */
NODISCARD bool agent_config_read(const otlp_environment *env, arena *a, agent_config *out, err *e);
