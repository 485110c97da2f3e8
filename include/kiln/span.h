/* kiln/span.h - what a thread is working on, for whoever profiles it.
 *
 * C11, C++11 and FFI; link with `pkg-config --cflags --libs kiln-span`.  docs/span.md is the tour,
 * examples/spans.c a whole program.
 *
 *     kiln_span_scope s;
 *     kiln_span_enter(&s, trace_id, span_id, KILN_SPAN_SAMPLED);
 *     kiln_span_attr(route, "/cart", 5);            // int route = kiln_span_key("http.route");
 *     ...
 *     kiln_span_exit(&s);                           // what was there before is there again
 *
 * The calling thread's context lies where OpenTelemetry says (OTEP 4947: the TLS variable
 * otel_thread_ctx_v1 points to it), so that any profiler, inside or outside, finds it: Kiln's agent,
 * `kiln ctx PID`, an eBPF profiler.  kiln_span_publish says who the process is (OTEP 4719).
 *
 * Cost.  Enter, exit and attributes write a few bytes of thread-local memory: no lock, no call into
 *   the kernel, no allocation.  Enter and exit may be used in a signal handler, in pairs, once the
 *   thread has entered a scope before; the others may not.
 * Threads.  A scope and a context have one thread at a time; the rest is for any thread.
 * Errors.  Nothing here aborts, prints or touches errno that it does not own.  What did not fit is
 *   counted (kiln_span_count). */
#ifndef KILN_SPAN_H
#define KILN_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef KILN_API
#if defined(__GNUC__)
#define KILN_API __attribute__((visibility("default")))
#else
#define KILN_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- scopes ---- */

enum {
    KILN_SPAN_SAMPLED = 1,        /* W3C trace-flags: the trace is recorded */
    KILN_SPAN_RECORD_BYTES = 640, /* a whole record, as the OTEP bounds it */
    KILN_SPAN_ATTR_BYTES = 612,   /* of it for attributes: 2 bytes and the value each */
    KILN_SPAN_VALUE_BYTES = 255,  /* of one value */
    KILN_SPAN_KEYS = 256          /* names of attributes in a process */
};

/* What a scope covers, until its exit; lives in the caller's frame.  Its content is ours. */
typedef struct kiln_span_scope {
    uint64_t saved[4];
    uint64_t base;
} kiln_span_scope;

/* From here on the calling thread works on this span.  Ids are bytes in W3C order; 16 zeros mean
 * "no span".  Attributes that are set stay in force. */
KILN_API void kiln_span_enter(kiln_span_scope *scope, const uint8_t trace_id[16],
                              const uint8_t span_id[8], uint8_t trace_flags);

/* Puts back what the matching enter found, attributes included.  Scopes end in reverse order. */
KILN_API void kiln_span_exit(const kiln_span_scope *scope);

/* ---- attributes ---- */

/* The number of an attribute's name; the same name gives the same number.  Takes a lock and, once
 * published, publishes again: ask once, keep the number.  -1 when there are KILN_SPAN_KEYS already,
 * or the name is empty or does not fit (counted). */
KILN_API int kiln_span_key(const char *name);

/* Sets an attribute of the thread's context until the innermost scope ends; inside one scope the last
 * value counts.  Without a scope it stays.  A longer value is cut between characters (counted).
 * false: no such key, or no room (counted); what was set before stays as it was. */
KILN_API bool kiln_span_attr(int key, const char *value, size_t n);

/* ---- tasks that move between threads ---- */

/* The context of a task while it is on no thread.  {0} is none. */
typedef struct kiln_span_context {
    uint16_t base;
    uint16_t reserved[3];
    uint64_t record[KILN_SPAN_RECORD_BYTES / 8];
} kiln_span_context;

/* A copy of the calling thread's context, to hand to another one. */
KILN_API void kiln_span_current(kiln_span_context *out);

/* The thread goes on with the task; what was there goes to *outer (NULL: nobody wants it). */
KILN_API void kiln_span_attach(const kiln_span_context *task, kiln_span_context *outer);

/* The task leaves the thread and is kept in *task (NULL: it is over); *outer comes back (NULL:
 * nothing).  Scopes that are open in the task end where it is attached then. */
KILN_API void kiln_span_detach(kiln_span_context *task, const kiln_span_context *outer);

/* ---- the process ---- */

typedef struct kiln_span_pair {
    const char *key, *value; /* UTF-8, terminated, at most 4096 bytes each */
} kiln_span_pair;

typedef struct kiln_span_process {
    size_t size;                 /* sizeof(kiln_span_process) */
    const char *service_name;    /* NULL: OTEL_SERVICE_NAME, else unknown_service:PROGRAM */
    const char *service_version; /* NULL: not said */
    const kiln_span_pair
        *resource; /* more attributes of the resource; they win over the environment */
    size_t n_resource;
    const kiln_span_pair *attributes; /* of the process, not of its resource */
    size_t n_attributes;
} kiln_span_process;

typedef enum kiln_span_code {
    KILN_SPAN_OK = 0,
    KILN_SPAN_USAGE, /* NULL or empty key, text that is no UTF-8 or too long */
    KILN_SPAN_LIMIT, /* all of it takes more than 64 KiB */
    KILN_SPAN_TAKEN, /* somebody else in this process has published already */
    KILN_SPAN_SYSTEM /* the kernel gave neither a memfd nor a name for memory; errno says why */
} kiln_span_code;

/* Says who this process is, so that readers outside can tell (OTEP 4719); again: says it anew.  All is
 * copied.  NULL: by OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES alone.  service.instance.id is made
 * up unless given.  A forked child has published nothing: it calls this again and gets another
 * instance id. */
KILN_API kiln_span_code kiln_span_publish(const kiln_span_process *process);

/* Takes it back. */
KILN_API void kiln_span_unpublish(void);

/* One sentence. */
KILN_API const char *kiln_span_code_text(kiln_span_code code);

/* ---- what was lost ---- */

typedef struct kiln_span_counters {
    size_t size;            /* sizeof(kiln_span_counters) */
    uint64_t attrs_dropped; /* the record had no room */
    uint64_t attrs_cut;     /* longer than KILN_SPAN_VALUE_BYTES */
    uint64_t keys_refused;
} kiln_span_counters;

KILN_API void kiln_span_count(kiln_span_counters *out);

#ifdef __cplusplus
}

namespace kiln
{
/* A scope that ends with its block. */
class span
{
  public:
    span(const uint8_t trace_id[16], const uint8_t span_id[8],
         uint8_t trace_flags = KILN_SPAN_SAMPLED)
    {
        kiln_span_enter(&scope_, trace_id, span_id, trace_flags);
    }
    ~span() { kiln_span_exit(&scope_); }
    span(const span &) = delete;
    span &operator=(const span &) = delete;

  private:
    kiln_span_scope scope_;
};
} // namespace kiln
#endif
#endif
