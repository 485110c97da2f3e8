/* Writes a model as the text of `perf script -F comm,pid,tid,cpu,time,period,event,ip,sym,dso
 * --ns`, with the same columns and widths, so that parsers of perf's output accept it.
 *
 * A block is one observation with its time, or a whole sample without times. Blocks are ordered by
 * time across profiles, and every block has a time, because speedscope rejects blocks without one
 * and stops when the time decreases. Of profiles that are types of the same samples, only one is
 * written, because readers count blocks. */
#include "format/perf_script.h"

#include "format/folded_text.h"
#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

typedef struct writer {
    const model *m;
    ledger *l;
    buf *out;
    buf *stacks;       /* text of the frames of all stacks */
    size_t *stack_off; /* stack -> offset of its text; created on first use */
    size_t *stack_end;
    const char *kind; /* attribute -> KIND_... */
    str *events;      /* profile -> its event */
    uint32_t *rank;   /* profile -> rank of its event when sorted by name */
} writer;

typedef struct block {
    uint64_t time;
    uint32_t rank; /* rank of its event: keeps the order when the text is read and written again */
    uint32_t profile_i, sample_i, nth; /* index of the observation */
} block;

typedef VEC(block) blocks;

static void lose(const writer *w, loss_concept c, uint64_t n, const char *path, str value)
{
    if (n) ledger_add_n(w->l, STAGE_WRITE, c, NULL, n, path, value);
}

/* Writes a name. Replaces line ends and, where one word is expected, spaces, because they would
 * change the meaning of the line. */
static void put_name(const writer *w, buf *b, str s, bool word)
{
    bool changed = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool bad = (unsigned char)c < ' ' || (word && c == ' ');
        buf_putc(b, bad ? '_' : c);
        changed |= bad;
    }
    lose(w, LOSS_NAME, changed, "names", s);
}

/* ---- stacks ---- */

static void put_symbol(const writer *w, const line *n, bool inlined, uint64_t address, str dso)
{
    const dict *d = &w->m->dict;
    const function *f = n ? &d->functions.v[n->function] : NULL;
    str name = f ? dict_str(d, f->name) : (str){0};
    if (f && !name.n) name = dict_str(d, f->system_name);
    buf_printf(w->stacks, "\t%16" PRIx64 " ", address);
    put_name(w, w->stacks, name.n ? name : STR("[unknown]"), false);
    buf_z(w->stacks, " (");
    put_name(w, w->stacks, inlined ? STR("inlined") : dso.n ? dso : STR("[unknown]"), false);
    buf_z(w->stacks, ")\n");
}

static void put_location(const writer *w, uint32_t i)
{
    const dict *d = &w->m->dict;
    const location *l = &d->locations.v[i];
    str dso = dict_str(d, d->mappings.v[l->mapping].filename);
    if (!l->lines.n) put_symbol(w, NULL, false, l->address, dso);
    for (uint32_t k = 0; k < l->lines.n; k++)
        put_symbol(w, &d->lines.v[l->lines.at + k], k + 1 < l->lines.n, l->address, dso);
}

static str stack_text(const writer *w, uint32_t stack)
{
    if (!w->stack_end[stack]) {
        w->stack_off[stack] = w->stacks->n;
        span s = dict_stack(&w->m->dict, stack);
        for (uint32_t i = 0; i < s.n; i++) put_location(w, w->m->dict.frames.v[s.at + i]);
        buf_putc(w->stacks, '\n');
        w->stack_end[stack] = w->stacks->n;
    }
    size_t at = w->stack_off[stack];
    return w->stacks->failed ? (str){0} : (str){w->stacks->p + at, w->stack_end[stack] - at};
}

/* ---- samples ---- */

enum { KIND_OTHER, KIND_PID, KIND_TID, KIND_COMM, KIND_CPU };

static char kind_of(const dict *d, const attribute *t)
{
    static const struct {
        const char *key;
        char kind;
        any_kind type;
    } known[] = {{ATTR_PROCESS_PID, KIND_PID, ANY_INT},
                 {ATTR_THREAD_ID, KIND_TID, ANY_INT},
                 {ATTR_THREAD_NAME, KIND_COMM, ANY_STRING},
                 {ATTR_CPU, KIND_CPU, ANY_INT}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_eq(dict_str(d, t->key), str_of(known[i].key)) && t->value.kind == known[i].type)
            return known[i].kind;
    return KIND_OTHER;
}

