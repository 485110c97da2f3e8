/* agent/shipper.h - what was captured, on its way out: batch, model, names, bytes, receiver or file.
 *
 *   capture_take ─► profiles_make ─► symbolize ─► otlp_encode      ─► exporter
 *                                             │   splunk_write_logs ─► exporter (250 records a request)
 *                                             └── files_put
 *
 * Belongs to one thread, the agent's shipper; nothing here runs in a thread of the program. */
#pragma once
#include "agent/config.h"
#include "agent/files.h"
#include "agent/heap_rows.h"
#include "agent/images.h"
#include "agent/resource.h"
#include "otlp/exporter.h"
#include "symbol/symbolize.h"

enum {
    SHIPPER_RECORDS = 250,           /* log records of a request (splunk-profiling.md, section 6) */
    SHIPPER_REQUEST_BYTES = 1 << 20, /* of a request of log records: receivers stop at 4 MiB */
    SHIPPER_QUEUE_BYTES = 4 << 20,   /* that wait for the receiver */
    SHIPPER_INDEX_BYTES = 8 << 20,   /* of memory for making the index of one binary */
    SHIPPER_DEBUG_BYTES = 2 << 20,   /* of debug information that is read; otherwise names alone */
    SHIPPER_FLUSH_BYTES = 24 << 20,  /* of memory for the models of one flush */
};

typedef struct shipper {
    const agent_config *c;
    otlp_config net; /* where to, unless it is a file */
    bool has_net;    /* it was read: a forked child keeps what its parent was told (S-06) */
    arena settings;  /* of `net`, the resource and its facts */
    resource_facts facts;
    images images;
    heap_past heap_past;
    const heap_for_agent *heap; /* NULL: no heap object is loaded */
    exporter *exporter;         /* opened by the first batch */
    files files;
    module_shelf modules;
    void (*say)(void *who, const char *sentence);
    void (*own_thread)(void *who); /* the exporter's thread introduces itself */
    void *who;

    /* for the report */
    uint64_t report_number; /* of KILN_REPORT, where it has %n */
    otlp_counts counts;     /* when the exporter is closed */
    uint64_t n_locations, n_found, n_flushes, n_failed;
    size_t peak; /* bytes of a batch, its model and the list of mappings */
} shipper;

/* Reads where to send; opens no connection and starts no thread.  The settings are read through `env` now
 * and hold until the end (S-06). */
NODISCARD bool shipper_open(shipper *s, const agent_config *c, const otlp_environment *env, err *e);

/* Looks at the mappings now: something was loaded or unloaded. */
void shipper_look(shipper *s);

/* Takes what was captured and hands it on; nothing is sent when there is nothing. */
void shipper_flush(shipper *s, bool final);

/* Waits until what was handed on has arrived, at most so long. */
void shipper_wait(shipper *s, uint64_t timeout_ns);

otlp_counts shipper_counts(const shipper *s);

/* Delivers within the time what can be delivered. */
void shipper_close(shipper *s, uint64_t timeout_ns);

/* In the child of a fork: lets go of the parent's connection and spool.  The rest is left as it is. */
void shipper_forked(shipper *s);
