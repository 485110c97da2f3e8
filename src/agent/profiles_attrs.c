/* Attributes of a sample: everything but its stack, span and values. */
#include "agent/profiles_internal.h"

#include "agent/syscall_name.h"

#include "base/utf8.h"
#include "wire/carried.h"
#include "wire/thread_state.h"
#include "base/ban.h"
#include <inttypes.h>
#include <stdio.h>

const char *profiles_state_name(char state)
{
    switch (state) {
    case 'R': return "RUNNING";
    case 'S': return "SLEEPING";
    case 'D': return "DISK_SLEEP";
    case 'T': return "STOPPED";
    case 't': return "TRACED";
    case 'I': return "IDLE";
    default: return "UNKNOWN";
    }
}

static const char *status_of(char state)
{
    switch (state) {
    case 'R': return "runnable";
    case 'S': return "sleeping";
    case 'D': return "uninterruptible wait";
    case 'T':
    case 't': return "stopped";
    case 'I': return "idle";
    default: return "unknown";
    }
}

void profiles_thread_text(const agent_sample *s, const agent_thread *t, uint64_t boot,
                          uint64_t ticks, char *out, size_t cap)
{
    char cpu[32] = "0", elapsed[32] = "0";
    uint64_t us = s->cpu_ns / 1000;
    if (s->cpu_ns)
        snprintf(cpu, sizeof cpu, "%" PRIu64 ".%02" PRIu64 "ms", us / 1000, us % 1000 / 10);
    uint64_t start = boot && ticks ? boot + t->start_ticks * (UINT64_C(1000000000) / ticks) : 0;
    if (start && s->time > start) {
        uint64_t cs = (s->time - start) / 10000000;
        snprintf(elapsed, sizeof elapsed, "%" PRIu64 ".%02" PRIu64 "s", cs / 100, cs % 100);
    }
    int n =
        snprintf(out, cap, "#%u prio=0 os_prio=%d cpu=%s elapsed=%s tid=0x%" PRIx64 " nid=0x%x %s",
                 t->index, t->os_prio, cpu, elapsed, t->pthread, t->tid, status_of(s->state));
    if (s->wchan[0] && n > 0 && (size_t)n < cap)
        snprintf(out + n, cap - (size_t)n, " (%s)", s->wchan);
}

static void add(making *m, uint32_t attr)
{
    if (attr && m->n_attrs < ATTRS_MAX) m->attrs[m->n_attrs++] = attr;
}

static bool has_key(const making *m, str key)
{
    const dict *d = &m->b.m.dict;
    for (uint32_t i = 0; i < m->n_attrs; i++)
        if (str_eq(dict_str(d, d->attributes.v[m->attrs[i]].key), key)) return true;
    return false;
}

/* Adds the attributes of a thread context.  An entry of an inner scope comes after that of the
 * outer one and replaces it. */
static void add_context(making *m, uint32_t at)
{
    const batch *b = m->in->batch;
    const agent_attrs *t = &b->attrs.v[at];
    const uint8_t *p = b->attr_bytes.v + t->first, *begin[256];
    size_t n = 0;
    for (size_t i = 0; i + 2 <= t->n && i + 2 + p[i + 1] <= t->n && n < 256; i += 2u + p[i + 1])
        begin[n++] = p + i;
    while (n--) {
        str key = begin[n][0] < m->in->n_keys ? m->in->keys[begin[n][0]] : STR("");
        str value = {(const char *)begin[n] + 2, begin[n][1]};
        if (key.n && utf8_ok(value.p, value.n) && !has_key(m, key))
            add(m, builder_attribute_str(&m->b, key, value));
    }
}

/* A thread that is ready to run but off-CPU waits for a processor: the proposal's word for it. */
static void add_state(making *m, const agent_sample *s)
{
    bool ready = s->kind == SAMPLE_OFF_CPU && s->state == 'R';
    str ours = ready ? STR("unscheduled") : str_of(profiles_state_name(s->state));
    add(m, builder_attribute_str(&m->b, STR(ATTR_THREAD_STATE), thread_state_word(ours)));
    if (thread_state_has_detail(ours))
        add(m, builder_attribute_str(&m->b, STR(KILN_ATTR_THREAD_STATE), ours));
}

/* Returns the name of a thread in this batch; "": not in it. */
static str name_of(const batch *b, uint32_t tid)
{
    for (size_t i = 0; i < b->threads.n; i++)
        if (b->threads.v[i].tid == tid) return str_of(b->threads.v[i].name);
    return STR("");
}

static void add_wait(making *m, const agent_sample *s)
{
    if (s->syscall)
        add(m, builder_attribute_str(&m->b, STR(KILN_ATTR_WAIT_SYSCALL),
                                     str_of(syscall_name(s->syscall - 1U))));
    if (!s->waker) return;
    add(m, builder_attribute_int(&m->b, STR(KILN_ATTR_WAIT_WAKER), s->waker));
    str name = name_of(m->in->batch, s->waker);
    if (name.n) add(m, builder_attribute_str(&m->b, STR(KILN_ATTR_WAIT_WAKER_NAME), name));
}

static void add_logs(making *m, const agent_sample *s, const agent_thread *t)
{
    char text[256];
    add_state(m, s);
    if (m->in->style != PROFILES_TEXT) return;
    profiles_thread_text(s, t, m->in->boot, m->in->ticks, text, sizeof text);
    add(m, builder_attribute_str(&m->b, STR(KILN_ATTR_SPLUNK_THREAD), str_of(text)));
    add(m, m->observed);
}

void profiles_set_attrs(making *m, const agent_sample *s)
{
    const batch *b = m->in->batch;
    const agent_thread *t = &b->threads.v[s->thread];
    m->n_attrs = 0;
    add(m, builder_attribute_int(&m->b, STR(ATTR_THREAD_ID), t->tid));
    if (t->name[0]) add(m, builder_attribute_str(&m->b, STR(ATTR_THREAD_NAME), str_of(t->name)));
    if (s->kind == SAMPLE_WALL && m->in->style != PROFILES_OTLP) {
        add_logs(m, s, t);
    } else {
        add_state(m, s);
        add_wait(m, s);
        if (s->wchan[0])
            add(m, builder_attribute_str(&m->b, STR(KILN_ATTR_THREAD_WCHAN), str_of(s->wchan)));
    }
    if (b->stacks.v[s->stack].end == UNWIND_CAPPED)
        add(m, builder_attribute_bool(&m->b, STR(KILN_ATTR_STACK_TRUNCATED), true));
    if (s->attrs) add_context(m, s->attrs);
}
