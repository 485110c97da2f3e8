/* Reads CPU profiles of gperftools and their Java variant: words in the byte order of the writing
 * machine.
 *
 *   0 3 java? period_us 0   then   count n pc[n]   repeated, then   0 1 0   and text:
 *   the memory map, or from Java the names of the pcs. */
#include "format/pprof_legacy.h"

#include "base/ban.h"
#include <inttypes.h>

enum {
    HANDLER_FRAMES = 2,  /* maximal number of removed signal handler frames */
    HANDLER_MARGIN = 32, /* removed if all samples but one in HANDLER_MARGIN have them */
};

typedef struct words {
    str in;
    size_t at;
    unsigned size;
    bool big;
} words;

static bool next(words *w, uint64_t *v)
{
    if (w->in.n - w->at < w->size) return false;
    const uint8_t *p = (const uint8_t *)w->in.p + w->at;
    *v = 0;
    for (unsigned i = 0; i < w->size; i++) {
        unsigned shift = 8 * (w->big ? w->size - 1 - i : i);
        *v |= (uint64_t)p[i] << shift;
    }
    w->at += w->size;
    return true;
}

bool legacy_cpu_header(str in, unsigned *word, bool *big, uint64_t *java, uint64_t *period_us)
{
    for (unsigned try = 0; try < 4; try++) {
        words w = {.in = in, .size = try < 2 ? 4 : 8, .big = try & 1};
        uint64_t v[5];
        size_t n = 0;
        while (n < 5 && next(&w, &v[n])) n++;
        if (n < 5 || v[0] || v[1] != 3 || v[2] > 1 || !v[3] || v[4]) continue;
        *word = w.size;
        *big = w.big;
        *java = v[2];
        *period_us = v[3];
        return true;
    }
    return false;
}

static int64_t times(uint64_t count, int64_t period)
{
    int64_t r;
    return ckd_mul(&r, count, period) ? INT64_MAX : r;
}

/* Reads one sample. Sets *end at the trailer. */
static bool take_sample(legacy *g, words *w, bool adjust, bool *end)
{
    size_t at = w->at;
    uint64_t count, n, pc;
    if (!next(w, &count) || !next(w, &n)) {
        err_at(g->e, ERR_MALFORMED, at, "the sample is truncated");
        return err_in(g->e, "sample[%zu]", g->samples.n);
    }
    if (n > (w->in.n - w->at) / w->size) {
        err_at(g->e, ERR_MALFORMED, at,
               "the sample has %" PRIu64 " frames, but the file ends before them", n);
        return err_in(g->e, "sample[%zu]", g->samples.n);
    }
    words peek = *w;
    *end = count == 0 && n == 1 && next(&peek, &pc) && pc == 0;
    if (*end) {
        *w = peek;
        return true;
    }
    legacy_sample *s = legacy_new_sample(g);
    if (!s) return false;
    s->values[0] = count > INT64_MAX ? INT64_MAX : (int64_t)count;
    s->values[1] = times(count, g->period);
    for (uint64_t i = 0; i < n && next(w, &pc); i++) {
        if (adjust && i) pc--;
        if (!legacy_frame(g, legacy_address(g, pc))) return false;
    }
    return true;
}

static bool take_samples(legacy *g, words *w, bool adjust)
{
    for (bool end = false; !end && w->at < w->in.n;) {
        if (!take_sample(g, w, adjust, &end)) {
            if (!g->samples.n || !g->e || g->e->code != ERR_MALFORMED) return false;
            *g->e = (err){0};
            ledger_add(g->ledger, STAGE_READ, LOSS_TRUNCATED, NULL, "the last sample", (str){0});
            w->at = w->in.n;
            return true;
        }
        if (!end && w->at == w->in.n) /* the writer stopped before the trailer */
            ledger_add(g->ledger, STAGE_READ, LOSS_TRUNCATED, NULL, "trailer", (str){0});
    }
    return true;
}

/* Returns the location that nearly all samples have as the caller of their leaf, or PP_ABSENT. */
static uint32_t handler_frame(legacy *g, uint32_t *count)
{
    size_t enough = g->samples.n - g->samples.n / HANDLER_MARGIN;
    memset(count, 0, g->locations.n * sizeof *count);
    for (size_t i = 0; i < g->samples.n; i++) {
        span s = g->samples.v[i].frames;
        if (s.n < 2) continue;
        uint32_t second = g->frames.v[s.at + 1];
        if (++count[second] >= enough) return second;
    }
    return PP_ABSENT;
}

/* Removes frames of the signal handler. The leaf is correct because it comes from the signal
 * context. */
static bool drop_handler(legacy *g)
{
    uint32_t *count = arena_new(g->a, uint32_t, g->locations.n);
    if (!count) return arena_spent(g->a, g->e);
    for (int round = 0; round < HANDLER_FRAMES; round++) {
        uint32_t handler = handler_frame(g, count);
        if (handler == PP_ABSENT) break;
        for (size_t i = 0; i < g->samples.n; i++) {
            span *s = &g->samples.v[i].frames;
            if (s->n < 2 || g->frames.v[s->at + 1] != handler) continue;
            g->frames.v[s->at + 1] = g->frames.v[s->at];
            s->at++;
            s->n--;
        }
    }
    return true;
}

bool legacy_read_cpu(legacy *g)
{
    uint64_t java = 0, period_us = 0;
    words w = {.in = g->in};
    if (!legacy_cpu_header(g->in, &w.size, &w.big, &java, &period_us))
        return err_at(g->e, ERR_MALFORMED, 0, "the header of a CPU profile is missing");
    w.at = (size_t)5 * w.size;
    g->n_types = 2;
    g->types[0] = (legacy_type){STR("samples"), STR("count")};
    g->types[1] = g->period_type = (legacy_type){STR("cpu"), STR("nanoseconds")};
    g->period = times(period_us, 1000);
    if (!take_samples(g, &w, !java)) return false;
    g->at = w.at;
    if (java) return legacy_java_names(g);
    if (!drop_handler(g) || !legacy_maps(g)) return false;
    legacy_drop_double_leaf(g);
    return true;
}