typedef struct origin {
    int64_t pid, tid, cpu; /* -1: unknown */
    str comm;
} origin;

static int64_t resource_pid(const model *m, const profile *p)
{
    const resource *r = &m->resources.v[m->scopes.v[p->scope].resource];
    for (size_t i = 0; i < r->attrs.n; i++)
        if (str_eq(r->attrs.v[i].key, STR(ATTR_PROCESS_PID)) && r->attrs.v[i].value.kind == ANY_INT)
            return r->attrs.v[i].value.i;
    return -1;
}

/* Collects the attributes of a sample. With `record`, adds losses to the ledger. */
static origin origin_of(const writer *w, const sample *s, int64_t pid, bool record)
{
    origin x = {.pid = pid, .tid = -1, .cpu = -1};
    uint64_t lost = 0;
    str first = {0};
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        const attribute *t = &w->m->dict.attributes.v[s->attrs[i]];
        switch (w->kind[s->attrs[i]]) {
        case KIND_PID: x.pid = t->value.i; break;
        case KIND_TID: x.tid = t->value.i; break;
        case KIND_CPU: x.cpu = t->value.i; break;
        case KIND_COMM: x.comm = any_str(&t->value); break;
        default:
            if (!lost++) first = dict_str(&w->m->dict, t->key);
            break;
        }
    }
    if (record) lose(w, LOSS_ATTRIBUTE, lost, "samples[].attributes", first);
    if (x.tid < 0) x.tid = x.pid;
    if (x.pid < 0) x.pid = x.tid;
    return x;
}

/* Writes the header of a block. Readers require a name and a number first. */
static void put_head(const writer *w, const origin *x)
{
    buf *b = w->out;
    int64_t pid = x->pid < 0 ? 0 : x->pid, tid = x->tid < 0 ? 0 : x->tid;
    if (x->comm.n)
        put_name(w, b, x->comm, false);
    else
        buf_printf(b, ":%" PRId64, tid);
    buf_printf(b, " %5" PRId64 "/%-5" PRId64 " ", pid, tid);
    if (x->cpu >= 0) buf_printf(b, "[%03" PRId64 "] ", x->cpu);
}

static int64_t sum_of(const sample *s)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < s->n_values; i++)
        if (ckd_add(&sum, sum, s->values[i])) return s->values[i] < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

static int64_t period_of(const sample *s, uint32_t k)
{
    if (!s->n_times) return s->n_values ? sum_of(s) : 1;
    return k < s->n_values ? s->values[k] : 1;
}

static void put_block(const writer *w, const block *x)
{
    buf *b = w->out;
    const profile *p = &w->m->profiles.v[x->profile_i];
    sample s = sample_at(w->m, p, x->sample_i);
    origin by = origin_of(w, &s, resource_pid(w->m, p), x->nth == 0);
    put_head(w, &by);
    buf_printf(b, "%5" PRIu64 ".%09" PRIu64 ": %10" PRId64 " ", x->time / 1000000000,
               x->time % 1000000000, period_of(&s, x->nth));
    buf_str(b, w->events[x->profile_i]);
    buf_z(b, ": \n");
    buf_str(b, stack_text(w, s.stack));
}

/* ---- order ---- */

static bool add_block(blocks *all, arena *a, block one)
{
    block *x = vec_push(a, all);
    if (x) *x = one;
    return x != NULL;
}

/* Returns a time for a sample without one: such samples are spread over the time range of the
 * profile. */
static uint64_t generated_time(const profile *p, size_t i)
{
    uint64_t step = p->n_samples ? p->duration_nano / p->n_samples : 0, time;
    if (ckd_mul(&time, step ? step : 1, (uint64_t)i) || ckd_add(&time, time, p->time_unix_nano))
        return UINT64_MAX;
    return time;
}

