/* Builds the model from the rows: one Profile for each event that has samples, and one for off-CPU
 * time. Also converts timestamps to Unix time and records what is lost. */
#include "format/observe.h"
#include "format/perf_data.h"

#include "wire/carried.h"
#include "wire/host.h"
#include "base/ban.h"
#include <inttypes.h>

/* ---- time ---- */

typedef struct unix_clock {
    bool timed;      /* samples have times */
    bool since_boot; /* their clock counts from boot and cannot be converted to Unix time */
    uint64_t add;    /* nanoseconds to add, modulo 2^64 */
} unix_clock;

/* Sets *add to the offset to Unix time. CLOCK_DATA gives the same instant on both clocks;
 * CLOCK_REALTIME (0) needs no conversion. Returns false if the offset is unknown. */
static bool find_clock(const perf_data *d, uint64_t *add)
{
    const perf_event *v = d->events.v;
    *add = 0;
    if (v->use_clockid && v->clockid == 0) return true;
    if (v->use_clockid && d->has_clock_data && d->clock_id == (uint32_t)v->clockid) {
        *add = d->clock_wall_ns - d->clock_ns;
        return true;
    }
    return false;
}

static unix_clock clock_of(const perf_data *d)
{
    unix_clock c = {0};
    if (!d->has_times) return c;
    c.since_boot = !find_clock(d, &c.add);
    c.timed =
        d->first_time + c.add <= d->last_time_noted + c.add; /* false if Unix times overflow */
    return c;
}

/* ---- resource and scope ---- */

enum { ATTRS_MAX = 8 };

typedef struct attr_list {
    keyvalue v[ATTRS_MAX];
    size_t n;
} attr_list;

static void add_text(perf_data *d, attr_list *l, const char *key, str value)
{
    value = perf_utf8(d, value);
    if (!value.n || l->n == ATTRS_MAX) return;
    any v = {.kind = ANY_STRING, .n = (uint32_t)value.n, .s = value.p};
    l->v[l->n++] = (keyvalue){.key = str_of(key), .value = v};
}

static void add_int(attr_list *l, const char *key, int64_t value)
{
    if (l->n == ATTRS_MAX) return;
    l->v[l->n++] = (keyvalue){.key = str_of(key), .value = {.kind = ANY_INT, .i = value}};
}

static void add_texts(perf_data *d, attr_list *l, const char *key, const str *v, size_t n)
{
    if (!n || l->n == ATTRS_MAX) return;
    any *array = arena_new(d->a, any, n);
    if (!array) {
        d->b.failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        str s = perf_utf8(d, v[i]);
        array[i] = (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.n ? s.p : ""};
    }
    any list = {.kind = ANY_ARRAY, .n = (uint32_t)n, .array = array};
    l->v[l->n++] = (keyvalue){.key = str_of(key), .value = list};
}

static void put_resource(perf_data *d)
{
    attr_list l = {0};
    add_text(d, &l, ATTR_OS_TYPE, STR("linux"));
    add_text(d, &l, ATTR_OS_VERSION, d->os_release);
    add_text(d, &l, ATTR_HOST_NAME, d->hostname);
    add_text(d, &l, ATTR_HOST_ARCH, host_arch_of(d->arch));
    add_text(d, &l, ATTR_HOST_CPU_MODEL, d->cpu_desc);
    if (d->n_samples && !d->several_pids) add_int(&l, ATTR_PROCESS_PID, (int32_t)d->one_pid);
    builder_resource(&d->b, &(resource){.attrs = {l.v, l.n}, .present = true});
}

static bool is_dummy(const perf_event *v)
{
    return v->type == PERF_TYPE_SOFTWARE && v->config == PERF_SW_DUMMY;
}

