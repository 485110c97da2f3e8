/* Replays records in order of time. Records update threads and address spaces; samples become
 * rows. */
#include "format/perf_data.h"

#include "base/utf8.h"
#include "wire/host.h"
#include "base/ban.h"

/* ---- text ---- */

str perf_utf8(perf_data *d, str s)
{
    size_t good = utf8_valid(s.p, s.n);
    if (good == s.n) return s;
    ledger_add(d->o->ledger, STAGE_READ, LOSS_TEXT, NULL, "names", (str){s.p, good});
    buf b = {0};
    while (s.n) {
        buf_put(&b, s.p, good);
        if (good < s.n) buf_z(&b, "\xef\xbf\xbd"), good++;
        s = (str){s.p + good, s.n - good};
        good = utf8_valid(s.p, s.n);
    }
    char *p = b.failed ? NULL : arena_alloc(d->a, b.n);
    if (p)
        memcpy(p, b.p, b.n), s = (str){p, b.n};
    else
        d->b.failed = true;
    buf_free(&b);
    return s;
}

/* ---- threads and processes ---- */

static uint32_t find_u32(const hash_index *x, uint64_t h, const void *v, size_t stride,
                         uint32_t key, bool *found)
{
    uint32_t i = hash_first(x, h);
    *found = true;
    for (uint32_t at; hash_next(x, &i, h, &at); i++)
        if (!memcmp((const char *)v + at * stride, &key, sizeof key)) return at;
    *found = false;
    return i;
}

perf_thread *perf_thread_of(perf_data *d, uint32_t pid, uint32_t tid)
{
    if (!hash_index_room(&d->by_tid, d->a)) return arena_spent(d->a, d->e), NULL;
    uint64_t h = hash_mix(d->by_tid.seed, tid);
    bool found;
    uint32_t i = find_u32(&d->by_tid, h, d->threads.v, sizeof *d->threads.v, tid, &found);
    if (found) return &d->threads.v[i];
    perf_thread *t = vec_push(d->a, &d->threads);
    if (!t) return arena_spent(d->a, d->e), NULL;
    t->tid = tid;
    t->pid = pid;
    if (tid == 0) t->comm = STR("swapper"); /* the idle thread has no COMM record */
    hash_put(&d->by_tid, i, h, (uint32_t)(d->threads.n - 1));
    return t;
}

perf_process *perf_process_of(perf_data *d, uint32_t pid)
{
    if (!hash_index_room(&d->by_pid, d->a)) return arena_spent(d->a, d->e), NULL;
    uint64_t h = hash_mix(d->by_pid.seed, pid);
    bool found;
    uint32_t i = find_u32(&d->by_pid, h, d->processes.v, sizeof *d->processes.v, pid, &found);
    if (found) return &d->processes.v[i];
    perf_process *p = vec_push(d->a, &d->processes);
    if (!p) return arena_spent(d->a, d->e), NULL;
    p->pid = pid;
    hash_put(&d->by_pid, i, h, (uint32_t)(d->processes.n - 1));
    return p;
}

uint32_t perf_task_of(perf_data *d, perf_thread *t)
{
    if (t->task) return t->task - 1;
    perf_task *w = vec_push(d->a, &d->task);
    if (!w) return d->b.failed = true, 0;
    *w = (perf_task){.pid = t->pid, .tid = t->tid, .comm = t->comm};
    t->task = (uint32_t)d->task.n;
    return t->task - 1;
}

/* ---- records ---- */

/* Returns the size of the body without the sample id at its end. */
static size_t own_size(const perf_data *d, const perf_record *r)
{
    size_t n = perf_body_size(r), trailer = perf_trailer_size(perf_event_of(d, r));
    return trailer < n ? n - trailer : 0;
}

static bool too_short(const perf_data *d, const perf_record *r, const char *name)
{
    return perf_fail(d, r, 0, "a %s record of %u bytes is too short", name, r->size);
}

enum { MMAP_NAME = 32, MMAP2_NAME = 64, MMAP2_BUILD_ID = 32 };

/* Removes the symbol name from "[kernel.kallsyms]_text". */
static str map_name(str s)
{
    if (!str_starts(s, STR("[kernel.kallsyms]")) && !str_starts(s, STR("[guest.kernel.kallsyms")))
        return s;
    const char *end = memchr(s.p, ']', s.n);
    return end ? (str){s.p, (size_t)(end - s.p) + 1} : s;
}

/* After an exec the kernel maps the executable before its interpreter. For a process that already
 * exists, perf writes the maps ordered by address, and the executable is below the libraries. */
static void find_main(perf_process *p, const perf_record *r, const perf_map *m, uint32_t map)
{
    bool file = str_starts(m->filename, STR("/")) && !str_starts(m->filename, STR("//"));
    if (!p->main && file && !(r->misc & MISC_MMAP_DATA)) p->main = map;
}

static void note_main(perf_data *d, perf_process *p)
{
    if (p->noted || !p->main) return;
    p->noted = true;
    if (d->n_mains < MODEL_EXECUTABLES) d->mains[d->n_mains++] = p->main;
}

