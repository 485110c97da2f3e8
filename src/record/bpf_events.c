/* Reads the records of the BPF programs and reports them as events. */
#include "record/bpf_internal.h"

#include "base/time.h"
#include "record/bpf_skeleton.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>
#include "base/ban.h"

enum {
    TASK_NOLOAD = 0x400,
    RATE_MS = 200, /* time between adjustments of the rate */
    KEEP_FIRST_NS = 10 * 1000,
    KEEP_MIN_NS = 1000,
    KEEP_STEP = 16, /* maximum factor of one adjustment */
};

/* ---- stacks ---- */

/* Without memory, the events of the stack have none, and are counted. */
static void put_stack(bpf_source *s, stack_entry *x, const uintptr_t *words)
{
    if (!bpf_stacks_put(&s->stacks, x, words)) s->stacks_unknown++;
}

static void on_stack(bpf_source *s, const struct bpf_rec_stack *r, const uintptr_t *words)
{
    stack_entry x = {.id = r->id,
                     .n_user = r->n_user,
                     .n_kernel = r->n_kernel,
                     .end = r->end,
                     .guesses = r->guesses};
    put_stack(s, &x, words);
}

static void fill_context(const struct bpf_regs *r, ucontext_t *c)
{
    memset(c, 0, sizeof *c);
    for (uint8_t i = 0; i < 16; i++)
        memcpy((char *)c + arch_context_of(i), &r->gpr[i], sizeof r->gpr[i]);
    memcpy((char *)c + CONTEXT_PC, &r->pc, sizeof r->pc);
}

/* Stores a stack that user space has completed.  Its id in the ring is unique; equal stacks get
 * equal ids from their content. */
static void put_finished(bpf_source *s, uint64_t id, stack_entry *x, const uintptr_t *words)
{
    size_t n = (size_t)x->n_user + x->n_kernel;
    uint64_t h = hash_bytes(words, n * sizeof *words, x->end + 256u * x->n_user);
    x->id = (h & ~BPF_STACK_UNIQUE) ? h & ~BPF_STACK_UNIQUE : 1;
    put_stack(s, x, words);
    stack_entry alias = {.id = id, .alias = x->id};
    put_stack(s, &alias, words);
    s->finished++;
}

static void on_copy(bpf_source *s, const struct bpf_rec_copy *r, const uintptr_t *words)
{
    uintptr_t all[2 * BPF_FRAMES_MAX + 1];
    ucontext_t context;
    size_t n = r->stack.n_user, n_kernel = r->stack.n_kernel, max = s->o.max_frames;
    stack_entry x = {
        .n_kernel = (uint16_t)n_kernel, .end = r->stack.end, .guesses = r->stack.guesses};
    bpf_handover h = {
        .pid = r->stack.tgid,
        .tid = r->stack.tid,
        .why = (bpf_why)r->hand,
        .regs = {.pc = r->regs.pc, .sp = r->regs.sp, .fp = r->regs.fp, .third = r->regs.bx},
        .known =
            UNWIND_KNOWN_FP | UNWIND_KNOWN_THIRD | (r->flags & BPF_REG_EXACT ? 0 : UNWIND_RETURNED),
        .copy = {.base = r->base, .bytes = words + n + n_kernel, .n = r->bytes},
        .pcs = words,
        .n = n,
        .end = (unwind_end)r->stack.end,
        .guesses = r->stack.guesses};
    if (r->flags & BPF_REG_CONTEXT) {
        fill_context(&r->regs, &context);
        h.regs.context = &context;
    }
    if (n > max || n + n_kernel > 2 * BPF_FRAMES_MAX) return;
    memcpy(all, words, n * sizeof *all);
    if (s->o.finish) {
        uintptr_t rest[BPF_FRAMES_MAX];
        unwind_result got = s->o.finish(s->o.finish_ctx, &h, rest, max - (r->hand ? n : 0));
        if (r->hand) {
            memcpy(all + n, rest, got.n * sizeof *all);
            n += got.n;
            x.end = (uint8_t)got.end;
            x.guesses += got.guesses;
        }
    }
    memcpy(all + n, words + r->stack.n_user, n_kernel * sizeof *all);
    x.n_user = (uint16_t)n;
    put_finished(s, r->stack.id, &x, all);
}

