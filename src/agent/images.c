/* Maintains the list of executable mappings from /proc/PID/maps and reads their build ids from
 * memory. */
#include "agent/images.h"

#include "ctx/maps.h"
#include "model/model.h"
#include "sys/file.h"
#include "sys/process.h"
#include "base/ban.h"
#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NOTES_MAX = 4096,
    PHDRS_MAX = 64,
    IMAGES_BYTES = 2 << 20, /* enough for thousands of mappings; others get no names */
};

/* ---- build ids ---- */

static int pid_of(const images *m) { return m->pid ? m->pid : getpid(); }

static void keep_ids(image *m, str notes)
{
    build_ids ids = notes_build_ids(notes, false);
    if (ids.gnu.n && ids.gnu.n <= BUILD_ID_BYTES_MAX)
        hex_encode((const uint8_t *)ids.gnu.p, ids.gnu.n, m->gnu);
    if (ids.go.n && ids.go.n < sizeof m->go) memcpy(m->go, ids.go.p, ids.go.n);
}

/* Reads the build ids of a file; `head` is the address at which its byte 0 is mapped. */
static void read_ids(int pid, image *m, uint64_t head)
{
    ElfW(Ehdr) h;
    ElfW(Phdr) v[PHDRS_MAX];
    char notes[NOTES_MAX];
    if (!process_read(pid, head, &h, sizeof h) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) return;
    if (h.e_phentsize != sizeof v[0] || !h.e_phnum || h.e_phnum > PHDRS_MAX) return;
    if (!process_read(pid, head + h.e_phoff, v, h.e_phnum * sizeof v[0])) return;
    uint64_t bias = head;
    for (size_t i = h.e_phnum; i-- > 0;)
        if (v[i].p_type == PT_LOAD) bias = head - (v[i].p_vaddr - v[i].p_offset);
    for (size_t i = 0; i < h.e_phnum; i++) {
        size_t n = v[i].p_memsz;
        if (v[i].p_type != PT_NOTE || n > sizeof notes) continue;
        if (process_read(pid, bias + v[i].p_vaddr, notes, n)) keep_ids(m, (str){notes, n});
    }
}

static void hash_file(image *m)
{
    char path[4096];
    struct stat st;
    file_bytes f;
    uint8_t h[HTLHASH_BYTES];
    if (!m->inode || m->path.n >= sizeof path) return;
    memcpy(path, m->path.p, m->path.n);
    path[m->path.n] = '\0';
    if (stat(path, &st) || !S_ISREG(st.st_mode) || st.st_ino != m->inode) return;
    if (!file_read_regular(path, 0, &f, NULL)) return;
    htlhash(f.bytes, h);
    hex_encode(h, sizeof h, m->htlhash);
    file_release(&f);
}

static void identify(const images *all, image *m, uint64_t head)
{
    read_ids(pid_of(all), m, head);
    if (!m->gnu[0] && !m->go[0]) hash_file(m);
}

/* ---- the list ---- */

static bool is_same(const image *m, const map_line *l)
{
    return !m->gone && m->start == l->start && m->end == l->end && m->offset == l->offset &&
           m->inode == l->inode && str_eq(m->path, l->name);
}

/* Finds the mapping of a line of maps in the list.  Both are in order of address, so the search
 * continues after the previous match. */
static image *find_same(images *m, const map_line *l, size_t *hint)
{
    for (size_t i = 0; i < m->v.n; i++) {
        size_t at = (*hint + i) % m->v.n;
        if (is_same(&m->v.v[at], l)) return *hint = at + 1, &m->v.v[at];
    }
    return NULL;
}

static image *add(images *m, const map_line *l, uint64_t now)
{
    char *path = arena_alloc(&m->a, l->name.n);
    image *x = path ? vec_push(&m->a, &m->v) : NULL;
    if (!x) return NULL;
    if (l->name.n) memcpy(path, l->name.p, l->name.n);
    *x = (image){.start = l->start,
                 .end = l->end,
                 .offset = l->offset,
                 .inode = l->inode,
                 .born = now,
                 .path = {path, l->name.n}};
    return x;
}

