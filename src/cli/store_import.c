/* `kiln store import`: reads files payload by payload and puts them into the store in pieces, so
 * that memory does not grow with the file.  When the backlog of the store is full, the store is
 * compacted before the import continues. */
#include "cli/store_import.h"

#include "cli/input.h"
#include "draw/human.h"
#include "model/pieces.h"
#include "wire/otlp.h"
#include "store/embedded_options.h"
#include "base/ban.h"

enum {
    PIECE = 8 << 20, /* a piece ends at this many bytes; profiles are not split */
    BATCH = 8 << 20, /* bytes of OTLP between two commits */
    PAGE = 4096,     /* room that the store needs around bytes to write them in place */
};

typedef struct import_part {
    importing *x;
    input *in;
    const char *recognised;
    size_t n_bytes; /* size of the payload as read; counted with its first piece */
} import_part;

static void on_done(void *ctx, const store_put_result *r)
{
    importing *x = ctx;
    x->stored += r->n_stored;
    x->duplicates += r->n_duplicates;
}

static bool commit(importing *x, err *e)
{
    x->waiting = 0;
    return store_commit(x->store, e);
}

/* ---- the backlog ---- */

/* Returns the bytes that are not yet written or not yet compacted. */
static uint64_t backlog(const importing *x)
{
    store_gauges g = store_gauged(x->store);
    return g.raw_bytes + g.queue_bytes;
}

/* Commits and compacts.  Returns false on failure, or if the backlog did not shrink. */
static bool make_room(importing *x, err *e)
{
    char n[HUMAN_MAX];
    uint64_t before = backlog(x);
    x->n_compacted++;
    cli_status(x->c, "compacting %s of imported data ...", human_bytes(before, n));
    bool ok = commit(x, e) && store_compact(x->store, e);
    cli_status(x->c, "%s", "");
    return ok && backlog(x) < before;
}

static bool is_full(const importing *x, size_t bytes)
{
    uint64_t waits = backlog(x);
    return waits && waits + bytes > store_gauged(x->store).backlog_limit_bytes;
}

static bool put_with_room(importing *x, const store_item *i, err *e)
{
    if (is_full(x, i->bytes.n) && !make_room(x, e) && e->code) return false;
    while (!store_put(x->store, i, e)) {
        err why = {0};
        if (!err_exhausted(e)) return false;
        if (!make_room(x, &why)) {
            if (why.code) *e = why;
            return false;
        }
        *e = (err){0};
    }
    return true;
}

/* ---- pieces ---- */

/* Moves the bytes so that a page is free behind them, too: the encoder leaves room only in front.
 * The store can then write a large profile without copying it. */
static void spread(buf *b)
{
    if (b->head < 2 * PAGE) return;
    memmove(b->p - PAGE, b->p, b->n);
    b->p -= PAGE;
    b->head -= PAGE;
    b->cap += PAGE;
}

static bool put_piece(void *ctx, const model *m, err *e)
{
    import_part *w = ctx;
    importing *x = w->x;
    buf b = {0};
    if (!otlp_encode(m, &(otlp_encode_opts){.layout = LAYOUT_CURRENT}, &b, e)) {
        buf_free(&b);
        return false;
    }
    bool lend = b.n >= BATCH;
    if (lend) spread(&b);
    embedded_room room = {.before = b.head, .after = b.cap - b.n};
    store_item i = {.model = m,
                    .bytes = buf_view(&b),
                    .layout = LAYOUT_CURRENT,
                    .room = lend ? &room : NULL,
                    .sender = str_of(input_name(w->in->path)),
                    .recognised = str_of(w->recognised),
                    .n_bytes = w->n_bytes,
                    .ledger = &w->in->ledger,
                    .done = on_done,
                    .cookie = x};
    bool ok = put_with_room(x, &i, e);
    w->n_bytes = 0;
    x->waiting += ok ? b.n : 0;
    if (x->waiting >= BATCH) ok = commit(x, e) && ok;
    buf_free(&b);
    return ok;
}

static bool put_part(void *ctx, const part *p, err *e)
{
    import_part *w = ctx;
    bool whole = p->payload.bytes.n == w->in->doc.bytes.n;
    w->recognised = p->format->name;
    w->n_bytes = whole ? w->in->file.bytes.n : p->payload.bytes.n;
    return model_pieces(&p->model, PIECE, &w->in->arena, put_piece, w, e);
}

bool import_file(importing *x, const char *path)
{
    input in;
    import_part w = {.x = x, .in = &in};
    err e = {0};
    bool ok = input_each(x->c, path, &in, put_part, &w);
    if (commit(x, &e)) return ok;
    cli_fail_err(x->c, path, &e);
    return false;
}
