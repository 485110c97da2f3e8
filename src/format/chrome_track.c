/* Finds or creates the processes, tracks and locations of a trace. Lookup is the hot path of the
 * reader, so recent results are cached. */
#include "format/chrome.h"

#include "wire/carried.h"
#include "wire/swar.h"
#include "base/ban.h"

/* ---- lookup ---- */

static uint64_t hash_id(chrome_id id, uint64_t h)
{
    return id.text.n ? hash_bytes(id.text.p, id.text.n, h) : hash_mix(h, (uint64_t)id.number);
}

static bool same_id(chrome_id a, chrome_id b)
{
    return a.number == b.number && str_eq(a.text, b.text);
}

static bool copy_text(chrome *c, str *s)
{
    if (!s->n) return true;
    char *p = arena_alloc(c->work, s->n);
    if (!p) return false;
    s->p = memcpy(p, s->p, s->n);
    return true;
}

uint32_t chrome_process_of(chrome *c, chrome_id pid)
{
    if (!hash_index_room(&c->process_index, c->work)) return UINT32_MAX;
    uint64_t h = hash_id(pid, c->process_index.seed);
    uint32_t i = hash_first(&c->process_index, h);
    for (uint32_t at; hash_next(&c->process_index, &i, h, &at); i++)
        if (same_id(c->processes.v[at].pid, pid)) return at;
    chrome_process *p = copy_text(c, &pid.text) ? vec_push(c->work, &c->processes) : NULL;
    if (!p) return UINT32_MAX;
    p->pid = pid;
    uint32_t index = (uint32_t)(c->processes.n - 1);
    hash_put(&c->process_index, i, h, index);
    return index;
}

static uint32_t new_track(chrome *c, chrome_track t, uint64_t h, uint32_t slot)
{
    chrome_track *x =
        copy_text(c, &t.tid.text) && copy_text(c, &t.id) && c->tracks.n < UINT32_MAX - 1
            ? vec_push(c->work, &c->tracks)
            : NULL;
    if (!x) return UINT32_MAX;
    *x = t;
    chrome_track_init(c, x);
    uint32_t index = (uint32_t)(c->tracks.n - 1);
    chrome_process *p = &c->processes.v[t.process];
    if (p->last_track)
        c->tracks.v[p->last_track - 1].next = index + 1;
    else
        p->first_track = index + 1;
    p->last_track = index + 1;
    hash_put(&c->track_index, slot, h, index);
    return index;
}

static uint32_t find_track(chrome *c, chrome_id pid, chrome_id tid)
{
    uint32_t process = chrome_process_of(c, pid);
    if (process == UINT32_MAX || !hash_index_room(&c->track_index, c->work)) return UINT32_MAX;
    uint64_t h = hash_id(tid, hash_mix(c->track_index.seed, process));
    uint32_t i = hash_first(&c->track_index, h), at;
    bool found = false;
    for (; !found && hash_next(&c->track_index, &i, h, &at); i++) {
        const chrome_track *t = &c->tracks.v[at];
        found = !t->async && t->process == process && same_id(t->tid, tid);
    }
    return found ? at : new_track(c, (chrome_track){.process = process, .tid = tid}, h, i);
}

uint32_t chrome_track_of(chrome *c, chrome_id pid, chrome_id tid)
{
    uint64_t h = ((uint64_t)pid.number * 31 + (uint64_t)tid.number) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t *recent = &c->recent[h >> 32 & (CHROME_RECENT - 1)];
    if (*recent && !pid.text.n && !tid.text.n) {
        const chrome_track *t = &c->tracks.v[*recent - 1];
        chrome_id p = c->processes.v[t->process].pid;
        if (t->tid.number == tid.number && !t->tid.text.n && p.number == pid.number && !p.text.n)
            return *recent - 1;
    }
    uint32_t at = find_track(c, pid, tid);
    if (at != UINT32_MAX) *recent = at + 1;
    return at;
}