static void on_attrs(bpf_source *s, const struct bpf_rec_attrs *r)
{
    stack_entry x = {.id = r->id, .n_bytes = (uint16_t)r->bytes};
    put_stack(s, &x, (const uintptr_t *)(const void *)(r + 1));
}

static void find_stack(bpf_source *s, uint64_t id, bpf_stack *out)
{
    const uintptr_t *words;
    *out = (bpf_stack){.id = id};
    if (!id) return;
    const stack_entry *x = bpf_stacks_find(&s->stacks, id, &words);
    if (!x) {
        s->stacks_unknown++;
        out->lost = true;
        return;
    }
    *out = (bpf_stack){.id = x->id,
                       .user = words,
                       .n_user = x->n_user,
                       .kernel = words + x->n_user,
                       .n_kernel = x->n_kernel,
                       .end = (unwind_end)x->end,
                       .guesses = x->guesses};
}

/* ---- events ---- */

static const span_record *find_span(bpf_source *s, const struct bpf_ids *ids, span_record *out)
{
    const uintptr_t *words;
    uint8_t any = 0;
    if (!ids->has) return NULL;
    memcpy(out->trace_id, ids->trace_id, sizeof out->trace_id);
    memcpy(out->span_id, ids->span_id, sizeof out->span_id);
    out->trace_flags = ids->trace_flags;
    for (size_t i = 0; i < sizeof out->trace_id; i++) any |= out->trace_id[i];
    out->has_ids = any != 0;
    out->n_attrs = 0;
    const stack_entry *x = ids->attrs ? bpf_stacks_find(&s->stacks, ids->attrs, &words) : NULL;
    if (x && x->n_bytes <= sizeof out->attrs) {
        out->n_attrs = x->n_bytes;
        memcpy(out->attrs, words, x->n_bytes);
    }
    return out;
}

static void on_cpu(bpf_source *s, const struct bpf_rec_cpu *r)
{
    span_record span;
    bpf_event ev = {.kind = BPF_EVENT_CPU,
                    .pid = r->tgid,
                    .tid = r->tid,
                    .time = r->time,
                    .count = 1,
                    .value = r->value,
                    .on_ns = r->on_ns,
                    .state = 'R',
                    .syscall = -1};
    memcpy(ev.comm, r->comm, sizeof ev.comm - 1);
    ev.span = find_span(s, &r->ids, &span); /* before the stack: a lookup may move words */
    find_stack(s, r->stack, &ev.stack);
    s->on_event(s->ctx, &ev);
}

/* Names a state as field 3 of /proc/PID/stat does.  Other bits (freezable, no new tasks) do not
 * change the name. */
static char state_of(uint32_t state)
{
    if (!(state & 0xff)) return state & 0x1000 ? 'D' : 'R'; /* 0x1000: waits for a kernel lock */
    if ((state & 2) && (state & TASK_NOLOAD)) return 'I';
    return state & 1 ? 'S' : state & 2 ? 'D' : state & 4 ? 'T' : state & 8 ? 't' : 'I';
}

static void on_off_cpu(bpf_source *s, const struct bpf_rec_off *r)
{
    span_record span;
    uint64_t since = r->runnable && r->runnable < r->start ? r->start : r->runnable;
    if (since > r->end) since = 0; /* woken after this piece */
    bpf_event ev = {.kind = BPF_EVENT_OFF_CPU,
                    .pid = r->tgid,
                    .tid = r->tid,
                    .time = r->start,
                    .count = 1,
                    .value = r->value,
                    .on_ns = r->on_ns,
                    .rest_ns = r->rest,
                    .duration_ns = r->end - r->start,
                    .runnable_ns = since ? r->end - since : 0,
                    .runnable_since = since,
                    .state = state_of(r->state),
                    .syscall = r->syscall,
                    .started_blocked = r->flags & BPF_OFF_STARTED,
                    .still_open = r->flags & BPF_OFF_OPEN,
                    .continued = r->flags & BPF_OFF_CONTINUED,
                    .estimate = r->value > r->end - r->start,
                    .since = r->since,
                    .short_count = r->short_count,
                    .short_ns = r->short_ns};
    if (r->flags & BPF_OFF_WOKEN) {
        ev.waker = (bpf_waker){
            .pid = r->waker.tgid, .tid = r->waker.tid, .interrupt = r->flags & BPF_OFF_INTERRUPT};
        memcpy(ev.waker.comm, r->waker.comm, sizeof ev.waker.comm - 1);
    }
    ev.span = find_span(s, &r->ids, &span);
    find_stack(s, r->stack, &ev.stack);
    s->on_event(s->ctx, &ev);
}

