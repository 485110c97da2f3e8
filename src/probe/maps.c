/* Writes the executable mappings to the process slot, for a collector that may read them after the
 * process has ended. */
#include "probe/probe.h"

#include "base/str.h"
#include "objfile/build_id.h"
#include <elf.h>
#include <link.h>
#include <unistd.h>
#include "base/ban.h"

/* Copies the GNU build id from the notes of an object.  Returns its length; 0: none. */
static size_t id_of(const struct dl_phdr_info *i, uint8_t id[BUILD_ID_BYTES_MAX])
{
    for (size_t k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        if (p->p_type != PT_NOTE) continue;
        build_ids ids =
            notes_build_ids((str){(const char *)(i->dlpi_addr + p->p_vaddr), p->p_memsz}, false);
        if (!ids.gnu.n || ids.gnu.n > BUILD_ID_BYTES_MAX) continue;
        memcpy(id, ids.gnu.p, ids.gnu.n);
        return ids.gnu.n;
    }
    return 0;
}

enum { PAGE = 4096 };

/* Writes the executable segments as whole pages, as the kernel maps them. */
static void write_segments(proc_slot *d, const struct dl_phdr_info *i, str path)
{
    uint8_t id[BUILD_ID_BYTES_MAX];
    size_t n_id = id_of(i, id);
    for (size_t k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        uint64_t start = i->dlpi_addr + p->p_vaddr, end = start + p->p_filesz;
        map_record m = {.start = start & ~(uint64_t)(PAGE - 1),
                        .end = (end + PAGE - 1) & ~(uint64_t)(PAGE - 1),
                        .offset = p->p_offset & ~(uint64_t)(PAGE - 1),
                        .n_path = (uint16_t)path.n,
                        .n_id = (uint16_t)n_id};
        proc_slot_put_map(d, &m, path.p, id);
    }
}

static int on_object(struct dl_phdr_info *i, size_t size, void *ctx)
{
    proc_slot *d = ctx;
    (void)size;
    str path = str_of(i->dlpi_name);
    if (!path.n && !atomic_load(&d->n_maps))
        path = str_of(d->program); /* the first object is the program */
    if (str_starts(path, STR("linux-vdso"))) path = STR("[vdso]"); /* the name in /proc/PID/maps */
    if (!path.n || (path.p[0] != '/' && path.p[0] != '[')) return 0;
    write_segments(d, i, path);
    return 0;
}

void maps_write(proc_slot *d)
{
    ssize_t n = readlink("/proc/self/exe", d->program, sizeof d->program - 1);
    d->program[n > 0 ? n : 0] = '\0';
    dl_iterate_phdr(on_object, d);
}

void maps_copy(proc_slot *d, const proc_slot *parent, uint64_t word)
{
    uint32_t n = atomic_load(&parent->n_maps);
    memcpy(d->program, parent->program, sizeof d->program);
    if (n <= PROC_SLOT_MAPS) memcpy(d->maps, parent->maps, n);
    uint64_t now = atomic_load(&parent->word);
    bool same = proc_slot_state_of(now) != PROC_SLOT_FREE &&
                proc_slot_generation(now) == proc_slot_generation(word) && n &&
                n == atomic_load(&parent->n_maps);
    atomic_store(&d->n_maps, same && n <= PROC_SLOT_MAPS ? n : 0);
}
