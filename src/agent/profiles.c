/* Builds a model from a batch.  Observations with equal stack, thread, span and attributes are
 * grouped first, so that each group becomes one sample. */
#include "agent/profiles_internal.h"

#include "base/utf8.h"
#include "format/splunk.h"
#include "sys/entropy.h"
#include "wire/carried.h"
#include "base/ban.h"

/* ---- stacks ---- */

/* Returns the mapping of an image; 0 for memory without a file, which is generated code. */
static uint32_t mapping_of(making *m, const image *x)
{
    if (!x->path.n && !x->gnu[0] && !x->go[0]) return 0;
    uint32_t *known = &m->mapping_of[x - m->in->images->v.v];
    if (*known) return *known - 1;
    uint32_t attrs[3], n = 0;
    if (x->gnu[0])
        attrs[n++] = builder_attribute_str(&m->b, STR(ATTR_BUILD_ID_GNU), str_of(x->gnu));
    if (x->go[0]) attrs[n++] = builder_attribute_str(&m->b, STR(ATTR_BUILD_ID_GO), str_of(x->go));
    if (x->htlhash[0])
        attrs[n++] = builder_attribute_str(&m->b, STR(ATTR_BUILD_ID_HTLHASH), str_of(x->htlhash));
    str path = utf8_ok(x->path.p, x->path.n) ? x->path : STR("");
    mapping v = {.memory_start = x->start,
                 .memory_limit = x->end,
                 .file_offset = x->offset,
                 .filename = builder_string(&m->b, path)};
    uint32_t at = builder_mapping(&m->b, &v, attrs, n);
    *known = at + 1;
    return at;
}

/* Returns whether the address belongs to the kernel. */
static bool is_kernel(uint64_t address) { return address >> 63; }

/* Returns the mapping of the running kernel.  Its addresses are those of /proc/kallsyms. */
static uint32_t kernel_mapping(making *m)
{
    if (m->kernel) return m->kernel;
    uint32_t id = m->in->kernel_id.n
                      ? builder_attribute_str(&m->b, STR(ATTR_BUILD_ID_GNU), m->in->kernel_id)
                      : 0;
    mapping v = {.memory_start = UINT64_C(1) << 63,
                 .memory_limit = UINT64_MAX,
                 .filename = builder_string(&m->b, STR("[kernel.kallsyms]"))};
    m->kernel_type = builder_attribute_str(&m->b, STR(ATTR_FRAME_TYPE), STR("kernel"));
    return m->kernel = builder_mapping(&m->b, &v, &id, id != 0);
}

static uint32_t location_of(making *m, uintptr_t pc, uint64_t time)
{
    if (is_kernel(pc)) {
        uint32_t kernel = kernel_mapping(m);
        return builder_location(&m->b, kernel, pc, NULL, 0, &m->kernel_type, 1);
    }
    const image *x = images_find(m->in->images, pc, time);
    return builder_location(&m->b, x ? mapping_of(m, x) : 0, pc, NULL, 0, NULL, 0);
}

static uint32_t stack_of_pcs(making *m, const uintptr_t *pcs, size_t n, uint64_t time)
{
    m->frames.n = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t *to = vec_push(m->a, &m->frames);
        if (!to) return m->b.failed = true, 0;
        *to = location_of(m, pcs[i], time);
    }
    return builder_stack(&m->b, m->frames.v, m->frames.n);
}

static uint32_t stack_of(making *m, const agent_sample *s)
{
    const batch *b = m->in->batch;
    uint32_t *known = &m->stack_of[s->stack];
    const agent_stack *t = &b->stacks.v[s->stack];
    if (!*known) *known = stack_of_pcs(m, b->pcs.v + t->first, t->n, s->time) + 1;
    return *known - 1;
}

static uint32_t link_of(making *m, const agent_sample *s)
{
    const agent_link *l = &m->in->batch->links.v[s->link];
    return s->link ? builder_link(&m->b, l->trace_id, l->span_id) : 0;
}

/* ---- profiles ---- */

static value_type type_of(making *m, const char *type, const char *unit)
{
    return (value_type){builder_string(&m->b, str_of(type)), builder_string(&m->b, str_of(unit))};
}