static void on_thread(bpf_source *s, const struct bpf_rec_thread *r)
{
    bpf_event ev = {.kind = r->kind == BPF_REC_EXIT ? BPF_EVENT_EXIT : BPF_EVENT_RUNNING,
                    .pid = r->tgid,
                    .tid = r->tid,
                    .time = r->time,
                    .since = r->since,
                    .on_ns = r->on_ns,
                    .rest_ns = r->rest,
                    .short_count = r->short_count,
                    .short_ns = r->short_ns,
                    .last = r->last,
                    .state = 'R',
                    .syscall = -1};
    memcpy(ev.comm, r->comm, sizeof ev.comm - 1);
    s->on_event(s->ctx, &ev);
}

/* ---- records ---- */

/* Handles one record.  Returns its size; 0: `n` bytes do not contain a record. */
static size_t on_record(bpf_source *s, const void *p, size_t n)
{
    const struct bpf_rec_stack *stack = p;
    const struct bpf_rec_copy *copy = p;
    const struct bpf_rec_attrs *attrs = p;
    size_t bytes = 0;
    switch (n >= 8 ? stack->kind : 0) {
    case BPF_REC_STACK:
        bytes = sizeof *stack + 8u * ((size_t)stack->n_user + stack->n_kernel);
        if (bytes <= n) on_stack(s, stack, (const uintptr_t *)(const void *)(stack + 1));
        break;
    case BPF_REC_COPY:
        if (n < sizeof *copy) return 0;
        bytes =
            sizeof *copy + 8u * ((size_t)copy->stack.n_user + copy->stack.n_kernel) + copy->bytes;
        if (bytes <= n) on_copy(s, copy, (const uintptr_t *)(const void *)(copy + 1));
        break;
    case BPF_REC_ATTRS:
        bytes = sizeof *attrs + (attrs->bytes + 7u) / 8 * 8;
        if (bytes <= n) on_attrs(s, attrs);
        break;
    case BPF_REC_CPU:
        bytes = sizeof(struct bpf_rec_cpu);
        if (bytes <= n) on_cpu(s, p);
        break;
    case BPF_REC_OFF:
        bytes = sizeof(struct bpf_rec_off);
        if (bytes <= n) on_off_cpu(s, p);
        break;
    case BPF_REC_EXIT:
    case BPF_REC_RUNNING:
        bytes = sizeof(struct bpf_rec_thread);
        if (bytes <= n) on_thread(s, p);
        break;
    default: return 0;
    }
    return bytes <= n ? bytes : 0;
}

/* Ends the drain after as many bytes as the ring holds: the programs may write as fast as they are
 * read. */
static int on_ring(void *ctx, void *p, size_t n)
{
    bpf_source *s = ctx;
    s->ring_bytes += n;
    s->drained += n + BPF_RINGBUF_HDR_SZ;
    (void)on_record(s, p, n);
    return s->drained < s->o.ring_bytes ? 0 : -EAGAIN;
}

bool bpf_events_open(bpf_source *s, err *e)
{
    s->ring = ring_buffer__new(bpf_map__fd(s->programs->maps.ring), on_ring, s, NULL);
    return s->ring || err_sys(e, errno, "the ring of BPF records cannot be mapped");
}

void bpf_events_close(bpf_source *s)
{
    ring_buffer__free(s->ring);
    bpf_stacks_close(&s->stacks);
}

int bpf_fd(const bpf_source *s) { return ring_buffer__epoll_fd(s->ring); }

/* ---- draining ---- */

/* Reads the ring again if it lacks the stack of a count: a program sends a stack before it counts it,
 * but maybe after the ring was read. */
static void find_counted(bpf_source *s, uint64_t id, bpf_stack *out)
{
    const uintptr_t *words;
    if (id && !bpf_stacks_find(&s->stacks, id, &words)) {
        s->drained = 0;
        (void)ring_buffer__consume(s->ring);
    }
    find_stack(s, id, out);
}

