/* Reads perf script text. A model is written as text, which must read back and stay the same from
 * the second round on. The first round may merge events whose names differ only in bytes that the
 * text cannot contain. Text without times is not compared, because a name in it may look like
 * ids. */
#include "format/perf_script.h"

#include <stdlib.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

static bool read_and_write(str in, uint64_t anchor, buf *text)
{
    arena a = {.budget = 64 << 20};
    model m;
    err e = {0};
    bool moved,
        ok = format_perf_script.read(&format_perf_script, in, &(read_opts){0}, &a, &m, NULL, &e);
    if (!ok) MUST(e.code != ERR_OK && e.msg[0] && (e.offset <= in.n || e.offset == NO_OFFSET));
    time_anchor t = {.given = anchor, .plain = true};
    ok = ok && anchor_times(&m, &t, NULL, &a, &moved, &e);
    bool timed = ok && m.times.n && m.times.n == m.values.n;
    if (ok) MUST(format_perf_script.write(&format_perf_script, &m, &(write_opts){0}, text, &e));
    arena_free(&a);
    return timed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    str in = {(const char *)data, n};
    format_perf_script.detect(in);
    buf one = {0}, two = {0}, three = {0};
    const uint64_t anchor = UINT64_C(1700000000000000000);
    if (read_and_write(in, anchor, &one)) {
        MUST(read_and_write(buf_view(&one), anchor, &two));
        MUST(read_and_write(buf_view(&two), anchor, &three));
        MUST(str_eq(buf_view(&two), buf_view(&three)));
    }
    buf_free(&one), buf_free(&two), buf_free(&three);
    return 0;
}
