/* Records what a Chromium trace cannot represent of a model. The writer calls these functions for
 * each process, thread and profile; chrome_profile_losses adds the entries that depend on all of
 * them. */
#include "format/chrome_write.h"

#include "wire/anchor.h"
#include "wire/carried.h"
#include "base/ban.h"

static void lost(ledger *l, loss_concept c, const char *path, str value)
{
    ledger_add(l, STAGE_WRITE, c, NULL, path, value);
}

/* ---- the model ---- */

static void location_losses(const dict *d, ledger *l)
{
    for (size_t i = 1; i < d->functions.n; i++)
        if (d->functions.v[i].filename)
            lost(l, LOSS_SOURCE_LINE, "function_table[].filename",
                 dict_str(d, d->functions.v[i].filename));
    for (size_t i = 0; i < d->lines.n; i++)
        if (d->lines.v[i].line || d->lines.v[i].column)
            lost(l, LOSS_SOURCE_LINE, "location_table[].lines", (str){0});
}

void chrome_model_losses(const model *m, ledger *l)
{
    static const lane_key on_profile[] = {{KILN_ATTR_EVENT_INTERVAL, ANY_BOOL},
                                          {KILN_ATTR_TIME_EPOCH, ANY_STRING},
                                          {0}},
                          on_sample[] = {{ATTR_THREAD_ID, ANY_INT},
                                         {ATTR_THREAD_NAME, ANY_STRING},
                                         {KILN_ATTR_EVENT_ID, ANY_STRING},
                                         {KILN_ATTR_EVENT_ARGS, ANY_STRING},
                                         {0}},
                          on_resource[] = {{ATTR_PROCESS_PID, ANY_INT},
                                           {"process.title", ANY_STRING},
                                           {0}},
                          on_location[] = {{KILN_ATTR_EVENT_CATEGORY, ANY_STRING}, {0}};
    lanes_losses(m,
                 &(lane_carries){.profile = on_profile,
                                 .sample = on_sample,
                                 .resource = on_resource,
                                 .location = on_location},
                 l);
    for (size_t i = 0; i < m->scopes.n; i++) {
        const scope *s = &m->scopes.v[i];
        if (s->name.n || s->version.n) lost(l, LOSS_RESOURCE, "scope.name", s->name);
    }
    location_losses(&m->dict, l);
}

/* ---- processes ---- */

/* Whether the text is read back as a number. */
static bool is_number(str s)
{
    size_t i = s.n && s.p[0] == '-';
    if (i == s.n) return false;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') i++;
    return i == s.n;
}

static uint64_t hash_id(uint64_t h, int64_t number, str text)
{
    return text.n ? hash_bytes(text.p, text.n, h) : hash_mix(h, (uint64_t)number);
}

static bool find_process(chrome_writer *w, bool *existed)
{
    *existed = false;
    if (!hash_index_room(&w->process_index, &w->work)) return false;
    int64_t pid = w->pid_text.n ? 0 : w->pid;
    uint64_t h = hash_id(w->process_index.seed, pid, w->pid_text);
    uint32_t i = hash_first(&w->process_index, h);
    for (uint32_t at; hash_next(&w->process_index, &i, h, &at); i++) {
        const chrome_process_out *p = &w->processes.v[at];
        if (p->pid == pid && str_eq(p->text, w->pid_text)) return w->process = at, *existed = true;
    }
    chrome_process_out *slot = vec_push(&w->work, &w->processes);
    if (!slot) return false;
    *slot = (chrome_process_out){.pid = pid, .text = w->pid_text};
    w->process = (uint32_t)(w->processes.n - 1);
    hash_put(&w->process_index, i, h, w->process);
    return true;
}

/* Whether the attributes are those that a reader restores: pid, then title. */
static bool is_restored(const resource *r)
{
    size_t at = 0;
    if (at < r->attrs.n && str_eq(r->attrs.v[at].key, STR(ATTR_PROCESS_PID))) at++;
    if (at < r->attrs.n && str_eq(r->attrs.v[at].key, STR("process.title"))) at++;
    return at == r->attrs.n;
}