static bool add_profile(const writer *w, blocks *all, arena *a, size_t at)
{
    const profile *p = &w->m->profiles.v[at];
    uint64_t n_made = 0, n_links = 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        n_links += s.link != 0;
        n_made += !s.n_times;
        if (!s.n_times &&
            !add_block(all, a,
                       (block){generated_time(p, i), w->rank[at], (uint32_t)at, (uint32_t)i, 0}))
            return false;
        for (uint32_t k = 0; k < s.n_times; k++)
            if (!add_block(all, a, (block){s.times[k], w->rank[at], (uint32_t)at, (uint32_t)i, k}))
                return false;
    }
    lose(w, LOSS_LINK, n_links, "samples[].link_index", (str){0});
    lose(w, LOSS_TIMESTAMP, n_made, "samples without a time", STR("generated"));
    return true;
}

static int by_time(const void *left, const void *right)
{
    const block *a = left, *b = right;
    if (a->time != b->time) return a->time < b->time ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->profile_i != b->profile_i) return a->profile_i < b->profile_i ? -1 : 1;
    if (a->sample_i != b->sample_i) return a->sample_i < b->sample_i ? -1 : 1;
    return a->nth < b->nth ? -1 : a->nth > b->nth;
}

/* ---- types of the same samples ---- */

static bool same_sample(const sample *a, const sample *b)
{
    return a->stack == b->stack && a->link == b->link && a->n_attrs == b->n_attrs &&
           a->n_times == b->n_times &&
           (!a->n_attrs || !memcmp(a->attrs, b->attrs, a->n_attrs * sizeof *a->attrs)) &&
           (!a->n_times || !memcmp(a->times, b->times, a->n_times * sizeof *a->times));
}

static bool same_samples(const model *m, const profile *p, const profile *q)
{
    if (p->scope != q->scope || p->n_samples != q->n_samples) return false;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample a = sample_at(m, p, i), b = sample_at(m, q, i);
        if (!same_sample(&a, &b)) return false;
    }
    return true;
}

/* Returns the last of profiles[from..to) that does not count samples; pprof's default is the last
 * too. */
static size_t chosen(const model *m, size_t from, size_t to)
{
    for (size_t i = to; i-- > from;)
        if (!str_eq(dict_str(&m->dict, m->profiles.v[i].sample_type.unit), STR("count"))) return i;
    return to - 1;
}

/* ---- losses ---- */

static void account_profile(const writer *w, const profile *p, str type)
{
    const dict *d = &w->m->dict;
    str unit = dict_str(d, p->sample_type.unit);
    bool clock = str_starts(type, STR("cpu-clock")) || str_starts(type, STR("task-clock"));
    bool implied = str_eq(unit, clock ? STR("nanoseconds") : STR("count"));
    lose(w, LOSS_VALUE_TYPE, unit.n && !implied, "profiles[].sample_type.unit", unit);
    lose(w, LOSS_PERIOD, p->period != 0, "profiles[].period", (str){0});
    lose(w, LOSS_TIME, p->time_unix_nano || p->duration_nano, "profiles[].time_unix_nano",
         (str){0});
    lose(w, LOSS_PROFILE_ID, !id_is_zero(p->profile_id, 16), "profiles[].profile_id", (str){0});
    lose(w, LOSS_ORIGINAL_PAYLOAD, p->original_payload.n != 0, "profiles[].original_payload",
         p->original_payload_format);
    /* The reader assumes that a time before 2001 counts from boot. */
    str epoch = STR(KILN_ATTR_TIME_EPOCH);
    for (uint32_t i = 0; i < p->attrs.n; i++) {
        str key = dict_str(d, d->attributes.v[d->attr_refs.v[p->attrs.at + i]].key);
        lose(w, LOSS_ATTRIBUTE, !str_eq(key, epoch), "profiles[].attributes", key);
    }
}

static void account_dict(const writer *w)
{
    const dict *d = &w->m->dict;
    uint64_t maps = 0, lines = 0, system = 0, types = 0;
    for (size_t i = 0; i < d->mappings.n; i++) {
        const mapping *m = &d->mappings.v[i];
        maps += m->memory_start || m->memory_limit || m->file_offset || m->attrs.n;
    }
    for (size_t i = 0; i < d->lines.n; i++) lines += d->lines.v[i].line || d->lines.v[i].column;
    for (size_t i = 0; i < d->functions.n; i++) {
        const function *f = &d->functions.v[i];
        lines += f->filename || f->start_line;
        system += f->system_name && f->name && f->system_name != f->name;
    }
    for (size_t i = 0; i < d->locations.n; i++) types += d->locations.v[i].attrs.n != 0;
    lose(w, LOSS_MAPPING, maps, "mapping_table", (str){0});
    lose(w, LOSS_SOURCE_LINE, lines, "location_table[].lines", (str){0});
    lose(w, LOSS_SYSTEM_NAME, system, "function_table[].system_name", (str){0});
    lose(w, LOSS_FRAME_TYPE, types, "location_table[].attributes", (str){0});
}

