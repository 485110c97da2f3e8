/* agent/shipper.h - delivers captured samples: batch, model, names, bytes, receiver or file.
 *
 *   capture_take ─► profiles_make ─► symbolize ─► otlp_encode      ─► exporter
 *                                             │   splunk_write_logs ─► exporter (250 records a request)
 *                                             └── files_put
 *
 * Belongs to the agent's shipper thread; nothing here runs in a thread of the program. */
#pragma once
#include "agent/config.h"
#include "agent/files.h"
#include "agent/heap_rows.h"
#include "agent/images.h"
#include "agent/resource.h"
#include "otlp/exporter.h"
#include "symbol/symbolize.h"

enum {
    SHIPPER_RECORDS = 250,           /* log records per request (docs/splunk.md) */
    SHIPPER_REQUEST_BYTES = 1 << 20, /* bytes per request of log records: receivers accept 4 MiB */
    SHIPPER_QUEUE_BYTES = 4 << 20,   /* maximum of bytes queued for the receiver */
    SHIPPER_INDEX_BYTES = 8 << 20,   /* memory to build the index of one binary */
    /* maximum size of debug information to read per binary; larger ones give names only */
    SHIPPER_DEBUG_BYTES = 2 << 20,
    SHIPPER_FLUSH_BYTES = 24 << 20, /* memory for the models of one flush */
};

typedef struct shipper {
    const agent_config *c;
    otlp_config net; /* the receiver, unless KILN_EXPORT=file */
    bool has_net;    /* `net` is set: a forked child keeps its parent's settings (S-06) */
    arena settings;  /* holds `net`, the resource and its facts */
    resource_facts facts;
    images images;
    heap_past heap_past;
    const heap_for_agent *heap; /* NULL: the heap library is not loaded */
    exporter *exporter;         /* opened for the first batch */
    files files;
    module_cache modules;
    void (*warn)(void *ctx, const char *text);
    void (*own_thread)(void *ctx); /* called first in the exporter's thread */
    void *ctx;

    /* for the report */
    uint64_t report_number; /* for %n in KILN_REPORT */
    otlp_counts counts;     /* set when the exporter is closed */
    uint64_t n_locations, n_found, n_flushes, n_failed;
    size_t peak; /* largest size of a batch, its model and the list of mappings */
} shipper;

/* Reads the settings through `env`, once (S-06); opens no connection and starts no thread. */
NODISCARD bool shipper_open(shipper *s, const agent_config *c, const otlp_environment *env, err *e);

/* Reads the mappings now, because an object was loaded or unloaded. */
void shipper_read_mappings(shipper *s);

/* Takes the captured samples and delivers them, if there are any. */
void shipper_flush(shipper *s, bool final);

/* Waits until everything is delivered, at most timeout_ns. */
void shipper_wait(shipper *s, uint64_t timeout_ns);

otlp_counts shipper_counts(const shipper *s);

/* Delivers what it can within timeout_ns and closes the exporter. */
void shipper_close(shipper *s, uint64_t timeout_ns);

/* Called in the child of a fork: closes the parent's connection and spool, and leaves everything
 * else unchanged. */
void shipper_forked(shipper *s);