static size_t n_samples(const model *m, const resource *r)
{
    size_t n = 0;
    for (uint32_t i = 0; i < r->n_scopes; i++) {
        const scope *s = &m->scopes.v[r->first_scope + i];
        for (uint32_t k = 0; k < s->n_profiles; k++)
            n += m->profiles.v[s->first_profile + k].n_samples;
    }
    return n;
}

bool chrome_note_process(chrome_writer *w, const resource *r)
{
    bool existed;
    if (!find_process(w, &existed)) return false;
    if (existed)
        lost(w->l, LOSS_RESOURCE, "resource", STR("processes with the same pid are merged"));
    if (r->n_scopes > 1) lost(w->l, LOSS_RESOURCE, "scope", STR("scopes of a process are merged"));
    if (!is_restored(r)) lost(w->l, LOSS_RESOURCE, "resource.attributes", STR("order"));
    if (is_number(w->pid_text))
        lost(w->l, LOSS_RESOURCE, "resource.attributes", STR("process.title"));
    if (r->attrs.n && !n_samples(w->m, r)) lost(w->l, LOSS_RESOURCE, "resource", STR("no samples"));
    if (w->generated_pid)
        ledger_add(w->l, STAGE_WRITE, LOSS_ARBITRARY_ID, ATTR_PROCESS_PID, "resource.attributes",
                   STR("generated"));
    return true;
}

/* ---- threads ---- */

static chrome_thread_out thread_of(const chrome_writer *w, const lane *l)
{
    return (chrome_thread_out){.process = w->process,
                               .tid = l->tid,
                               .text = l->has_tid ? (str){0} : l->name,
                               .name = l->name};
}

/* Finds or adds the thread with that number or text. Returns NULL when out of memory. */
static chrome_thread_out *find_thread(chrome_writer *w, const chrome_thread_out *want)
{
    if (!hash_index_room(&w->thread_index, &w->work)) return NULL;
    uint64_t h = hash_id(hash_mix(w->thread_index.seed, want->process), want->tid, want->text);
    uint32_t i = hash_first(&w->thread_index, h);
    for (uint32_t at; hash_next(&w->thread_index, &i, h, &at); i++) {
        chrome_thread_out *t = &w->threads.v[at];
        if (t->process == want->process && t->tid == want->tid && str_eq(t->text, want->text))
            return t;
    }
    chrome_thread_out *slot = vec_push(&w->work, &w->threads);
    if (!slot) return NULL;
    *slot = *want;
    hash_put(&w->thread_index, i, h, (uint32_t)(w->threads.n - 1));
    return slot;
}

bool chrome_note_thread(chrome_writer *w, const lane *l)
{
    chrome_thread_out want = thread_of(w, l), *t = find_thread(w, &want);
    if (!t) return false;
    t->shared |= is_number(want.text) || !str_eq(t->name, want.name);
    if (t->shared) lost(w->l, LOSS_ATTRIBUTE, "samples[].attributes", STR(ATTR_THREAD_NAME));
    if (!l->has_tid && !l->name.n && !l->id.n)
        ledger_add(w->l, STAGE_WRITE, LOSS_ARBITRARY_ID, ATTR_THREAD_ID, "samples[].attributes",
                   STR("generated"));
    return true;
}

/* Whether no other lane uses the lane's track. */
static bool has_track(chrome_writer *w, const lanes *all, const lane *l, bool async)
{
    bool thread = l->has_tid || l->name.n;
    if (async) return !thread;
    if (l->id.n || (!thread && all->v.n > 1)) return false;
    chrome_thread_out want = thread_of(w, l), *t = find_thread(w, &want);
    return t && !t->shared;
}

/* ---- profiles ---- */

static bool is_interval(const model *m, const profile *p)
{
    return lane_is_true(lane_profile_attr(m, p, KILN_ATTR_EVENT_INTERVAL));
}

/* Finds the category that all frames of a stack share. Two categories would be two async tracks. */
static bool one_category(lane_frames *f, uint32_t stack, str *category, bool *known)
{
    if (!lane_frames_of(f, stack)) return false;
    for (size_t i = 0; i < f->stack.n; i++) {
        str c = f->v.v[f->stack.v[i]].category;
        if (*known && !str_eq(c, *category)) return false;
        *category = c, *known = true;
    }
    return true;
}

