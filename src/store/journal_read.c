/* Reads records of the journal in order, also while another process writes it. A record that cannot
 * be read is skipped and counted as damaged, or as doubtful when it may never have been
 * acknowledged. */
#include "store/journal_file.h"
#include "base/hash_long.h"

#include <errno.h>
#include <sys/mman.h>
#include "base/ban.h"

/* Reads that bypass the page cache are large: a few large reads into huge pages cost a tenth of
 * many small reads. */
enum { WINDOW = 1 << 18, WINDOW_ONCE = 1 << 22, HUGE = 1 << 21 };

/* A window over a segment, as large as the largest record. Position, memory and length are
 * multiples of VFILE_DIRECT, except at the end of the file. */
typedef struct window {
    vfile *f;
    char *p;
    size_t n, cap;
    size_t least; /* bytes of one read */
    uint64_t at;  /* position of p in the file */
} window;

static size_t even_down(size_t n) { return n & ~(size_t)(VFILE_DIRECT - 1); }

static bool window_room(window *w, size_t n, size_t kept, err *e)
{
    if (n <= w->cap) return true;
    size_t unit = n < HUGE ? VFILE_DIRECT : HUGE;
    n = (n + unit - 1) & ~(unit - 1);
    char *p = aligned_alloc(unit, n);
    if (!p) return err_sys(e, ENOMEM, "no memory to read the journal");
    if (unit == HUGE) (void)madvise(p, n, MADV_HUGEPAGE);
    if (kept) memcpy(p, w->p, kept);
    free(w->p);
    w->p = p;
    w->cap = n;
    return true;
}

/* Moves the window to `at`, with at least n bytes after it if the file has them. */
static bool window_move(window *w, uint64_t at, size_t n, err *e)
{
    uint64_t from = at - at % VFILE_DIRECT;
    size_t want = even_down((size_t)(at - from) + n + VFILE_DIRECT - 1), got = 0, kept = 0;
    if (want < w->least) want = w->least;
    if (from >= w->at && from < w->at + w->n) {
        kept = even_down((size_t)(w->at + w->n - from));
        if (kept) memmove(w->p, w->p + (from - w->at), kept);
    }
    w->at = from;
    w->n = kept;
    if (!window_room(w, want, kept, e) ||
        !vfile_read(w->f, from + kept, w->p + kept, want - kept, &got, e))
        return false;
    w->n += got;
    return true;
}

/* Sets *out to n bytes at `at`, or fewer at the end of the file. */
static bool window_view(window *w, uint64_t at, size_t n, str *out, err *e)
{
    if ((at < w->at || at + n > w->at + w->n) && !window_move(w, at, n, e)) return false;
    size_t left = at < w->at + w->n ? (size_t)(w->at + w->n - at) : 0;
    *out = (str){w->p + (at - w->at), n < left ? n : left};
    return true;
}

/* Counts the records from one number to another, inclusive, as unreadable. */
static void count_damaged(journal_scan *s, uint64_t from, uint64_t to)
{
    uint64_t low = from > s->doubt_from ? from : s->doubt_from + 1,
             high = to < s->doubt_to ? to : s->doubt_to,
             doubtful = low <= high ? high - low + 1 : 0;
    s->n_doubtful += doubtful;
    s->n_damaged += to - from + 1 - doubtful;
}

typedef struct walk {
    journal_scan *s;
    journal_visit *visit;
    void *ctx;
    window w;
    uint64_t next; /* number of the next record in the segment */
    /* Records with a wrong hash since the last good one. An incomplete record at the end does not
     * count. */
    uint64_t bad_first, bad_last; /* 0: none */
} walk;

static bool one_record(walk *k, const journal_segment *seg, uint64_t limit, uint64_t *at, bool *end,
                       err *e)
{
    str head, bytes;
    uint64_t seq, n, hash;
    *end = true;
    if (!window_view(&k->w, *at, JOURNAL_RECORD, &head, e)) return false;
    if (head.n < JOURNAL_RECORD || !record_fits(head.p, seg->salt)) return true;
    memcpy(&seq, head.p + 8, 8);
    memcpy(&n, head.p + 24, 8);
    memcpy(&hash, head.p + 32, 8);
    if (seq >= limit || seq < k->next || n > seg->end) return true;
    if (seq > k->s->to) return true;
    if (seq > k->next && k->next >= k->s->from)
        count_damaged(k->s, k->next, seq - 1); /* their headers are unreadable */
    k->next = seq;
    k->next++;
    *at += JOURNAL_RECORD;
    if (seq >= k->s->from) {
        if (!window_view(&k->w, *at, (size_t)n, &bytes, e)) return false;
        if (bytes.n == n && hash_long(bytes.p, bytes.n) == hash) {
            if (k->bad_first) count_damaged(k->s, k->bad_first, k->bad_last);
            k->bad_first = 0;
            k->s->last = seq;
            k->s->n_items++;
            k->s->n_bytes += n;
            if (!k->visit(k->ctx, seq, bytes, e)) return false;
            if (k->s->stop) return true;
        } else {
            if (!k->bad_first) k->bad_first = seq;
            k->bad_last = seq;
        }
    }
    *at += (n + 7) & ~UINT64_C(7);
    *end = false;
    if (k->s->place) *k->s->place = (journal_place){seg->salt, *at, k->next};
    return true;
}

