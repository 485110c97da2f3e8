/* Turns locations into frames for formats that have neither mappings nor inlined lines. */
#include "format/lanes.h"

#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

bool lane_frames_init(lane_frames *f)
{
    f->of_location = arena_new(f->a, uint32_t, f->m->dict.locations.n + 1);
    return f->of_location != NULL;
}

static bool same_frame(const lane_frame *a, const lane_frame *b)
{
    return a->line == b->line && a->column == b->column && str_eq(a->name, b->name) &&
           str_eq(a->file, b->file) && str_eq(a->category, b->category);
}

static bool find_frame(lane_frames *t, const lane_frame *f, uint32_t *at)
{
    if (!hash_index_room(&t->index, t->a)) return false;
    uint64_t h = hash_mix(hash_mix(t->index.seed, (uint64_t)f->line), (uint64_t)f->column);
    h = hash_bytes(f->name.p, f->name.n, h);
    h = hash_bytes(f->file.p, f->file.n, h);
    h = hash_bytes(f->category.p, f->category.n, h);
    uint32_t i = hash_first(&t->index, h);
    for (; hash_next(&t->index, &i, h, at); i++)
        if (same_frame(&t->v.v[*at], f)) return true;
    lane_frame *slot = vec_push(t->a, &t->v);
    if (!slot) return false;
    *slot = *f;
    *at = (uint32_t)(t->v.n - 1);
    hash_put(&t->index, i, h, *at);
    return true;
}

/* Sets *out to the name of the function, or to the address if it has none. */
static bool name_of(lane_frames *t, const location *l, const line *at, str *out)
{
    const dict *d = &t->m->dict;
    const function *f = at ? &d->functions.v[at->function] : NULL;
    *out = f ? dict_str(d, f->name) : (str){0};
    if (!out->n && f) *out = dict_str(d, f->system_name);
    if (out->n || (f && !l->address)) return true;
    ledger_add(t->l, STAGE_WRITE, LOSS_NAME, "name", "location_table[].address", (str){0});
    enum { MOST = 20 };
    char *p = arena_alloc(t->a, MOST);
    if (!p) return false;
    *out = (str){p, (size_t)snprintf(p, MOST, "0x%" PRIx64, l->address)};
    return true;
}

static bool add_frame(lane_frames *t, const location *l, const line *at)
{
    const dict *d = &t->m->dict;
    lane_frame f = {0};
    if (!name_of(t, l, at, &f.name)) return false;
    if (t->places && at) {
        f.file = dict_str(d, d->functions.v[at->function].filename);
        f.line = at->line;
        f.column = at->column;
    }
    if (t->categories)
        f.category = lane_text(
            lane_attr(d, refs_at(&d->attr_refs, l->attrs), l->attrs.n, KILN_ATTR_EVENT_CATEGORY));
    uint32_t *slot = vec_push(t->a, &t->expanded);
    return slot && find_frame(t, &f, slot);
}

/* Adds the frames of a location. The physical function comes first: it is nearer to the root than
 * the functions inlined into it. */
static bool expand(lane_frames *t, uint32_t location_i)
{
    const location *l = &t->m->dict.locations.v[location_i];
    t->of_location[location_i] = (uint32_t)t->expanded.n + 1;
    if (!l->lines.n) return add_frame(t, l, NULL);
    for (uint32_t i = l->lines.n; i-- > 0;)
        if (!add_frame(t, l, &t->m->dict.lines.v[l->lines.at + i])) return false;
    return true;
}

bool lane_frames_of(lane_frames *t, uint32_t stack)
{
    const dict *d = &t->m->dict;
    span s = dict_n_stacks(d) ? dict_stack(d, stack) : (span){0};
    t->stack.n = 0;
    for (uint32_t i = s.n; i-- > 0;) {
        uint32_t location_i = d->frames.v[s.at + i], n = d->locations.v[location_i].lines.n;
        if (!t->of_location[location_i] && !expand(t, location_i)) return false;
        if (n == 0) n = 1;
        if (!vec_reserve(t->a, &t->stack, n)) return false;
        memcpy(t->stack.v + t->stack.n, t->expanded.v + t->of_location[location_i] - 1,
               n * sizeof *t->stack.v);
        t->stack.n += n;
    }
    return true;
}