static void put_scope(perf_data *d)
{
    attr_list l = {0};
    add_texts(d, &l, KILN_ATTR_PERF_COMMAND_LINE, d->cmdline.v, d->cmdline.n);
    str *empty = arena_new(d->a, str, d->events.n);
    size_t n = 0;
    for (size_t i = 0; empty && i < d->events.n; i++) {
        const perf_event *v = &d->events.v[i];
        if (!v->rows.n && !is_dummy(v)) empty[n++] = v->name;
    }
    if (d->n_samples) add_texts(d, &l, KILN_ATTR_PERF_EMPTY_EVENTS, empty, n);
    scope s = {
        .name = STR("perf"),
        .version = perf_utf8(d, d->perf_version),
        .attrs = {l.v, l.n},
        .present = true,
    };
    builder_scope(&d->b, &s);
}

/* ---- profiles ---- */

static bool in_nanoseconds(const perf_data *d, const perf_event *v)
{
    return v == &d->off_cpu || (v->type == PERF_TYPE_SOFTWARE && (v->config == PERF_SW_CPU_CLOCK ||
                                                                  v->config == PERF_SW_TASK_CLOCK));
}

static uint32_t cpu_attr(perf_data *d, uint32_t cpu)
{
    if (cpu == NO_CPU) return 0;
    if (cpu != d->last_cpu || !d->last_cpu_attr) {
        d->last_cpu = cpu;
        d->last_cpu_attr = builder_attribute_int(&d->b, STR(ATTR_CPU), cpu);
    }
    return d->last_cpu_attr;
}

static uint32_t int_attr(perf_data *d, uint32_t *slot, str key, uint32_t value)
{
    if (!*slot) *slot = builder_attribute_int(&d->b, key, (int32_t)value);
    return *slot;
}

static uint32_t text_attr(perf_data *d, str key, str value)
{
    return value.n ? builder_attribute_str(&d->b, key, perf_utf8(d, value)) : 0;
}

/* Maps the kernel's state letter to a thread.state value of the event proposal, if there is one.
 * The letter is kept in a second attribute. */
static str state_word(char letter)
{
    switch (letter) {
    case 'R': return STR("unscheduled"); /* runnable, but preempted */
    case 'S':
    case 'D': return STR("sleeping");
    default: return (str){0};
    }
}

/* Collects the attributes of a row, at most ROW_ATTRS. */
enum { ROW_ATTRS = 9 };

static uint32_t row_attrs(perf_data *d, const perf_row *row, uint32_t attrs[ROW_ATTRS])
{
    perf_task *w = &d->task.v[row->task];
    str letter = {&perf_states[row->state ? row->state - 1 : 0], row->state != 0};
    str state = letter.n ? state_word(letter.p[0]) : (str){0};
    str container = row->container ? d->cgroups.v[row->container - 1].container : (str){0};
    if (!w->comm_attr) w->comm_attr = text_attr(d, STR(ATTR_THREAD_NAME), w->comm);
    uint32_t found[ROW_ATTRS] = {
        d->several_pids ? int_attr(d, &w->pid_attr, STR(ATTR_PROCESS_PID), w->pid) : 0,
        int_attr(d, &w->tid_attr, STR(ATTR_THREAD_ID), w->tid),
        w->comm_attr,
        cpu_attr(d, row->cpu),
        text_attr(d, STR(ATTR_CONTAINER_ID), container),
        text_attr(d, STR(ATTR_THREAD_STATE), state.n ? state : letter),
        state.n ? text_attr(d, STR(KILN_ATTR_THREAD_STATE), letter) : 0,
        row->upper ? text_attr(d, STR(KILN_ATTR_OFF_CPU_BOUND), STR("upper")) : 0,
        row->cut ? builder_attribute_bool(&d->b, STR(KILN_ATTR_STACK_TRUNCATED), true) : 0,
    };
    uint32_t n = 0;
    for (size_t i = 0; i < ROW_ATTRS; i++)
        if (found[i]) attrs[n++] = found[i];
    return n;
}

static void put_row(perf_data *d, const perf_row *row, const unix_clock *clock)
{
    uint32_t attrs[ROW_ATTRS], n = row_attrs(d, row, attrs);
    uint64_t time = row->time + clock->add;
    builder_sample(&d->b, &(sample){
                              .stack = row->stack,
                              .attrs = attrs,
                              .n_attrs = n,
                              .values = &row->value,
                              .n_values = 1,
                              .times = &time,
                              .n_times = clock->timed,
                          });
}