static void account_resources(const writer *w)
{
    const model *m = w->m;
    for (size_t i = 0; i < m->resources.n; i++) {
        const resource *r = &m->resources.v[i];
        bool only_pid = r->attrs.n == 1 && str_eq(r->attrs.v[0].key, STR(ATTR_PROCESS_PID));
        lose(w, LOSS_RESOURCE, (r->attrs.n && !only_pid) || r->schema_url.n || r->n_entity_refs,
             "resource", (str){0});
    }
    for (size_t i = 0; i < m->scopes.n; i++)
        lose(w, LOSS_RESOURCE,
             m->scopes.v[i].attrs.n || m->scopes.v[i].version.n || m->scopes.v[i].schema_url.n,
             "scope", m->scopes.v[i].name);
}

/* ---- the text ---- */

static bool name_event(const writer *w, size_t at, arena *a)
{
    str type = dict_str(&w->m->dict, w->m->profiles.v[at].sample_type.type);
    buf event = {0};
    put_name(w, &event, type.n ? type : STR("samples"), true);
    if (str_starts(buf_view(&event), STR("PERF_RECORD_"))) { /* would be read as a record */
        event.p[0] = '_';
        lose(w, LOSS_NAME, 1, "sample_type", type);
    }
    char *copy = event.failed ? NULL : arena_alloc(a, event.n);
    if (copy) memcpy(copy, event.p, event.n);
    w->events[at] = (str){copy, event.n};
    buf_free(&event);
    return copy != NULL;
}

static bool rank_events(writer *w, arena *a)
{
    size_t n = w->m->profiles.n;
    w->events = arena_new(a, str, n + 1);
    if (!w->events) return false;
    for (size_t i = 0; i < n; i++)
        if (!name_event(w, i, a)) return false;
    return (w->rank = text_ranks(w->events, n, a)) != NULL;
}

static bool take_profiles(const writer *w, blocks *all, arena *a)
{
    const model *m = w->m;
    for (size_t from = 0, to; from < m->profiles.n; from = to) {
        for (to = from + 1; to < m->profiles.n; to++)
            if (!same_samples(m, &m->profiles.v[from], &m->profiles.v[to])) break;
        size_t at = chosen(m, from, to);
        const profile *p = &m->profiles.v[at];
        account_profile(w, p, dict_str(&m->dict, p->sample_type.type));
        lose(w, LOSS_VALUE_TYPE, to - from - 1, "profiles[].sample_type",
             dict_str(&m->dict, m->profiles.v[at == from ? to - 1 : from].sample_type.type));
        if (!add_profile(w, all, a, at)) return false;
    }
    return true;
}

static bool write_all(writer *w, arena *a)
{
    const dict *d = &w->m->dict;
    blocks all = {0};
    w->stack_off = arena_new(a, size_t, dict_n_stacks(d) + 1);
    w->stack_end = arena_new(a, size_t, dict_n_stacks(d) + 1);
    char *kind = arena_new(a, char, d->attributes.n + 1);
    if (!w->stack_off || !w->stack_end || !kind) return false;
    for (size_t i = 0; i < d->attributes.n; i++) kind[i] = kind_of(d, &d->attributes.v[i]);
    w->kind = kind;
    if (!rank_events(w, a) || !take_profiles(w, &all, a)) return false;
    if (all.n) qsort(all.v, all.n, sizeof *all.v, by_time);
    for (size_t i = 0; i < all.n; i++) put_block(w, &all.v[i]);
    account_dict(w);
    account_resources(w);
    return !w->stacks->failed && !w->out->failed;
}

bool perf_script_write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    (void)f;
    arena a = {.seed = m->seed};
    buf stacks = {0};
    writer w = {.m = m, .l = o->ledger, .out = out, .stacks = &stacks};
    bool ok = write_all(&w, &a);
    buf_free(&stacks);
    arena_free(&a);
    return ok || err_set(e, ERR_MEMORY, "the text exceeds the memory limit");
}
