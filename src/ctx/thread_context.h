/* ctx/thread_context.h - the record of a thread (OTEP 4947): bytes in, ids and attributes out.  Pure.
 *
 *   0 trace-id | 16 span-id | 24 valid | 25 trace-flags | 26 u16 size | 28 {u8 key, u8 length, text}... */
#pragma once
#include "base/vec.h"
#include "base/err.h"
#include "base/str.h"

enum {
    RECORD_HEADER = 28,
    RECORD_ATTRS_MAX = 4096, /* the OTEP recommends 612; more is read, without end is not */
};

typedef enum thread_state {
    THREAD_NONE,    /* no variable in this thread, or it points nowhere */
    THREAD_IDLE,    /* a record that is not valid: no context now */
    THREAD_CONTEXT, /* a context */
    THREAD_FAILED,  /* could not be looked at; `why` */
} thread_state;

typedef struct thread_attr {
    uint8_t key;
    str value; /* as it lies there: UTF-8 if the publisher keeps the rules */
} thread_attr;

typedef struct thread_context {
    uint32_t tid;
    str name;
    thread_state state;
    uint64_t address; /* of the record */
    uint8_t trace_id[16], span_id[8];
    uint8_t trace_flags;
    bool has_ids;
    VEC(thread_attr) attrs; /* one a key, in the order of the last settings */
    bool cut;               /* the last entry did not fit the size that the record claims */
    str why;
} thread_context;

/* Bytes of attributes that the header asks for; false: the record is not valid. */
NODISCARD bool record_header(const uint8_t header[RECORD_HEADER], uint16_t *n_attrs);

/* The whole record, header and attributes (record_header said how many).  ERR_LIMIT at the budget. */
NODISCARD bool record_decode(const uint8_t *record, size_t n, arena *a, thread_context *out,
                             err *e);
