/* Samples of a recording: walks copied stacks, stores observations in the batch of their process,
 * and delivers the batches as profiles. */
#include "record/feed.h"

#include "arch/perf.h"
#include "base/time.h"
#include "record/comm.h"
#include "wire/carried.h"
#include "wire/otlp.h"
#include "base/ban.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FLUSH_BYTES = 256 << 20 };

/* ---- store ---- */

/* Copies the frames to r->pcs, as far as there is room, and returns their number. */
static size_t copy_frames(recorder *r, const observation *x)
{
    size_t nk = x->n_kernel < r->n_pcs ? x->n_kernel : r->n_pcs, left = r->n_pcs - nk;
    size_t nu = x->n_user < left ? x->n_user : left;
    if (nk && x->kernel != r->pcs) memmove(r->pcs, x->kernel, nk * sizeof *r->pcs);
    if (nu && x->user != r->pcs + nk) memmove(r->pcs + nk, x->user, nu * sizeof *r->pcs);
    return nk + nu;
}

static bool put(recorder *r, space *s, space_thread *t, const observation *x, size_t n_pcs)
{
    batch *b = space_batch(s, x->time);
    if (!b) return false;
    agent_sample out = {.time = x->time,
                        .value = x->value,
                        .kind = (uint8_t)x->kind,
                        .state = x->state,
                        .syscall = x->syscall,
                        .waker = x->waker};
    if (!batch_stack(b, r->pcs, n_pcs, (uint8_t)x->end, x->has_stack, &out.stack) ||
        !batch_thread(b, &t->about, &out.thread))
        return false;
    if (x->span && x->span->has_ids) {
        agent_link l;
        memcpy(l.trace_id, x->span->trace_id, sizeof l.trace_id);
        memcpy(l.span_id, x->span->span_id, sizeof l.span_id);
        if (!batch_link(b, &l, &out.link)) return false;
    }
    if (x->span && !batch_attrs(b, x->span->attrs, x->span->n_attrs, &out.attrs)) return false;
    agent_sample *added = vec_push(&b->mem, &b->samples);
    if (!added) return false;
    *added = out;
    if (x->kind == SAMPLE_CPU)
        t->last = b->samples.n;
    else
        t->last_stack = out.stack + 1;
    return true;
}

void recorder_put(recorder *r, space *s, space_thread *t, const observation *x)
{
    recorded *n = &r->n;
    size_t n_pcs = copy_frames(r, x); /* they may be in the batch that is delivered now */
    s->active = true;
    if (x->span) space_need_names(s, &r->world, x->span->attrs, x->span->n_attrs);
    if (s->batch && batch_full(s->batch)) recorder_flush(r, s);
    if (!put(r, s, t, x, n_pcs)) {
        n->batch_full++;
        return;
    }
    n->spans += x->span != NULL;
    if (x->kind == SAMPLE_CPU) {
        n->cpu_samples++;
        n->cpu_ns += (uint64_t)x->value;
    } else {
        n->waits++;
        n->wait_ns += (uint64_t)x->value;
    }
}

/* ---- perf mode ---- */

static unwind_regs regs_of(recorder *r, const uint64_t *regs)
{
    for (unsigned i = 0; i < ARCH_PERF_N_REGS; i++)
        memcpy((char *)&r->context + arch_perf_context(i), &regs[i], sizeof regs[i]);
    return unwind_regs_of(&r->context);
}

