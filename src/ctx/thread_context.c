/* Decodes the record of a thread. */
#include "ctx/thread_context.h"

#include "base/ban.h"

enum { SPAN_ID = 16, VALID = 24, FLAGS = 25, SIZE = 26 };

bool record_header(const uint8_t header[RECORD_HEADER], uint16_t *n_attrs)
{
    memcpy(n_attrs, header + SIZE, sizeof *n_attrs);
    return header[VALID] == 1;
}

/* Removes an earlier entry of the key, because the last one is used. */
static void forget(thread_context *t, uint8_t key)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->attrs.n; i++)
        if (t->attrs.v[i].key != key) t->attrs.v[kept++] = t->attrs.v[i];
    t->attrs.n = kept;
}

static bool take_attrs(str s, arena *a, thread_context *out, err *e)
{
    while (s.n >= 2) {
        uint8_t key = (uint8_t)s.p[0], n = (uint8_t)s.p[1];
        if (n > s.n - 2) break;
        forget(out, key);
        thread_attr *t = vec_push(a, &out->attrs);
        if (!t)
            return err_set(e, ERR_MEMORY, "not enough memory for the attributes of thread %u",
                           out->tid);
        *t = (thread_attr){key, {s.p + 2, n}};
        s = (str){s.p + 2 + n, s.n - 2 - n};
    }
    out->cut = s.n > 0;
    return true;
}

bool record_decode(const uint8_t *record, size_t n, arena *a, thread_context *out, err *e)
{
    uint8_t any = 0;
    memcpy(out->trace_id, record, sizeof out->trace_id);
    memcpy(out->span_id, record + SPAN_ID, sizeof out->span_id);
    for (size_t i = 0; i < sizeof out->trace_id; i++) any |= out->trace_id[i];
    out->has_ids = any != 0;
    out->trace_flags = record[FLAGS];
    out->state = THREAD_CONTEXT;
    return take_attrs((str){(const char *)record + RECORD_HEADER, n - RECORD_HEADER}, a, out, e);
}
