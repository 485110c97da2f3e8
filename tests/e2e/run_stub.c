/* A replacement for the probe, for run_oracle: when the program ends, it takes a process slot of
 * `kiln run`'s segment and writes samples whose number and weight are known.  RUN_STUB_* in the
 * environment:
 *
 *     SAMPLES  CPU samples of one period each (1200); 0: none
 *     CUT      of these: truncated at the frame limit (345)
 *     SLOTS    process slots that it takes one after the other, each with all samples (1)
 *     HEAP     deliveries of the heap totals, the n-th with n * 1000 bytes (0)
 *     MODE     absent: takes no process slot; silent: sends no exit notice
 *     HOSTILE  a seed: writes a different kind of invalid data over the segment
 *
 * The exit status of the program is unchanged. */
#include "probe/segment.h"

#include <link.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

/* Copies of this library share the first one's variable: only one of them writes. */
__attribute__((visibility("default"))) int stub_turn;

enum { PATIENCE_MS = 20000, FRAMES = 3, SPREAD = 40 };

/* The frames of the stacks. */
static __attribute__((noinline)) int stub_leaf(int n) { return n * 3; }
static __attribute__((noinline)) int stub_root(int n) { return stub_leaf(n) + stub_leaf(n + 1); }

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static bool mode_is(const char *mode)
{
    const char *text = getenv("RUN_STUB_MODE");
    return text && !strcmp(text, mode);
}

