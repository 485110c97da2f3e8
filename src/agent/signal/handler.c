/* The signal handler of the agent and the probe.  It unwinds the interrupted thread into a slot or
 * the ring.  It must not lock, allocate, or set errno; tests/zones/signal checks what it links
 * to. */
#include "agent/signal/handler.h"

#include "arch/syscall.h"
#include "arch/tls.h"

#include <linux/futex.h>

handler_state handler;
_Thread_local delivered signals_delivered;

static void futex_wake(_Atomic uint32_t *word, int op)
{
    arch_syscall4(SYS_futex, (long)(uintptr_t)word, op, 1, 0);
}

static uint64_t now(const handler_state *h, clockid_t clock)
{
    struct timespec t;
    h->now(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void take(handler_state *h, raw_sample *raw, const unwind_stack *stack, const void *context)
{
    unwind_regs regs = unwind_regs_of(context);
    raw->time = now(h, CLOCK_REALTIME);
    raw->pc = regs.pc;
    raw->sp = regs.sp;
    raw->pthread = arch_pthread();
    unwind_gate *gate = atomic_load_explicit(&h->gate, memory_order_relaxed);
    unwind_result u = unwind(snapshot_enter(gate), &regs, stack, raw->pcs, raw_room(h->max_frames));
    const span_place *place = atomic_load_explicit(&h->span, memory_order_acquire);
    raw->in_context = place && span_peek(place, &raw->span);
    snapshot_leave(gate);
    raw_walked(raw, u, own_calls_here(), h->max_frames);
}

static void count_foreign_signal(handler_state *h)
{
    atomic_fetch_add_explicit(&h->counts->foreign_signals, 1, memory_order_relaxed);
}

/* ---- wall-clock rounds ---- */

/* This and the next two functions return false for a foreign signal. */
static bool on_round(handler_state *h, uint64_t ticket, const void *context)
{
    bool ours = false;
    slot *s = ticket_number(ticket) < h->n_slots ? handler_slot(h, ticket_number(ticket)) : NULL;
    if (!s || !slot_begin(s, ticket, &ours)) return ours;
    take(h, &s->raw, &s->stack, context);
    slot_done(s, ticket);
    if (atomic_fetch_add(&h->slots_done, 1) + 1 == atomic_load(&h->target))
        futex_wake(&h->slots_done, FUTEX_WAKE_PRIVATE);
    return true;
}

/* ---- CPU time ---- */

/* The timer of a new thread expires early (cpu.c), so the first sample represents the CPU time
 * until then. Later samples represent periods and need no system call for the clock. */
static uint64_t first_cpu(const handler_state *h, const thread_public *t)
{
    if (!h->outside || atomic_load_explicit(&t->sampled, memory_order_relaxed)) return 0;
    return now(h, CLOCK_THREAD_CPUTIME_ID);
}

static void on_cpu(handler_state *h, uint32_t position, uint32_t weight, const void *context)
{
    if (UNLIKELY(atomic_load_explicit(&h->counts->filtered, memory_order_relaxed))) return;
    ring_cell *c = ring_claim(&h->ring);
    if (!c) {
        atomic_fetch_add_explicit(&h->counts->ring_full, 1, memory_order_relaxed);
        return;
    }
    atomic_store_explicit(&c->writer, h->pid, memory_order_relaxed);
    thread_public *t = handler_thread(h, position);
    raw_sample *raw = (raw_sample *)(void *)c->bytes;
    take(h, raw, &t->stack, context);
    raw->kind = RAW_SAMPLE;
    raw->thread = position;
    raw->tid = t->tid;
    raw->proc_slot = h->proc_slot;
    raw->weight = weight;
    raw->cpu = first_cpu(h, t);
    atomic_store_explicit(&t->sampled, 1, memory_order_relaxed);
    if (ring_commit(&h->ring, c)) {
        atomic_fetch_add(h->wake, 1);
        futex_wake(h->wake, h->wake_op);
    }
}

/* A late signal of a thread that has ended carries an older generation. */
static bool on_timer(handler_state *h, const siginfo_t *si, const void *context)
{
    uint64_t ticket = (uintptr_t)si->si_value.sival_ptr;
    uint32_t position = (uint32_t)ticket, generation = (uint32_t)(ticket >> 32);
    uint32_t now =
        position < h->n_threads
            ? atomic_load_explicit(&handler_thread(h, position)->generation, memory_order_relaxed)
            : 0;
    if (!generation || generation > now) return false;
    if (generation == now)
        on_cpu(h, position, si->si_overrun < 0 ? 1 : (uint32_t)si->si_overrun + 1, context);
    else
        count_foreign_signal(h);
    return true;
}

static bool on_event(handler_state *h, const siginfo_t *si, const void *context)
{
    uint32_t fd = (uint32_t)si->si_fd;
    uint32_t i = fd < h->n_fds ? atomic_load_explicit(&h->by_fd[fd], memory_order_relaxed) : 0;
    if (fd < h->fds_from || fd >= h->n_fds) return false;
    if (i)
        on_cpu(h, i - 1, 1, context);
    else
        count_foreign_signal(h); /* late signal of an ended thread */
    return true;
}

/* Calls the program's handler for a foreign signal, sent by the program or another process. */
static void call_program(handler_state *h, int sig, siginfo_t *si, void *context)
{
    void (*theirs)(int, siginfo_t *, void *) =
        sig > 0 && sig < HANDLER_SIGNALS
            ? atomic_load_explicit(&h->shared[sig], memory_order_acquire)
            : NULL;
    if (!theirs) return count_foreign_signal(h);
    signals_delivered.ours--;
    theirs(sig, si, context);
}

/* Nothing here sets errno: system calls are made directly, and the clock does not fail. */
void handler_run(int sig, siginfo_t *si, void *context)
{
    handler_state *h = &handler;
    signals_delivered.ours++;
    uint32_t pid = atomic_load_explicit(&h->pid, memory_order_acquire);
    bool ours = false;
    if (!pid)
        ours = false;
    else if (si->si_code == SI_QUEUE && (uint32_t)si->si_pid == pid)
        ours = on_round(h, (uintptr_t)si->si_value.sival_ptr, context);
    else if (si->si_code == SI_TIMER)
        ours = on_timer(h, si, context);
    else if (si->si_code >= POLL_IN && si->si_code <= POLL_HUP)
        ours = on_event(h, si, context);
    if (!ours) call_program(h, sig, si, context);
}