static profile *begin_profile(making *m, value_type type, value_type period_type, uint64_t period)
{
    profile *p = builder_profile(&m->b);
    uint64_t id[2] = {entropy_u64(), entropy_u64()};
    p->sample_type = type;
    p->has_sample_type = true;
    p->period_type = period_type;
    p->period = (int64_t)period;
    memcpy(p->profile_id, id, sizeof p->profile_id);
    return p;
}

/* Sets the time window to the batch, extended so that it contains every sample. */
static void set_window(const making *m, profile *p, sample_kind kind)
{
    const batch *b = m->in->batch;
    uint64_t start = b->start, end = b->end;
    for (size_t i = 0; i < b->samples.n; i++) {
        const agent_sample *s = &b->samples.v[i];
        if (s->kind != kind) continue;
        if (s->time < start) start = s->time;
        if (s->time >= end) end = s->time + 1;
    }
    p->time_unix_nano = start;
    p->duration_nano = end > start ? end - start : 1;
}

/* ---- grouped samples ---- */

typedef struct group {
    uint32_t first; /* first sample in the batch */
    uint32_t n, at; /* number of samples in the group; position of its next value */
} group;

typedef struct groups {
    VEC(group) v;
    hash_index index;
    uint32_t *of; /* group of each sample */
} groups;

static bool joins(const agent_sample *a, const agent_sample *b)
{
    return a->stack == b->stack && a->thread == b->thread && a->link == b->link &&
           a->attrs == b->attrs && a->state == b->state && a->syscall == b->syscall &&
           a->waker == b->waker && !strcmp(a->wchan, b->wchan);
}

static uint64_t hash_sample(const agent_sample *s, uint64_t seed)
{
    uint64_t h = hash_mix(seed, (uint64_t)s->stack << 32 | s->thread);
    h = hash_mix(h, (uint64_t)s->link << 32 | s->attrs);
    h = hash_mix(h, (uint64_t)s->waker << 32 | s->syscall);
    return hash_mix(h, hash_bytes(s->wchan, strlen(s->wchan), (uint8_t)s->state));
}

static bool add_to_group(making *m, groups *g, uint32_t i)
{
    const agent_sample *v = m->in->batch->samples.v;
    if (!hash_index_room(&g->index, m->a)) return false;
    uint64_t h = hash_sample(&v[i], g->index.seed);
    uint32_t k = hash_first(&g->index, h);
    for (uint32_t at; hash_next(&g->index, &k, h, &at); k++) {
        if (!joins(&v[g->v.v[at].first], &v[i])) continue;
        g->v.v[at].n++;
        g->of[i] = at;
        return true;
    }
    group *x = vec_push(m->a, &g->v);
    if (!x) return false;
    *x = (group){.first = i, .n = 1};
    g->of[i] = (uint32_t)(g->v.n - 1);
    hash_put(&g->index, k, h, g->of[i]);
    return true;
}

static bool group_samples(making *m, sample_kind kind, groups *g)
{
    const batch *b = m->in->batch;
    g->of = arena_array(m->a, b->samples.n, sizeof *g->of);
    if (!g->of) return false;
    for (uint32_t i = 0; i < b->samples.n; i++)
        if (b->samples.v[i].kind == kind && !add_to_group(m, g, i)) return false;
    return true;
}

/* Stores the values and times of all groups, group after group, each in the order of the batch. */
static bool put_groups(making *m, sample_kind kind, groups *g)
{
    const batch *b = m->in->batch;
    uint32_t n = 0;
    for (size_t i = 0; i < g->v.n; i++) g->v.v[i].at = n, n += g->v.v[i].n;
    int64_t *values = arena_array(m->a, n, sizeof *values);
    uint64_t *times = arena_array(m->a, n, sizeof *times);
    if (!values || !times) return false;
    for (uint32_t i = 0; i < b->samples.n; i++) {
        const agent_sample *s = &b->samples.v[i];
        if (s->kind != kind) continue;
        uint32_t at = g->v.v[g->of[i]].at++;
        values[at] = s->value, times[at] = s->time;
    }
    for (size_t i = 0; i < g->v.n; i++) {
        const group *x = &g->v.v[i];
        const agent_sample *s = &b->samples.v[x->first];
        profiles_set_attrs(m, s);
        builder_sample(&m->b, &(sample){.stack = stack_of(m, s),
                                        .link = link_of(m, s),
                                        .attrs = m->attrs,
                                        .n_attrs = m->n_attrs,
                                        .values = values + x->at - x->n,
                                        .n_values = x->n,
                                        .times = times + x->at - x->n,
                                        .n_times = x->n});
    }
    return true;
}