static bool is_context(str name)
{
    return str_starts(name, STR("[anon_shmem:OTEL_CTX]")) ||
           str_starts(name, STR("[anon:OTEL_CTX]")) || str_starts(name, STR("/memfd:OTEL_CTX"));
}

/* Updates the list from the text of maps.  `ids`: reads the build ids of new mappings. */
static bool take(images *m, str maps, uint64_t now, bool ids)
{
    if (!m->a.budget) m->a.budget = IMAGES_BYTES;
    map_line l, head = {0};
    size_t hint = 0, before = m->v.n;
    uint8_t *seen = before ? calloc(before, 1) : NULL;
    bool ok = seen || !before;
    m->published = 0;
    while (ok && maps_next(&maps, &l)) {
        if (l.offset == 0 && l.name.n) head = l;
        if (!l.executable && is_context(l.name)) m->published = l.start;
        if (!l.executable || str_eq(l.name, STR("[vsyscall]"))) continue;
        image *x = find_same(m, &l, &hint);
        if (x && (size_t)(x - m->v.v) < before) seen[x - m->v.v] = 1;
        if (x) continue;
        x = add(m, &l, now);
        ok = x != NULL;
        if (x && ids && l.name.n && head.inode == l.inode && str_eq(head.name, l.name))
            identify(m, x, head.start);
    }
    for (size_t i = 0; ok && i < before; i++)
        if (!seen[i] && !m->v.v[i].gone) m->v.v[i].gone = now;
    free(seen);
    return ok;
}

bool images_take(images *m, str maps, uint64_t now) { return take(m, maps, now, false); }

bool images_refresh(images *m, uint64_t now, err *e)
{
    arena a = {.budget = PROCESS_MAPS_BYTES};
    str maps;
    bool ok = process_maps(pid_of(m), &a, &maps, e);
    /* A zombie has no mappings. */
    if (ok && !maps.n) ok = err_set(e, ERR_LIMIT, "the process has ended");
    if (ok && !take(m, maps, now, true))
        ok = err_set(e, ERR_MEMORY, "not enough memory for the list of mappings");
    arena_free(&a);
    return ok;
}

bool images_put(images *m, const image *x)
{
    map_line l = {.start = x->start, .end = x->end, .offset = x->offset, .name = x->path};
    if (!m->a.budget) m->a.budget = IMAGES_BYTES;
    image *y = add(m, &l, x->born);
    if (!y) return false;
    memcpy(y->gnu, x->gnu, sizeof y->gnu);
    return true;
}

static const image *find_last(const images *m, uint64_t address)
{
    const image *best = NULL;
    for (size_t i = 0; i < m->v.n; i++) {
        const image *x = &m->v.v[i];
        if (address < x->start || address >= x->end) continue;
        if (!best || !x->gone || (best->gone && x->gone > best->gone)) best = x;
    }
    return best;
}

/* Of several mappings with this address, returns the latest one found before `time`.  If all were
 * found later, returns the first one found. */
const image *images_find(const images *m, uint64_t address, uint64_t time)
{
    const image *best = NULL;
    if (!time) return find_last(m, address);
    for (size_t i = 0; i < m->v.n; i++) {
        const image *x = &m->v.v[i];
        if (address < x->start || address >= x->end) continue;
        if (x->gone && x->gone < time) continue;
        if (!best || (x->born <= time ? x->born > best->born || best->born > time
                                      : best->born > time && x->born < best->born))
            best = x;
    }
    return best;
}

void images_forget(images *m, uint64_t time, bool all)
{
    size_t n = 0;
    if (!all && m->a.used < IMAGES_BYTES / 2) return;
    for (size_t i = 0; i < m->v.n; i++) n += m->v.v[i].gone && m->v.v[i].gone < time;
    if (!n) return;
    images to = {.a = {.budget = m->a.budget}, .published = m->published, .pid = m->pid};
    for (size_t i = 0; i < m->v.n; i++) {
        const image *x = &m->v.v[i];
        if (x->gone && x->gone < time) continue;
        map_line l = {.name = x->path};
        image *y = add(&to, &l, 0);
        if (!y) return images_close(&to); /* the next call tries again */
        str path = y->path;
        *y = *x;
        y->path = path;
    }
    images_close(m);
    *m = to;
}

void images_close(images *m)
{
    arena_free(&m->a);
    *m = (images){0};
}
