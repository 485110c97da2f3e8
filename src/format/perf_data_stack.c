/* Converts call chains to stacks. Chains and addresses are cached, with the versions of their
 * address spaces; the maps are searched only when both caches miss. */
#include "format/perf_data.h"

#include "wire/carried.h"
#include "base/ban.h"

/* Larger entries of a chain are not addresses but markers for the entries after them
 * (PERF_CONTEXT_*). */
#define CONTEXT_MAX ((uint64_t)-4095)
#define CONTEXT_HV ((uint64_t)-32)
#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER ((uint64_t)-512)
#define CONTEXT_USER_DEFERRED                                                                      \
    ((uint64_t)-640) /* a later record has the user part; the next entry identifies it */
#define CONTEXT_GUEST_KERNEL ((uint64_t)-2176)
#define CONTEXT_GUEST_USER ((uint64_t)-2560)
#define CONTEXT_GUEST ((uint64_t)-2048)

/* ---- mappings ---- */

bool perf_is_native(str name)
{
    if (str_eq(name, STR("[vdso]")) || str_eq(name, STR("[vsyscall]"))) return true;
    return str_starts(name, STR("/")) && !str_starts(name, STR("//")) &&
           !str_starts(name, STR("/dev/")) && !str_starts(name, STR("/memfd:")) &&
           !str_starts(name, STR("/SYSV")) && !str_starts(name, STR("/anon_hugepage")) &&
           !str_ends(name, STR(".map"));
}

str perf_build_id_of(const perf_data *d, const perf_map *m)
{
    str id = m->build_id;
    const perf_build_id *b = id.n ? NULL : perf_find_build_id(d, m->filename);
    if (b) id = (str){(const char *)b->id, b->n};
    return id.n && !id_is_zero((const uint8_t *)id.p, id.n) ? id : (str){0};
}

static uint32_t build_id_attr(perf_data *d, const perf_map *m)
{
    str id = perf_build_id_of(d, m);
    if (!id.n) return 0;
    char *hex = arena_alloc(d->a, 2 * BUILD_ID_MAX + 1);
    if (!hex) return d->b.failed = true, 0;
    hex_encode((const uint8_t *)id.p, id.n, hex);
    return builder_attribute_str(&d->b, STR(ATTR_BUILD_ID_GNU), (str){hex, 2 * id.n});
}

static uint32_t kernel_attr(perf_data *d)
{
    if (!d->attr_kernel)
        d->attr_kernel = builder_attribute_str(&d->b, STR(ATTR_FRAME_TYPE), STR("kernel"));
    return d->attr_kernel;
}

static uint32_t native_attr(perf_data *d)
{
    if (!d->attr_native)
        d->attr_native = builder_attribute_str(&d->b, STR(ATTR_FRAME_TYPE), STR("native"));
    return d->attr_native;
}

static const perf_map *use_map(perf_data *d, uint32_t i, bool kernel)
{
    perf_map *m = &d->maps.maps.v[i];
    if (m->mapping) return m;
    uint32_t build_id = build_id_attr(d, m);
    mapping made = {
        .memory_start = m->start,
        .memory_limit = m->limit,
        .file_offset = m->offset,
        .filename = builder_string(&d->b, perf_utf8(d, m->filename)),
    };
    m->mapping = builder_mapping(&d->b, &made, &build_id, build_id != 0);
    m->frame_type = kernel ? kernel_attr(d) : perf_is_native(m->filename) ? native_attr(d) : 0;
    return m;
}

void perf_use_main(perf_data *d)
{
    uint32_t map = d->n_mains ? d->mains[0] : 0;
    if (map) use_map(d, map - 1, false);
}

/* ---- addresses ---- */

static uint32_t make_location(perf_data *d, const perf_space *space, uint64_t address, bool kernel)
{
    uint32_t map = space ? perf_space_find(&d->maps, space, address) : NO_MAP;
    uint32_t type = kernel ? kernel_attr(d) : 0, at = 0;
    if (map != NO_MAP) {
        const perf_map *m = use_map(d, map, kernel);
        at = m->mapping;
        type = m->frame_type;
    }
    return builder_location(&d->b, at, address, NULL, 0, &type, type != 0);
}

static uint32_t location_of(perf_data *d, const perf_process *p, unsigned mode, uint64_t address)
{
    bool kernel = mode == MODE_KERNEL;
    const perf_space *space = kernel ? &d->kernel : mode == MODE_USER ? &p->space : NULL;
    kernel |= mode == MODE_HYPERVISOR || mode == MODE_GUEST_KERNEL;
    uint32_t version = space ? space->version : 0;
    /* Version 0 is the empty address space of any process; `kernel` still decides the frame
     * type. */
    if (!hash_index_room(&d->by_place, d->a)) return d->b.failed = true, 0;
    uint64_t h = hash_mix(hash_mix(d->by_place.seed, address), (uint64_t)version << 1 | kernel);
    uint32_t i = hash_first(&d->by_place, h);
    for (uint32_t at; hash_next(&d->by_place, &i, h, &at); i++) {
        const perf_place *x = &d->places.v[at];
        if (x->address == address && x->version == version && x->kernel == kernel)
            return x->location;
    }
    perf_place *x = vec_push(d->a, &d->places);
    if (!x) return d->b.failed = true, 0;
    *x = (perf_place){address, version, make_location(d, space, address, kernel), kernel};
    hash_put(&d->by_place, i, h, (uint32_t)(d->places.n - 1));
    return x->location;
}

