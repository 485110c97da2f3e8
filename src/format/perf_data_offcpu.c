/* Computes off-CPU time from context switches.
 *
 *   sched:sched_switch   prev stops, with its stack; next continues. Both ends are exact
 *   SWITCH records       a thread stops or continues; a context-switches sample has the stack
 *   no end recorded      the next sample of the thread shows that it runs: an upper bound
 *
 * A row is added when a thread stops and gets its value when the thread continues, so rows are
 * ordered by their start. The model omits rows without an end. */
#include "format/perf_data.h"

#include "base/ban.h"

enum { PERF_SW_CONTEXT_SWITCHES = 3, PERF_SW_CGROUP_SWITCHES = 11, STATE_DEAD = 0x30 };

const char perf_states[] = "RSDTtXZPI";

void perf_off_init(perf_data *d)
{
    /* If the file does not describe the tracepoint, use its layout in every kernel since 2.6.33. */
    if (!d->sched.found)
        d->sched = (perf_switch_fields){
            .found = true, .prev_pid = 24, .prev_state = 32, .prev_state_size = 8, .next_pid = 56};
    for (size_t i = 0; i < d->events.n; i++) {
        perf_event *v = &d->events.v[i];
        v->is_sched_switch = v->type == PERF_TYPE_TRACEPOINT && v->sample_type & PERF_SAMPLE_RAW &&
                             v->sample_type & PERF_SAMPLE_TIME &&
                             str_starts(v->name, STR("sched:sched_switch"));
        d->has_sched_switch |= v->is_sched_switch;
    }
}

/* ---- intervals ---- */

static void finish(perf_data *d, perf_thread *t, uint64_t time, bool exact)
{
    if (!t->off) return;
    perf_row *row = &d->off_cpu.rows.v[t->off - 1];
    if (time < row->time) return;
    t->off = 0;
    uint64_t ns = time - row->time;
    row->value = ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
    row->upper = !exact;
}

static bool begin(perf_data *d, perf_thread *t, uint64_t time, uint32_t stack, uint32_t cpu,
                  unsigned state)
{
    if (t->tid == 0) return true; /* the idle thread does not wait */
    perf_row row = {.time = time,
                    .value = OPEN_INTERVAL,
                    .stack = stack,
                    .task = perf_task_of(d, t),
                    .cpu = cpu,
                    .state = (uint8_t)state};
    if (!perf_push_row(d, &d->off_cpu, &row)) return false;
    t->off = (uint32_t)d->off_cpu.rows.n;
    return true;
}

/* ---- samples ---- */

/* Returns the thread whose pid in tracepoints is `raw`. If `thread` is not NO_THREAD, stores it for
 * this pid. */
#define NO_THREAD UINT32_MAX
static uint32_t raw_thread(perf_data *d, uint32_t raw, uint32_t thread)
{
    if (!hash_index_room(&d->by_raw_pid, d->a)) return d->b.failed = true, NO_THREAD;
    uint64_t h = hash_mix(d->by_raw_pid.seed, raw);
    uint32_t i = hash_first(&d->by_raw_pid, h);
    for (uint32_t at; hash_next(&d->by_raw_pid, &i, h, &at); i++)
        if (d->raw_pids.v[at].raw == raw) {
            if (thread != NO_THREAD) d->raw_pids.v[at].thread = thread;
            return d->raw_pids.v[at].thread;
        }
    if (thread == NO_THREAD) return NO_THREAD;
    perf_raw_pid *x = vec_push(d->a, &d->raw_pids);
    if (!x) return d->b.failed = true, NO_THREAD;
    *x = (perf_raw_pid){raw, thread};
    hash_put(&d->by_raw_pid, i, h, (uint32_t)(d->raw_pids.n - 1));
    return thread;
}

/* Returns the index in perf_states: 0 for runnable (preempted), otherwise by the lowest set bit. */
static unsigned state_index(uint64_t state)
{
    state &= 0xff;
    return state ? 1 + (unsigned)__builtin_ctzll(state) : 0;
}

static bool raw_fits(const perf_sample *s, uint32_t at, uint32_t n)
{
    return at <= s->n_raw && n <= s->n_raw - at;
}

static bool switch_sample(perf_data *d, const perf_sample *s, perf_thread *t, uint32_t stack)
{
    const perf_switch_fields *f = &d->sched;
    if (!raw_fits(s, f->prev_pid, 4) || !raw_fits(s, f->next_pid, 4)) return true;
    uint64_t state = 0;
    if (f->prev_state_size && raw_fits(s, f->prev_state, f->prev_state_size)) {
        const uint8_t *p = s->raw + f->prev_state;
        state = f->prev_state_size == 8 ? perf_u64(d, p) : perf_u32(d, p);
    }
    raw_thread(d, perf_u32(d, s->raw + f->prev_pid), (uint32_t)(t - d->threads.v));
    uint32_t next = raw_thread(d, perf_u32(d, s->raw + f->next_pid), NO_THREAD);
    if (next != NO_THREAD) finish(d, &d->threads.v[next], s->time, true);
    if (state & STATE_DEAD) return true;
    return begin(d, t, s->time, stack, s->cpu, 1 + state_index(state));
}

bool perf_off_sample(perf_data *d, const perf_sample *s, perf_thread *t, uint32_t stack)
{
    const perf_event *v = s->event;
    if (!s->has_time) return true;
    bool switches = v->type == PERF_TYPE_SOFTWARE &&
                    (v->config == PERF_SW_CONTEXT_SWITCHES || v->config == PERF_SW_CGROUP_SWITCHES);
    if (switches) { /* sampled while the thread stops: it shows where, not that the thread runs */
        t->stopped_at = stack;
        return true;
    }
    finish(d, t, s->time, false);
    t->stopped_at = 0;
    return !v->is_sched_switch || switch_sample(d, s, t, stack);
}

bool perf_off_record(perf_data *d, const perf_record *r)
{
    perf_sample s;
    perf_decode_trailer(d, r, &s);
    if (!s.has_time || !s.event || !(s.event->sample_type & PERF_SAMPLE_TID)) return true;
    perf_thread *t = perf_thread_of(d, s.pid, s.tid);
    if (!t) return false;
    if (!(r->misc & MISC_SWITCH_OUT)) {
        finish(d, t, s.time, true);
        t->stopped_at = 0;
        return true;
    }
    if (d->has_sched_switch) return true;
    unsigned state = r->misc & MISC_SWITCH_OUT_PREEMPT ? 1 : 0;
    return begin(d, t, s.time, t->stopped_at, s.cpu, state);
}
