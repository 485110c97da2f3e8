/* Sorts the stacks of a report as the viewer does: frames are equal if name, file and library are,
 * and are ordered by name, then by first use (ui/src/model/frames.ts, session.ts). A difference
 * between the two orders costs time, because the viewer sorts again, but changes no picture. */
#include "format/html_order.h"

#include "base/text.h"
#include "base/ban.h"
#include <inttypes.h>
#include <stdlib.h>

typedef struct frame {
    str name, file, library;
    uint32_t index; /* position among the frames of all locations */
    uint32_t first; /* index of the first equal frame */
} frame;

/* The frames of all locations: location i has the ranks first[i] .. first[i + 1], leaf first. */
typedef struct ranks {
    uint32_t *first, *rank;
} ranks;

/* A stack as the ranks of its frames, root first. */
typedef struct path {
    const uint32_t *rank;
    uint32_t n, stack;
} path;

/* ---- names ---- */

static str name_of_function(const dict *d, uint32_t index)
{
    str name = dict_str(d, d->functions.v[index].name);
    if (!name.n) name = dict_str(d, d->functions.v[index].system_name);
    return name.n ? name : STR("?");
}

/* Returns the name of an address without a function. */
static str name_of_place(const location *l, const mapping *m, str library, arena *a)
{
    enum { ROOM = 24 };
    bool inside = library.n && m->memory_start && l->address >= m->memory_start &&
                  l->address < m->memory_limit;
    if (!l->address) return library.n ? library : STR("?");
    char *text = arena_new(a, char, ROOM);
    if (!text) return (str){0};
    uint64_t at = inside ? l->address - m->memory_start + m->file_offset : l->address;
    int n = snprintf(text, ROOM, "%s0x%" PRIx64, inside ? "+" : "", at);
    return (str){text, (size_t)n};
}

static int by_identity(const void *x, const void *y)
{
    const frame *a = x, *b = y;
    int d = str_cmp(a->name, b->name);
    if (!d) d = str_cmp(a->file, b->file);
    if (!d) d = str_cmp(a->library, b->library);
    return d ? d : (a->index > b->index) - (a->index < b->index);
}

static bool same(const frame *a, const frame *b)
{
    return str_eq(a->name, b->name) && str_eq(a->file, b->file) && str_eq(a->library, b->library);
}

static int by_name(const void *x, const void *y)
{
    const frame *a = x, *b = y;
    int d = str_cmp(a->name, b->name);
    return d ? d : (a->first > b->first) - (a->first < b->first);
}

/* Sorts the frames and writes the rank of each. */
static void rank_frames(frame *v, size_t n, uint32_t *rank)
{
    if (n > 1) qsort(v, n, sizeof *v, by_identity);
    for (size_t i = 0; i < n; i++)
        v[i].first = i && same(&v[i - 1], &v[i]) ? v[i - 1].first : v[i].index;
    if (n > 1) qsort(v, n, sizeof *v, by_name);
    for (size_t i = 0; i < n; i++)
        rank[v[i].index] = i && v[i - 1].first == v[i].first ? rank[v[i - 1].index] : (uint32_t)i;
}

static bool rank_locations(const dict *d, arena *a, ranks *out)
{
    size_t most = d->lines.n + d->locations.n + 1;
    frame *v = arena_new(a, frame, most);
    *out = (ranks){arena_new(a, uint32_t, d->locations.n + 1), arena_new(a, uint32_t, most)};
    if (!v || !out->first || !out->rank) return false;
    uint32_t n = 0;
    for (size_t i = 0; i < d->locations.n; i++) {
        const location *l = &d->locations.v[i];
        const mapping *m = &d->mappings.v[l->mapping];
        str library = l->mapping ? str_base_name(dict_str(d, m->filename)) : (str){0};
        out->first[i] = n;
        for (uint32_t k = 0; k < l->lines.n && n < most; k++) {
            uint32_t f = d->lines.v[l->lines.at + k].function;
            if (!f) continue;
            v[n] = (frame){.name = name_of_function(d, f),
                           .file = dict_str(d, d->functions.v[f].filename),
                           .library = library,
                           .index = n};
            n++;
        }
        if (n == out->first[i] && n < most) {
            v[n] = (frame){.name = name_of_place(l, m, library, a), .library = library, .index = n};
            n++;
        }
        if (n == most) return false; /* locations share lines */
    }
    out->first[d->locations.n] = n;
    rank_frames(v, n, out->rank);
    return true;
}