/* ---- chains ---- */

static unsigned mode_of_context(uint64_t marker, unsigned mode)
{
    switch (marker) {
    case CONTEXT_HV: return MODE_HYPERVISOR;
    case CONTEXT_KERNEL: return MODE_KERNEL;
    case CONTEXT_USER:
    case CONTEXT_USER_DEFERRED: return MODE_USER;
    case CONTEXT_GUEST:
    case CONTEXT_GUEST_USER: return MODE_GUEST_USER;
    case CONTEXT_GUEST_KERNEL: return MODE_GUEST_KERNEL;
    default: return mode;
    }
}

static void push_frame(perf_data *d, uint32_t location_i)
{
    uint32_t *slot = vec_push(d->a, &d->frames);
    if (slot)
        *slot = location_i;
    else
        d->b.failed = true;
}

/* Adds the user's frames of a kernel-only chain. `w`: from the copied stack; NULL: only the
 * innermost frame is known. */
static void push_user(perf_data *d, const perf_sample *s, const perf_process *p,
                      const walked_stack *w)
{
    for (size_t i = 0; w && i < w->n && !d->b.failed; i++)
        push_frame(d, location_of(d, p, MODE_USER, w->pcs[i]));
    if (!w) push_frame(d, location_of(d, p, MODE_USER, s->user_ip));
}

static uint32_t make_stack(perf_data *d, const perf_sample *s, unsigned mode, const perf_process *p,
                           const walked_stack *w)
{
    d->frames.n = 0;
    unsigned now = mode;
    for (uint64_t i = 0; i < s->n_chain && !d->b.failed; i++) {
        uint64_t address = perf_u64(d, s->chain + i * 8);
        if (address >= CONTEXT_MAX) {
            now = mode_of_context(address, now);
            if (address == CONTEXT_USER_DEFERRED) i++, d->n_deferred++;
        } else {
            push_frame(d, location_of(d, p, now, address));
        }
    }
    /* Without a chain, or with only markers, uses the address of the sample. */
    bool user = mode == MODE_USER;
    if (!d->frames.n && s->has_ip && !(w && user)) push_frame(d, location_of(d, p, mode, s->ip));
    if (w || (s->has_user_ip && !user)) push_user(d, s, p, w);
    return builder_stack(&d->b, d->frames.v, d->frames.n);
}

static bool same_chain(const perf_chain *x, const perf_chain *y)
{
    return x->n == y->n && x->ip == y->ip && x->user_ip == y->user_ip && x->user == y->user &&
           x->kernel == y->kernel && x->mode == y->mode &&
           (x->n == 0 || !memcmp(x->p, y->p, x->n * 8));
}

static uint32_t cached_stack(perf_data *d, const perf_sample *s, uint16_t misc,
                             const perf_process *p)
{
    perf_chain key = {
        .p = s->chain,
        .n = s->n_chain,
        .ip = s->ip, /* used when the chain has only markers */
        .user_ip = s->user_ip,
        .user = p->space.version,
        .kernel = d->kernel.version,
        .mode = misc & MISC_CPUMODE,
    };
    if (!hash_index_room(&d->by_chain, d->a)) return d->b.failed = true, 0;
    uint64_t h = hash_mix(d->by_chain.seed, key.ip ^ key.user_ip << 1);
    h = hash_mix(hash_mix(h, (uint64_t)key.user << 32 | key.kernel), key.mode);
    h = hash_bytes(key.p, key.n * 8, h);
    uint32_t i = hash_first(&d->by_chain, h);
    for (uint32_t at; hash_next(&d->by_chain, &i, h, &at); i++)
        if (same_chain(&d->chains.v[at], &key)) return d->chains.v[at].stack;
    key.stack = make_stack(d, s, key.mode, p, NULL);
    perf_chain *x = vec_push(d->a, &d->chains);
    if (!x) return d->b.failed = true, 0;
    *x = key;
    hash_put(&d->by_chain, i, h, (uint32_t)(d->chains.n - 1));
    return key.stack;
}

uint32_t perf_stack_of(perf_data *d, const perf_sample *s, uint16_t misc, const perf_process *p,
                       bool *cut)
{
    walked_stack w;
    if (!perf_walk_copied(d, s, p, &w)) return cached_stack(d, s, misc, p);
    *cut = w.end == WALK_CUT;
    return make_stack(d, s, misc & MISC_CPUMODE, p, &w);
}