/* Reports and clears the counts of the kernel. */
static void drain_sums(bpf_source *s)
{
    struct bpf_sum_key key;
    struct bpf_sum sum;
    int fd = bpf_map__fd(s->programs->maps.sums);
    while (bpf_map_get_next_key(fd, NULL, &key) == 0) {
        if (bpf_map_lookup_and_delete_elem(fd, &key, &sum) != 0) break;
        bpf_event ev = {.kind = BPF_EVENT_CPU,
                        .pid = key.tgid,
                        .tid = key.tid,
                        .time = sum.first,
                        .count = sum.count,
                        .value = sum.value,
                        .state = 'R',
                        .syscall = -1};
        memcpy(ev.comm, sum.comm, sizeof ev.comm - 1);
        find_counted(s, key.stack, &ev.stack);
        s->on_event(s->ctx, &ev);
    }
}

/* Raises or lowers keep_ns, so that about off_cpu_rate intervals per second are reported, and lets
 * walks stamp the tables that they use. */
static void adjust(bpf_source *s)
{
    uint64_t now = bpf_now(), passed = now - s->rated_at;
    s->programs->bss->rules_epoch = (uint32_t)(now / NS_PER_S);
    if (!s->o.off_cpu || passed < RATE_MS * NS_PER_MS) return;
    uint64_t n = bpf_kernel_count(s).intervals, max = s->o.off_cpu_rate;
    uint64_t rate = (n - s->rated_intervals) * NS_PER_S / passed, keep = s->programs->bss->keep_ns;
    /* The number of short intervals kept is proportional to 1 / keep_ns. */
    if (s->rated_at && rate > max)
        keep =
            keep ? keep * (rate < KEEP_STEP * max ? rate : KEEP_STEP * max) / max : KEEP_FIRST_NS;
    else if (rate < max / 2)
        keep /= 2;
    if (keep >= BPF_KEEP_MAX) keep = BPF_KEEP_MAX - 1;
    s->programs->bss->keep_ns = keep < KEEP_MIN_NS ? 0 : keep;
    s->rated_at = now;
    s->rated_intervals = n;
}

bool bpf_drain(bpf_source *s, bpf_on_event *f, void *ctx, err *e)
{
    s->on_event = f;
    s->ctx = ctx;
    adjust(s);
    s->drained = 0;
    int n = ring_buffer__consume(s->ring);
    if (s->o.aggregate) drain_sums(s);
    return n >= 0 || n == -EAGAIN || err_sys(e, -n, "the ring of BPF records cannot be read");
}

size_t bpf_stack_bytes(const bpf_source *s) { return s->stacks.g[s->stacks.now].a.used; }

/* Reads the records, which may be split between reads. */
static bool read_records(bpf_source *s, int fd, err *e)
{
    _Alignas(8) uint8_t buf[16 << 10];
    size_t have = 0;
    for (;;) {
        ssize_t n = read(fd, buf + have, sizeof buf - have);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue; /* a thread moved meanwhile */
        if (n < 0) return err_sys(e, errno, "the threads cannot be read");
        if (n == 0) return true;
        size_t at = 0, took;
        have += (size_t)n;
        while ((took = on_record(s, buf + at, have - at))) at += took;
        memmove(buf, buf + at, have - at);
        have -= at;
        if (have == sizeof buf) return err_set(e, ERR_MALFORMED, "the list of threads is damaged");
    }
}

bool bpf_read_iterator(bpf_source *s, struct bpf_program *p, err *e)
{
    struct bpf_link *l = bpf_program__attach_iter(p, NULL);
    int fd = l ? bpf_iter_create(bpf_link__fd(l)) : -1;
    bool ok = fd < 0 ? err_sys(e, errno, "the threads cannot be listed") : read_records(s, fd, e);
    if (fd >= 0) close(fd);
    bpf_link__destroy(l);
    return ok;
}

bool bpf_dump(bpf_source *s, bpf_on_event *f, void *ctx, err *e)
{
    if (!bpf_drain(s, f, ctx, e)) return false;
    if (s->o.off_cpu && !bpf_read_iterator(s, s->programs->progs.dump_threads, e)) return false;
    /* The programs send again what the previous generation has. */
    s->programs->data->generation++;
    bpf_stacks_rotate(&s->stacks);
    return true;
}
