/* Streams a response body to memory or disk, so that an export needs memory for one piece only. */
#include "server/body_out.h"

#include "wire/compress.h"
#include "base/ban.h"
#include <stdatomic.h>

bool body_out_begin(body_out *b, query *k, bool gzip, err *e)
{
    *b = (body_out){.k = k};
    if (gzip && !(b->gzip = packer_open())) return err_memory(e);
    return true;
}

/* Counts n more bytes. The limit applies to the files of all running queries together. */
static bool count(body_out *b, size_t n, err *e)
{
    query_files *f = b->k->files;
    b->counted += n;
    uint64_t all = atomic_fetch_add_explicit(&f->filling, n, memory_order_relaxed) + n;
    return all <= b->k->max_file || err_set(e, ERR_LIMIT, "the file would exceed limits.files");
}

static bool append(body_out *b, str bytes, err *e)
{
    if (!count(b, bytes.n, e)) return false;
    if (spill_append(&b->k->file, bytes, e)) return true;
    return !(b->no_file = true);
}

static bool take(body_out *b, str bytes, err *e)
{
    query *k = b->k;
    if (k->file.fd >= 0) return append(b, bytes, e);
    if (!k->files || k->body.n + bytes.n < BODY_SPILL) {
        buf_str(&k->body, bytes);
        return !k->body.failed || err_memory(e);
    }
    if (!spill_open(k->files->dir, &k->file, e)) return !(b->no_file = true);
    if (!append(b, buf_view(&k->body), e)) return false;
    buf_free(&k->body);
    return append(b, bytes, e);
}

static bool put(body_out *b, str bytes, bool last, err *e)
{
    if (!b->gzip) return take(b, bytes, e);
    buf_reset(&b->packed);
    return packer_put(b->gzip, bytes, last, &b->packed, e) && take(b, buf_view(&b->packed), e);
}

bool body_out_put(body_out *b, str bytes, err *e) { return put(b, bytes, false, e); }

bool body_out_end(body_out *b, bool ok, err *e)
{
    ok = ok && (!b->gzip || put(b, (str){0}, true, e));
    if (!ok) {
        buf_free(&b->k->body);
        spill_close(&b->k->file);
    }
    if (b->counted)
        atomic_fetch_sub_explicit(&b->k->files->filling, b->counted, memory_order_relaxed);
    packer_close(b->gzip);
    buf_free(&b->packed);
    return ok;
}