static bool add_map(perf_data *d, const perf_record *r)
{
    bool two = r->type == REC_MMAP2;
    size_t n = own_size(d, r), name_at = two ? MMAP2_NAME : MMAP_NAME;
    if (n < name_at) return too_short(d, r, two ? "MMAP2" : "MMAP");
    uint64_t start = perf_u64(d, r->body + 8), len = perf_u64(d, r->body + 16), limit;
    if (ckd_add(&limit, start, len)) limit = UINT64_MAX;
    perf_map m = {
        .start = start,
        .limit = limit,
        .offset = perf_u64(d, r->body + 24),
        .filename = map_name(perf_text(r->body + name_at, n - name_at)),
        .data = r->misc & MISC_MMAP_DATA,
    };
    if (two && r->misc & MISC_MMAP_BUILD_ID) {
        uint8_t size = r->body[MMAP2_BUILD_ID];
        if (size <= BUILD_ID_MAX)
            m.build_id = (str){(const char *)r->body + MMAP2_BUILD_ID + 4, size};
    }
    perf_space *space = &d->kernel;
    unsigned mode = r->misc & MISC_CPUMODE;
    if (mode == MODE_GUEST_KERNEL || mode == MODE_GUEST_USER) return true;
    perf_process *p = NULL;
    if (mode != MODE_KERNEL) {
        p = perf_process_of(d, perf_u32(d, r->body));
        if (!p) return false;
        space = &p->space;
    }
    perf_map *slot = vec_push(d->a, &d->maps.maps);
    if (!slot) return arena_spent(d->a, d->e);
    *slot = m;
    if (p) find_main(p, r, &m, (uint32_t)d->maps.maps.n);
    if (!perf_space_add(&d->maps, space, (uint32_t)(d->maps.maps.n - 1)))
        return arena_spent(d->a, d->e);
    return true;
}

static bool set_comm(perf_data *d, const perf_record *r)
{
    size_t n = own_size(d, r);
    if (n < 8) return too_short(d, r, "COMM");
    uint32_t pid = perf_u32(d, r->body), tid = perf_u32(d, r->body + 4);
    perf_thread *t = perf_thread_of(d, pid, tid);
    if (!t) return false;
    t->pid = pid;
    t->comm = perf_text(r->body + 8, n - 8);
    t->task = 0;
    if (!(r->misc & MISC_COMM_EXEC)) return true;
    perf_process *p = perf_process_of(d, pid);
    if (!p) return false;
    perf_space_clear(&d->maps, &p->space);
    p->main = 0;
    p->noted = false;
    return true;
}

static bool fork_process(perf_data *d, uint32_t parent, uint32_t child)
{
    /* Creates both before getting pointers, because creating the second may move the first. */
    if (!perf_process_of(d, parent) || !perf_process_of(d, child)) return false;
    const perf_process *from = perf_process_of(d, parent);
    perf_process *to = perf_process_of(d, child);
    perf_space_fork(&d->maps, &perf_process_of(d, parent)->space, &to->space);
    to->main = from->main;
    to->noted = from->noted;
    return true;
}

static bool fork_thread(perf_data *d, const perf_record *r)
{
    if (perf_body_size(r) < 16) return too_short(d, r, "FORK");
    uint32_t pid = perf_u32(d, r->body), ppid = perf_u32(d, r->body + 4);
    uint32_t tid = perf_u32(d, r->body + 8), ptid = perf_u32(d, r->body + 12);
    perf_thread *parent = perf_thread_of(d, ppid, ptid);
    str comm = parent ? parent->comm : (str){0};
    perf_thread *t = parent ? perf_thread_of(d, pid, tid) : NULL;
    if (!t) return false;
    *t = (perf_thread){.tid = tid, .pid = pid, .comm = comm};
    if (pid == ppid || r->misc & MISC_FORK_EXEC) return true;
    return fork_process(d, ppid, pid);
}

static bool exit_thread(perf_data *d, const perf_record *r)
{
    if (perf_body_size(r) < 16) return too_short(d, r, "EXIT");
    perf_thread *t = perf_thread_of(d, perf_u32(d, r->body), perf_u32(d, r->body + 8));
    if (t) t->off = 0; /* its off-CPU interval has no end */
    return t != NULL;
}

static bool add_cgroup(perf_data *d, const perf_record *r)
{
    size_t n = own_size(d, r);
    if (n < 8) return too_short(d, r, "CGROUP");
    str container = container_id_of(perf_text(r->body + 8, n - 8));
    if (!container.n) return true;
    if (!hash_index_room(&d->by_cgroup, d->a)) return arena_spent(d->a, d->e);
    uint64_t id = perf_u64(d, r->body), h = hash_mix(d->by_cgroup.seed, id);
    uint32_t i = hash_first(&d->by_cgroup, h);
    for (uint32_t at; hash_next(&d->by_cgroup, &i, h, &at); i++)
        if (d->cgroups.v[at].id == id) return true;
    perf_cgroup *c = vec_push(d->a, &d->cgroups);
    if (!c) return arena_spent(d->a, d->e);
    *c = (perf_cgroup){id, container};
    hash_put(&d->by_cgroup, i, h, (uint32_t)(d->cgroups.n - 1));
    return true;
}

