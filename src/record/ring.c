/* Reads the rings of perf events.  The kernel writes data_head after the records and reads
 * data_tail before it reuses their space. */
#include "record/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/ban.h"

enum { RECORD_MAX = 1 << 16 };

bool ring_open(ring *r, int fd, size_t bytes, size_t least, err *e)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *r = (ring){.fd = fd, .whole = malloc(RECORD_MAX)};
    void *p = MAP_FAILED;
    for (; r->whole && bytes >= least; bytes /= 2) {
        p = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p != MAP_FAILED || (errno != EPERM && errno != ENOMEM)) break;
    }
    if (p == MAP_FAILED) {
        int why = errno;
        close(fd);
        free(r->whole);
        *r = (ring){.fd = -1};
        return err_sys(e, why, "cannot map a ring of %zu KiB for perf events", bytes / 1024);
    }
    r->page = p;
    r->data = (uint8_t *)p + page;
    r->size = bytes;
    return true;
}

void ring_close(ring *r)
{
    if (!r->page) return;
    munmap(r->page, (size_t)(r->data - (uint8_t *)r->page) + r->size);
    close(r->fd);
    free(r->whole);
    *r = (ring){.fd = -1};
}

void ring_begin(ring *r)
{
    r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
    r->tail = r->at = r->page->data_tail;
    r->bad = false;
}

static const uint8_t *bytes_at(ring *r, uint64_t at, size_t n)
{
    size_t from = (size_t)(at & (r->size - 1)), first = r->size - from;
    if (n <= first) return r->data + from;
    memcpy(r->whole, r->data + from, first);
    memcpy(r->whole + first, r->data, n - first);
    return r->whole;
}

bool ring_next(ring *r, ring_record *out)
{
    struct perf_event_header h;
    if (r->bad || r->head - r->at < sizeof h) return false;
    memcpy(&h, r->data + (r->at & (r->size - 1)), sizeof h); /* a header never wraps */
    if (h.size < sizeof h || h.size > r->head - r->at) {
        r->bad = true;
        return false;
    }
    const uint8_t *p = bytes_at(r, r->at, h.size);
    *out = (ring_record){h.type, h.misc, p + sizeof h, h.size - sizeof h};
    r->at += h.size;
    return true;
}

void ring_rewind(ring *r)
{
    r->at = r->tail;
    r->bad = false;
}

void ring_end(ring *r) { __atomic_store_n(&r->page->data_tail, r->head, __ATOMIC_RELEASE); }
