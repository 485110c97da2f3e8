/* Writes the journal: segments, groups of records, release of compacted segments. If the sync of a
 * group fails, a new segment that starts with the same number makes the group void. */
#include "store/journal.h"

#include "store/journal_file.h"
#include <errno.h>
#include <unistd.h>
#include "base/ban.h"

/* ---- the writer ---- */

static bool add_segment(journal *j, journal_segment s, err *e)
{
    if (j->n == j->cap) {
        size_t cap = j->cap ? j->cap * 2 : 16;
        journal_segment *v = realloc(j->v, cap * sizeof *v);
        if (!v) return err_sys(e, ENOMEM, "no memory for the journal");
        j->v = v;
        j->cap = cap;
    }
    j->v[j->n++] = s;
    return true;
}

static void drop_segment(journal *j, size_t i)
{
    memmove(j->v + i, j->v + i + 1, (j->n - i - 1) * sizeof *j->v);
    j->n--;
}

static bool skip_record(void *ctx, uint64_t seq, str bytes, err *e)
{
    (void)ctx, (void)seq, (void)bytes, (void)e;
    return true;
}

/* Syncs records that an earlier process wrote: it may have died before the sync. Their profiles
 * count as stored now, so they must be durable. */
static bool sync_segments(journal *j, uint64_t through, err *e)
{
    for (size_t i = 0; i < j->n; i++) {
        char path[JOURNAL_PATH];
        if (i + 1 < j->n && j->v[i + 1].first_seq <= through + 1) continue;
        segment_path(j->dir, j->v[i].number, path);
        vfile *f = vfile_open(j->vfs, path, VFILE_WRITE, e);
        bool ok = f && vfile_sync(f, e);
        vfile_close(f);
        if (!ok) return false;
    }
    return true;
}

static void forget(journal *j)
{
    free(j->v);
    j->f = NULL;
    j->v = NULL;
    j->n = j->cap = 0;
}

bool journal_open(journal *j, sqlite3_vfs *vfs, const char *dir, const world *w, bool no_sync,
                  uint64_t through, err *e)
{
    *j = (journal){.vfs = vfs,
                   .dir = dir,
                   .world = w,
                   .no_sync = no_sync,
                   .segment = JOURNAL_SEGMENT,
                   .next_seq = through + 1};
    segment_list list = {0};
    if (!segments_list(vfs, dir, &list, e)) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < list.n; i++) ok = add_segment(j, list.v[i], e);
    free(list.v);
    journal_scan scan = {.from = through + 1, .to = UINT64_MAX, .once = true};
    ok = ok && (no_sync || sync_segments(j, through, e));
    ok = ok && journal_read(vfs, dir, &scan, skip_record, NULL, e);
    if (ok && scan.last >= j->next_seq) j->next_seq = scan.last + 1;
    /* Numbers that a segment has in its header are not used again, even if none of its records can
     * be read. */
    for (size_t i = 0; ok && i < j->n; i++)
        if (j->v[i].first_seq > j->next_seq) j->next_seq = j->v[i].first_seq;
    if (!ok) forget(j); /* the directory cannot be read: do not treat it as empty */
    return ok;
}

void journal_close(journal *j, uint64_t through)
{
    vfile_close(j->f);
    for (size_t i = 0; i < j->n; i++) {
        bool empty =
            i + 1 < j->n ? j->v[i + 1].first_seq <= through + 1 : j->next_seq <= through + 1;
        char path[JOURNAL_PATH];
        segment_path(j->dir, j->v[i].number, path);
        if (!empty) break;
        int claim =
            /* a reader may still read it; the next run removes it */
            segment_claim(j->dir, j->v[i].number);
        if (claim >= 0) (void)vfile_remove(j->vfs, path, NULL);
        segment_unclaim(claim);
    }
    forget(j);
}

/* Finds a file for segment `number`: renames a released one, or creates one. *claim: the lock of a
 * released file. */
static bool take_file(journal *j, uint32_t number, uint64_t want, uint64_t *size, int *claim,
                      err *e)
{
    char path[JOURNAL_PATH], old[JOURNAL_PATH];
    segment_path(j->dir, number, path);
    if (j->n && j->v[0].spare && want <= j->segment) *claim = segment_claim(j->dir, j->v[0].number);
    if (*claim >= 0) {
        segment_path(j->dir, j->v[0].number, old);
        if (rename(old, path) == 0) {
            *size = j->v[0].size;
            drop_segment(j, 0);
        }
    }
    j->f = vfile_open(j->vfs, path, VFILE_WRITE, e);
    uint64_t reserve = want < JOURNAL_RESERVE ? want : JOURNAL_RESERVE;
    if (*size < reserve) *size = reserve;
    return j->f && vfile_reserve(j->f, reserve, e);
}