uint32_t chrome_async_track_of(chrome *c, chrome_id pid, str category, str id)
{
    uint32_t process = chrome_process_of(c, pid);
    if (process == UINT32_MAX || !hash_index_room(&c->track_index, c->work)) return UINT32_MAX;
    uint64_t h = hash_mix(c->track_index.seed, ~(uint64_t)process);
    h = hash_bytes(id.p, id.n, hash_bytes(category.p, category.n, h));
    uint32_t i = hash_first(&c->track_index, h);
    for (uint32_t at; hash_next(&c->track_index, &i, h, &at); i++) {
        const chrome_track *t = &c->tracks.v[at];
        if (t->async && t->process == process && str_eq(t->id, id) && str_eq(t->tid.text, category))
            return at;
    }
    chrome_track t = {.process = process, .tid = {.text = category}, .id = id, .async = true};
    return new_track(c, t, h, i);
}

/* The texts are short and mostly equal, so an inline comparison is faster than a call. */
static inline bool same_text(str a, str b)
{
    if (a.n != b.n) return false;
    if (a.n < 8) return str_eq(a, b);
    for (size_t i = 0; i + 8 < a.n; i += 8)
        if (load8(a.p + i) != load8(b.p + i)) return false;
    return load8(a.p + a.n - 8) == load8(b.p + b.n - 8);
}

static inline uint64_t some_of(str s)
{
    if (s.n >= 8) return load8(s.p) * 31 + load8(s.p + s.n - 8) + s.n;
    uint64_t w = s.n;
    for (size_t i = 0; i < s.n; i++) w = w << 8 | (unsigned char)s.p[i];
    return w;
}

static uint32_t find_location(chrome *c, str name, str category)
{
    if (!hash_index_room(&c->name_index, c->work)) return c->b.failed = true, 0;
    uint64_t h = hash_bytes(category.p, category.n, c->name_index.seed);
    h = hash_bytes(name.p, name.n, h);
    uint32_t i = hash_first(&c->name_index, h);
    for (uint32_t at; hash_next(&c->name_index, &i, h, &at); i++)
        if (same_text(c->names.v[at].name, name) && same_text(c->names.v[at].category, category))
            return at;
    chrome_name *n =
        copy_text(c, &name) && copy_text(c, &category) ? vec_push(c->work, &c->names) : NULL;
    if (!n) return c->b.failed = true, 0;
    function f = {.name = builder_string(&c->b, name)};
    line l = {.function = builder_function(&c->b, &f)};
    uint32_t attr = 0;
    if (category.n) attr = builder_attribute_str(&c->b, STR(KILN_ATTR_EVENT_CATEGORY), category);
    uint32_t loc = builder_location(&c->b, 0, 0, &l, 1, &attr, category.n > 0);
    *n = (chrome_name){name, category, loc};
    hash_put(&c->name_index, i, h, (uint32_t)(c->names.n - 1));
    return (uint32_t)(c->names.n - 1);
}

/* A trace repeats a few names, so the slot of the last lookup is tried first. */
uint32_t chrome_location(chrome *c, str name, str category)
{
    uint64_t h = hash_mix(some_of(name), some_of(category));
    uint32_t *recent = &c->recent_name[h % CHROME_RECENT];
    if (*recent) {
        const chrome_name *n = &c->names.v[*recent - 1];
        if (same_text(n->name, name) && same_text(n->category, category)) return n->loc;
    }
    uint32_t at = find_location(c, name, category);
    if (c->b.failed) return 0;
    *recent = at + 1;
    return c->names.v[at].loc;
}

size_t chrome_track_attrs(chrome *c, const chrome_track *t, uint32_t attrs[3])
{
    size_t n = 0;
    builder *b = &c->b;
    if (t->async) {
        if (t->id.n) attrs[n++] = builder_attribute_str(b, STR(KILN_ATTR_EVENT_ID), t->id);
        return n;
    }
    if (!t->tid.text.n) attrs[n++] = observe_thread_id(b, t->tid.number);
    str name = t->name.n ? t->name : t->tid.text;
    if (name.n) attrs[n++] = observe_thread_name(b, name);
    return n;
}
