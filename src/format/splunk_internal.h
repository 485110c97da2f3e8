/* format/splunk_internal.h - helpers that the Splunk reader and writer share.
 *
 *   logs      reads and writes LogRecord, resource and scope
 *   pprof     converts a body's pprof to what pprof.h reads, and back to what agents send
 *   import    copies stacks, attributes and links from one model to another
 *   text      parses and writes one call stack (splunk.h) */
#pragma once
#include "base/hash.h"
#include "format/pprof.h"
#include "format/splunk.h"
#include "model/builder.h"
#include "wire/carried.h"
#include "wire/pb.h"

#define SPLUNK_SCOPE "otel.profiling"
#define SPLUNK_SCOPE_VERSION "0.1.0"
#define SPLUNK_SOURCETYPE "com.splunk.sourcetype"
#define SPLUNK_DATA_FORMAT "profiling.data.format"
#define SPLUNK_DATA_TYPE "profiling.data.type"
#define SPLUNK_FRAME_COUNT "profiling.data.total.frame.count"
#define SPLUNK_SOURCE "profiling.instrumentation.source"
#define SPLUNK_PERIOD "source.event.period"
#define SPLUNK_TIME "source.event.time"
#define SPLUNK_EVENT_NAME "source.event.name"
#define SPLUNK_ALLOCATED "memory.allocated"
#define SPLUNK_TRUNCATED "thread.stack.truncated"
#define SPLUNK_OS_ID "thread.os.id"
#define SPLUNK_PROFILE_ID "profile_id"
#define SPLUNK_PPROF "pprof-gzip-base64"

enum { NS_PER_MS = 1000000 };

/* ---- logs ---- */

typedef struct splunk_record {
    uint64_t time, observed;
    uint64_t severity_number, flags;
    uint32_t dropped;
    str severity_text, name, event_name; /* name: field 4, removed in 2022 */
    str trace_id, span_id;               /* as read */
    any body;
    keyvalues attrs;
    uint64_t n_unknown;
} splunk_record;

/* Reads a LogRecord. Strings are views of the bytes; the arena owns the lists. */
NODISCARD bool splunk_record_read(pb_cur c, arena *a, splunk_record *out);
void splunk_record_put(buf *out, uint32_t number, const splunk_record *r);
void splunk_put_any(buf *out, uint32_t number, const any *v);
void splunk_put_keyvalues(buf *out, uint32_t number, const keyvalues *kv);

/* Logs and profiles have the same resource and scope messages. */
NODISCARD bool splunk_resource_read(pb_cur c, arena *a, resource *out);
NODISCARD bool splunk_scope_read(pb_cur c, arena *a, scope *out);
void splunk_resource_put(buf *out, uint32_t number, const resource *r);
void splunk_scope_put(buf *out, uint32_t number, const scope *s);

const any *splunk_attr(const keyvalues *kv, str key); /* NULL: none */
str splunk_attr_text(const keyvalues *kv, str key);   /* "": none, or not text */
static inline any any_of_str(str s)
{
    return (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p};
}
static inline any any_of_int(int64_t i) { return (any){.kind = ANY_INT, .i = i}; }

/* ---- pprof ---- */

/* Normalizes the pprof of a body: agents send samples without types and without values, and a
 * string table whose first entry is not empty (C-5). *out has a type, one value per type in every
 * sample (a default where there was none) and "" first. Sets *typed to whether the message has its
 * own types. */
NODISCARD bool splunk_pprof_normalize(str bytes, bool allocation, buf *out, bool *typed, err *e);

/* Converts standard pprof back to the form of agents: without types, and without values unless
 * `values` is set. */
NODISCARD bool splunk_pprof_bare(str bytes, bool values, buf *out, err *e);

/* ---- import ---- */

typedef struct splunk_map {
    hash_index index;
    VEC(uint64_t) pairs; /* from << 32 | to */
} splunk_map;

typedef struct splunk_import {
    const model *from;
    builder *to;
    splunk_map stacks, locations, attrs;
    u32s frames, refs; /* scratch */
    VEC(line) lines;
    uint64_t cut;           /* frames beyond SPLUNK_MAX_FRAMES */
    uint64_t unknown_lines; /* number of negative lines, which mean unknown */
    bool exact;             /* for the writer: keep all frames and lines unchanged */
} splunk_import;

/* Return the index in the target model, or 0 when out of memory (`to` stores the error). */
uint32_t splunk_import_stack(splunk_import *x, uint32_t stack);
uint32_t splunk_import_attr(splunk_import *x, uint32_t attr);
uint32_t splunk_import_link(splunk_import *x, uint32_t link);
uint32_t splunk_import_string(splunk_import *x, uint32_t string);

/* ---- read and write ---- */

NODISCARD bool splunk_read_logs(str bytes, bool hex_ids, const read_opts *o, arena *a, model *out,
                                err *e);