void recorder_take_perf(recorder *r, const perf_sample *p)
{
    uint64_t time = recorder_unix(r, p->time);
    /* In the pass in which a process ends, it is not followed any more, but has samples. */
    if (!p->pid || p->pid == (uint32_t)getpid()) return;
    space *s = recorder_space(r, p->pid, time);
    space_thread *t = s ? space_thread_of(s, p->tid) : NULL;
    if (!t) {
        r->n.batch_full++;
        return;
    }
    if (time < s->begins) return;
    if (r->o.comm && !record_comm_matches(record_comm_parse(r->o.comm), t->about.name)) return;
    size_t max = r->o.max_frames, nk = p->n_kernel < max ? p->n_kernel : max;
    observation x = {.kind = SAMPLE_CPU,
                     .time = time,
                     .value = (int64_t)p->value,
                     .state = 'R',
                     .kernel = r->pcs,
                     .n_kernel = nk,
                     .user = r->pcs + nk,
                     .has_stack = true};
    for (size_t i = 0; i < nk; i++) r->pcs[i] = (uintptr_t)p->kernel[i];
    space_describe(s, &r->world);
    if (p->regs) {
        unwind_regs from = regs_of(r, p->regs);
        stack_copy copy = {from.sp, p->stack, p->n_stack};
        unwind_result u = space_walk(s, &r->world, time, &from,
                                     UNWIND_KNOWN_FP | UNWIND_KNOWN_THIRD, &copy, r->pcs + nk, max);
        x.n_user = u.n;
        x.end = u.end;
        r->n.whole += u.end == UNWIND_WHOLE;
        r->n.truncated += u.end == UNWIND_CAPPED;
        r->n.broken += u.end > UNWIND_CAPPED;
        r->n.guessed += u.guesses;
    }
    recorder_put(r, s, t, &x);
}

/* ---- delivery ---- */

static bool name_frames(recorder *r, const space *s, model *m, arena *a, err *e)
{
    char root[64], map[64];
    if (!r->o.name) return true;
    (void)space_root(s, root);
    bool other = s->root >= 0 || s->inner_pid != s->pid;
    snprintf(map, sizeof map, "/tmp/perf-%u.map", s->inner_pid);
    return r->o.name(r->o.ctx, m, s->root >= 0 ? root : NULL, other ? map : NULL, a, e);
}

/* Lists the losses since the last profile: the next profile states them, whose process need not be
 * theirs. */
static size_t losses_since(const recorder *r, profiles_loss out[PROFILES_LOSSES])
{
    const recorded *n = &r->n, *old = &r->stated;
    const profiles_loss all[] = {
#define X(name, what) +n->name - old->name
        {KILN_ATTR_SAMPLES_LOST, 0 RECORD_LOST_SAMPLES(X)},
#undef X
#define X(name, what) {KILN_ATTR_LOST #name, n->name - old->name},
        RECORD_OTHER_LOSSES(X)
#undef X
    };
    _Static_assert(ARRAY_LEN(all) <= PROFILES_LOSSES, "all fit into a profile");
    size_t k = 0;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i].n) out[k++] = all[i];
    return k;
}

void recorder_flush(recorder *r, space *s)
{
    arena a = {.budget = FLUSH_BYTES};
    buf bytes = {0};
    err e = {0};
    model m;
    bool found;
    profiles_loss losses[PROFILES_LOSSES];
    profiles_in in = {.cpu_hz = r->o.hz,
                      .scope = STR("kiln.record"),
                      .kernel_id = str_of(r->kernel_id),
                      .min_ns = r->o.off_cpu ? r->o.off_cpu_min_ns : 0,
                      .keep_ns = r->feed ? feed_kept_ns(r->feed) : 0,
                      .ticks = (uint64_t)sysconf(_SC_CLK_TCK),
                      .losses = losses,
                      .n_losses = losses_since(r, losses)};
    bool ok = space_profiles(s, &r->world, &in, &a, &m, &found, &e);
    if (ok && found) {
        err nameless = {0}; /* without names, the addresses are still useful */
        (void)name_frames(r, s, &m, &a, &nameless);
        ok = otlp_encode(&m, &(otlp_encode_opts){0}, &bytes, &e);
    }
    if (ok && bytes.n) {
        r->stated = r->n;
        r->o.profile(r->o.ctx, s->pid, &bytes);
    } else if (!ok) {
        r->n.failed++;
        r->n.batch_full += s->batch->samples.n;
        buf_free(&bytes);
    }
    if (s->batch) space_flushed(s, r->world.now);
    arena_free(&a);
}