static void give_up(journal *j)
{
    vfile_close(j->f);
    j->f = NULL;
}

static bool begin_segment(journal *j, uint64_t bytes, err *e)
{
    uint64_t want = bytes + JOURNAL_HEADER > j->segment ? bytes + JOURNAL_HEADER : j->segment;
    journal_segment s = {.number = j->n ? j->v[j->n - 1].number + 1 : 1,
                         .salt = j->world->random(j->world->ctx),
                         .first_seq = j->next_seq,
                         .end = JOURNAL_HEADER};
    give_up(j);
    char head[JOURNAL_HEADER];
    segment_header(&s, head);
    int claim = -1;
    bool made = take_file(j, s.number, want, &s.size, &claim, e) &&
                vfile_write(j->f, 0, (str){head, sizeof head}, e);
    segment_unclaim(claim);
    if (made && add_segment(j, s, e)) return true;
    char path[JOURNAL_PATH];
    segment_path(j->dir, s.number, path);
    give_up(j);
    (void)vfile_remove(j->vfs, path, NULL);
    return false;
}

/* Appends the whole group and syncs it. */
static bool write_parts(journal *j, const journal_group *g, uint64_t at, err *e)
{
    str few[33], *parts = few;
    size_t n = 2 * g->n + 1;
    if (n > ARRAY_LEN(few) && !(parts = malloc(n * sizeof *parts)))
        return err_sys(e, ENOMEM, "no memory for a group of items");
    bool ok = vfile_write_all(j->f, at, parts, journal_parts(g, parts), e);
    if (parts != few) free(parts);
    return ok && (j->no_sync || vfile_sync(j->f, e));
}

bool journal_write(journal *j, journal_group *g, uint64_t *first_seq, err *e)
{
    if (g->copied.failed) return err_sys(e, ENOMEM, "no memory for a group of items");
    uint64_t want = journal_even(journal_group_bytes(g)) + JOURNAL_EVEN;
    if (!j->f || j->v[j->n - 1].end + want > j->segment)
        if (!begin_segment(j, want, e)) return false;
    journal_segment *s = &j->v[j->n - 1];
    uint64_t next = journal_number(g, j->next_seq, s->salt);
    bool even = !j->no_sync && journal_even_out(g); /* tests without O_DIRECT get the same layout */
    if (even) (void)vfile_go_direct(j->f);
    if (even || g->n) s->end = journal_even(s->end);
    if (!write_parts(j, g, s->end, e)) {
        /* It is unknown which part of the group is on disk. A new segment that begins with the same
         * number makes the group void. Until then a reader could consider it valid, because the
         * kernel keeps pages that it could not write and reports the error only once. So the group
         * is cut off, which also frees its space. */
        vfile_cut(j->f, s->end);
        if (!j->no_sync) (void)!vfile_sync(j->f, NULL);
        give_up(j);
        return false;
    }
    *first_seq = j->next_seq;
    j->next_seq = next;
    s->end += journal_group_bytes(g);
    if (s->size < s->end) s->size = s->end;
    if (!s->listed && j->began) j->began(j->ctx, s);
    s->listed = true;
    return true;
}

uint64_t journal_disk_bytes(const journal *j)
{
    uint64_t n = 0;
    for (size_t i = 0; i < j->n; i++) n += j->v[i].size;
    return n;
}

void journal_release(journal *j, uint64_t through)
{
    size_t spares = 0;
    for (size_t i = 0; i + 1 < j->n && j->v[i + 1].first_seq <= through + 1;) {
        if (spares < JOURNAL_SPARES && j->v[i].size <= j->segment) {
            j->v[i++].spare = true;
            spares++;
            continue;
        }
        int claim = segment_claim(j->dir, j->v[i].number);
        if (claim < 0) { /* a reader has it locked: try later */
            i++;
            continue;
        }
        char path[JOURNAL_PATH];
        segment_path(j->dir, j->v[i].number, path);
        (void)vfile_remove(j->vfs, path, NULL);
        segment_unclaim(claim);
        drop_segment(j, i);
    }
}
