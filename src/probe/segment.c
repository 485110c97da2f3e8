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

/* ---- the file ---- */

static void lay_out(segment *s, void *at, uint32_t max_frames)
{
    s->cell_bytes = handler_cell_bytes(max_frames);
    s->head = at;
    s->desks = (char *)at + up(sizeof(segment_head));
    s->rings = s->desks + (size_t)SEGMENT_DESKS * DESK_BYTES;
}

static size_t segment_bytes(uint32_t max_frames)
{
    return up(sizeof(segment_head)) + (size_t)SEGMENT_DESKS * DESK_BYTES +
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
    if (!p) return err_sys(e, errno, "%s cannot be mapped", path);
    s->bytes = (size_t)st.st_size;
    if (!is_segment(p, s->bytes)) {
        munmap(p, s->bytes);
        return err_set(e, ERR_UNSUPPORTED, "%s is of another version of kiln", path);
    }
    lay_out(s, p, ((const segment_head *)p)->max_frames);
    return true;
}

void segment_close(segment *s)
{
    if (s->head) munmap(s->head, s->bytes);
    *s = (segment){0};
}

/* ---- desks ---- */

uint32_t desk_take(const segment *s, uint32_t pid)
{
    for (uint32_t k = 0; k < SEGMENT_DESKS; k++) {
        uint32_t i = (pid + k) % SEGMENT_DESKS;
        desk *d = segment_desk(s, i);
        uint64_t word = atomic_load(&d->word);
        uint64_t mine = desk_word(DESK_TAKEN, desk_generation(word) + 1, pid);
        if (desk_state_of(word) == DESK_FREE &&
            atomic_compare_exchange_strong(&d->word, &word, mine))
            return i;
    }
    atomic_fetch_add(&s->head->no_desk, 1);
    return UINT32_MAX;
}

static uint64_t with_state(uint64_t word, desk_state to)
{
    return desk_word(to, desk_generation(word), desk_pid(word));
}

void desk_leave(desk *d, uint64_t word)
{
    atomic_compare_exchange_strong(&d->word, &word, with_state(word, DESK_LEFT));
}

bool desk_return(desk *d, uint64_t word)
{
    uint64_t left = with_state(word, DESK_LEFT);
    return atomic_compare_exchange_strong(&d->word, &left, word);
}

/* The word outlives the rest, so that a generation is not used again soon: it is what samples in a ring are matched by. */
void desk_free(const segment *s, uint32_t i)
{
    desk *d = segment_desk(s, i);
    uint64_t word = atomic_load(&d->word);
    size_t after = offsetof(desk, ready), maps = atomic_exchange(&d->n_maps, 0);
    memset(d->maps, 0, maps < DESK_MAPS ? maps : DESK_MAPS);
    memset((char *)d + after, 0, sizeof *d - after);
    atomic_store(&d->word, desk_word(DESK_FREE, desk_generation(word), 0));
}

/* ---- mappings ---- */

bool desk_put_map(desk *d, const map_record *m, const char *path, const uint8_t *id)
{
    uint32_t at = atomic_load(&d->n_maps);
    size_t n = (sizeof *m + m->n_path + m->n_id + 7) & ~(size_t)7;
    if (at > DESK_MAPS || n > DESK_MAPS - at) {
        atomic_fetch_add(&d->maps_lost, 1);
        return false;
    }
    memcpy(d->maps + at, m, sizeof *m);
    memcpy(d->maps + at + sizeof *m, path, m->n_path);
    memcpy(d->maps + at + sizeof *m + m->n_path, id, m->n_id);
    atomic_store(&d->n_maps, at + (uint32_t)n);
    return true;
}

bool desk_next_map(const desk *d, uint32_t *at, map_record *m, str *path, str *id)
{
    uint32_t end = atomic_load(&d->n_maps);
    if (end > DESK_MAPS) end = DESK_MAPS;
    if (*at > end || end - *at < sizeof *m) return false;
    memcpy(m, d->maps + *at, sizeof *m);
    size_t n = (sizeof *m + m->n_path + m->n_id + 7) & ~(size_t)7;
    if (n > end - *at) return false;
    *path = (str){d->maps + *at + sizeof *m, m->n_path};
    *id = (str){path->p + path->n, m->n_id};
    *at += (uint32_t)n;
    return true;
}

void desk_say(desk *d, const char *sentence)
{
    uint32_t i = atomic_fetch_add(&d->n_said, 1);
    if (i >= DESK_SENTENCES) {
        atomic_store(&d->n_said, DESK_SENTENCES);
        return;
    }
    snprintf(d->said[i], DESK_SENTENCE, "%s", sentence);
    atomic_store(&d->is_said[i], 1);
}
