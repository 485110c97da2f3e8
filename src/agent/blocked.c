/* Copies and unwinds the stack of a waiting thread.  One small copy is enough for most stacks.
 * When the unwinder needs more, the function repeats with a larger copy. */
#include "agent/blocked.h"

#include "arch/context.h"
#include "base/ban.h"

enum {
    PAGE = 4096,
    FIRST = 32 << 10, /* most stacks fit */
};

uint64_t blocked_cpu_own(int tasks, uint32_t tid)
{
    (void)tasks;
    return task_cpu(tid);
}

uint64_t blocked_cpu_other(int tasks, uint32_t tid)
{
    char buf[64];
    return task_schedstat_parse(task_read(tasks, tid, "schedstat", buf, sizeof buf));
}

uint64_t blocked_cpu_single(int tasks, uint32_t pid)
{
    (void)tasks;
    return task_cpu_process(pid);
}

static bool line_of(const blocked_process *p, uint32_t tid, task_wait *out, bool *known)
{
    char buf[256];
    str text = task_read(p->tasks, tid, "syscall", buf, sizeof buf);
    *known = text.n > 0;
    return task_wait_parse(text, out);
}

/* Reads [at, at + n) up to the first unmapped page.  Returns the number of bytes read. */
static size_t read_up_to(const memory *m, uintptr_t at, char *to, size_t n)
{
    if (memory_read(m, at, to, n)) return n;
    size_t got = 0;
    while (got < n) {
        size_t part = PAGE - (at + got) % PAGE;
        if (part > n - got) part = n - got;
        if (!memory_read(m, at + got, to + got, part)) break;
        got += part;
    }
    return got;
}

/* Copies the stack from the red zone to its known end.  Sets *more when it may continue. */
static stack_copy copy_stack(const blocked_process *p, const blocked_thread *t, uintptr_t sp,
                             size_t max, bool *more)
{
    uintptr_t from = sp < ARCH_RED_ZONE ? 0 : (sp - ARCH_RED_ZONE) & ~(uintptr_t)7;
    size_t n = max;
    if (sp >= t->stack.lo && sp < t->stack.hi) {
        if (from < t->stack.lo) from = t->stack.lo;
        if (t->stack.hi - from < n) n = t->stack.hi - from;
    }
    stack_copy c = {from, p->copy, read_up_to(p->memory, from, p->copy, n)};
    *more = c.n == max;
    return c;
}

static bool read_word(void *ctx, uintptr_t at, void *to, size_t n)
{
    return memory_read(ctx, at, to, n);
}

static void read_span(const blocked_process *p, const blocked_thread *t, raw_sample *out)
{
    union {
        const memory *m;
        void *ctx;
    } u = {p->memory};
    out->in_context =
        p->span && t->pointer && span_peek_at(p->span, t->pointer, read_word, u.ctx, &out->span);
}

/* Returns whether the thread has not run since `before` and `cpu` were read. */
static bool has_not_run(const blocked_process *p, const blocked_thread *t, const task_wait *before,
                        uint64_t cpu)
{
    task_wait now;
    bool known;
    return line_of(p, t->tid, &now, &known) && now.hash == before->hash &&
           p->cpu(p->tasks, t->tid) == cpu;
}

blocked_how blocked_walk(const blocked_process *p, const blocked_thread *t, unwind_snapshot *tables,
                         uint32_t max_frames, raw_sample *out, uint64_t *cpu)
{
    task_wait wait;
    bool known, more = true;
    *cpu = p->cpu(p->tasks, t->tid);
    if (!line_of(p, t->tid, &wait, &known)) return known ? BLOCKED_MOVED : BLOCKED_UNKNOWN;
    read_span(p, t, out);
    unwind_result u = {0};
    for (size_t max = FIRST; more; max = BLOCKED_COPY) {
        stack_copy c = copy_stack(p, t, wait.sp, max, &more);
        if (!has_not_run(p, t, &wait, *cpu)) return BLOCKED_MOVED;
        if (!c.n) return BLOCKED_UNKNOWN;
        unwind_regs regs = {.pc = wait.pc, .sp = wait.sp};
        u = unwind_copy(tables, &regs, 0, &c, out->pcs, raw_room(max_frames));
        more = more && max < BLOCKED_COPY && u.end == UNWIND_UNREADABLE;
    }
    out->pc = wait.pc;
    out->sp = wait.sp;
    raw_walked(out, u, p->own, max_frames);
    return BLOCKED_TAKEN;
}
