/* Entry point of the reader of Java Flight Recorder files: iterates over their chunks
 * (docs/jfr.md). Kiln does not write this format. */
#include "format/jfr_internal.h"

#include "base/ban.h"

static bool begins_chunk(str bytes) { return str_starts(bytes, (str){"FLR\0", 4}); }

static unsigned detect(str bytes) { return begins_chunk(bytes) ? 100 : 0; }

/* Whether the bytes after the last chunk are the start of a header that was not completed. */
static bool is_cut_header(str rest)
{
    return rest.n < JFR_HEADER && memcmp(rest.p, "FLR\0", rest.n < 4 ? rest.n : 4) == 0;
}

static bool read_chunks(jfr *r)
{
    for (size_t at = 0, next; at < r->in.n; at = next, r->n_chunk++) {
        str rest = {r->in.p + at, r->in.n - at};
        if (r->n_chunk && is_cut_header(rest)) {
            jfr_lose(r, LOSS_TRUNCATED, 1, "the header of the last chunk", (str){0});
            break;
        }
        if (r->n_chunk && r->open && !begins_chunk(rest)) {
            jfr_lose(r, LOSS_TRUNCATED, 1, "events after the last flush", (str){0});
            break;
        }
        if (!jfr_chunk(r, at, &next)) return err_in(r->e, "chunk[%zu]", r->n_chunk);
    }
    return true;
}

static bool read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    jfr r = {.o = o, .in = bytes, .a = a, .work = arena_beside(a), .made = {.a = a}, .e = e};
    r.chunk_a.seed = a->seed;
    bool ok = builder_init(&r.b, a) || err_memory(r.e);
    r.b.borrow = true; /* texts view the input or are in `a` */
    ok = ok && read_chunks(&r) && jfr_emit(&r) && builder_finish(&r.b, out, e);
    if (ok) jfr_lose(&r, LOSS_TEXT, r.made.n_bad, "", (str){0});
    arena_free(&r.chunk_a);
    arena_free(&r.work);
    return ok;
}

const format format_jfr = {
    .name = "jfr",
    .what = "Java Flight Recorder 1.x and 2.x, also from async-profiler",
    .suffixes = ".jfr",
    .carries = CARRIES(TYPES) | CARRIES(UNITS) | CARRIES(VALUES) | CARRIES(TIMESTAMPS) |
               CARRIES(SAMPLE_ATTRIBUTES) | CARRIES(ATTRIBUTE_TYPES) | CARRIES(TIME) |
               CARRIES(PERIOD) | CARRIES(LINES) | CARRIES(SYSTEM_NAMES) | CARRIES(INLINES) |
               CARRIES(FRAME_TYPES),
    .detect = detect,
    .read = read,
};
