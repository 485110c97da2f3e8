/* Reads perf.data. The result is an error with an offset inside the input, or a model whose samples
 * can all be visited and written as perf script text. */
#include "format/perf_data.h"

#include <stdlib.h>
#include <string.h>

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

/* Forgets spaces at once, reads all that it gets, and takes words of the copy as addresses. */
static bool has_space(void *ctx, uint32_t version)
{
    (void)ctx;
    return version % 4 == 1;
}

static bool add_space(void *ctx, const walk_space *s)
{
    size_t *bytes = ctx;
    for (size_t i = 0; i < s->n; i++) {
        MUST(s->maps[i].start < s->maps[i].limit);
        MUST(!i || s->maps[i - 1].limit <= s->maps[i].start);
        MUST(s->maps[i].build_id.n <= BUILD_ID_MAX);
        for (size_t k = 0; k < s->maps[i].filename.n; k++)
            *bytes += (unsigned char)s->maps[i].filename.p[k];
    }
    return s->version % 16 != 3;
}

static walked_stack walk(void *ctx, uint32_t version, const copied_stack *c)
{
    static uint64_t pcs[64];
    (void)ctx;
    MUST(c->machine == WALK_X86_64 || c->machine == WALK_AARCH64);
    walked_stack w = {.pcs = pcs, .n = c->bytes.n / 8, .end = version % WALK_ENDS};
    if (w.n > 64) w.n = 64;
    if (w.n) memcpy(pcs, c->bytes.p, w.n * 8);
    return w;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    arena a = {.budget = 64 << 20};
    ledger l = {0};
    model m;
    err e = {0};
    size_t seen = 0;
    stack_walk copies = {&seen, has_space, add_space, walk};
    read_opts o = {.max_bytes = 4 << 20, .ledger = &l, .walk = n & 4 ? &copies : NULL};
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
