/* Reads perf.data. The result is an error with an offset inside the input, or a model whose samples
 * can all be visited and written as perf script text. */
#include "format/perf_data.h"

#include <stdlib.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

static void check_samples(const model *m)
{
    MUST(m->checked);
    for (size_t i = 0; i < m->profiles.n; i++)
        for (size_t k = 0; k < m->profiles.v[i].n_samples; k++) {
            sample s = sample_at(m, &m->profiles.v[i], k);
            MUST(s.stack < dict_n_stacks(&m->dict) && s.n_values == 1 && s.n_times <= 1);
            for (uint32_t j = 0; j < s.n_attrs; j++) MUST(s.attrs[j] < m->dict.attributes.n);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    arena a = {.budget = 64 << 20};
    ledger l = {0};
    model m;
    err e = {0};
    read_opts o = {.max_bytes = 4 << 20, .ledger = &l};
    str in = {(const char *)data, n};
    if (format_perf_data.read(&format_perf_data, in, &o, &a, &m, NULL, &e)) {
        bool moved;
        time_anchor t = {.arrival = n & 1 ? UINT64_C(1700000000000000000) : 0, .plain = n & 2};
        MUST(anchor_times(&m, &t, &l, &a, &moved, &e) || err_exhausted(&e));
        check_samples(&m);
        buf text = {.limit = 16 << 20};
        (void)!format_perf_script.write(&format_perf_script, &m, &(write_opts){0}, &text, &e);
        buf_free(&text);
    } else {
        MUST(e.code != ERR_OK && e.msg[0] && (e.offset <= n || e.offset == NO_OFFSET));
    }
    arena_free(&a);
    return 0;
}