/* ---- stacks ---- */

static int by_rank(const void *x, const void *y)
{
    const path *a = x, *b = y;
    uint32_t n = a->n < b->n ? a->n : b->n;
    for (uint32_t i = 0; i < n; i++)
        if (a->rank[i] != b->rank[i]) return a->rank[i] < b->rank[i] ? -1 : 1;
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

/* Returns the paths of all stacks, or NULL. */
static path *expand(const dict *d, const ranks *r, arena *a)
{
    size_t n = dict_n_stacks(d), all = 0, at = 0;
    for (size_t i = 0; i < d->frames.n; i++)
        all += r->first[d->frames.v[i] + 1] - r->first[d->frames.v[i]];
    path *v = arena_array(a, n, sizeof *v);
    uint32_t *rank = arena_array(a, all + 1, sizeof *rank);
    if (!v || !rank) return NULL;
    for (uint32_t i = 0; i < n; i++) {
        span s = dict_stack(d, i);
        size_t from = at;
        for (uint32_t k = s.n; k-- > 0;) {
            uint32_t l = d->frames.v[s.at + k];
            for (uint32_t f = r->first[l + 1]; f-- > r->first[l];) rank[at++] = r->rank[f];
        }
        v[i] = (path){rank + from, (uint32_t)(at - from), i};
    }
    return v;
}

/* Writes the stacks in the order of `v`, and the new number of each. */
static bool write_stacks(const dict *in, const path *v, size_t n, uint32_t *number, arena *a,
                         dict *out)
{
    uint32_t *stacks = arena_array(a, n + 1, sizeof *stacks),
             *frames = arena_array(a, in->frames.n + 1, sizeof *frames), at = 0;
    if (!stacks || !frames) return false;
    for (uint32_t i = 0; i < n; i++) {
        span s = dict_stack(in, v[i].stack);
        number[v[i].stack] = i;
        stacks[i] = at;
        if (s.n) memcpy(frames + at, in->frames.v + s.at, s.n * sizeof *frames);
        at += s.n;
    }
    stacks[n] = at;
    out->stacks.v = stacks, out->stacks.n = out->stacks.cap = n + 1;
    out->frames.v = frames, out->frames.n = out->frames.cap = at;
    return true;
}

static bool renumber(model *m, const uint32_t *number, arena *a)
{
    profile *v = arena_array(a, m->profiles.n, sizeof *v);
    if (!v) return false;
    for (size_t i = 0; i < m->profiles.n; i++) {
        v[i] = m->profiles.v[i];
        uint32_t *stack = arena_array(a, v[i].n_samples + 1, sizeof *stack);
        if (!stack) return false;
        for (size_t k = 0; k < v[i].n_samples; k++) stack[k] = number[v[i].stack[k]];
        v[i].stack = stack;
    }
    m->profiles.v = v;
    m->profiles.cap = m->profiles.n;
    return true;
}

model html_sorted(const model *m, arena *a)
{
    model out = *m;
    ranks r;
    size_t n = dict_n_stacks(&m->dict);
    if (n < 3 || !rank_locations(&m->dict, a, &r)) return *m;
    path *v = expand(&m->dict, &r, a);
    uint32_t *number = arena_array(a, n, sizeof *number);
    if (!v || !number) return *m;
    bool sorted = true;
    for (size_t i = 2; i < n && sorted; i++) sorted = by_rank(&v[i - 1], &v[i]) < 0;
    if (sorted) return *m;
    qsort(v + 1, n - 1, sizeof *v, by_rank);
    bool ok = write_stacks(&m->dict, v, n, number, a, &out.dict) && renumber(&out, number, a);
    return ok ? out : *m;
}
