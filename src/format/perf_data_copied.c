/* Unwinds the copied stacks of samples (`perf record --call-graph dwarf`) by the stack_walk of the
 * options: passes on the maps of the process, the registers by DWARF number and the bytes. */
#include "format/perf_data.h"

#include "wire/carried.h"
#include "base/ban.h"
#include <inttypes.h>

/* Each space costs its number of maps, and a file can make a walk forget spaces again and again. */
enum { MAPS_MAX = 16 << 10 };     /* of one space; more are not passed on */
enum { ALL_MAPS_MAX = 32 << 20 }; /* of all spaces passed on; then stacks are no longer unwound */

/* ---- registers ---- */

typedef struct reg_order {
    const char *arch;
    uint16_t machine;
    uint8_t pc, sp; /* pc: perf's number; sp: DWARF's */
    uint8_t n;
    uint8_t perf[WALK_REGS]; /* perf's number of each DWARF register (asm/perf_regs.h) */
} reg_order;

static const reg_order orders[] = {
    {"x86_64", WALK_X86_64, 8, 7, 16, {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23}},
    {"aarch64", WALK_AARCH64, 32, 31, 32, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                           11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                           22, 23, 24, 25, 26, 27, 28, 29, 30, 31}},
};

static const reg_order *order_of(const perf_data *d)
{
    for (size_t i = 0; i < ARRAY_LEN(orders); i++)
        if (str_eq(d->arch, str_of(orders[i].arch))) return &orders[i];
    return NULL;
}

/* Sets *v to the register with this number of perf.  Returns false if it was not recorded. */
static bool value_of(const perf_data *d, const perf_sample *s, unsigned number, uint64_t *v)
{
    uint64_t bit = (uint64_t)1 << number;
    if (!(s->event->regs_user & bit)) return false;
    *v = perf_u64(d, s->regs + (size_t)8 * perf_n_bits(s->event->regs_user & (bit - 1)));
    return true;
}

static bool read_registers(const perf_data *d, const perf_sample *s, copied_stack *c)
{
    const reg_order *o = d->swap || !s->regs_64 ? NULL : order_of(d);
    if (!o || !value_of(d, s, o->pc, &c->pc)) return false;
    c->machine = o->machine;
    for (unsigned i = 0; i < o->n; i++)
        if (value_of(d, s, o->perf[i], &c->regs[i])) c->known |= (uint32_t)1 << i;
    return c->known >> o->sp & 1;
}

/* ---- address spaces ---- */

static bool collect_map(void *ctx, const perf_node *n)
{
    perf_data *d = ctx;
    const perf_map *m = &d->maps.maps.v[n->map];
    if (m->data || !m->filename.n) return true;
    walk_map *w = d->copied.maps.n < MAPS_MAX ? vec_push(d->a, &d->copied.maps) : NULL;
    if (!w) return false;
    *w = (walk_map){.start = n->start,
                    .limit = n->limit,
                    .offset = m->offset + (n->start - m->start),
                    .filename = m->filename,
                    .build_id = perf_build_id_of(d, m)};
    return true;
}

static bool offer_space(perf_data *d, const perf_space *s)
{
    const stack_walk *walk = d->o->walk;
    if (walk->has_space(walk->ctx, s->version)) return true;
    if (d->copied.n_maps > ALL_MAPS_MAX) return false;
    d->copied.maps.n = 0;
    perf_space_each(&d->maps, s, collect_map, d);
    d->copied.n_maps += d->copied.maps.n + 1;
    return walk->add_space(walk->ctx, &(walk_space){.version = s->version,
                                                    .maps = d->copied.maps.v,
                                                    .n = d->copied.maps.n,
                                                    .hostname = d->hostname,
                                                    .os_release = d->os_release});
}

/* ---- samples ---- */

static void count_end(perf_data *d, const perf_space *s, const walked_stack *w)
{
    if (d->copied.ends[w->end]++ || !w->n) return;
    uint64_t pc = w->pcs[w->n - 1];
    uint32_t map = perf_space_find(&d->maps, s, w->n > 1 ? pc - 1 : pc);
    if (map != NO_MAP) d->copied.first_file[w->end] = d->maps.maps.v[map].filename;
}

bool perf_uses_copies(const perf_data *d, const perf_event *v)
{
    return d->o->walk && v->no_user_chain && v->sample_type & PERF_SAMPLE_REGS_USER &&
           v->sample_type & PERF_SAMPLE_STACK_USER;
}

bool perf_walk_copied(perf_data *d, const perf_sample *s, const perf_process *p, walked_stack *w)
{
    copied_stack c = {.bytes = s->stack, .partial = s->stack_partial};
    *w = (walked_stack){.end = WALK_REFUSED};
    if (!s->regs || !perf_uses_copies(d, s->event)) return false;
    if (read_registers(d, s, &c) && offer_space(d, &p->space))
        *w = d->o->walk->walk(d->o->walk->ctx, p->space.version, &c);
    count_end(d, &p->space, w);
    return w->n > 0;
}

/* ---- losses ---- */

static const char *const ends[WALK_ENDS] = {
    [WALK_CUT] = "longer than the copy",
    [WALK_NO_FILE] = "in code whose file is missing or differs",
    [WALK_NO_RULE] = "in code without unwind rules",
    [WALK_NO_REGISTER] = "continued on a stack that was not copied",
    [WALK_BROKEN] = "not matching the rules of its code",
    [WALK_REFUSED] = "of another processor, or without registers",
};

void perf_account_copied(const perf_data *d)
{
    for (size_t i = 0; i < WALK_ENDS; i++) {
        if (!d->copied.ends[i] || i == WALK_WHOLE) continue;
        char path[96];
        snprintf(path, sizeof path, "%" PRIu64 " stacks %s", d->copied.ends[i], ends[i]);
        ledger_add_n(d->o->ledger, STAGE_READ, LOSS_STACK_COPY,
                     i == WALK_CUT ? KILN_ATTR_STACK_TRUNCATED : NULL, d->copied.ends[i], path,
                     d->copied.first_file[i]);
    }
}
