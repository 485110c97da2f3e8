/* kiln/span.h - publishes the current span of each thread for profilers.
 *
 * C11, C++11 and FFI; link with `pkg-config --cflags --libs kiln-span`.  docs/span.md is the guide,
 * examples/spans.c a complete program.
 *
 *     kiln_span_scope s;
 *     kiln_span_enter(&s, trace_id, span_id, KILN_SPAN_SAMPLED);
 *     kiln_span_attr(route, "/cart", 5);            // int route = kiln_span_key("http.route");
 *     ...
 *     kiln_span_exit(&s);                           // restores the previous context
 *
 * The TLS variable otel_thread_ctx_v1 points to the context of the calling thread, as OTEP 4947
 * specifies, so that any profiler inside or outside the process finds it: Kiln's agent, `kiln ctx
 * PID`, an eBPF profiler.  kiln_span_publish publishes the resource of the process (OTEP 4719).
 *
 * Cost.  Enter, exit and attributes write a few bytes of thread-local memory: no lock, no system
 *   call, no allocation.  A signal handler may call enter and exit, in pairs, after the thread has
 *   entered a scope outside the handler; it must not call the other functions.
 * Threads.  Only one thread at a time may use a scope or a context.  All functions may be called
 *   from any thread.
 * Errors.  No function aborts, prints, or changes errno unless stated.  Attributes that do not fit
 *   are counted (kiln_span_count). */
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
    KILN_SPAN_RECORD_BYTES = 640, /* size limit of a record in the OTEP */
    KILN_SPAN_ATTR_BYTES = 612,   /* its part for attributes: 2 bytes and the value for each */
    KILN_SPAN_VALUE_BYTES = 255,  /* size limit of one value */
    KILN_SPAN_KEYS = 256          /* limit of attribute names in a process */
};

/* Saved state of a scope; the caller provides the memory until the exit.  The content is
 * private. */
typedef struct kiln_span_scope {
    uint64_t saved[4];
    uint64_t base;
} kiln_span_scope;

/* Sets the span of the calling thread.  Ids are bytes in W3C order; a trace id of 16 zeros means
 * "no span".  Attributes that are already set remain. */
KILN_API void kiln_span_enter(kiln_span_scope *scope, const uint8_t trace_id[16],
                              const uint8_t span_id[8], uint8_t trace_flags);

/* Restores the span and the attributes to those before the matching enter.  Scopes must end in
 * reverse order. */
KILN_API void kiln_span_exit(const kiln_span_scope *scope);

/* ---- attributes ---- */

/* Returns the number of an attribute name; equal names have equal numbers.  Takes a lock and
 * publishes the process context again if it is published: call it once per name and keep the
 * number.  Returns -1 if there are KILN_SPAN_KEYS names already, or the name is empty or too long
 * (counted). */
KILN_API int kiln_span_key(const char *name);

/* Sets an attribute of the calling thread until the innermost scope ends, or permanently without a
 * scope. Within one scope a later value replaces an earlier one.  A value that is too long is
 * truncated between characters (counted).  Returns false and changes nothing if the key is unknown
 * or the record has no room (counted). */
KILN_API bool kiln_span_attr(int key, const char *value, size_t n);

/* ---- tasks that move between threads ---- */

/* The context of a task that no thread is running.  {0} is an empty context. */
typedef struct kiln_span_context {
    uint16_t base;
    uint16_t reserved[3];
    uint64_t record[KILN_SPAN_RECORD_BYTES / 8];
} kiln_span_context;

/* Copies the context of the calling thread, for use by another thread. */
KILN_API void kiln_span_current(kiln_span_context *out);

/* Makes *task the context of the calling thread and stores the previous context in *outer.  If
 * outer is NULL, the previous context is discarded. */
KILN_API void kiln_span_attach(const kiln_span_context *task, kiln_span_context *outer);

/* Stores the context of the calling thread in *task and restores *outer. task is NULL when the task
 * has ended; a NULL outer restores an empty context.  Scopes that are open in the task may be ended
 * by the thread that attaches it next. */
KILN_API void kiln_span_detach(kiln_span_context *task, const kiln_span_context *outer);

/* ---- the process ---- */

typedef struct kiln_span_pair {
    const char *key, *value; /* UTF-8, NUL-terminated, at most 4096 bytes each */
} kiln_span_pair;

typedef struct kiln_span_process {
    size_t size;                 /* sizeof(kiln_span_process) */
    const char *service_name;    /* NULL: OTEL_SERVICE_NAME, else unknown_service:PROGRAM */
    const char *service_version; /* NULL: not set */
    const kiln_span_pair
        *resource; /* more resource attributes; they take precedence over the environment */
    size_t n_resource;
    const kiln_span_pair *attributes; /* of the process, not of its resource */
    size_t n_attributes;
} kiln_span_process;

typedef enum kiln_span_code {
    KILN_SPAN_OK = 0,
    KILN_SPAN_USAGE, /* a key is NULL or empty, or text is not UTF-8 or too long */
    KILN_SPAN_LIMIT, /* the context exceeds 64 KiB */
    KILN_SPAN_TAKEN, /* another library in this process has already published a context */
    KILN_SPAN_SYSTEM /* the kernel supports neither a memfd nor named memory; errno is set */
} kiln_span_code;

/* Publishes the resource of this process for readers outside it (OTEP 4719); a further call
 * replaces it. Everything is copied.  If process is NULL, uses only OTEL_SERVICE_NAME and
 * OTEL_RESOURCE_ATTRIBUTES.  Generates service.instance.id unless it is given.  A forked child does
 * not inherit the context: it must call this function again, and gets another instance id. */
KILN_API kiln_span_code kiln_span_publish(const kiln_span_process *process);

/* Removes the published context. */
KILN_API void kiln_span_unpublish(void);

/* Returns a sentence that describes the code. */
KILN_API const char *kiln_span_code_text(kiln_span_code code);

/* ---- counters ---- */

typedef struct kiln_span_counters {
    size_t size;            /* sizeof(kiln_span_counters) */
    uint64_t attrs_dropped; /* attributes dropped because the record had no room */
    uint64_t attrs_cut;     /* values truncated to KILN_SPAN_VALUE_BYTES */
    uint64_t keys_refused;  /* names rejected by kiln_span_key */
} kiln_span_counters;

KILN_API void kiln_span_count(kiln_span_counters *out);

#ifdef __cplusplus
}

namespace kiln
{
/* A scope that ends with its C++ block. */
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