static uint64_t period_of(const profiles_in *in, sample_kind kind)
{
    if (kind == SAMPLE_WALL) return in->wall_ns;
    return kind == SAMPLE_CPU && in->cpu_hz ? 1000000000 / in->cpu_hz : 0;
}

/* Adds an attribute of the profile, unless the number is 0. */
static void note_number(making *m, uint32_t *attrs, uint32_t *n, const char *key, uint64_t v)
{
    if (v) attrs[(*n)++] = builder_attribute_int(&m->b, str_of(key), (int64_t)v);
}

static bool put_joined(making *m, sample_kind kind)
{
    static const char *const names[SAMPLE_KINDS] = {"cpu", "wall", "off_cpu"};
    groups g = {0};
    if (!group_samples(m, kind, &g)) return false;
    if (!g.v.n) return true;
    value_type t = type_of(m, names[kind], "nanoseconds"), none = {0};
    uint64_t period = period_of(m->in, kind);
    set_window(m, begin_profile(m, t, period ? t : none, period), kind);
    uint32_t attrs[2 + PROFILES_LOSSES], n = 0;
    for (size_t i = 0; !m->stated && i < m->in->n_losses; i++)
        note_number(m, attrs, &n, m->in->losses[i].key, m->in->losses[i].n);
    m->stated = true;
    if (kind == SAMPLE_CPU)
        note_number(m, attrs, &n, KILN_ATTR_SAMPLES_LOST, m->in->batch->lost.ring_full);
    if (kind == SAMPLE_OFF_CPU) {
        note_number(m, attrs, &n, KILN_ATTR_OFF_CPU_MIN, m->in->min_ns);
        note_number(m, attrs, &n, KILN_ATTR_OFF_CPU_KEPT, m->in->keep_ns);
    }
    builder_profile_attrs(&m->b, attrs, n);
    return put_groups(m, kind, &g);
}

/* ---- heap ---- */

static void put_heap(making *m, const char *type, const char *unit, size_t field)
{
    const heap_rows *h = m->in->heap;
    profile *p = NULL;
    for (size_t i = 0; i < h->v.n; i++) {
        const heap_row *r = &h->v.v[i];
        int64_t v;
        memcpy(&v, (const char *)r + field, sizeof v);
        if (v <= 0) continue;
        if (!p) {
            p = begin_profile(m, type_of(m, type, unit), type_of(m, "space", "bytes"), h->interval);
            set_window(m, p, SAMPLE_KINDS);
        }
        uint32_t cut = r->end == UNWIND_CAPPED
                           ? builder_attribute_bool(&m->b, STR(KILN_ATTR_STACK_TRUNCATED), true)
                           : 0;
        builder_sample(&m->b, &(sample){.stack = stack_of_pcs(m, r->pcs, r->n, 0),
                                        .attrs = &cut,
                                        .n_attrs = cut != 0,
                                        .values = &v,
                                        .n_values = 1});
    }
}

static void put_heaps(making *m)
{
    if (!m->in->heap || m->in->first) return;
    put_heap(m, "alloc_objects", "count", offsetof(heap_row, alloc_objects));
    put_heap(m, "alloc_space", "bytes", offsetof(heap_row, alloc_space));
    put_heap(m, "inuse_objects", "count", offsetof(heap_row, inuse_objects));
    put_heap(m, "inuse_space", "bytes", offsetof(heap_row, inuse_space));
}

/* ---- log records ---- */