/* Whether an item is written as an event; one without frames is only a pause. */
static bool has_event(const lane_item *x)
{
    int64_t end;
    return x->value >= 0 && x->time <= INT64_MAX && (x->depth || !x->value) &&
           !ckd_add(&end, (int64_t)x->time, x->value) && end < INT64_MAX;
}

static bool lanes_apart(chrome_writer *w, const lanes *all, bool async)
{
    uint32_t depth = 0;
    for (size_t i = 0; i < all->v.n; i++) {
        const lane *l = &all->v.v[i];
        bool known = false;
        str category = {0};
        if (!has_track(w, all, l, async)) return false;
        for (size_t k = l->first; k < l->first + l->n; k++) {
            if (!has_event(&all->items.v[k])) return false;
            depth |= all->items.v[k].depth;
            if (async && !one_category(&w->frames, all->items.v[k].stack, &category, &known))
                return false;
        }
    }
    return depth > 0;
}

chrome_kind_out chrome_kind_of(chrome_writer *w, const profile *p, const lanes *all)
{
    chrome_process_out *at = &w->processes.v[w->process];
    bool async = str_eq(dict_str(&w->m->dict, p->sample_type.type), STR("async"));
    bool *taken = async ? &at->async : &at->events;
    if (!is_interval(w->m, p) || !all->items.n || !all->all_timed || *taken ||
        !lanes_apart(w, all, async))
        return CHROME_AS_SAMPLES;
    *taken = true;
    return async ? CHROME_AS_ASYNC : CHROME_AS_EVENTS;
}

static void type_losses(chrome_writer *w, const profile *p, chrome_kind_out kind)
{
    str type = dict_str(&w->m->dict, p->sample_type.type),
        unit = dict_str(&w->m->dict, p->sample_type.unit);
    bool representable = kind == CHROME_AS_SAMPLES
                             ? type.n && unit.n && !memchr(type.p, '/', type.n)
                             : (str_eq(type, STR("wall")) || str_eq(type, STR("async"))) &&
                                   str_eq(unit, STR("nanoseconds"));
    if (!representable) lost(w->l, LOSS_VALUE_TYPE, "profile.sample_type", type);
}

/* Whether the profile's time range equals that of its events. A trace represents no other range. */
static bool same_window(const profile *p, const lanes *all, bool lengths)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < all->items.n; i++) {
        const lane_item *x = &all->items.v[i];
        uint64_t end = x->time + (lengths && x->value > 0 ? (uint64_t)x->value : 1);
        if (x->time < first) first = x->time;
        if (end > last && end > x->time) last = end;
    }
    return first <= last && p->time_unix_nano == first && p->duration_nano == last - first;
}

static void detail_losses(chrome_writer *w, const profile *p, chrome_kind_out kind,
                          const lanes *all)
{
    bool intervals = kind != CHROME_AS_SAMPLES;
    if (lane_profile_attr(w->m, p, KILN_ATTR_EVENT_INTERVAL) && !intervals)
        lost(w->l, LOSS_ATTRIBUTE, "profile", STR(KILN_ATTR_EVENT_INTERVAL));
    for (size_t i = 0; i < all->v.n; i++)
        if (kind != CHROME_AS_ASYNC && all->v.v[i].id.n)
            lost(w->l, LOSS_ATTRIBUTE, "samples[].attributes", STR(KILN_ATTR_EVENT_ID));
    for (size_t i = 0; i < all->items.n && !intervals; i++)
        if (all->items.v[i].args)
            lost(w->l, LOSS_EVENT_DETAIL, "samples[].attributes", STR(KILN_ATTR_EVENT_ARGS));
}

static bool sample_name(chrome_writer *w, const profile *p, str *out)
{
    str type = dict_str(&w->m->dict, p->sample_type.type),
        unit = dict_str(&w->m->dict, p->sample_type.unit);
    char *text = arena_alloc(&w->work, type.n + unit.n + 1);
    if (!text) return false;
    if (type.n) memcpy(text, type.p, type.n);
    text[type.n] = '/';
    if (unit.n) memcpy(text + type.n + 1, unit.p, unit.n);
    *out = (str){text, type.n + unit.n + 1};
    return true;
}