static uint32_t container_index(const perf_data *d, uint64_t id)
{
    if (!d->by_cgroup.n) return 0;
    uint64_t h = hash_mix(d->by_cgroup.seed, id);
    uint32_t i = hash_first(&d->by_cgroup, h);
    for (uint32_t at; hash_next(&d->by_cgroup, &i, h, &at); i++)
        if (d->cgroups.v[at].id == id) return at + 1;
    return 0;
}

/* ---- samples ---- */

static int64_t clamp(uint64_t v) { return v > INT64_MAX ? INT64_MAX : (int64_t)v; }

bool perf_push_row(perf_data *d, perf_event *v, const perf_row *row)
{
    perf_row *slot = vec_push(d->a, &v->rows);
    if (!slot) return arena_spent(d->a, d->e);
    *slot = *row;
    return true;
}

static bool push_sample(perf_data *d, perf_event *v, perf_row *row, uint64_t value)
{
    if (value > INT64_MAX)
        ledger_add(d->o->ledger, STAGE_READ, LOSS_VALUE_SATURATED, NULL, "period", (str){0});
    row->value = clamp(value);
    d->n_samples++;
    return perf_push_row(d, v, row);
}

/* A sample with counters gives one row for each counter that changed, as in `perf script`. Counters
 * are totals, so the value is the difference from the previous reading. */
static bool push_counters(perf_data *d, const perf_sample *s, perf_row *row)
{
    uint64_t has = s->event->read_format;
    bool group = has & PERF_FORMAT_GROUP;
    size_t step = 8 * (1 + perf_n_bits(has & (PERF_FORMAT_ID | PERF_FORMAT_LOST)));
    size_t times = 8 * perf_n_bits(has & (PERF_FORMAT_TIME_ENABLED | PERF_FORMAT_TIME_RUNNING));
    size_t id_at = group ? 8 : 8 + times;
    for (uint32_t i = 0; i < s->n_read; i++) {
        const uint8_t *p = s->read + i * step;
        perf_id *id = perf_find_id(d, perf_u64(d, p + id_at));
        if (!id) {
            d->n_unknown_ids++;
            continue;
        }
        uint64_t total = perf_u64(d, p), value = total - id->last;
        id->last = total;
        if (value && !push_sample(d, &d->events.v[id->event], row, value)) return false;
    }
    return true;
}

void perf_note_time(perf_data *d, uint64_t time)
{
    if (!d->has_times || time < d->first_time) d->first_time = time;
    if (!d->has_times || time > d->last_time_noted) d->last_time_noted = time;
    d->has_times = true;
}

static void note_sample(perf_data *d, const perf_sample *s)
{
    if (s->has_time) perf_note_time(d, s->time);
    if (!d->n_samples) d->one_pid = s->pid;
    if (s->pid != d->one_pid) d->several_pids = true;
}

static bool replay_sample(perf_data *d, const perf_record *r)
{
    perf_sample s;
    if (!perf_decode_sample(d, r, &s)) return false;
    if (!s.event) {
        d->n_unknown_ids++;
        return true;
    }
    perf_thread *t = perf_thread_of(d, s.pid, s.tid);
    perf_process *p = t ? perf_process_of(d, s.pid) : NULL;
    if (!p) return false;
    if (t->pid != s.pid) t->pid = s.pid, t->task = 0;
    note_main(d, p);
    bool cut = false;
    uint32_t stack = perf_stack_of(d, &s, r->misc, p, &cut);
    note_sample(d, &s);
    if (!perf_off_sample(d, &s, t, stack)) return false;
    perf_row row = {
        .time = s.time,
        .stack = stack,
        .task = perf_task_of(d, t),
        .cpu = s.cpu,
        .container = s.cgroup ? container_index(d, s.cgroup) : 0,
        .cut = cut,
    };
    bool counters = s.has_read && s.event->read_format & PERF_FORMAT_ID;
    return counters ? push_counters(d, &s, &row) : push_sample(d, s.event, &row, s.period);
}

static bool replay_record(perf_data *d, const perf_record *r)
{
    switch (r->type) {
    case REC_SAMPLE: return replay_sample(d, r);
    case REC_MMAP:
    case REC_MMAP2: return add_map(d, r);
    case REC_COMM: return set_comm(d, r);
    case REC_FORK: return fork_thread(d, r);
    case REC_EXIT: return exit_thread(d, r);
    case REC_CGROUP: return add_cgroup(d, r);
    default: return perf_off_record(d, r);
    }
}

bool perf_replay(perf_data *d)
{
    if (!builder_init(&d->b, d->a) || !perf_maps_init(&d->maps, d->a))
        return arena_spent(d->a, d->e);
    d->b.borrow = true;
    perf_off_init(d);
    for (size_t i = 0; i < d->events.n; i++) perf_find_user_ip(d, &d->events.v[i]);
    for (size_t i = 0; i < d->entries.n; i++) {
        perf_record r = perf_record_of(d, d->entries.v[i].at);
        if (!replay_record(d, &r)) return false;
        if (d->b.failed) return arena_spent(d->a, d->e);
    }
    return true;
}