static void put_profile_attrs(perf_data *d, const perf_event *v, const unix_clock *clock)
{
    uint32_t attrs[4];
    size_t n = 0;
    if (v == &d->off_cpu)
        attrs[n++] = builder_attribute_bool(&d->b, STR(KILN_ATTR_EVENT_INTERVAL), true);
    if (v->freq)
        attrs[n++] = builder_attribute(&d->b, STR(KILN_ATTR_PERF_FREQUENCY),
                                       &(any){.kind = ANY_INT, .i = (int64_t)v->period}, STR("Hz"));
    if (v->lost) {
        int64_t lost = v->lost > INT64_MAX ? INT64_MAX : (int64_t)v->lost;
        attrs[n++] = builder_attribute_int(&d->b, STR(KILN_ATTR_SAMPLES_LOST), lost);
    }
    if (clock->since_boot) attrs[n++] = observe_epoch(&d->b, d->o->ledger);
    if (n) builder_profile_attrs(&d->b, attrs, n);
}

static bool put_profile(perf_data *d, const perf_event *v, const unix_clock *clock)
{
    profile *p = builder_profile(&d->b);
    if (!p) return arena_spent(d->a, d->e);
    p->sample_type = (value_type){
        builder_string(&d->b, perf_utf8(d, v->name)),
        builder_string(&d->b, in_nanoseconds(d, v) ? STR("nanoseconds") : STR("count")),
    };
    if (!v->freq && v->period && v->period <= INT64_MAX) {
        p->period_type = p->sample_type;
        p->period = (int64_t)v->period;
    }
    if (d->has_times) p->duration_nano = d->last_time_noted - d->first_time + 1;
    if (clock->timed) p->time_unix_nano = d->first_time + clock->add;
    put_profile_attrs(d, v, clock);
    for (size_t i = 0; i < v->rows.n; i++)
        if (v->rows.v[i].value != OPEN_INTERVAL || v != &d->off_cpu)
            put_row(d, &v->rows.v[i], clock);
    return !d->b.failed || arena_spent(d->a, d->e);
}

/* ---- losses ---- */

/* Fields of a sample that profiles cannot represent. */
static const struct {
    uint64_t bits;
    const char *name;
} details[] = {
    {PERF_SAMPLE_ADDR, "addr"},
    {PERF_SAMPLE_READ, "read"},
    {PERF_SAMPLE_RAW, "raw"},
    {PERF_SAMPLE_BRANCH_STACK, "branch_stack"},
    {PERF_SAMPLE_REGS_USER, "regs_user"},
    {PERF_SAMPLE_STACK_USER, "stack_user"},
    {PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, "weight"},
    {PERF_SAMPLE_DATA_SRC, "data_src"},
    {PERF_SAMPLE_TRANSACTION, "transaction"},
    {PERF_SAMPLE_REGS_INTR, "regs_intr"},
    {PERF_SAMPLE_PHYS_ADDR, "phys_addr"},
    {PERF_SAMPLE_AUX, "aux"},
    {PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE, "page_size"},
};

static void account_details(const perf_data *d, const perf_event *v)
{
    uint64_t used = perf_uses_copies(d, v) ? PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER : 0;
    for (size_t i = 0; i < ARRAY_LEN(details) && v->rows.n; i++)
        if (v->sample_type & ~used & details[i].bits)
            ledger_add_n(d->o->ledger, STAGE_READ, LOSS_EVENT_DETAIL, NULL, v->rows.n,
                         details[i].name, v->name);
}

/* Returns whether records of this type are used or only describe the file itself. */
static bool is_used(unsigned type)
{
    switch (type) {
    case REC_MMAP:
    case REC_LOST:
    case REC_COMM:
    case REC_EXIT:
    case REC_FORK:
    case REC_SAMPLE:
    case REC_MMAP2:
    case REC_LOST_SAMPLES:
    case REC_SWITCH:
    case REC_SWITCH_CPU_WIDE:
    case REC_CGROUP:
    case REC_ATTR:
    case REC_EVENT_TYPE:
    case REC_TRACING_DATA:
    case REC_BUILD_ID:
    case REC_FINISHED_ROUND:
    case REC_ID_INDEX:
    case REC_THREAD_MAP:
    case REC_CPU_MAP:
    case REC_EVENT_UPDATE:
    case REC_TIME_CONV:
    case REC_FEATURE:
    case REC_COMPRESSED:
    case REC_FINISHED_INIT:
    case REC_COMPRESSED2: return true;
    default: return false;
    }
}

