/* Finds objects that the loader mapped after the snapshot was made, such as a library that was
 * just dlopen'ed.
 *
 * A handler reads the loader's list for debuggers (struct r_debug, from DT_DEBUG of the program).
 * That list is plain memory: unlike /proc/self/maps it needs no file, works under seccomp and
 * chroot, and costs 10 ns per object.  Another thread may be changing it, so the kernel checks
 * every page before it is read, the walk is bounded, and the object must contain pc according to
 * its own program headers. */
#include "unwind/walk.h"

#include <link.h>
#include <time.h>

enum {
    EVERY_NS = 20000000, /* minimum time after a failed search: generated code is in no object */
    OBJECTS_MAX = 8192,
    PHDRS_MAX = 64,
};

static uint64_t now(void)
{
    struct timespec t = {0};
    arch_syscall4(SYS_clock_gettime, CLOCK_MONOTONIC, (long)(uintptr_t)&t, 0, 0);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool readable(uintptr_t p, size_t n)
{
    if (p < PAGE || p + n < p) return false;
    for (uintptr_t page = p - p % PAGE; page < p + n; page += PAGE)
        if (!arch_readable(page)) return false;
    return true;
}

/* Returns the object that begins closest below pc.  Objects do not overlap, so no other one can
 * contain pc. */
static uintptr_t base_below(const struct r_debug *d, uintptr_t pc)
{
    uintptr_t best = 0, page = 0;
    if (!readable((uintptr_t)d, sizeof *d) || d->r_state != RT_CONSISTENT) return 0;
    const struct link_map *m = d->r_map;
    for (unsigned i = 0; m && i < OBJECTS_MAX; i++, m = m->l_next) {
        uintptr_t first = (uintptr_t)m - (uintptr_t)m % PAGE, end = (uintptr_t)m + sizeof *m - 1;
        if ((uintptr_t)m % sizeof(void *)) return 0;
        if ((first != page || end - first >= PAGE) && !readable((uintptr_t)m, sizeof *m)) return 0;
        page = first;
        if (m->l_addr <= pc && m->l_addr > best) best = m->l_addr;
    }
    return best;
}

static bool is_elf(const Elf64_Ehdr *h)
{
    return h->e_ident[0] == 0x7f && h->e_ident[1] == 'E' && h->e_ident[2] == 'L' &&
           h->e_ident[3] == 'F' && h->e_ident[EI_CLASS] == ELFCLASS64 &&
           h->e_phentsize == sizeof(Elf64_Phdr) && h->e_phnum <= PHDRS_MAX && h->e_phoff < PAGE;
}

/* Opens the object at `base`, where its ELF header is unless a linker script moved it. */
static bool open_at(uintptr_t base, unwind_object *o)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)base;
    if (base % PAGE || !readable(base, sizeof *h) || !is_elf(h)) return false;
    size_t n = h->e_phnum;
    if (!readable(base + h->e_phoff, n * sizeof(Elf64_Phdr))) return false;
    return object_open(&(object_source){.phdr = (const Elf64_Phdr *)(base + h->e_phoff),
                                        .n_phdr = n,
                                        .bias = base,
                                        .machine = ARCH_MACHINE,
                                        .unloadable = true},
                       o);
}

static unwind_object *find_in_loader(unwind_snapshot *s, uintptr_t pc)
{
    uint32_t at = atomic_load_explicit(&s->n_late, memory_order_relaxed);
    uintptr_t base = at < LATE_SLOTS ? base_below(s->loader, pc) : 0;
    late_slot *slot =
        base ? &s->late[at] : NULL; /* no other handler writes it: this one set `searching` */
    if (!slot || !open_at(base, &slot->o) || pc < slot->o.lo || pc >= slot->o.hi) return NULL;
    atomic_store_explicit(&slot->ready, 1, memory_order_release);
    atomic_store_explicit(&s->n_late, at + 1, memory_order_release);
    return &slot->o;
}

NOINLINE unwind_object *walk_late(unwind_snapshot *s, uintptr_t pc)
{
    if (!s->loader || atomic_load_explicit(&s->n_late, memory_order_relaxed) >= LATE_SLOTS)
        return NULL;
    uint64_t t = now();
    if (t < atomic_load_explicit(&s->search_after, memory_order_relaxed) ||
        atomic_exchange_explicit(&s->searching, 1, memory_order_acquire))
        return NULL;
    unwind_object *o = find_in_loader(s, pc);
    if (!o) atomic_store_explicit(&s->search_after, t + EVERY_NS, memory_order_relaxed);
    atomic_store_explicit(&s->searching, 0, memory_order_release);
    return o;
}
