/* Creates and maps the segment, and manages its process slots. */
#include "probe/segment.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/ban.h"

enum { PAGE = 4096 };

static size_t up(size_t n) { return (n + PAGE - 1) & ~(size_t)(PAGE - 1); }

/* ---- file ---- */

static void lay_out(segment *s, void *at, uint32_t max_frames)
{
    s->cell_bytes = handler_cell_bytes(max_frames);
    s->head = at;
    s->proc_slots = (char *)at + up(sizeof(segment_head));
    s->rings = s->proc_slots + (size_t)SEGMENT_PROC_SLOTS * PROC_SLOT_BYTES;
}

static size_t segment_bytes(uint32_t max_frames)
{
    return up(sizeof(segment_head)) + (size_t)SEGMENT_PROC_SLOTS * PROC_SLOT_BYTES +
           up((size_t)SEGMENT_RINGS * RING_CELLS * handler_cell_bytes(max_frames));
}

static void *map(int fd, size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

bool segment_create(segment *s, int fd, const segment_head *head, err *e)
{
    *s = (segment){.bytes = segment_bytes(head->max_frames)};
    void *p = ftruncate(fd, (off_t)s->bytes) == 0 ? map(fd, s->bytes) : NULL;
    if (!p) return err_sys(e, errno, "cannot map the memory shared with the program");
    lay_out(s, p, head->max_frames);
    *s->head = *head;
    s->head->version = SEGMENT_VERSION;
    s->head->bytes = sizeof *s->head;
    return true;
}

static bool is_segment(const segment_head *h, size_t bytes)
{
    return h->version == SEGMENT_VERSION && h->bytes == sizeof *h && h->max_frames &&
           h->max_frames <= SEGMENT_FRAMES_MAX && segment_bytes(h->max_frames) == bytes;
}

bool segment_attach(segment *s, const char *path, err *e)
{
    struct stat st;
    *s = (segment){0};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return err_sys(e, errno, "%s", path);
    void *p = fstat(fd, &st) == 0 && (size_t)st.st_size > sizeof(segment_head)
                  ? map(fd, (size_t)st.st_size)
                  : NULL;
    close(fd);
    if (!p) return err_sys(e, errno, "cannot map %s", path);
    s->bytes = (size_t)st.st_size;
    if (!is_segment(p, s->bytes)) {
        munmap(p, s->bytes);
        return err_set(e, ERR_UNSUPPORTED, "%s was created by a different version of kiln", path);
    }
    lay_out(s, p, ((const segment_head *)p)->max_frames);
    return true;
}

void segment_close(segment *s)
{
    if (s->head) munmap(s->head, s->bytes);
    *s = (segment){0};
}

/* ---- process slots ---- */

uint32_t proc_slot_take(const segment *s, uint32_t pid)
{
    for (uint32_t k = 0; k < SEGMENT_PROC_SLOTS; k++) {
        uint32_t i = (pid + k) % SEGMENT_PROC_SLOTS;
        proc_slot *d = segment_proc_slot(s, i);
        uint64_t word = atomic_load(&d->word);
        uint64_t mine = proc_slot_word(PROC_SLOT_TAKEN, proc_slot_generation(word) + 1, pid);
        if (proc_slot_state_of(word) == PROC_SLOT_FREE &&
            atomic_compare_exchange_strong(&d->word, &word, mine))
            return i;
    }
    atomic_fetch_add(&s->head->no_slot, 1);
    return UINT32_MAX;
}

static uint64_t with_state(uint64_t word, proc_slot_state to)
{
    return proc_slot_word(to, proc_slot_generation(word), proc_slot_pid(word));
}

void proc_slot_leave(proc_slot *d, uint64_t word)
{
    atomic_compare_exchange_strong(&d->word, &word, with_state(word, PROC_SLOT_LEFT));
}

bool proc_slot_return(proc_slot *d, uint64_t word)
{
    uint64_t left = with_state(word, PROC_SLOT_LEFT);
    return atomic_compare_exchange_strong(&d->word, &left, word);
}

/* Clears all but the word: samples in a ring refer to its generation, so it is not reused soon. */
void proc_slot_free(const segment *s, uint32_t i)
{
    proc_slot *d = segment_proc_slot(s, i);
    uint64_t word = atomic_load(&d->word);
    size_t after = offsetof(proc_slot, ready), maps = atomic_exchange(&d->n_maps, 0);
    memset(d->maps, 0, maps < PROC_SLOT_MAPS ? maps : PROC_SLOT_MAPS);
    memset((char *)d + after, 0, sizeof *d - after);
    atomic_store(&d->word, proc_slot_word(PROC_SLOT_FREE, proc_slot_generation(word), 0));
}

/* ---- mappings ---- */

bool proc_slot_put_map(proc_slot *d, const map_record *m, const char *path, const uint8_t *id)
{
    uint32_t at = atomic_load(&d->n_maps);
    size_t n = (sizeof *m + m->n_path + m->n_id + 7) & ~(size_t)7;
    if (at > PROC_SLOT_MAPS || n > PROC_SLOT_MAPS - at) {
        atomic_fetch_add(&d->maps_lost, 1);
        return false;
    }
    memcpy(d->maps + at, m, sizeof *m);
    memcpy(d->maps + at + sizeof *m, path, m->n_path);
    memcpy(d->maps + at + sizeof *m + m->n_path, id, m->n_id);
    atomic_store(&d->n_maps, at + (uint32_t)n);
    return true;
}

bool proc_slot_next_map(const proc_slot *d, uint32_t *at, map_record *m, str *path, str *id)
{
    uint32_t end = atomic_load(&d->n_maps);
    if (end > PROC_SLOT_MAPS) end = PROC_SLOT_MAPS;
    if (*at > end || end - *at < sizeof *m) return false;
    memcpy(m, d->maps + *at, sizeof *m);
    size_t n = (sizeof *m + m->n_path + m->n_id + 7) & ~(size_t)7;
    if (n > end - *at) return false;
    *path = (str){d->maps + *at + sizeof *m, m->n_path};
    *id = (str){path->p + path->n, m->n_id};
    *at += (uint32_t)n;
    return true;
}

void proc_slot_warn(proc_slot *d, const char *text)
{
    uint32_t i = atomic_fetch_add(&d->n_messages, 1);
    if (i >= PROC_SLOT_MESSAGES) {
        atomic_store(&d->n_messages, PROC_SLOT_MESSAGES);
        return;
    }
    snprintf(d->messages[i], PROC_SLOT_MESSAGE_BYTES, "%s", text);
    atomic_store(&d->message_ready[i], 1);
}