static void begin_logs(making *m)
{
    bool text = m->in->style == PROFILES_TEXT;
    profile *p = begin_profile(m, type_of(m, "samples", "count"), type_of(m, "wall", "nanoseconds"),
                               m->in->wall_ns);
    memset(p->profile_id, 0, sizeof p->profile_id); /* a log record has no field for it */
    str name = STR("otel.profiling");
    any field = {.kind = ANY_STRING, .n = (uint32_t)name.n, .s = name.p};
    keyvalue kv[] = {{.key = STR("name"), .value = field},
                     {.key = STR("event_name"), .value = field}};
    any record = {.kind = ANY_KVLIST, .n = 2, .kvlist = kv};
    uint32_t attrs[5], n = 0;
    if (text) {
        attrs[n++] =
            builder_attribute_str(&m->b, STR(KILN_ATTR_SPLUNK_BODY), STR(SPLUNK_BODY_NATIVE));
        attrs[n++] = builder_attribute_str(&m->b, STR("profiling.data.format"), STR("text"));
        attrs[n++] = builder_attribute_str(&m->b, STR("source.event.name"), STR("linux.callstack"));
    }
    attrs[n++] = builder_attribute_str(&m->b, STR("profiling.data.type"), STR("cpu"));
    attrs[n++] = builder_attribute(&m->b, STR(KILN_ATTR_SPLUNK_RECORD), &record, STR(""));
    builder_profile_attrs(&m->b, attrs, n);
}

static void put_logs(making *m)
{
    const batch *b = m->in->batch;
    int64_t one = 1;
    uint64_t min = UINT64_MAX, max = 0;
    size_t seen = 0, put = 0;
    for (size_t i = 0; i < b->samples.n && put < m->in->limit; i++) {
        const agent_sample *s = &b->samples.v[i];
        if (s->kind != SAMPLE_WALL || seen++ < m->in->first) continue;
        if (!put++) begin_logs(m);
        profiles_set_attrs(m, s);
        builder_sample(&m->b, &(sample){.stack = stack_of(m, s),
                                        .link = link_of(m, s),
                                        .attrs = m->attrs,
                                        .n_attrs = m->n_attrs,
                                        .values = &one,
                                        .n_values = 1,
                                        .times = &s->time,
                                        .n_times = 1});
        if (s->time < min) min = s->time;
        if (s->time > max) max = s->time;
    }
    if (!put || m->b.failed) return;
    profile *p = &m->b.m.profiles.v[m->b.m.profiles.n - 1];
    p->time_unix_nano = min;
    p->duration_nano = max - min + m->in->wall_ns;
}

/* ---- model ---- */

static bool put_all(making *m)
{
    bool logs = m->in->style != PROFILES_OTLP;
    if (logs) put_logs(m);
    if (!m->in->first && !put_joined(m, SAMPLE_CPU)) return false;
    if (!logs && (!put_joined(m, SAMPLE_WALL) || !put_joined(m, SAMPLE_OFF_CPU))) return false;
    put_heaps(m);
    return !m->b.failed;
}

static bool begin(making *m)
{
    const profiles_in *in = m->in;
    bool logs = in->style != PROFILES_OTLP;
    m->stack_of = arena_new(m->a, uint32_t, in->batch->stacks.n);
    m->mapping_of = arena_new(m->a, uint32_t, in->images->v.n);
    if (!m->stack_of || !m->mapping_of || !builder_init(&m->b, m->a)) return false;
    builder_resource(&m->b, &(resource){.attrs = in->resource, .present = true});
    str name = in->scope.n ? in->scope : STR("kiln.agent");
    scope ours = {.name = name, .version = STR(KILN_VERSION), .present = true},
          splunk = {.name = STR("otel.profiling"), .version = STR("0.1.0"), .present = true};
    builder_scope(&m->b, logs ? &splunk : &ours);
    if (in->style == PROFILES_TEXT)
        m->observed =
            builder_attribute_int(&m->b, STR(KILN_ATTR_SPLUNK_OBSERVED), (int64_t)in->now);
    return !m->b.failed;
}

bool profiles_make(const profiles_in *in, arena *a, model *out, err *e)
{
    making m = {.in = in, .a = a};
    if (!begin(&m) || !put_all(&m)) {
        return err_set(e, ERR_MEMORY, "not enough memory for the profiles of a batch");
    }
    return builder_finish(&m.b, out, e);
}
