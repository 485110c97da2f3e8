/* ctx/thread_context.h - decodes the record of a thread (OTEP 4947) into ids and attributes.  Pure.
 *
 *   0 trace-id | 16 span-id | 24 valid | 25 trace-flags | 26 u16 size | 28 {u8 key, u8 length, text}... */
#pragma once
#include "base/vec.h"
#include "base/err.h"
#include "base/str.h"

enum {
    RECORD_HEADER = 28,
    RECORD_ATTRS_MAX = 4096, /* the OTEP recommends 612; larger records are read up to this size */
};

typedef enum thread_state {
    THREAD_NONE,    /* the thread has no variable, or it does not point to a record */
    THREAD_IDLE,    /* the record is not valid: there is currently no context */
    THREAD_CONTEXT, /* the thread has a context */
    THREAD_FAILED,  /* could not be read; see `why` */
} thread_state;

typedef struct thread_attr {
    uint8_t key;
    str value; /* as stored; UTF-8 if the publisher follows the rules */
} thread_attr;

typedef struct thread_context {
    uint32_t tid;
    str name;
    thread_state state;
    uint64_t address; /* address of the record */
    uint8_t trace_id[16], span_id[8];
    uint8_t trace_flags;
    bool has_ids;
    VEC(thread_attr) attrs; /* one per key, in the order in which they were last set */
    bool cut;               /* the last entry exceeds the size that the record claims */
    str why;
} thread_context;

/* Sets *n_attrs to the size of the attributes.  Returns false when the record is not valid. */
NODISCARD bool record_header(const uint8_t header[RECORD_HEADER], uint16_t *n_attrs);

/* Decodes the whole record, header and attributes (with the size from record_header).  Fails with
 * ERR_MEMORY when the budget is exhausted. */
NODISCARD bool record_decode(const uint8_t *record, size_t n, arena *a, thread_context *out,
                             err *e);
