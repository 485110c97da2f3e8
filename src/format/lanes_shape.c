/* Determines whether a reader restores the observations of a profile as the same samples. */
#include "format/lanes.h"

#include "base/ban.h"

bool lane_shape_init(lane_shape *s, const profile *p, arena *a)
{
    *s = (lane_shape){.a = a};
    if (!vec_reserve(a, &s->seen, p->n_samples)) return false;
    if (p->n_samples) memset(s->seen.v, 0, p->n_samples * sizeof *s->seen.v);
    s->seen.n = p->n_samples;
    return true;
}

uint64_t lane_stack_identity(const lane_frames *f, uint64_t seed)
{
    uint64_t h = hash_mix(seed, f->stack.n);
    for (size_t i = 0; i < f->stack.n; i++) h = hash_mix(h, f->stack.v[i]);
    return h;
}

/* Adds an identity. Sets s->changed if it exists already: two samples then become one. */
static bool find_identity(lane_shape *s, uint64_t identity)
{
    if (!hash_index_room(&s->index, s->a)) return false;
    uint32_t i = hash_first(&s->index, identity);
    for (uint32_t at; hash_next(&s->index, &i, identity, &at); i++)
        if (s->identities.v[at] == identity) return s->changed = true;
    uint64_t *slot = vec_push(s->a, &s->identities);
    if (!slot) return false;
    *slot = identity;
    hash_put(&s->index, i, identity, (uint32_t)(s->identities.n - 1));
    return true;
}

bool lane_shape_add(lane_shape *s, uint64_t identity, uint32_t sample_i, uint32_t nth)
{
    if (s->changed) return true;
    if (s->seen.v[sample_i]++ != nth || (nth == 0 && sample_i != s->n_samples++))
        return s->changed = true;
    return nth > 0 || find_identity(s, identity);
}

void lane_shape_end(const lane_shape *s, const model *m, const profile *p, bool values, bool times,
                    ledger *l)
{
    bool changed = s->changed || s->n_samples != p->n_samples;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample x = sample_at(m, p, i);
        uint32_t n = sample_observations(&x);
        changed |= x.n_values != (values ? n : 0);
        changed |= !times && x.n_times;
        if (times && x.n_times < n)
            ledger_add_n(l, STAGE_WRITE, LOSS_SAMPLE_SHAPE, NULL, n - x.n_times,
                         "samples[].timestamps",
                         STR("values without a time get the time of their position"));
    }
    if (changed)
        ledger_add(l, STAGE_WRITE, LOSS_SAMPLE_SHAPE, "samples", "samples",
                   STR("equal ones are merged, in order of time"));
}

/* ---- intervals that events cannot represent ---- */

static void lose_flat(lane_seam *s)
{
    ledger_add(s->l, STAGE_WRITE, LOSS_OBSERVATIONS, NULL, "samples[].values",
               STR("without length"));
}

void lane_seam_end(lane_seam *s)
{
    if (s->flat && !s->opened) lose_flat(s);
    s->flat = false;
}

/* Ends an interval of length 0 when the next one begins. */
static void end_flat(lane_seam *s, const u32s *next, bool covered, size_t depth)
{
    bool parts = covered && next->n > depth && s->cuts && next->v[depth] == s->cut;
    bool represented = s->opened ? !covered || s->has_args : parts;
    if (!represented) lose_flat(s);
}

void lane_seam_add(lane_seam *s, const lane_frames *f, const u32s *open, const lane_item *x)
{
    size_t same = 0;
    while (same < open->n && same < f->stack.n && open->v[same] == f->stack.v[same]) same++;
    bool all_open = same == open->n, nothing_new = same == f->stack.n;
    if (s->flat) end_flat(s, &f->stack, all_open, open->n);
    if (x->value && open->n && nothing_new && all_open && !(s->flat && s->opened)) {
        ledger_add(s->l, STAGE_WRITE, LOSS_TIMESTAMP, NULL, "samples[].timestamps",
                   STR("where equal neighbours meet"));
        ledger_add(s->l, STAGE_WRITE, LOSS_SAMPLE_SHAPE, "samples", "samples", (str){0});
    }
    s->flat = !x->value;
    s->opened = !nothing_new;
    s->has_args = x->args != 0;
    s->cuts = !all_open;
    s->cut = all_open ? 0 : open->v[same];
}