static uint64_t clock_of(clockid_t c)
{
    struct timespec t = {0};
    clock_gettime(c, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- the process slot ---- */

static int put_own_map(struct dl_phdr_info *i, size_t size, void *ctx)
{
    (void)size;
    for (size_t k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        uint64_t start = i->dlpi_addr + p->p_vaddr, here = (uintptr_t)stub_leaf;
        if (p->p_type != PT_LOAD || here < start || here >= start + p->p_memsz) continue;
        map_record m = {.start = start & ~(uint64_t)4095,
                        .end = (start + p->p_memsz + 4095) & ~(uint64_t)4095,
                        .offset = p->p_offset & ~(uint64_t)4095,
                        .n_path = (uint16_t)strlen(i->dlpi_name)};
        proc_slot_put_map(ctx, &m, i->dlpi_name, NULL);
    }
    return 0;
}

static bool any_free(const segment *s)
{
    for (uint32_t i = 0; i < SEGMENT_PROC_SLOTS; i++)
        if (proc_slot_state_of(atomic_load(&segment_proc_slot(s, i)->word)) == PROC_SLOT_FREE)
            return true;
    return false;
}

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

static uint32_t take_slot(const segment *s)
{
    for (int i = 0; i < PATIENCE_MS && !any_free(s); i++) nap();
    uint32_t at = proc_slot_take(s, (uint32_t)getpid());
    if (at == UINT32_MAX) return at;
    proc_slot *d = segment_proc_slot(s, at);
    struct stat here;
    d->pid_namespace = stat("/proc/self/ns/pid", &here) == 0 ? here.st_ino : 0;
    d->time = clock_of(CLOCK_REALTIME);
    d->cpu_begin = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    d->thread_begin = clock_of(CLOCK_THREAD_CPUTIME_ID);
    atomic_store(&d->period, 1000000000 / s->head->cpu_hz);
    memcpy(d->program, "/stub", sizeof "/stub");
    dl_iterate_phdr(put_own_map, d);
    atomic_store(&d->ready, proc_slot_generation(atomic_load(&d->word)));
    return at;
}

/* ---- samples ---- */

static void commit(const segment *s, ring *r, ring_cell *cell)
{
    if (!ring_commit(r, cell)) return;
    atomic_fetch_add(&s->head->wake, 1);
    syscall(SYS_futex, &s->head->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Waits while the ring is full.  Returns NULL when the ring has no reader. */
static raw_sample *claim(const segment *s, uint32_t at, raw_kind kind, ring *r, ring_cell **cell)
{
    *r = segment_ring(s, at % SEGMENT_RINGS);
    *cell = ring_claim(r);
    for (int i = 0; i < PATIENCE_MS && !*cell; i++, *cell = ring_claim(r)) nap();
    if (!*cell) return NULL;
    atomic_store(&(*cell)->writer, (uint32_t)getpid());
    raw_sample *raw = (raw_sample *)(void *)(*cell)->bytes;
    *raw = (raw_sample){.time = clock_of(CLOCK_REALTIME),
                        .weight = 1,
                        .tid = (uint32_t)getpid(),
                        .proc_slot = at,
                        .n = FRAMES,
                        .kind = (uint8_t)kind};
    return raw;
}

/* Writes samples with SPREAD different stacks. */
static void put_stack(raw_sample *raw, uint64_t i)
{
    raw->pcs[0] = (uintptr_t)stub_leaf + i % SPREAD % 8;
    raw->pcs[1] = (uintptr_t)stub_root + 1 + i % SPREAD / 8;
    raw->pcs[2] = (uintptr_t)stub_root + 1;
}

static void write_samples(const segment *s, uint32_t at)
{
    uint64_t n = number("RUN_STUB_SAMPLES", 1200), cut = number("RUN_STUB_CUT", 345);
    ring r;
    ring_cell *cell;
    for (uint64_t i = 0; i < n; i++) {
        raw_sample *raw = claim(s, at, RAW_SAMPLE, &r, &cell);
        if (!raw) return;
        put_stack(raw, i);
        raw->end = i < cut ? UNWIND_CAPPED : UNWIND_WHOLE;
        commit(s, &r, cell);
    }
}

static void write_heap(const segment *s, uint32_t at)
{
    ring r;
    ring_cell *cell;
    for (uint64_t i = 1, n = number("RUN_STUB_HEAP", 0); i <= n; i++) {
        raw_sample *raw = claim(s, at, RAW_HEAP, &r, &cell);
        if (!raw) return;
        put_stack(raw, 0);
        int64_t all = (int64_t)i, use = (int64_t)(n - i + 1);
        raw->heap[0] = all, raw->heap[1] = 1000 * all;
        raw->heap[2] = use, raw->heap[3] = 1000 * use;
        commit(s, &r, cell);
    }
}

/* ---- invalid data ---- */

static uint64_t random_of(uint64_t *state)
{
    *state = *state * 6364136223846793005 + 1442695040888963407;
    uint64_t x = *state >> 29;
    switch (x & 7) {
    case 0: return 0;
    case 1: return UINT64_MAX;
    case 2: return UINT64_C(1) << (*state >> 40) % 64;
    case 3: return (*state >> 40) % 2000;
    default: return *state ^ x;
    }
}

static void scribble(void *at, size_t n, uint64_t *state)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        uint64_t v = random_of(state);
        memcpy((char *)at + i, &v, sizeof v);
    }
}

/* Sets each field to a random value, one record after the other. */
static void write_wild(const segment *s, uint32_t at, uint64_t *state)
{
    ring r;
    ring_cell *cell;
    for (int i = 0; i < 600; i++) {
        raw_sample *raw = claim(s, at, RAW_SAMPLE, &r, &cell);
        if (!raw) return;
        put_stack(raw, (uint64_t)i);
        uint64_t x = random_of(state);
        switch (i % 16) {
        case 0: raw->n = UINT16_MAX; break;
        case 1: raw->proc_slot = (uint32_t)x | 0x80000000; break;
        case 2: raw->kind = 99; break;
        case 3: atomic_store(&cell->writer, 1); break;
        case 4: raw->tid = 0; break;
        case 5: raw->end = 255; break;
        case 6: raw->cpu = UINT64_MAX; break;
        case 7: raw->weight = UINT32_MAX; break;
        case 8:
            raw->kind = RAW_THREAD_END, raw->cpu = x, memset(raw->name, 0xff, sizeof raw->name);
            break;
        case 9: raw->kind = RAW_HEAP, scribble(raw->heap, sizeof raw->heap, state); break;
        case 10: raw->in_context = true, scribble(&raw->span, sizeof raw->span, state); break;
        case 11: raw->time = x; break;
        case 12:
            raw->n = (uint16_t)s->head->max_frames,
            scribble(raw->pcs, raw->n * sizeof *raw->pcs, state);
            break;
        case 13: raw->tid = (uint32_t)x; break;
        case 14: raw->proc_slot = (at + 1) % SEGMENT_PROC_SLOTS; break;
        default: raw->n = 0; break;
        }
        commit(s, &r, cell);
    }
}

/* Writes records with memcpy, with random lengths. */
static void wild_maps(proc_slot *d, uint64_t *state)
{
    for (uint32_t i = 0; i + sizeof(map_record) <= PROC_SLOT_MAPS; i += 64) {
        map_record m = {random_of(state),           random_of(state),           random_of(state),
                        (uint16_t)random_of(state), (uint16_t)random_of(state), 0};
        memcpy(d->maps + i, &m, sizeof m);
    }
    atomic_store(&d->n_maps, UINT32_MAX);
}

static void hostile(const segment *s, uint32_t at, uint64_t seed)
{
    uint64_t state = seed;
    proc_slot *d = segment_proc_slot(s, at);
    switch (seed % 8) {
    case 1: write_wild(s, at, &state); break;
    case 2: wild_maps(d, &state), write_wild(s, at, &state); break;
    case 3: /* the process slot, except its state word */
        scribble((char *)d + offsetof(proc_slot, parent),
                 PROC_SLOT_BYTES - offsetof(proc_slot, parent), &state);
        write_wild(s, at, &state);
        break;
    case 4: /* the ends of all rings */
        write_samples(s, at);
        scribble(s->head->ends, sizeof s->head->ends, &state);
        break;
    case 5: /* the state word of every free process slot */
        for (uint32_t i = 0; i < SEGMENT_PROC_SLOTS; i++)
            if (i != at) atomic_store(&segment_proc_slot(s, i)->word, random_of(&state));
        write_samples(s, at);
        break;
    case 6: /* the settings of the user, and the futex */
        scribble(s->head, offsetof(segment_head, ends), &state);
        break;
    case 7: /* cells, and their turns */
        write_samples(s, at);
        scribble(s->rings + (size_t)(at % SEGMENT_RINGS) * RING_CELLS * s->cell_bytes,
                 RING_CELLS * s->cell_bytes, &state);
        break;
    default: /* one field of each kind, and unterminated messages */
        memset(d->messages, 0xfe, sizeof d->messages);
        for (int i = 0; i < PROC_SLOT_MESSAGES; i++) atomic_store(&d->message_ready[i], 1);
        atomic_store(&d->n_messages, UINT32_MAX);
        memset(d->program, '/', sizeof d->program);
        atomic_store(&d->period, UINT64_MAX);
        write_wild(s, at, &state);
        break;
    }
}

/* ---- end of the program ---- */

static void leave_one(const segment *s)
{
    uint32_t at = take_slot(s);
    uint64_t seed = number("RUN_STUB_HOSTILE", 0);
    if (at == UINT32_MAX) return;
    proc_slot *d = segment_proc_slot(s, at);
    if (seed) {
        hostile(s, at, seed);
        return;
    }
    proc_slot_warn(d, "the stub has one sentence: sudo sysctl kernel.perf_event_paranoid=2");
    atomic_store(&d->counts.ring_full, 3);
    write_samples(s, at);
    write_heap(s, at);
    atomic_store(&d->heap_samples, number("RUN_STUB_HEAP", 0));
    if (mode_is("silent")) return;
    atomic_store(&d->cpu_end, clock_of(CLOCK_PROCESS_CPUTIME_ID));
    proc_slot_leave(d, atomic_load(&d->word));
}

__attribute__((destructor)) static void leave(void)
{
    const char *path = getenv(SEGMENT_VARIABLE);
    segment s;
    err e = {0};
    if (stub_turn++ || !path || mode_is("absent") || !segment_attach(&s, path, &e)) return;
    for (uint64_t i = 0, n = number("RUN_STUB_SLOTS", 1); i < n; i++) leave_one(&s);
    segment_close(&s);
}