/* Checks that the header of the segment is unchanged. */
static bool still_there(walk *k, const journal_segment *seg, err *e)
{
    char head[JOURNAL_HEADER];
    size_t got;
    journal_segment now;
    if (seg->bad) return true; /* not reused: the manifest lists it */
    if (!vfile_read(k->w.f, 0, head, sizeof head, &got, e)) return false;
    if (got == sizeof head && segment_parse(head, &now) && now.salt == seg->salt) return true;
    return err_set(e, ERR_MISMATCH, "the journal was compacted while it was read");
}

/* Returns the offset in the segment at which the scan begins. */
static uint64_t begin(walk *k, const journal_segment *seg)
{
    const journal_place *p = k->s->place;
    bool known = p && p->salt == seg->salt && p->next_seq <= k->s->from;
    k->next = known ? p->next_seq : seg->first_seq;
    return known ? p->at : JOURNAL_HEADER;
}

static bool one_segment(walk *k, sqlite3_vfs *vfs, const char *dir, const journal_segment *seg,
                        uint64_t limit, err *e)
{
    char path[JOURNAL_PATH];
    err why = {0};
    segment_path(dir, seg->number, path);
    k->w.f = vfile_open(vfs, path, VFILE_READ, &why);
    if (!k->w.f) {
        if (why.sys == ENOENT)
            return err_set(e, ERR_MISMATCH, "the journal was compacted while it was read");
        if (e) *e = why;
        return false;
    }
    k->w.n = 0;
    k->bad_first = 0;
    if (k->s->once) (void)vfile_go_direct(k->w.f);
    bool ok = still_there(k, seg, e), end = false;
    uint64_t at = begin(k, seg);
    while (ok && !end) {
        ok = one_record(k, seg, limit, &at, &end, e);
        if (ok && end && !k->s->stop &&
            at % JOURNAL_EVEN) { /* the group ends: the next one may begin here */
            at = (at + JOURNAL_EVEN - 1) & ~(uint64_t)(JOURNAL_EVEN - 1);
            end = false;
        }
    }
    ok = ok && still_there(k, seg, e);
    vfile_close(k->w.f);
    return ok;
}

bool journal_read(sqlite3_vfs *vfs, const char *dir, journal_scan *s, journal_visit *visit,
                  void *ctx, err *e)
{
    segment_list list;
    s->last = s->from - 1;
    if (s->hold)
        list = (segment_list){.v = s->hold->v, .n = s->hold->n};
    else if (!segments_list(vfs, dir, &list, e))
        return false;
    walk k = {.s = s, .visit = visit, .ctx = ctx, .w.least = s->once ? WINDOW_ONCE : WINDOW};
    s->gap = list.n && list.v[0].first_seq > s->from;
    s->first = s->gap ? list.v[0].first_seq : s->from;
    if (s->gap) s->last = s->first - 1;
    bool ok = true;
    for (size_t i = 0; ok && !s->stop && i < list.n; i++) {
        uint64_t limit = i + 1 < list.n ? list.v[i + 1].first_seq : UINT64_MAX;
        if (limit <= s->from || list.v[i].first_seq > s->to) continue;
        ok = one_segment(&k, vfs, dir, &list.v[i], limit, e);
        if (ok && !s->stop && limit != UINT64_MAX && limit <= s->to && s->last + 1 < limit)
            count_damaged(s, s->last + 1, limit - 1); /* they were in this segment */
    }
    if (ok && !s->stop && s->to != UINT64_MAX && s->last < s->to && s->n_damaged == 0)
        count_damaged(s, s->last + 1, s->to); /* they were acknowledged */
    free(k.w.p);
    if (!s->hold) free(list.v);
    return ok;
}
