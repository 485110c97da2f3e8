/* Writes the columns of all series to a day file at the end of a run. Workers encode several blocks
 * at once, but rows are inserted in the order of the series, so that the file does not depend on
 * the number of threads. */
#include "store/day_write.h"

#include "base/ban.h"

enum { AT_ONCE = 8 }; /* blocks that are encoded while one is written */

/* The job that encodes a row of the table of blocks. The row depends only on the columns. */
struct block_row {
    worker_job job;
    const block_builder *b;
    uint32_t series_i;
    int64_t id;
    buf marks, data;
    zipper z;
    arena scratch;
    bool ok;
};

static void make_row(const block_builder *b, int64_t id, arena *scratch, zipper *z, buf *marks,
                     buf *data, bool *ok)
{
    buf_reset(marks);
    buf_reset(data);
    *ok = block_put_marks(b, scratch, marks);
    block_put(b, data, z);
    seal_bytes(data, SEAL_BLOCK + ((uint64_t)id << 8));
    *ok = *ok && !marks->failed && !data->failed;
}

static bool put_row(day_writer *w, uint32_t series_i, const block_builder *b, int64_t id,
                    const buf *marks, const buf *data, err *e)
{
    int64_t numbers[] = {id,
                         series_i + 1,
                         time_in(b->first),
                         time_in(b->last),
                         (int64_t)b->ids.n,
                         (int64_t)b->stack.n,
                         (int64_t)b->n_observations,
                         b->total};
    w->first = b->first < w->first ? b->first : w->first;
    w->last = b->last > w->last ? b->last : w->last;
    return day_writer_insert(w, w->put_block, numbers, ARRAY_LEN(numbers),
                             (str[]){buf_view(marks), buf_view(data)}, 2, e) &&
           (day_writer_note_block(w, series_i, id, b->ids.n + b->stack.n + b->n_observations) ||
            err_memory(e));
}

bool day_writer_save_block(day_writer *w, uint32_t series_i, const block_builder *b, int64_t id,
                           err *e)
{
    bool ok;
    make_row(b, id, &w->run, &w->z, &w->scratch, &w->out, &ok);
    if (!ok) return err_memory(e);
    return put_row(w, series_i, b, id, &w->scratch, &w->out, e);
}

/* Writes the numbers and the block of a series, then merges small blocks. */
static bool save_series(day_writer *w, block_row *r, err *e)
{
    if (!r->ok) return err_memory(e);
    if (!day_writer_save_local(w, r->series_i, e) ||
        !put_row(w, r->series_i, r->b, r->id, &r->marks, &r->data, e) ||
        !day_writer_merge(w, r->series_i, e))
        return false;
    w->series.v[r->series_i].b = (block_builder){0};
    return true;
}

static void run_row(void *ctx)
{
    block_row *r = ctx;
    arena_reset(&r->scratch);
    make_row(r->b, r->id, &r->scratch, &r->z, &r->marks, &r->data, &r->ok);
}

/* Finds the next series from *i on that has data. Returns false when there is none. */
static bool next_row(day_writer *w, uint32_t *i, uint64_t *last, block_row *r)
{
    while (*i < w->series.n && !w->series.v[*i].b.ids.n) ++*i;
    if (*i == w->series.n) return false;
    r->series_i = *i;
    r->b = &w->series.v[(*i)++].b;
    r->id = (int64_t)++ * last;
    r->job = (worker_job){.run = run_row, .ctx = r};
    return true;
}

void block_rows_free(block_row *v)
{
    for (size_t i = 0; v && i < AT_ONCE; i++) {
        buf_free(&v[i].marks);
        buf_free(&v[i].data);
        zipper_free(&v[i].z);
        arena_free(&v[i].scratch);
    }
    free(v);
}

/* Threads encode rows in any order; this function inserts them in the order of the series. */
bool day_writer_save_blocks(day_writer *w, err *e)
{
    uint64_t last;
    if (!w->rows && !(w->rows = calloc(AT_ONCE, sizeof *w->rows))) return err_memory(e);
    if (!database_number(&w->db, "SELECT max(id) FROM block", &last, e)) return false;
    uint32_t series_i = 0;
    size_t begun = 0, done = 0, most = w->workers ? AT_ONCE : 1;
    bool ok = true, more = true;
    do {
        while (more && begun - done < most &&
               (more = next_row(w, &series_i, &last, &w->rows[begun % most])))
            workers_begin(w->workers, &w->rows[begun++ % most].job);
        if (done == begun) break;
        block_row *r = &w->rows[done++ % most];
        workers_finish(w->workers, &r->job);
        ok = save_series(w, r, e);
    } while (ok);
    for (; done < begun; done++) workers_finish(w->workers, &w->rows[done % most].job);
    return ok;
}
