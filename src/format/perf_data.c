/* Entry point of the reader of Linux perf.data, which `perf record` writes to a file or a pipe
 * (docs/perf-data.md). */
#include "format/perf_data.h"

#include "base/ban.h"

static unsigned detect(str bytes)
{
    static const char *const magics[] = {"PERFILE2", "2ELIFREP", "PERFFILE", "ELIFFREP"};
    for (size_t i = 0; i < ARRAY_LEN(magics); i++)
        if (str_starts(bytes, str_of(magics[i]))) return 100;
    return 0;
}

static bool read_all(perf_data *d, model *out)
{
    if (!perf_read_header(d) || !perf_scan(d)) return false;
    if (!d->events.n) return err_set(d->e, ERR_MALFORMED, "this perf.data contains no events");
    for (size_t i = 0; i < d->events.n; i++)
        if (!perf_name_event(d, &d->events.v[i])) return false;
    return perf_replay(d) && perf_build(d, out);
}

static bool read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    if (detect(bytes) == 0)
        return err_at(e, ERR_MALFORMED, 0, "expected PERFILE2 at the start of perf.data");
    perf_data *d = arena_new(a, perf_data, 1);
    if (!d) return arena_spent(a, e);
    d->in = bytes, d->o = o, d->a = a, d->e = e;
    return read_all(d, out);
}

const format format_perf_data = {
    .name = "perf-data",
    .original_name = "linux_perf",
    .what = "Linux perf.data, file or pipe mode",
    .carries = CARRIES(TYPES) | CARRIES(UNITS) | CARRIES(TIMESTAMPS) | CARRIES(SAMPLE_ATTRIBUTES) |
               CARRIES(ATTRIBUTE_TYPES) | CARRIES(TIME) | CARRIES(PERIOD) | CARRIES(ADDRESSES) |
               CARRIES(MAPPINGS) | CARRIES(BUILD_IDS) | CARRIES(FRAME_TYPES),
    .detect = detect,
    .read = read,
};
