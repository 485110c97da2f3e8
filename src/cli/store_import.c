#include "cli/store_import.h"

#include "cli/input.h"
#include "draw/human.h"
#include "model/pieces.h"
#include "wire/otlp.h"
#include "base/ban.h"

enum {
    PIECE = 8 << 20, /* bytes of one piece, as a model: profiles are not split */
    BATCH = 8 << 20, /* bytes of OTLP between two commits */
    PAGE = 4096,     /* what the store fills up around bytes that it need not copy */
};

typedef struct import_part {
    importing *x;
    input *in;
    const char *recognised;
    size_t n_bytes; /* of the payload as it came: the first piece has them */
} import_part;

static void on_done(void *who, const store_result *r)
{
    importing *x = who;
    x->stored += r->n_stored;
    x->duplicates += r->n_duplicates;
}

static bool commit(importing *x, err *e)
{
    x->waiting = 0;
    return store_commit(x->store, e);
}

/* ---- the backlog ---- */

/* Bytes that wait to be written or to be compacted. */
static uint64_t backlog(const importing *x)
{
    store_gauges g = store_gauged(x->store);
    return g.raw_bytes + g.queue_bytes;
}

/* Writes and compacts what waits.  false: that did not help. */
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

static bool put_when_there_is_room(importing *x, const store_item *i, err *e)
{
    if (is_full(x, i->bytes.n) && !make_room(x, e) && e->code) return false;
    while (!store_put(x->store, i, e)) {
        err why = {0};
        if (e->code != ERR_LIMIT) return false;
        if (!make_room(x, &why)) {
            if (why.code) *e = why;
            return false;
        }
        *e = (err){0};
    }
    return true;
}

/* ---- a piece ---- */

/* The encoder leaves room in front of its bytes alone.  The store needs some behind them, too, in order to write them from where
 * they are: a large profile is not copied then. */
static void spread(buf *b)
{
    if (b->head < 2 * PAGE) return;
    memmove(b->p - PAGE, b->p, b->n);
    b->p -= PAGE;
    b->head -= PAGE;
    b->cap += PAGE;
}

static bool put_piece(void *who, const model *m, err *e)
{
    import_part *w = who;
    importing *x = w->x;
    buf b = {0};
    if (!otlp_encode(m, &(otlp_encode_opts){.layout = LAYOUT_CURRENT}, &b, e)) {
        buf_free(&b);
        return false;
    }
    bool lend = b.n >= BATCH;
    if (lend) spread(&b);
    store_item i = {.model = m,
                    .bytes = buf_view(&b),
                    .layout = LAYOUT_CURRENT,
                    .before = lend ? b.head : 0,
                    .after = lend ? b.cap - b.n : 0,
                    .sender = str_of(input_name(w->in->path)),
                    .recognised = str_of(w->recognised),
                    .n_bytes = w->n_bytes,
                    .ledger = &w->in->ledger,
                    .done = on_done,
                    .cookie = x};
    bool ok = put_when_there_is_room(x, &i, e);
    w->n_bytes = 0;
    x->waiting += ok ? b.n : 0;
    if (x->waiting >= BATCH) ok = commit(x, e) && ok;
    buf_free(&b);
    return ok;
}

static bool put_part(void *who, const part *p, err *e)
{
    import_part *w = who;
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
