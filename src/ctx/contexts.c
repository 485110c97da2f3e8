/* Reads the process context and the thread contexts of another process, stopping one thread at a
 * time. */
#include "ctx/contexts.h"

#include "sys/process.h"
#include "base/ban.h"
#include <errno.h>

static bool read_process(const memory *m, uint64_t at, void *p, size_t n)
{
    return process_read(m->pid, at, p, n);
}

/* ---- one stopped thread ---- */

static bool read_record(const memory *m, uint64_t at, arena *a, thread_context *t, err *e)
{
    uint8_t header[RECORD_HEADER];
    uint16_t n;
    t->address = at;
    t->state = THREAD_IDLE;
    if (!memory_read(m, at, header, sizeof header))
        return err_set(e, ERR_MALFORMED, "its record is in memory that cannot be read");
    if (!record_header(header, &n)) return true;
    size_t size = RECORD_HEADER + (size_t)(n < RECORD_ATTRS_MAX ? n : RECORD_ATTRS_MAX);
    uint8_t *whole = arena_alloc(a, size);
    if (!whole) return err_set(e, ERR_MEMORY, "not enough memory for its record");
    if (!memory_read(m, at, whole, size))
        return err_set(e, ERR_MALFORMED, "its record claims %u bytes, not all of them readable", n);
    return record_decode(whole, size, a, t, e);
}

/* Reads the context of a stopped thread from the first variable that leads to one; most processes
 * have one variable. */
static bool read_stopped(const memory *m, const tls_variables *vs, arena *a, thread_context *t,
                         err *e)
{
    uint64_t tp, at, record;
    if (!process_thread_pointer(t->tid, &tp, e)) return false;
    for (size_t i = 0; i < vs->n && t->state != THREAD_CONTEXT; i++) {
        if (!tls_address(m, &vs->v[i], tp, &at) || !memory_u64(m, at, &record) || !record) continue;
        if (!read_record(m, record, a, t, e)) return false;
    }
    return true;
}

static str copy(arena *a, str s)
{
    char *p = arena_alloc(a, s.n);
    if (p && s.n) memcpy(p, s.p, s.n);
    return (str){p, p ? s.n : 0};
}

static void fail_thread(arena *a, thread_context *t, const err *e)
{
    char text[256];
    t->state = THREAD_FAILED;
    t->why = copy(a, str_of(err_text(e, text, sizeof text)));
}

/* Stops a thread and reads its context.  Returns false when the thread has ended. */
static bool read_thread(const memory *m, const tls_variables *vs, arena *a, thread_context *t)
{
    char name[PROCESS_NAME_BYTES];
    err e = {0};
    process_thread_name(m->pid, t->tid, name);
    t->name = copy(a, str_of(name));
    if (!process_stop(t->tid, &e)) {
        fail_thread(a, t, &e);
        return e.sys != ESRCH;
    }
    if (!read_stopped(m, vs, a, t, &e)) fail_thread(a, t, &e);
    process_resume(t->tid);
    return true;
}

/* ---- all threads ---- */

static bool read_threads(const memory *m, arena *a, contexts *out, err *e)
{
    u32s tids = {0};
    if (!process_threads(m->pid, a, &tids, e)) return false;
    for (size_t i = 0; i < tids.n; i++) {
        thread_context t = {.tid = tids.v[i]};
        if (!read_thread(m, &out->variables, a, &t)) continue;
        thread_context *slot = vec_push(a, &out->threads);
        if (!slot) return err_set(e, ERR_LIMIT, "process %d has too many threads", m->pid);
        *slot = t;
        out->n_with += t.state == THREAD_CONTEXT;
        out->n_failed += t.state == THREAD_FAILED;
    }
    return true;
}

static bool is_known_schema(str s)
{
    return !s.n || str_eq(s, STR("tlsdesc_v1_dev")) || str_eq(s, STR("tls_v1"));
}

static bool has_unknown_key(const contexts *c)
{
    for (size_t i = 0; i < c->threads.n; i++)
        for (size_t k = 0; k < c->threads.v[i].attrs.n; k++)
            if (c->threads.v[i].attrs.v[k].key >= c->process.n_keys) return true;
    return false;
}

bool contexts_read(int pid, const contexts_opts *o, arena *a, contexts *out, err *e)
{
    memory m = {.read = read_process, .pid = pid};
    char probe;
    str maps;
    *out = (contexts){.pid = pid};
    if (!process_maps(pid, a, &maps, e)) return false;
    if (!maps.n) return true; /* a kernel thread, or a zombie */
    uint64_t first = strtoull(maps.p, NULL, 16);
    if (!memory_read(&m, first, &probe, 1) && errno != EFAULT)
        return err_sys(e, errno, "cannot read the memory of process %d", pid);
    if (!process_context_read(&m, maps, a, &out->process, &out->has_process, e)) return false;
    out->other_schema = !is_known_schema(out->process.schema_version);
    if (o->no_threads || out->other_schema) return true;
    if (!tls_find(&m, maps, "otel_thread_ctx_v1", a, &out->variables, e)) return false;
    if (!out->variables.n) return true;
    if (!read_threads(&m, a, out, e)) return false;
    /* an unknown key may be newer than the key map that was read. */
    if (out->has_process && has_unknown_key(out))
        return process_context_read(&m, maps, a, &out->process, &out->has_process, e);
    return true;
}

str contexts_key(const contexts *c, uint8_t key)
{
    return key < c->process.n_keys ? c->process.keys[key] : STR("");
}