bool chrome_note_profile(chrome_writer *w, uint32_t profile_i, chrome_kind_out kind,
                         const lanes *all)
{
    const profile *p = &w->m->profiles.v[profile_i];
    if (!all->items.n) {
        lost(w->l, LOSS_METADATA, "profiles[]", STR("without samples"));
        return true;
    }
    type_losses(w, p, kind);
    detail_losses(w, p, kind, all);
    if (!profile_is_undated(w->m, p) || !same_window(p, all, kind != CHROME_AS_SAMPLES))
        lost(w->l, LOSS_TIME, "profile.time_unix_nano", (str){0});
    chrome_profile_out *slot = vec_push(&w->work, &w->profiles);
    if (!slot) return false;
    *slot = (chrome_profile_out){.profile = profile_i, .process = w->process, .kind = kind};
    return kind != CHROME_AS_SAMPLES || sample_name(w, p, &slot->name);
}

static int by_name(const void *left, const void *right)
{
    const chrome_profile_out *a = left, *b = right;
    if (a->process != b->process) return a->process < b->process ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->name.n != b->name.n) return a->name.n < b->name.n ? -1 : 1;
    return a->name.n ? memcmp(a->name.p, b->name.p, a->name.n) : 0;
}

static int by_place(const void *left, const void *right)
{
    const chrome_profile_out *a = left, *b = right;
    if (a->process != b->process) return a->process < b->process ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->profile < b->profile ? -1 : a->profile > b->profile;
}

static void order_losses(chrome_writer *w)
{
    chrome_profile_out *v = w->profiles.v;
    size_t n = w->profiles.n, joined = 0, moved = 0;
    if (n < 2) return;
    qsort(v, n, sizeof *v, by_name);
    for (size_t i = 1; i < n; i++) joined += by_name(&v[i - 1], &v[i]) == 0;
    qsort(v, n, sizeof *v, by_place);
    for (size_t i = 1; i < n; i++) moved += v[i].profile < v[i - 1].profile;
    if (joined) {
        ledger_add_n(w->l, STAGE_WRITE, LOSS_MIXED_SHAPE, NULL, joined, "profiles[]",
                     STR("profiles of one type are merged"));
        lost(w->l, LOSS_TIME, "profile.time_unix_nano", (str){0});
    }
    ledger_add_n(w->l, STAGE_WRITE, LOSS_SAMPLE_TYPE_ORDER, NULL, moved, "profiles[]", (str){0});
}

typedef struct sample_count {
    lane_shape shape;
    bool weighed;
} sample_count;

bool chrome_profile_losses(chrome_writer *w)
{
    const model *m = w->m;
    size_t *first = arena_new(&w->work, size_t, m->profiles.n);
    sample_count *of = arena_new(&w->work, sample_count, m->profiles.n);
    if (!first || !of) return false;
    for (size_t i = 0; i < w->profiles.n; i++) {
        const chrome_profile_out *p = &w->profiles.v[i];
        if (p->kind == CHROME_AS_SAMPLES &&
            !lane_shape_init(&of[p->profile].shape, &m->profiles.v[p->profile], &w->work))
            return false;
    }
    for (size_t i = 0; i < w->samples.n; i++) {
        const sample_out *s = &w->samples.v[i];
        sample_count *c = &of[s->profile];
        const str name = s->lane.has_tid ? (str){0} : s->lane.name;
        uint64_t id = hash_id(hash_mix(1, s->node), s->lane.tid, name);
        if (!first[s->profile]) first[s->profile] = i + 1;
        c->weighed |= s->weight != 1;
        if (!lane_shape_add(&c->shape, id, s->sample, s->nth)) return false;
    }
    for (size_t i = 0; i < w->profiles.n; i++) {
        chrome_profile_out *p = &w->profiles.v[i];
        p->first = first[p->profile];
        if (p->kind == CHROME_AS_SAMPLES)
            lane_shape_end(&of[p->profile].shape, m, &m->profiles.v[p->profile],
                           of[p->profile].weighed, true, w->l);
    }
    order_losses(w);
    return true;
}
