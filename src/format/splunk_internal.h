/* format/splunk_internal.h - the parts of the reader and the writer.
 *
 *   logs      the envelope: LogRecord in and out
 *   pprof     a body's pprof as pprof.h reads it, and back to what agents send
 *   import    stacks, attributes and links of one model in the tables of another
 *   text      one call stack (splunk.h) */
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
    str severity_text, name, event_name; /* name: field 4 of before 2022 */
    str trace_id, span_id;               /* as they stand */
    any body;
    keyvalues attrs;
    uint64_t n_unknown;
} splunk_record;

/* Strings view the bytes; lists are the arena's. */
NODISCARD bool splunk_record_read(pb_cur c, arena *a, splunk_record *out);
void splunk_record_put(buf *out, uint32_t number, const splunk_record *r);
void splunk_put_any(buf *out, uint32_t number, const any *v);
void splunk_put_keyvalues(buf *out, uint32_t number, const keyvalues *kv);

/* The resource and the scope of logs are those of profiles. */
NODISCARD bool splunk_resource_read(pb_cur c, arena *a, resource *out);
NODISCARD bool splunk_scope_read(pb_cur c, arena *a, scope *out);
void splunk_resource_put(buf *out, uint32_t number, const resource *r);
void splunk_scope_put(buf *out, uint32_t number, const scope *s);

const any *splunk_attr(const keyvalues *kv, str key); /* NULL: none */
str splunk_attr_text(const keyvalues *kv, str key);   /* "": none, or no text */
static inline any any_of_str(str s)
{
    return (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p};
}
static inline any any_of_int(int64_t i) { return (any){.kind = ANY_INT, .i = i}; }

/* ---- pprof ---- */

/* The pprof of a body: agents send samples without types and without values, and a string table
 * that begins with text (C-5).  *out has a type, a value for each in every sample (`fill` where
 * there was none) and "" first.  `typed`: the message had types of its own. */
NODISCARD bool splunk_pprof_normalize(str bytes, bool allocation, buf *out, bool *typed, err *e);

/* The other way: a message without types, and with `values` or without. */
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
    uint64_t unknown_lines; /* negative: not known */
    bool unbroken;          /* change nothing: for the writer */
} splunk_import;

/* Indices of the other model; 0 when out of memory, which `to` remembers. */
uint32_t splunk_import_stack(splunk_import *x, uint32_t stack);
uint32_t splunk_import_attr(splunk_import *x, uint32_t attr);
uint32_t splunk_import_link(splunk_import *x, uint32_t link);
uint32_t splunk_import_string(splunk_import *x, uint32_t string);

/* ---- read and write ---- */

NODISCARD bool splunk_read_logs(str bytes, bool hex_ids, const read_opts *o, arena *a, model *out,
                                err *e);