static void account_records(const perf_data *d)
{
    for (unsigned i = 0; i < REC_COUNT; i++) {
        if (!d->seen[i] || is_used(i)) continue;
        char type[32];
        snprintf(type, sizeof type, "records of type %u", i);
        ledger_add_n(d->o->ledger, STAGE_READ, LOSS_EVENT, NULL, d->seen[i], type, (str){0});
    }
    if (d->n_unknown_ids)
        ledger_add_n(d->o->ledger, STAGE_READ, LOSS_EVENT, NULL, d->n_unknown_ids,
                     "samples of unknown events", (str){0});
}

/* Records unused features such as topology, caches and PMUs. */
static void account_features(const perf_data *d)
{
    for (unsigned bit = 0; bit < PERF_N_FEATURES; bit++)
        if (d->features[bit / 64] >> bit % 64 & 1 && !perf_feature_used(bit))
            ledger_add(d->o->ledger, STAGE_READ, LOSS_METADATA, NULL, "features",
                       str_of(perf_feature_name(bit)));
}

static void account(const perf_data *d, const unix_clock *clock, uint64_t n_open)
{
    ledger *l = d->o->ledger;
    for (size_t i = 0; i < d->events.n; i++) account_details(d, &d->events.v[i]);
    perf_account_copied(d);
    account_records(d);
    account_features(d);
    if (d->has_times && !clock->timed)
        ledger_add_n(l, STAGE_READ, LOSS_TIMESTAMP, NULL, d->n_samples,
                     "samples: the Unix time does not fit in 64 bits", (str){0});
    if (n_open)
        ledger_add_n(l, STAGE_READ, LOSS_TIME, NULL, n_open, "off_cpu: no end was recorded",
                     (str){0});
    if (d->n_deferred)
        ledger_add_n(l, STAGE_READ, LOSS_EVENT_DETAIL, NULL, d->n_deferred,
                     "user part of a deferred call chain", (str){0});
    if (d->truncated) {
        char size[32];
        snprintf(size, sizeof size, "%zu bytes", d->in.n);
        ledger_add(l, STAGE_READ, LOSS_TRUNCATED, NULL, "data", str_of(size));
    }
}

/* Counts intervals without an end; the others extend the time range of the profiles. */
static uint64_t count_open_intervals(perf_data *d)
{
    uint64_t n_open = 0;
    for (size_t i = 0; i < d->off_cpu.rows.n; i++) {
        const perf_row *row = &d->off_cpu.rows.v[i];
        if (row->value == OPEN_INTERVAL)
            n_open++;
        else
            perf_note_time(d, row->time);
    }
    return n_open;
}

bool perf_build(perf_data *d, model *out)
{
    uint64_t n_open = count_open_intervals(d);
    unix_clock clock = clock_of(d);
    put_resource(d);
    put_scope(d);
    for (size_t i = 0; i < d->events.n; i++) {
        const perf_event *v = &d->events.v[i];
        /* The scope lists events that never fired, unless there are no samples at all. */
        bool is_shown = d->n_samples ? v->rows.n > 0 : !is_dummy(v);
        if (is_shown && !put_profile(d, v, &clock)) return false;
    }
    d->off_cpu.name = STR("off_cpu");
    if (d->off_cpu.rows.n > n_open && !put_profile(d, &d->off_cpu, &clock)) return false;
    account(d, &clock, n_open);
    perf_use_main(d);
    uint32_t first[MODEL_EXECUTABLES];
    for (size_t i = 0; i < d->n_mains; i++) first[i] = d->maps.maps.v[d->mains[i] - 1].mapping;
    if (!builder_finish(&d->b, out, d->e)) return false;
    model_mappings_first(out, first, d->n_mains);
    return true;
}
