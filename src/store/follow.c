/* Following: a consumer reads every acknowledged item from the journal. The file DIR/followed has
 * the number of the last item that the consumer finished. The journal keeps the segments after it,
 * up to a limit. */
#include "store/embedded.h"

#include "store/item.h"
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include "base/hash.h"
#include "base/ban.h"

enum { DIGITS = 20, LINE = DIGITS + 1 + 16 + 1 };

static void path_of(const embedded *x, char out[DAY_PATH])
{
    snprintf(out, DAY_PATH, "%s/followed", x->dir);
}

/* ---- the file ---- */

/* "00000000000000000042 <XXH3 of the digits>
 * ": overwritten in place, so that a torn write is detected. */
static void put_line(uint64_t through, char out[LINE + 1])
{
    snprintf(out, LINE + 1, "%0*" PRIu64, DIGITS, through);
    snprintf(out + DIGITS, LINE + 1 - DIGITS, " %016" PRIx64 "\n",
             (uint64_t)XXH3_64bits(out, DIGITS));
}

static bool save(embedded *x, uint64_t through, err *e)
{
    char path[DAY_PATH], text[LINE + 1];
    path_of(x, path);
    put_line(through, text);
    vfile *f = vfile_open(x->vfs, path, VFILE_WRITE, e);
    bool ok = f && vfile_write(f, 0, (str){text, LINE}, e) && (x->o.no_sync || vfile_sync(f, e));
    vfile_close(f);
    if (ok) atomic_store(&x->followed, through);
    return ok;
}

void follow_load(embedded *x)
{
    char path[DAY_PATH], text[LINE + 1] = "", again[LINE + 1];
    size_t got = 0;
    err e = {0};
    path_of(x, path);
    atomic_store(&x->followed, NOT_FOLLOWED);
    atomic_store(&x->follow_max, UINT64_MAX);
    vfile *f = vfile_open(x->vfs, path, VFILE_READ, &e);
    if (!f && e.sys == ENOENT) return;
    if (f && !vfile_read(f, 0, text, LINE, &got, &e)) text[0] = '\0';
    vfile_close(f);
    uint64_t through = strtoull(text, NULL, 10);
    put_line(through, again);
    if (strcmp(text, again) != 0) { /* all items in the journal are delivered again */
        embedded_log(x, STORE_FAILURE,
                     "store: %s cannot be read: forwarding starts with the "
                     "oldest item of the journal",
                     path);
        through = x->j.n ? x->j.v[0].first_seq - 1 : x->durable;
    }
    atomic_store(&x->followed, through < x->durable ? through : x->durable);
}

/* ---- segments kept for the consumer ---- */

uint64_t follow_floor(embedded *x, uint64_t through)
{
    const journal *j = &x->j;
    uint64_t followed = atomic_load(&x->followed), held = 0, floor = followed;
    uint64_t max = atomic_load(&x->follow_max);
    if (followed >= through) floor = through;
    for (size_t i = j->n; followed < through && i-- > 1;) {
        uint64_t last = j->v[i].first_seq - 1; /* last number of the previous segment */
        if (last > through) continue; /* not compacted, so not kept only for the consumer */
        if (last <= followed || j->v[i - 1].spare) break;
        if (j->v[i - 1].end > max - held) {
            floor = last;
            break;
        }
        held += j->v[i - 1].end;
    }
    atomic_store(&x->follow_held, held);
    return floor;
}

/* ---- the consumer ---- */

bool embedded_follow(store *s, uint64_t max_bytes, uint64_t *through, err *e)
{
    embedded *x = (embedded *)s;
    pthread_mutex_lock(&x->lock);
    uint64_t durable = x->durable;
    pthread_mutex_unlock(&x->lock);
    atomic_store(&x->follow_max, max_bytes);
    if (atomic_load(&x->followed) == NOT_FOLLOWED && !save(x, durable, e)) return false;
    *through = atomic_load(&x->followed);
    return true;
}

void embedded_unfollow(store *s)
{
    embedded *x = (embedded *)s;
    char path[DAY_PATH];
    if (atomic_load(&x->followed) == NOT_FOLLOWED) return;
    path_of(x, path);
    if (vfile_remove(x->vfs, path, NULL)) atomic_store(&x->followed, NOT_FOLLOWED);
}

bool embedded_followed(store *s, uint64_t through, err *e)
{
    embedded *x = (embedded *)s;
    return through == atomic_load(&x->followed) || save(x, through, e);
}

typedef struct following {
    journal_scan *scan;
    store_follower *each;
    void *ctx;
    uint64_t next, lost;
} following;

static bool on_record(void *ctx, uint64_t seq, str bytes, err *e)
{
    following *f = ctx;
    item i;
    (void)e;
    f->lost += seq - f->next;
    f->next = seq;
    if (!take_item(bytes, &i)) { /* compaction stores it as received and logs it */
        f->lost++;
    } else if (!f->each(f->ctx, &(store_follow_item){.number = seq,
                                                     .bytes = i.bytes,
                                                     .layout = i.layout,
                                                     .recognised = i.recognised,
                                                     .n_profiles = i.n_profiles})) {
        return f->scan->stop = true;
    }
    f->next++;
    return true;
}

bool embedded_follow_read(store *base, uint64_t *through, store_follower *each, void *ctx,
                          uint64_t *lost, err *e)
{
    embedded *x = (embedded *)base;
    pthread_mutex_lock(&x->lock);
    uint64_t durable = x->durable;
    pthread_mutex_unlock(&x->lock);
    if (*through >= durable) return true;
    journal_scan s = {.from = *through + 1, .to = durable, .place = &x->follow_place};
    following f = {.scan = &s, .each = each, .ctx = ctx, .next = s.from};
    err why = {0};
    bool ok = journal_read(x->vfs, x->dir, &s, on_record, &f, &why);
    if (ok && !s.stop) {
        f.lost += durable + 1 - f.next;
        f.next = durable + 1;
    }
    *through = f.next - 1;
    *lost += f.lost;
    if (ok || why.code == ERR_MISMATCH)
        return true; /* a segment was reused: the next read continues */
    if (e) *e = why;
    return false;
}

store_lag embedded_lag(const store *s)
{
    embedded *x = (embedded *)(uintptr_t)s;
    uint64_t followed = atomic_load(&x->followed);
    pthread_mutex_lock(&x->lock);
    uint64_t durable = x->durable;
    pthread_mutex_unlock(&x->lock);
    return (store_lag){.items = followed < durable ? durable - followed : 0,
                       .bytes = atomic_load(&x->follow_held)};
}
